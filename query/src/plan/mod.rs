//! The plan of a search: every decision before the first operator runs. `choose` picks the strategy.
//!
//! | module | what |
//! | --- | --- |
//! | [`scope`] | how much of the store a question is about |
//! | [`intent`] | what kind of chunk a question asks for |
//! | `quotation` | whether a question is a sentence of a passage |
//!
//! A plan is plain data. It names the operators in the order in which they run, each with all of its numbers;
//! running it again over the same view gives the same answer ([`crate::Searcher::run`]), also after it was
//! stored as JSON.
//!
//! Always true: every list of operators that [`plan`] makes ends in hits; an operator that needs what the
//! store lacks (vectors, concepts) finds nothing and changes nothing.
//!
//! Start reading at [`plan`], then [`Operator`].

pub mod intent;
pub(crate) mod quotation;
pub mod scope;

use loci_index::text::TextQuery;
use loci_storage::records::Level;
pub use loci_types::answer::{Extent, Operator};
use serde::{Deserialize, Serialize};

use crate::ranking::fuse::{Fusion, Mixture, candidates_for};
use intent::{Intent, detect_intent};
use loci_types::search::{SearchRequest, Strategy, Walk};
use quotation::QuotedSentence;
use scope::{Scope, detect_scope, is_quoted};

/// What a view has that plans depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreCapabilities {
    /// Chunks that sum up a whole document.
    pub summaries: bool,
    /// Sections, slides, files: the parents of passages.
    pub sections: bool,
    /// Paragraphs that have sentences or propositions of their own.
    pub inner_paragraphs: bool,
    /// Statements or sentences.
    pub statements: bool,
    /// Digests of communities.
    pub digests: bool,
    /// An embedder that makes the vectors of questions.
    #[serde(default)]
    pub embedder: bool,
    /// How much vectors count beside text, where that was measured.
    pub vector_share: Option<f32>,
}

/// All that is decided of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What was asked.
    pub request: SearchRequest,
    /// The strategy: never [`Strategy::Auto`].
    pub strategy: Strategy,
    /// Why it is that one, where it was for the planner to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What kind of chunk the question is after.
    pub intent: Intent,
    /// How much of the store it is about, where the planner had to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What runs, in this order.
    pub operators: Vec<Operator>,
}

/// The share of its start that a walk gives to concepts of the best chunks, beside those of the question.
const SEED_HITS_WEIGHT: f32 = 0.1;
/// The best chunks that start a walk beside the question: `docs/decisions/0011-planner.md`.
const SEED_HITS: usize = 1;
/// The nearest chunks whose concepts may be those of a question that names none.
const NEAR_CHUNKS: usize = 10;
/// Communities that answer a question about everything, where the request names no number.
const COMMUNITIES: usize = 5;
/// Communities whose digests come with an answer in words.
const COMMUNITIES_FOR_ANSWER: usize = 3;

/// Plans `request` over a view that holds `holds`.
///
/// `names_concepts`: whether a question names concepts of the store; called only where the plan depends on it.
pub fn plan(
    request: SearchRequest,
    holds: &StoreCapabilities,
    names_concepts: impl Fn(&str) -> bool,
) -> Plan {
    let is_open = request.strategy == Strategy::Auto;
    let scope = is_open.then(|| detect_scope(&request.question));
    let chosen = match request.strategy {
        Strategy::Auto => choose(&request, scope.unwrap_or_default(), holds, names_concepts),
        strategy => StrategyChoice {
            strategy,
            why: None,
            levels: request.levels.clone(),
            is_phrase_query: request.syntax && strategy == Strategy::Text,
        },
    };
    let intent = request
        .intent
        .unwrap_or_else(|| detect_intent(&request.question));
    let mut planned = PlanBuilder {
        request: &request,
        capabilities: holds,
        intent,
        strategy: chosen.strategy,
        operators: Vec::new(),
    };
    planned.push_all(&chosen.levels);
    let operators = planned.operators;
    Plan {
        request: SearchRequest {
            syntax: chosen.is_phrase_query,
            ..request
        },
        strategy: chosen.strategy,
        why: chosen.why,
        intent,
        scope,
        operators,
    }
}

/// Concepts recognised in the question of `request` at most.
pub(crate) fn query_concepts(request: &SearchRequest) -> usize {
    (request.query_concepts).unwrap_or(SearchRequest::QUERY_CONCEPTS)
}

/// What the planner chose for a question.
struct StrategyChoice {
    strategy: Strategy,
    why: Option<String>,
    levels: Vec<Level>,
    /// Whether the question is read as the language of text questions.
    is_phrase_query: bool,
}

fn choose(
    request: &SearchRequest,
    scope: Scope,
    capabilities: &StoreCapabilities,
    names_concepts: impl Fn(&str) -> bool,
) -> StrategyChoice {
    let with = |strategy, levels: &[Level], why: &str| StrategyChoice {
        strategy,
        why: Some(why.to_owned()),
        levels: levels.to_vec(),
        is_phrase_query: false,
    };
    if !request.levels.is_empty() || !request.level_limits.is_empty() {
        let why = "levels were given: all arms search them";
        return with(Strategy::Hybrid, &request.levels, why);
    }
    if is_quoted(&request.question) && TextQuery::parse(&request.question).is_ok() {
        let why = "the whole question is in quotation marks: just these words are looked for";
        return StrategyChoice {
            is_phrase_query: true,
            ..with(Strategy::Text, &[], why)
        };
    }
    match scope {
        // Digests are of all chunks, so what a filter leaves is for the arms to find.
        Scope::Global
            if capabilities.digests
                && request.filter.is_none()
                && !names_concepts(&request.question) =>
        {
            with(
                Strategy::Global,
                &[],
                "it asks about everything and names no concept: digests of communities answer",
            )
        }
        Scope::Documents if capabilities.summaries => with(
            Strategy::Staged,
            &[],
            "it asks for documents: their summaries are searched first",
        ),
        Scope::Structure if capabilities.sections => with(
            Strategy::Hybrid,
            &[Level::Section],
            "it asks how documents are built: sections answer",
        ),
        Scope::Context if capabilities.inner_paragraphs => with(
            Strategy::Hybrid,
            &[Level::Paragraph, Level::Sentence, Level::Proposition],
            "it asks for something in its context: paragraphs and their sentences answer",
        ),
        Scope::Fact if capabilities.statements => with(
            Strategy::Hybrid,
            &[],
            "it asks for a fact: the finest chunks of each document answer",
        ),
        _ => with(Strategy::Hybrid, &[], "all arms that the store has, fused"),
    }
}

/// A plan in the making.
struct PlanBuilder<'r> {
    request: &'r SearchRequest,
    capabilities: &'r StoreCapabilities,
    intent: Intent,
    strategy: Strategy,
    operators: Vec<Operator>,
}

impl PlanBuilder<'_> {
    fn push_all(&mut self, levels: &[Level]) {
        let request = self.request;
        if self.needs_embedding() {
            self.operators.push(Operator::Embed);
        }
        self.operators.push(Operator::Analyse {
            link: !matches!(self.strategy, Strategy::Text | Strategy::Vector),
        });
        if request.filter.is_some() {
            self.operators.push(Operator::Filter);
        }
        match self.strategy {
            Strategy::Staged => self.push_stages(levels),
            Strategy::Global => {
                if !levels.is_empty() {
                    self.push_levels(levels);
                }
                self.operators.extend([
                    Operator::Communities {
                        keep: match request.communities {
                            0 => COMMUNITIES,
                            keep => keep,
                        },
                        all: true,
                    },
                    Operator::Take { k: request.k },
                ]);
            }
            _ => {
                if !levels.is_empty() {
                    self.push_levels(levels);
                }
                self.push_hits(None);
            }
        }
        let communities = match request.communities {
            0 if request.answer => COMMUNITIES_FOR_ANSWER,
            keep => keep,
        };
        if communities > 0 && self.strategy != Strategy::Global {
            self.operators.push(Operator::Communities {
                keep: communities,
                all: false,
            });
        }
        self.operators.push(Operator::Fetch);
        if let Some(tokens) = request.context_tokens {
            self.operators.push(Operator::Assemble { tokens });
        }
    }

    fn push_levels(&mut self, levels: &[Level]) {
        let is_choice = self.request.levels.is_empty() && self.request.level_limits.is_empty();
        self.operators.push(Operator::Within {
            levels: levels.to_vec(),
            around: None,
            others: !levels.is_empty() && is_choice,
        });
    }

    /// The hits of each limit of a level, else those of what is searched already, `at_most` of them.
    fn push_hits(&mut self, at_most: Option<usize>) {
        let request = self.request;
        let limits = &request.level_limits;
        if limits.is_empty() {
            let kept = at_most.unwrap_or(request.k);
            self.push_arms(candidates_for(kept), request.k.min(kept));
        }
        for (n, &(level, k)) in limits.iter().enumerate() {
            // A chunk is taken once, so of several limits of one level the first counts.
            if limits[..n].iter().all(|before| before.0 != level) {
                self.push_levels(&[level]);
                self.push_arms(candidates_for(k), k);
            }
        }
    }

    /// Documents, then sections within them, then the finest chunks within these, or those of `levels`.
    fn push_stages(&mut self, levels: &[Level]) {
        let (documents, sections, statements) = self.request.stages;
        let summaries = self.capabilities.summaries.then_some(Level::Summary);
        self.push_stage(summaries, Extent::Document, documents);
        let limits = self.request.level_limits.iter().map(|(level, _)| level);
        // A summary is in no section.
        if !levels
            .iter()
            .chain(limits)
            .any(|level| *level == Level::Summary)
        {
            let parents = self.capabilities.sections.then_some(Level::Section);
            self.push_stage(parents, Extent::Section, sections);
        }
        self.push_levels(levels);
        self.push_hits(Some(statements));
    }

    /// Restricts the search to the documents or sections of the best chunks of `level`; what these leave of `keep` goes to those
    /// of the best leaves, for documents that have no chunk of the level.
    fn push_stage(&mut self, level: Option<Level>, to: Extent, keep: usize) {
        let both = [level.as_slice(), &[]];
        for levels in &both[usize::from(level.is_none())..] {
            let is_last = levels.is_empty();
            self.operators.push(Operator::Within {
                levels: levels.to_vec(),
                around: Some(to),
                others: false,
            });
            self.push_arm_lists(candidates_for(keep), false);
            self.operators.push(Operator::Narrow {
                to,
                keep,
                more: !is_last,
            });
        }
    }

    /// The arms, fused and ranked, and the `k` best of them taken.
    fn push_arms(&mut self, candidates: usize, k: usize) {
        let candidates = self.request.candidates.unwrap_or(candidates);
        self.push_arm_lists(candidates, true);
        let rerank = self.request.rerank;
        if rerank.types || rerank.confidence > 0.0 || rerank.citations > 0.0 || rerank.cited > 0.0 {
            self.operators.push(Operator::Rank {
                rerank,
                intent: self.intent,
                k,
            });
        }
        if !self.request.syntax && QuotedSentence::new(&self.request.question).is_some() {
            self.operators.push(Operator::Quote);
        }
        if let Some(weight) = self.request.diversity.filter(|weight| *weight > 0.0) {
            self.operators.push(Operator::Diversify {
                weight: weight.min(1.0),
                k,
            });
        }
        self.operators.push(Operator::Take { k });
    }

    fn push_arm_lists(&mut self, k: usize, with_graph: bool) {
        let strategy = self.strategy;
        if !matches!(strategy, Strategy::Vector | Strategy::Graph) {
            self.operators.push(Operator::Text { k });
        }
        if !matches!(strategy, Strategy::Text | Strategy::Graph) {
            self.operators.push(Operator::Vector { k });
        }
        if with_graph && !matches!(strategy, Strategy::Text | Strategy::Vector) {
            let request = self.request;
            let (walk, seeds) = (request.walk, &request.seeds);
            let by_question = seeds.question && walk == Walk::Restart;
            let fused = strategy != Strategy::Graph && by_question && seeds.concepts.is_empty();
            if self.needs_near_concepts() {
                self.operators.push(Operator::Near {
                    k: query_concepts(request),
                    similarity_min: request.concept_similarity_min,
                    chunks: NEAR_CHUNKS,
                });
            }
            let (seed_hits, seed_hits_weight) = match seeds.hits {
                0 if fused => (SEED_HITS, SEED_HITS_WEIGHT),
                0 => (0, 0.0),
                hits => (hits, 0.5),
            };
            self.operators.push(Operator::Graph {
                k,
                walk,
                question: seeds.question,
                seed_hits,
                seed_hits_weight,
                hops: request.hops.unwrap_or(SearchRequest::HOPS),
                neighbours: request.neighbours.unwrap_or(SearchRequest::NEIGHBOURS),
            });
        }
        self.operators.push(Operator::Fuse {
            fusion: self.fusion(),
        });
    }

    /// Whether concepts that the question does not name are searched: where they start the graph arm alone, or are
    /// returned. Beside other arms they change no order.
    fn needs_near_concepts(&self) -> bool {
        let request = self.request;
        let starts = request.seeds.question && request.seeds.concepts.is_empty();
        let returned = request.concepts || request.communities > 0 || request.answer;
        let has_vector = request.vector.is_some() || self.capabilities.embedder;
        starts && has_vector && (returned || self.strategy == Strategy::Graph)
    }

    /// Whether the embedder makes the question's vector: the caller gave none, and some operator uses one.
    fn needs_embedding(&self) -> bool {
        let uses_vector = match self.strategy {
            Strategy::Text => false,
            Strategy::Graph => self.needs_near_concepts(),
            _ => true,
        };
        uses_vector && self.request.vector.is_none() && self.capabilities.embedder
    }

    /// The rule of the request, else the default one with what was measured of this store.
    fn fusion(&self) -> Fusion {
        if let Some(fusion) = self.request.fusion {
            return fusion;
        }
        let default = Mixture::default();
        Fusion::Mixture(Mixture {
            vector_share: self
                .capabilities
                .vector_share
                .unwrap_or(default.vector_share),
            ..default
        })
    }
}
