//! Figures of learning items over a store.

use locidb::storage::records::ReviewState;
use locidb::{Database, EmbedderChoice, ItemStats, NewItem};

#[test]
fn merged_items_and_reviews_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    let figures = |database: &Database| database.snapshot().item_stats().unwrap();
    assert_eq!(figures(&database), ItemStats::default());
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
    let stats = figures(&database);
    assert_eq!((stats.items, stats.merged, stats.reviewed), (3, 1, 2));
    assert_eq!((stats.attempts, stats.correct), (4, 2));
    assert_eq!(stats.accuracy, Some(0.5));
    assert_eq!(stats.merged_share, Some(1.0 / 3.0));
    // what, is | a, heron, copper
    assert_eq!(stats.diversity, Some(1.0 - 2.0 / 5.0));
}
