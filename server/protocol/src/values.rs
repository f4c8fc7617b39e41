//! The encodings of the library's types: what a request, an answer and a document are on the wire.
//!
//! The order of fields here is the order of bytes there, and the same as in `docs/protocol.md`. What is asked for seldom
//! and read by people goes as JSON within a string ([`Json`]).

use std::fmt::Display;
use std::str::FromStr;

use loci_types::answer::{
    Answer, AnswerText, ArmScores, Citation, CommunityHit, ConceptHit, ConceptSource, Context,
    ContextSection, Critique, ExplainStep, GraphArmScore, Hit, Method, Operator, ParentHit, Part,
    PartKind, PartialReason, Prompt, RelationHit, Suggestion, Verdict,
};
use loci_types::document::{
    NewAsset, NewChunk, NewCitation, NewClaim, NewConcept, NewDocument, NewItem, NewReference,
    NewRelation,
};
use loci_types::filter::Expr;
use loci_types::ids::{ConceptId, ItemId};
use loci_types::keys::{ChunkKey, DocumentKey};
use loci_types::records::{
    self, ChunkRecord, ChunkType, ContentType, Difficulty, DocumentRecord, EmbedLevels, Feedback,
    FileType, ItemType, Level, Location, PageBox, PropositionType, RetrievalMode, ReviewState,
    SectionType, SentenceType,
};
use loci_types::search::{
    Climb, Effort, Fusion, Intent, Mixture, RankWeights, Rerank, ScoreWeights, SearchRequest,
    Seeds, Strategy, Walk,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::{DecodeError, EncodeError, Sink, Source, Wire, wire_enum, wire_struct, wrong};

/// A value that goes as the JSON of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Json<T = serde_json::Value>(pub T);

impl<T: Serialize + DeserializeOwned> Wire for Json<T> {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        let json = serde_json::to_string(&self.0);
        json.map_err(|error| EncodeError(error.to_string()))?
            .put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        let json = serde_json::from_str(&String::take(from)?);
        json.map(Json).map_err(|error| wrong(error.to_string()))
    }
}

/// Writes a value as it is printed.
fn put_text(value: &impl Display, to: &mut Sink) -> Result<(), EncodeError> {
    value.to_string().put(to)
}

/// Reads a value that is printed.
fn take_text<T: FromStr<Err: Display>>(from: &mut Source<'_>) -> Result<T, DecodeError> {
    let text = String::take(from)?;
    text.parse()
        .map_err(|error: T::Err| wrong(error.to_string()))
}

/// What goes as it is printed.
macro_rules! as_text {
    ($($of:ty)*) => {$(
        impl Wire for $of {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                put_text(self, to)
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                take_text(from)
            }
        }
    )*};
}

as_text! { Expr Effort DocumentKey ChunkKey PartialReason }

/// What goes as the number that rows have for it.
macro_rules! by_number {
    ($($of:ty)*) => {$(
        impl Wire for $of {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                (*self as u8).put(to)
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                let number = u8::take(from)?;
                <$of>::from_number(number)
                    .ok_or_else(|| wrong(format!("{} has no variant {number}", stringify!($of))))
            }
        }
    )*};
}

by_number! {
    Level ContentType ChunkType SectionType SentenceType PropositionType FileType RetrievalMode
    EmbedLevels records::Intent ItemType Difficulty Feedback
}

/// What goes as the number within it.
macro_rules! as_number {
    ($($of:ident)*) => {$(
        impl Wire for $of {
            fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
                self.0.put(to)
            }

            fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
                Wire::take(from).map($of)
            }
        }
    )*};
}

as_number! { ConceptId ItemId }

wire_enum! {
    Strategy { 0 => Auto, 1 => Hybrid, 2 => Staged, 3 => Global, 4 => Text, 5 => Vector, 6 => Graph }
    Walk { 0 => Restart, 1 => Hops }
    Climb { 0 => Document, 1 => Parent, 2 => FullDoc, 3 => None }
    Intent { 0 => Concept, 1 => Example, 2 => Question, 3 => Mixed }
    ConceptSource { 0 => Dictionary, 1 => Capitalised, 2 => Vector, 3 => Hits }
    Verdict { 0 => Sufficient, 1 => Partial, 2 => Insufficient }
    PartKind { 0 => Word, 1 => Concept }
    Fusion { 0 => Mixture(mixture), 1 => Rrf(weights), 2 => Scores(weights) }
}

wire_struct! {
    Mixture { vector_share, graph_weight, graph_trust, graph_k, graph_agreement, graph_coverage }
    RankWeights { k, text, vector, graph }
    ScoreWeights { text, vector, graph }
    Seeds { question, concepts, hits }
    Rerank { types, confidence, citations, cited }
    SearchRequest {
        question, vector, k, level_limits, levels, strategy, filter, intent, context_tokens, climb, fusion, candidates,
        seeds, walk, query_concepts or SearchRequest::QUERY_CONCEPTS, concept_similarity_min, hops or SearchRequest::HOPS,
        neighbours or SearchRequest::NEIGHBOURS, rerank, diversity, stages, communities, answer, critic, concepts, syntax, highlights, effort, explain,
    }
    Citation { label, path, page, pages, slide, timestamp, lines, chars, boxes, link }
    PageBox { page, x0, y0, x1, y1 }
    Method { rank, score }
    GraphArmScore { rank, score, path }
    ArmScores { text, vector, graph }
    ParentHit { chunk, text }
    Hit { rank, score, chunk, document, level, chunk_type, text, highlights, citation, parent, methods }
    Suggestion { word, meant }
    ConceptHit { name, score, how }
    RelationHit { source, kind, target }
    CommunityHit { id, level, digest }
    AnswerText { text, citations }
    ExplainStep { operator, candidates, took_us, detail }
    Part { name, kind, weight, hits }
    Critique { score, verdict, parts, missing }
    ContextSection { document, title, chunk, label, text, hits, highlights }
    Context { tokens, text, sections }
    Answer {
        question, strategy, why, intent, snapshot, took_us, hits, did_you_mean, concepts, relations, communities, answer,
        critique, partial, context, explain, plan, response,
    }
    Prompt { text, tokens, citations }
}

/// A step of a plan goes as JSON: it is read by people.
impl Wire for Operator {
    fn put(&self, to: &mut Sink) -> Result<(), EncodeError> {
        Json(self.clone()).put(to)
    }

    fn take(from: &mut Source<'_>) -> Result<Self, DecodeError> {
        Json::take(from).map(|json| json.0)
    }
}

wire_struct! {
    DocumentRecord {
        user, collection, key, filename, address, title, year, venue, doi, authors, file_type, language, category, topics,
        difficulty, prerequisites, learning_outcomes, summary, ingested_at_ms, parser, content_hash, retrieval_mode, stub,
        metadata, chunk_count, next_suffix, char_count, original_len, embed,
    }
    Location { chars, pages, slide, time_ms, lines, boxes }
    ChunkRecord {
        suffix, parent, subtree_end, level, content_type, chunk_type, text, heading_path, location, token_count, word_count,
        chapter_number, chapter_title, section_number, section_title, summary, keywords, key_terms, equations, figure_refs,
        has_diagrams, symbol, citation_count, confidence, metadata, content_hash, topics, related_sections, reading_time_s,
        images, section_type, sentence_type, proposition_type, entities, verifiable,
    }
    NewChunk { record, vector }
    NewConcept { name, kind, description, synonyms, mentions }
    NewRelation { source, target, kind, description, weight, chunks }
    NewReference { text, key, doi, title, authors, year, venue }
    NewCitation { chunk, reference, text, context, confidence, intent, claim, created_at_ms }
    NewClaim { chunk, about, intent, confidence, created_at_ms }
    NewAsset { name, bytes }
    NewDocument { record, original, text, chunks, concepts, relations, references, citations, claims, assets }
    ReviewState { attempts, correct, last_ms, due_ms, interval_days, ease }
    NewItem { kind, front, back, options, difficulty, chunk, concept, owner, merged_into, review }
}
