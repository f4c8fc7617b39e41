//! The settings of a store as its rows hold them. `loci config` reads and writes them by name.

use std::fmt::Display;
use std::ops::ControlFlow;

use loci_index::analysis::{detect, language_code};
use loci_index::text::{Field, FieldWeights, UNIFORM_WEIGHTS};
use loci_storage::{Rows, StoreError, Table};
use loci_types::settings::LANGUAGE_AUTO;
pub use loci_types::settings::{EmbedderChoice, FusionChoice, Settings};
use serde_json::Value;

/// Fields whose weights are settings, and their names.
const WEIGHT_SETTINGS: [(Field, &str); 4] = [
    (Field::Title, "weight_title"),
    (Field::Headings, "weight_headings"),
    (Field::KeyTerms, "weight_key_terms"),
    (Field::Code, "weight_code"),
];

/// The settings that `rows` hold over the defaults.
pub(crate) fn read(rows: &dyn Rows) -> Result<Settings, StoreError> {
    let mut map = Settings::default().to_map();
    rows.scan_all(Table::Settings, &mut |name, json| {
        let name = String::from_utf8_lossy(name).into_owned();
        if map.contains_key(&name)
            && let Ok(value) = serde_json::from_slice(json)
        {
            map.insert(name, value);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let wrong = |why: &dyn Display| StoreError::Invalid(format!("settings of the store: {why}"));
    let settings: Settings =
        serde_json::from_value(Value::Object(map)).map_err(|why| wrong(&why))?;
    settings.check().map_err(|why| wrong(&why))?;
    Ok(settings)
}

/// ISO 639-3 of the language that a document with this text is in, by the setting of the store.
pub(crate) fn detect_language(rows: &dyn Rows, text: &str) -> Result<Option<String>, StoreError> {
    let json = rows.get(Table::Settings, b"language")?;
    let set: Option<String> = json.and_then(|json| serde_json::from_slice(&json).ok());
    let set = set.filter(|language| language != LANGUAGE_AUTO);
    let code = detect(text).or_else(|| language_code(&set?));
    Ok(code.map(str::to_owned))
}

/// How many times a word of each field counts.
pub(crate) fn weights(rows: &dyn Rows) -> Result<FieldWeights, StoreError> {
    let mut weights = UNIFORM_WEIGHTS;
    for (field, name) in WEIGHT_SETTINGS {
        if let Some(json) = rows.get(Table::Settings, name.as_bytes())?
            && let Ok(weight) = serde_json::from_slice::<u8>(&json)
        {
            weights[field as usize] = weight.clamp(1, 15);
        }
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use loci_storage::rows::{RowCallback, Value as Row, seal_row};

    use super::*;

    /// Rows of a store that has this setting alone.
    struct SingleSettingRows(&'static str, &'static str);

    impl Rows for SingleSettingRows {
        fn get(&self, _: Table, _: &[u8]) -> Result<Option<Row<'_>>, StoreError> {
            Ok(None)
        }

        fn scan(
            &self,
            table: Table,
            _: &[u8],
            _: Option<&[u8]>,
            visit: &mut RowCallback<'_>,
        ) -> Result<(), StoreError> {
            let key = self.0.as_bytes();
            let row = seal_row(table, key, self.1.as_bytes());
            visit(key, &Row::open(table, key, &row)?).map(drop)
        }
    }

    #[test]
    fn invalid_stored_value_is_an_error_and_unknown_name_is_ignored() {
        assert_eq!(read(&SingleSettingRows("hops", "3")).unwrap().hops, 3);
        assert_eq!(
            read(&SingleSettingRows("hop", "9")).unwrap(),
            Settings::default()
        );
        for (name, value) in [
            ("hops", "4"),
            ("chunk_child_tokens", "0"),
            ("rrf_k", "\"k\""),
        ] {
            let error = read(&SingleSettingRows(name, value))
                .unwrap_err()
                .to_string();
            assert!(error.contains("settings of the store"), "{name}: {error}");
        }
    }
}
