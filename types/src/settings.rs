//! The settings of a store: their names, values and rules.
//!
//! Start reading at [`Settings`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::records::EmbedLevels;
use crate::search::{Fusion, RankWeights, SearchRequest};
use crate::text::language_code;

/// The value for detecting the language from the text.
pub const LANGUAGE_AUTO: &str = "auto";

/// A setting is unknown, or does not allow the value. The message names what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub String);

/// What a name sets at once, by the setting `chunk_preset`: sections and passages of 1,024 and 256
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

/// How a search fuses its lists of hits by default.
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
    /// Which chunks an ingest embeds by default.
    pub embed_levels: EmbedLevels,
    /// Language of documents that do not declare theirs and are too short to detect: an ISO 639 code; `auto` for
    /// none, which counts as English.
    pub language: String,
    /// How often a word of the title counts where one of the body counts once, 1..=15.
    pub weight_title: u8,
    /// As `weight_title`, for headings.
    pub weight_headings: u8,
    /// Like `weight_title`, for key terms, in addition to their occurrences in the body.
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
    /// Types of concepts that consolidation retains per collection, at most.
    pub types_per_corpus: u32,
    /// The least share of a collection's concepts that a type must have to be retained, 0..=1.
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
            hops: SearchRequest::HOPS as u32,
            neighbours: SearchRequest::NEIGHBOURS as u32,
            query_concepts: SearchRequest::QUERY_CONCEPTS as u32,
            context_tokens: 4000,
            pagerank_damping: 0.85,
            pagerank_iterations: 20,
            seed: 42,
        }
    }
}

impl Settings {
    /// `request` with these settings where it gives no value of its own: how far walks go, how many concepts are
    /// recognised, how arms are fused. A database applies its settings to each request itself.
    pub fn over(&self, request: SearchRequest) -> SearchRequest {
        let fusion = match self.fusion {
            FusionChoice::Calibrated => None,
            FusionChoice::Rrf => Some(Fusion::Rrf(RankWeights {
                k: self.rrf_k,
                ..RankWeights::default()
            })),
        };
        SearchRequest {
            hops: request.hops.or(Some(self.hops as usize)),
            neighbours: request.neighbours.or(Some(self.neighbours as usize)),
            query_concepts: (request.query_concepts).or(Some(self.query_concepts as usize)),
            fusion: request.fusion.or(fusion),
            ..request
        }
    }

    /// The settings that a preset of chunk sizes changes.
    ///
    /// # Errors
    /// [`SettingError`] for an unknown preset.
    pub fn chunk_preset(name: &str) -> Result<[(&'static str, &'static str); 3], SettingError> {
        let named = CHUNK_PRESETS.iter().find(|preset| preset.0 == name);
        let preset = named.ok_or_else(|| {
            SettingError(format!(
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
    /// [`SettingError`] for an unknown name or a value that the setting does not allow.
    pub fn with(&self, name: &str, value: &str) -> Result<Settings, SettingError> {
        let mut map = self.to_map();
        if name == "chunk_preset" {
            for (name, value) in Self::chunk_preset(value)? {
                map.insert(name.into(), parsed(value));
            }
            return Self::from_map(name, map);
        }
        if !map.contains_key(name) {
            let names: Vec<&str> = map.keys().map(String::as_str).collect();
            return Err(SettingError(format!(
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
        Self::from_map(name, map)
    }

    fn from_map(changed: &str, map: Map<String, Value>) -> Result<Settings, SettingError> {
        let wrong = |why: serde_json::Error| SettingError(format!("{changed}: {why}"));
        let settings: Settings = serde_json::from_value(Value::Object(map)).map_err(wrong)?;
        settings.check()?;
        Ok(settings)
    }

    /// Whether every value is one that its setting allows.
    ///
    /// # Errors
    /// [`SettingError`] for the first that is not.
    pub fn check(&self) -> Result<(), SettingError> {
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
            Some((name, _, allowed)) => Err(SettingError(format!("{name} must be {allowed}"))),
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
    use super::*;

    #[test]
    fn a_store_that_wants_reciprocal_ranks_gives_them_to_requests_without_a_rule() {
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
    fn settings_apply_where_the_request_gives_no_value() {
        let settings = Settings {
            hops: 3,
            neighbours: 7,
            ..Settings::default()
        };
        let applied = settings.over(SearchRequest::new("q"));
        assert_eq!((applied.hops, applied.neighbours), (Some(3), Some(7)));
        assert_eq!(applied.query_concepts, Some(SearchRequest::QUERY_CONCEPTS));
        let request = SearchRequest {
            hops: Some(SearchRequest::HOPS),
            ..SearchRequest::new("q")
        };
        let applied = settings.over(request);
        assert_eq!((applied.hops, applied.neighbours), (Some(2), Some(7)));
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
    fn a_preset_sets_all_sizes_of_chunks_whatever_they_were() {
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
    fn wrong_names_and_values_say_what_is_allowed() {
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
