//! Figures of learning items over a store.

use locidb::storage::records::ReviewState;
use locidb::{Database, EmbedderChoice, ItemFigures, NewItem};

#[test]
fn merged_items_and_reviews_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    let figures = |database: &Database| database.view().item_figures().unwrap();
    assert_eq!(figures(&database), ItemFigures::default());
    let put = |item: NewItem| database.write(move |tx| tx.put_item(item)).unwrap();
    let item = |front: &str| NewItem {
        front: front.into(),
        ..NewItem::default()
    };
    let review = |attempts, correct| {
        Some(ReviewState {
            attempts,
            correct,
            ..ReviewState::default()
        })
    };
    let first = put(NewItem {
        review: review(3, 2),
        ..item("What is a heron?")
    });
    put(NewItem {
        merged_into: Some(first),
        ..item("What is a heron then?")
    });
    put(NewItem {
        review: review(1, 0),
        ..item("What is copper?")
    });
    let told = figures(&database);
    assert_eq!((told.items, told.merged, told.reviewed), (3, 1, 2));
    assert_eq!((told.attempts, told.correct), (4, 2));
    assert_eq!(told.accuracy, Some(0.5));
    assert_eq!(told.merged_share, Some(1.0 / 3.0));
    // what, is | a, heron, copper
    assert_eq!(told.diversity, Some(1.0 - 2.0 / 5.0));
}
