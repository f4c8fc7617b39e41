//! The main job in twenty lines: open a store, put documents in, ask, read the citation.
//!
//! `cargo run -p locidb --example embed`

use locidb::storage::records::{ChunkRecord, DocumentRecord, Location};
use locidb::{Database, NewChunk, NewDocument, NoProgress, SearchRequest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("loci-example-{}", std::process::id()));
    let database = Database::open(&folder)?;
    database.write(|tx| {
        for (key, text) in [
            (
                "simonides.txt",
                "Simonides named the dead by recalling where each guest had sat.",
            ),
            (
                "rhetoric.txt",
                "Roman orators placed the parts of a speech in the rooms of a house.",
            ),
        ] {
            let chars = (0, text.chars().count() as u64);
            let location = Location {
                chars,
                lines: Some((1, 1)),
                ..Location::default()
            };
            let passage = ChunkRecord {
                text: text.into(),
                location,
                ..ChunkRecord::default()
            };
            tx.put_document(NewDocument {
                record: DocumentRecord {
                    key: key.into(),
                    ..DocumentRecord::default()
                },
                original: text.into(),
                chunks: vec![NewChunk {
                    record: passage,
                    vector: None,
                }],
                ..NewDocument::default()
            })?;
        }
        Ok(())
    })?;
    database.finish(&NoProgress)?;
    let answer = database.search(&SearchRequest::new("How did orators remember a speech?"))?;
    for hit in &answer.hits {
        println!("{} — {} ({})", hit.text, hit.citation.label, hit.chunk);
    }
    database.close();
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
