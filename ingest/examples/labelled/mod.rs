//! Passages that a reader labelled by what they are for (`ingest/labels`), and how well labels are predicted.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use loci_documents::{ParsedDocument, detect, parse};
use loci_ingest::chunk::{ChunkSettings, chunk};
use locidb::storage::records::{ChunkRecord, Level};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Label {
    pub(crate) file: String,
    /// Its first words.
    pub(crate) begins: String,
    pub(crate) label: String,
}

/// The labels of a file in `ingest/labels`.
pub(crate) fn labels(name: &str) -> Result<Vec<Label>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("labels");
    let labels = fs::read_to_string(folder.join(name))?;
    let labels = labels.lines().map(serde_json::from_str);
    Ok(labels.collect::<Result<_, _>>()?)
}

/// Each label with what `describe` returns of its passage; `None` where the passage is divided otherwise by now.
pub(crate) fn with_passages<'l, T: Copy>(
    folder: &Path,
    labels: &'l [Label],
    describe: impl Fn(&ParsedDocument, &ChunkRecord) -> T,
) -> Result<Vec<(&'l Label, Option<T>)>, Box<dyn Error>> {
    let mut known: BTreeMap<&str, BTreeMap<String, T>> = BTreeMap::new();
    let mut found = Vec::new();
    for label in labels {
        if !known.contains_key(&label.file[..]) {
            let path = folder.join(&label.file);
            let bytes = fs::read(&path)?;
            let kind = detect(&path, &bytes).ok_or("its kind is unknown")?;
            let parsed = parse(kind, &bytes, path.to_str())?;
            let chunks = chunk(&parsed, &ChunkSettings::default()).into_iter();
            let passages = chunks.filter(|chunk| chunk.record.level == Level::Paragraph);
            let passages = passages.map(|passage| {
                let record = passage.record;
                let words: Vec<&str> = record.text.split_whitespace().take(12).collect();
                (words.join(" "), describe(&parsed, &record))
            });
            known.insert(&label.file, passages.collect());
        }
        found.push((label, known[&label.file[..]].get(&label.begins).copied()));
    }
    Ok(found)
}

/// The F1 of each type, of predictions and labels.
pub(crate) fn f1<T: PartialEq>(types: &[T], predictions: &[(T, T)]) -> Vec<f64> {
    let of = |kind: &T| {
        let count = |is: &dyn Fn(&(T, T)) -> bool| predictions.iter().filter(|it| is(it)).count();
        let both = count(&|(ours, label)| ours == kind && label == kind);
        let all = count(&|(ours, _)| ours == kind) + count(&|(_, label)| label == kind);
        2.0 * both as f64 / all.max(1) as f64
    };
    types.iter().map(of).collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
