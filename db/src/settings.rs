//! The settings of a store, kept in it. `loci config` reads and writes them by name.

use loci_index::analysis::{detect, language_code};
use loci_index::text::{Field, FieldWeights, UNIFORM_WEIGHTS};
use loci_query::SearchRequest;
use loci_query::fuse::{Fusion, RankWeights};
use loci_storage::records::EmbedLevels;
use loci_storage::{Rows, StoreError, Table};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::ops::ControlFlow;

use crate::error::Error;

/// The language that stands for telling it from the text.
const LANGUAGE_AUTO: &str = "auto";

/// Weights of fields that are set, and what says so.
const WEIGHT_SETTINGS: [(Field, &str); 4] = [
    (Field::Title, "weight_title"),
    (Field::Headings, "weight_headings"),
    (Field::KeyTerms, "weight_key_terms"),
    (Field::Code, "weight_code"),
];

/// What a name sets at once, by [`crate::Database::set`] of `chunk_preset`: sections and passages of 1,024 and 256
/// tokens with a fifth repeated, or of 2,048 and 512 with 50 tokens repeated.
const CHUNK_PRESETS: [(&str, [(&str, &str); 3]); 2] = [
    (
        "default",
        [
            ("chunk_parent_tokens", "1024"),
            ("chunk_child_tokens", "256"),
            ("chunk_overlap", "0.2"),
        ],
    ),
    (
        "large",
        [
            ("chunk_parent_tokens", "2048"),
            ("chunk_child_tokens", "512"),
            ("chunk_overlap", "0.09765625"),
        ],
    ),
];

/// Which embedder a store uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedderChoice {
    /// Latent semantic analysis, fitted on the store's own text.
    #[default]
    Builtin,
    /// The model in the folder that the setting `model` names.
    Folder,
    /// None: text and graph only, or vectors that the caller brings.
    None,
}

/// How a search makes the lists of its arms one, unless it says so itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FusionChoice {
    /// Shares of scores that the store measured on its own sentences.
    #[default]
    Calibrated,
    /// Reciprocal ranks, all arms alike, with the constant `rrf_k`.
    Rrf,
}

/// Every setting with its value in this store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Which embedder the store uses.
    pub embedder: EmbedderChoice,
    /// The folder of a model, `model.onnx` and `tokenizer.json`, where the embedder is `folder`.
    pub model: String,
    /// Which chunks an ingest embeds when it is not told.
    pub embed_levels: EmbedLevels,
    /// Language of documents that do not state theirs and are too short to tell: an ISO 639 code; `auto` for
    /// none, which counts as English.
    pub language: String,
    /// How often a word of the title counts where one of the body counts once, 1..=15.
    pub weight_title: u8,
    /// As `weight_title`, for headings.
    pub weight_headings: u8,
    /// As `weight_title`, for key terms: they count so beside the body that they stand in.
    pub weight_key_terms: u8,
    /// As `weight_title`, for chunks of code.
    pub weight_code: u8,
    /// Target size of a section chunk, in tokens.
    pub chunk_parent_tokens: u32,
    /// Target size of a passage chunk, in tokens.
    pub chunk_child_tokens: u32,
    /// Share of a passage that the next one repeats, 0..=0.5.
    pub chunk_overlap: f32,
    /// Concepts extracted from a chunk at most; dates beside them, half as many.
    pub entities_per_chunk: u32,
    /// Relations extracted from a chunk at most.
    pub relations_per_chunk: u32,
    /// Types of concepts of a collection that consolidation keeps at most.
    pub types_per_corpus: u32,
    /// The least share of a collection's concepts that a type must have to be kept, 0..=1.
    pub type_share_min: f32,
    /// How the lists of a search's arms become one.
    pub fusion: FusionChoice,
    /// The constant k of reciprocal rank fusion: at least 1.
    pub rrf_k: f32,
    /// Hops of a walk from the question's concepts, 1..=3.
    pub hops: u32,
    /// Concepts that a walk returns at most.
    pub neighbours: u32,
    /// Concepts recognised in a question at most.
    pub query_concepts: u32,
    /// Tokens of an assembled context at most.
    pub context_tokens: u32,
    /// Damping of PageRank, 0..1.
    pub pagerank_damping: f32,
    /// Iterations of PageRank.
    pub pagerank_iterations: u32,
    /// Seed of everything that draws random numbers.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            embedder: EmbedderChoice::Builtin,
            model: String::new(),
            embed_levels: EmbedLevels::All,
            language: LANGUAGE_AUTO.into(),
            weight_title: 1,
            weight_headings: 1,
            weight_key_terms: 1,
            weight_code: 1,
            chunk_parent_tokens: 1024,
            chunk_child_tokens: 256,
            chunk_overlap: 0.2,
            entities_per_chunk: 10,
            relations_per_chunk: 7,
            types_per_corpus: 12,
            type_share_min: 0.01,
            fusion: FusionChoice::Calibrated,
            rrf_k: 60.0,
            hops: 2,
            neighbours: 20,
            query_concepts: 10,
            context_tokens: 4000,
            pagerank_damping: 0.85,
            pagerank_iterations: 20,
            seed: 42,
        }
    }
}

impl Settings {
    /// `request` with what these settings say of searches, in the place of what it says itself: how far walks go,
    /// how many concepts are recognised, how arms are fused. A request with a fusion of its own keeps it.
    pub fn over(&self, request: SearchRequest) -> SearchRequest {
        let fusion = match self.fusion {
            FusionChoice::Calibrated => None,
            FusionChoice::Rrf => Some(Fusion::Rrf(RankWeights {
                k: self.rrf_k,
                ..RankWeights::default()
            })),
        };
        SearchRequest {
            hops: self.hops as usize,
            neighbours: self.neighbours as usize,
            query_concepts: self.query_concepts as usize,
            fusion: request.fusion.or(fusion),
            ..request
        }
    }

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
        let wrong =
            |why: &dyn Display| StoreError::Invalid(format!("settings of the store: {why}"));
        let settings: Settings =
            serde_json::from_value(Value::Object(map)).map_err(|why| wrong(&why))?;
        settings.check().map_err(|why| wrong(&why))?;
        Ok(settings)
    }

    /// ISO 639-3 of the language that a document with this text is in, by the setting of the store.
    pub(crate) fn language_of(rows: &dyn Rows, text: &str) -> Result<Option<String>, StoreError> {
        let json = rows.get(Table::Settings, b"language")?;
        let set: Option<String> = json.and_then(|json| serde_json::from_slice(&json).ok());
        let set = set.filter(|language| language != LANGUAGE_AUTO);
        let code = detect(text).or_else(|| language_code(&set?));
        Ok(code.map(str::to_owned))
    }

    /// How often words of each field count.
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

    /// The settings that a preset of chunk sizes changes.
    ///
    /// # Errors
    /// [`Error::Setting`] where there is no such preset.
    pub fn chunk_preset(name: &str) -> Result<[(&'static str, &'static str); 3], Error> {
        let named = CHUNK_PRESETS.iter().find(|preset| preset.0 == name);
        let preset = named.ok_or_else(|| {
            Error::Setting(format!(
                "chunk_preset: {name:?} is neither default nor large"
            ))
        })?;
        Ok(preset.1)
    }

    /// Names and values, sorted by name.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map.into_iter().map(|(k, v)| (k, shorten(v))).collect(),
            _ => Map::new(),
        }
    }

    /// These settings with one changed; `embedder` and `model` change each other, and `chunk_preset` (`default`, `large`)
    /// all sizes of chunks. `value` is JSON, or a bare word for a string.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown name or a value that the setting does not allow.
    pub fn with(&self, name: &str, value: &str) -> Result<Settings, Error> {
        let mut map = self.to_map();
        if name == "chunk_preset" {
            for (name, value) in Self::chunk_preset(value)? {
                map.insert(name.into(), parsed(value));
            }
            return Self::of_map(name, map);
        }
        if !map.contains_key(name) {
            let names: Vec<&str> = map.keys().map(String::as_str).collect();
            return Err(Error::Setting(format!(
                "there is no setting {name:?}; there are {}",
                names.join(", ")
            )));
        }
        map.insert(name.into(), parsed(value));
        match (name, map["model"] == "", map["embedder"] == "folder") {
            ("model", false, _) => drop(map.insert("embedder".into(), "folder".into())),
            ("model", true, true) => drop(map.insert("embedder".into(), "builtin".into())),
            ("embedder", _, false) => drop(map.insert("model".into(), "".into())),
            _ => {}
        }
        Self::of_map(name, map)
    }

    fn of_map(changed: &str, map: Map<String, Value>) -> Result<Settings, Error> {
        let wrong = |why: serde_json::Error| Error::Setting(format!("{changed}: {why}"));
        let settings: Settings = serde_json::from_value(Value::Object(map)).map_err(wrong)?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), Error> {
        let rules = [
            (
                "embedder",
                self.embedder != EmbedderChoice::Folder || !self.model.is_empty(),
                "builtin or none where there is no model; `model` names the folder of one, and chooses it",
            ),
            (
                "language",
                self.language == LANGUAGE_AUTO || language_code(&self.language).is_some(),
                "auto, or an ISO 639 code such as eng or de",
            ),
            (
                "chunk_parent_tokens",
                (64..=32_768).contains(&self.chunk_parent_tokens),
                "64..32768",
            ),
            (
                "chunk_child_tokens",
                (16..=8_192).contains(&self.chunk_child_tokens),
                "16..8192",
            ),
            (
                "chunk_child_tokens",
                self.chunk_child_tokens <= self.chunk_parent_tokens,
                "at most chunk_parent_tokens",
            ),
            (
                "chunk_overlap",
                (0.0..=0.5).contains(&self.chunk_overlap),
                "0..0.5",
            ),
            (
                "entities_per_chunk",
                self.entities_per_chunk <= 1000,
                "0..1000",
            ),
            (
                "relations_per_chunk",
                self.relations_per_chunk <= 1000,
                "0..1000",
            ),
            (
                "types_per_corpus",
                (1..=1000).contains(&self.types_per_corpus),
                "1..1000",
            ),
            (
                "type_share_min",
                (0.0..=1.0).contains(&self.type_share_min),
                "0..1",
            ),
            (
                "rrf_k",
                self.rrf_k >= 1.0 && self.rrf_k.is_finite(),
                "at least 1",
            ),
            ("hops", (1..=3).contains(&self.hops), "1..3"),
            (
                "neighbours",
                (1..=10_000).contains(&self.neighbours),
                "1..10000",
            ),
            (
                "query_concepts",
                (1..=1000).contains(&self.query_concepts),
                "1..1000",
            ),
            (
                "context_tokens",
                (1..=1_000_000).contains(&self.context_tokens),
                "1..1000000",
            ),
            (
                "pagerank_damping",
                (0.0..1.0).contains(&self.pagerank_damping),
                "0 up to below 1",
            ),
            (
                "pagerank_iterations",
                (1..=1000).contains(&self.pagerank_iterations),
                "1..1000",
            ),
        ];
        let weights = [
            ("weight_title", self.weight_title),
            ("weight_headings", self.weight_headings),
            ("weight_key_terms", self.weight_key_terms),
            ("weight_code", self.weight_code),
        ];
        let of_weights = weights.map(|(name, weight)| (name, (1..=15).contains(&weight), "1..15"));
        let mut rules = rules.into_iter().chain(of_weights);
        match rules.find(|rule| !rule.1) {
            Some((name, _, allowed)) => Err(Error::Setting(format!("{name} must be {allowed}"))),
            None => Ok(()),
        }
    }
}

/// JSON, or a bare word as a string.
fn parsed(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()))
}

/// An f32 such as 0.2 as people write it, not as the f64 nearest to it.
fn shorten(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() => {
            let short: f64 = (number as f32).to_string().parse().unwrap_or(number);
            serde_json::Number::from_f64(short).map_or(value, Value::Number)
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use loci_storage::rows::{Value as Row, Visit, sealed};

    use super::*;

    /// Rows of a store that has this setting alone.
    struct One(&'static str, &'static str);

    impl Rows for One {
        fn get(&self, _: Table, _: &[u8]) -> Result<Option<Row<'_>>, StoreError> {
            Ok(None)
        }

        fn scan(
            &self,
            table: Table,
            _: &[u8],
            _: Option<&[u8]>,
            visit: &mut Visit<'_>,
        ) -> Result<(), StoreError> {
            let key = self.0.as_bytes();
            let row = sealed(table, key, self.1.as_bytes());
            visit(key, &Row::open(table, key, &row)?).map(drop)
        }
    }

    #[test]
    fn invalid_stored_value_is_an_error_and_unknown_name_is_ignored() {
        assert_eq!(Settings::read(&One("hops", "3")).unwrap().hops, 3);
        assert_eq!(
            Settings::read(&One("hop", "9")).unwrap(),
            Settings::default()
        );
        for (name, value) in [
            ("hops", "4"),
            ("chunk_child_tokens", "0"),
            ("rrf_k", "\"k\""),
        ] {
            let error = Settings::read(&One(name, value)).unwrap_err().to_string();
            assert!(error.contains("settings of the store"), "{name}: {error}");
        }
    }

    #[test]
    fn rrf_setting_applies_to_requests_without_fusion() {
        let settings = Settings::default().with("fusion", "rrf").unwrap();
        let settings = settings.with("rrf_k", "7").unwrap();
        let plain = SearchRequest::new("q");
        assert_eq!(Settings::default().over(plain.clone()).fusion, None);
        let over = settings.over(plain.clone());
        assert!(matches!(over.fusion, Some(Fusion::Rrf(weights)) if weights.k == 7.0));
        let own = SearchRequest {
            fusion: Some(Fusion::default()),
            ..plain
        };
        assert_eq!(settings.over(own).fusion, Some(Fusion::default()));
        assert!(Settings::default().with("fusion", "none").is_err());
    }

    #[test]
    fn a_setting_is_changed_by_name() {
        let settings = Settings::default();
        assert_eq!(settings.with("hops", "3").unwrap().hops, 3);
        assert_eq!(
            settings.with("embedder", "none").unwrap().embedder,
            EmbedderChoice::None
        );
        assert_eq!(settings.to_map()["chunk_overlap"].to_string(), "0.2");
        let with_model = settings.with("model", "/models/minilm").unwrap();
        assert_eq!(with_model.embedder, EmbedderChoice::Folder);
        for (name, value) in [("model", ""), ("embedder", "builtin")] {
            let without = with_model.with(name, value).unwrap();
            assert_eq!(without.embedder, EmbedderChoice::Builtin, "{name}");
            assert_eq!(without.model, "", "{name}");
        }
    }

    #[test]
    fn chunk_preset_overwrites_all_chunk_sizes() {
        let own = Settings::default();
        let own = own.with("chunk_parent_tokens", "9000").unwrap();
        let own = own.with("chunk_child_tokens", "8000").unwrap();
        let large = own.with("chunk_preset", "large").unwrap();
        assert_eq!(
            (large.chunk_parent_tokens, large.chunk_child_tokens),
            (2048, 512)
        );
        assert_eq!((large.chunk_overlap * 512.0).round() as u32, 50);
        assert_eq!(
            own.with("chunk_preset", "default").unwrap(),
            Settings::default()
        );
        let error = own.with("chunk_preset", "huge").unwrap_err().to_string();
        assert!(error.contains("default nor large"), "{error}");
    }

    #[test]
    fn invalid_setting_error_lists_allowed_values() {
        let cases = [
            ("hop", "3", "there are chunk_child_tokens"),
            ("hops", "4", "1..3"),
            ("hops", "two", "hops"),
            ("embedder", "minilm", "embedder"),
            ("embedder", "folder", "model"),
            ("language", "klingon", "ISO 639"),
            ("chunk_child_tokens", "2000", "at most chunk_parent_tokens"),
        ];
        for (name, value, says) in cases {
            let error = Settings::default()
                .with(name, value)
                .unwrap_err()
                .to_string();
            assert!(error.contains(says), "{name} = {value}: {error}");
        }
    }
}
