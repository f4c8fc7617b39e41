//! One question over one view: analyse, filter, run the arms, fuse, fetch, climb, cite, assemble.
//!
//! Always true: everything in an answer is of one generation; redb is read only for the chunks
//! that are returned, their parents and the concepts that are named.
//!
//! Start reading at [`Searcher::search`].

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Instant;

use loci_graph::{GraphView, HopOptions, How, Link, Reached};
use loci_index::analysis::{Analyzer, Language, untagged};
use loci_index::text::{Highlighter, TextQuery, TextScratch, Unknown};
use loci_index::vector::VectorScratch;
use loci_storage::records::{ChunkRecord, DocumentRecord};
use loci_storage::rows::missing;
use loci_storage::segment::Section;
use loci_storage::staging::indexed_text;
use loci_storage::{ConceptId, DocumentId, Ordinal, Rows, Scored, StoreError, Table, keys};
use parking_lot::Mutex;

use crate::answer::{
    Answer, ConceptHit, ConceptSource, Hit, Methods, ParentHit, RelationHit, Suggestion,
};
use crate::arms::{GraphFound, Run};
use crate::cite::{chunk_key, cite, name};
use crate::context::{Context, Extent, Passage, assemble};
use crate::error::QueryError;
use crate::fuse::{Accumulator, Arms, Fused, Fusion, Mixture, candidates_for};
use crate::intent::intent;
use crate::request::{SearchRequest, Strategy};
use crate::tokens;
use crate::view::ReadView;

/// Words of a question that are searched; the rest of a longer one is left out.
const QUESTION_TERMS_MAX: usize = 1024;
/// Relations that an answer names at most.
const RELATIONS_MAX: usize = 20;

/// Answers questions. Holds scratch that is used again; share one between threads.
#[derive(Default)]
pub struct Searcher {
    pool: Mutex<Vec<Scratch>>,
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Searcher")
    }
}

#[derive(Default)]
struct Scratch {
    analyzer: Analyzer,
    text: TextScratch,
    vector: VectorScratch,
    fused: Accumulator,
}

impl Searcher {
    /// Answers `request` over `view`.
    ///
    /// # Errors
    /// [`QueryError::NoVector`] when the vector strategy has no vector to go by;
    /// [`QueryError::Vector`] for one of another dimension or with a number that is not finite; the other
    /// variants when an index cannot be read.
    pub fn search(&self, view: &ReadView, request: &SearchRequest) -> Result<Answer, QueryError> {
        let mut scratch = self.pool.lock().pop().unwrap_or_default();
        let answer = match request.level_limits.is_empty() {
            true => answer(view, request, &mut scratch),
            false => answer_by_level(view, request, &mut scratch),
        };
        self.pool.lock().push(scratch);
        answer
    }
}

/// Answers level by level, each with its own limit, and ranks what was found by score.
fn answer_by_level(
    view: &ReadView,
    request: &SearchRequest,
    scratch: &mut Scratch,
) -> Result<Answer, QueryError> {
    let started = Instant::now();
    let mut whole: Option<Answer> = None;
    for &(level, k) in &request.level_limits {
        let of_level = SearchRequest {
            k,
            levels: vec![level],
            level_limits: Vec::new(),
            context_tokens: None,
            ..request.clone()
        };
        let found = answer(view, &of_level, scratch)?;
        whole = Some(match whole {
            None => found,
            Some(mut whole) => {
                whole.hits.extend(found.hits);
                let known = |why: &String| whole.partial.contains(why);
                let more: Vec<String> = found
                    .partial
                    .into_iter()
                    .filter(|why| !known(why))
                    .collect();
                whole.partial.extend(more);
                whole.explain = whole
                    .explain
                    .zip(found.explain)
                    .map(|(a, b)| [a, b].concat());
                whole
            }
        });
    }
    let mut whole = whole.unwrap_or_default();
    whole.hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    for (rank, hit) in (1u32..).zip(&mut whole.hits) {
        hit.rank = rank;
    }
    if let Some(budget) = request.context_tokens {
        let cited: Vec<Cited> = whole.hits.iter().cloned().map(Cited::alone).collect();
        whole.context = Some(context(&cited, budget));
    }
    whole.took_us = started.elapsed().as_micros() as u64;
    Ok(whole)
}

fn answer(
    view: &ReadView,
    request: &SearchRequest,
    scratch: &mut Scratch,
) -> Result<Answer, QueryError> {
    let started = Instant::now();
    scratch.analyzer.speak(view.languages());
    let mut run = Run::new(view, request)?;
    let segments = view.graph_segments();
    let graph = view.graph(&segments);
    let analysed = analyse(&mut run, graph, request, scratch)?;
    let candidates = candidates_for(request.k);
    let strategy = request.strategy;

    let in_language = strategy == Strategy::Text && request.syntax;
    let asked = match in_language {
        true => TextQuery::parse(&request.question)?,
        false => TextQuery::words(&request.question),
    };
    let text = match strategy {
        Strategy::Text if in_language => {
            let Scratch { analyzer, text, .. } = scratch;
            run.text_query(&asked, candidates, request.effort, analyzer, text)?
        }
        Strategy::Text | Strategy::Hybrid => run.text(
            (&analysed.terms, &analysed.words),
            candidates,
            request.effort,
            &mut scratch.text,
        )?,
        Strategy::Vector | Strategy::Graph => Vec::new(),
    };
    let vector = match (strategy.uses_vectors(), &request.vector) {
        (true, Some(query)) => {
            run.vector(query, candidates, request.effort, &mut scratch.vector)?
        }
        (true, None) if strategy == Strategy::Vector => no_vector(view)?,
        _ => Vec::new(),
    };
    let found = match strategy {
        Strategy::Graph | Strategy::Hybrid => {
            let hops = HopOptions {
                hops: request.hops,
                limit: request.neighbours,
                ..HopOptions::default()
            };
            run.graph(graph, &analysed.links, hops, candidates)?
        }
        Strategy::Text | Strategy::Vector => GraphFound::default(),
    };

    let arms = Arms {
        text: &text,
        vector: &vector,
        graph: &found.chunks,
    };
    let fusion = fusion(view, request);
    let accumulator = &mut scratch.fused;
    let count = |hits: &Vec<Fused>| hits.len() as u64;
    let fused = run.trace.step(
        "fuse",
        || Ok(accumulator.fuse(&fusion, arms).to_vec()),
        count,
    )?;

    let rows = view.snapshot().rows();
    let mut names = Names {
        rows,
        known: HashMap::new(),
    };
    let mut fetch = Fetch {
        view,
        rows,
        documents: HashMap::new(),
    };
    let mut cited = run.trace.step(
        "fetch",
        || {
            hits(
                &fused,
                request,
                &mut fetch,
                &mut names,
                graph,
                &found.reached,
            )
        },
        |hits| hits.len() as u64,
    )?;
    if request.highlights {
        highlight(&mut cited, &asked, &mut scratch.analyzer);
        scratch.analyzer.speak(view.languages());
    }
    let did_you_mean = match in_language {
        true => suggestions(
            run.unknown(&asked, &mut scratch.analyzer)?,
            &mut fetch,
            &mut scratch.analyzer,
        )?,
        false => Vec::new(),
    };
    let concepts = concept_hits(&analysed.links, &mut names)?;
    let relations = relations(graph, &found.reached, &mut names)?;
    let sections = |context: &Context| context.sections.len() as u64;
    let context = request
        .context_tokens
        .map(|budget| {
            run.trace
                .step("assemble", || Ok(context(&cited, budget)), sections)
        })
        .transpose()?;
    Ok(Answer {
        question: request.question.clone(),
        strategy: strategy.name().into(),
        intent: intent(&request.question),
        snapshot: view.snapshot().generation(),
        hits: cited.into_iter().map(|cited| cited.hit).collect(),
        did_you_mean,
        concepts,
        relations,
        context,
        partial: partial(view, request, run.words_left_out),
        took_us: started.elapsed().as_micros() as u64,
        explain: request.explain.then_some(run.trace.steps),
        ..Answer::default()
    })
}

/// Says which characters of the hits the question asked for.
fn highlight(cited: &mut [Cited], asked: &TextQuery, analyzer: &mut Analyzer) {
    let highlighter = Highlighter::new(asked, analyzer);
    for Cited { hit, language, .. } in cited {
        analyzer.speak((*language).into());
        let spans = highlighter.spans(&hit.text, analyzer);
        let (mut at, mut chars) = (0, 0u32);
        let mut char_of = |byte: usize| {
            chars += hit.text[at..byte].chars().count() as u32;
            at = byte;
            chars
        };
        let spans = spans.into_iter();
        let spans = spans.map(|span| (char_of(span.start), char_of(span.end)));
        hit.highlights = Some(spans.collect());
    }
}

/// Unknown words with those that they may have meant, as a chunk has them.
fn suggestions(
    unknown: Vec<Unknown>,
    fetch: &mut Fetch<'_>,
    analyzer: &mut Analyzer,
) -> Result<Vec<Suggestion>, QueryError> {
    let mut all = Vec::with_capacity(unknown.len());
    for Unknown { word, term, chunk } in unknown {
        let Ok(fetched) = fetch.get(chunk) else {
            continue;
        };
        analyzer.speak(Language::of(fetched.document.language.as_deref()).into());
        let text = indexed_text(fetched.document, &fetched.chunk);
        let mut written = None;
        analyzer.for_each_token(&text, |token| {
            // Not for a part of a word, which stands for the whole.
            let (word, is_term) = (&text[token.span], token.term == term);
            if written.is_none() && is_term && word.chars().all(char::is_alphabetic) {
                written = Some(word.to_lowercase());
            }
        });
        let meant = written.unwrap_or_else(|| untagged(&term).to_owned());
        all.push(Suggestion { word, meant });
    }
    Ok(all)
}

/// The question as the arms need it.
struct Analysed {
    terms: Vec<String>,
    /// The number of the word that each term is of.
    words: Vec<u32>,
    links: Vec<Link>,
}

fn analyse(
    run: &mut Run<'_>,
    graph: GraphView<'_, Section>,
    request: &SearchRequest,
    scratch: &mut Scratch,
) -> Result<Analysed, QueryError> {
    let link = matches!(request.strategy, Strategy::Graph | Strategy::Hybrid);
    let analyzer = &mut scratch.analyzer;
    let languages = analyzer.languages().iter().count();
    let work = || {
        let (mut terms, mut words) = (Vec::new(), Vec::new());
        analyzer.for_each_token(&request.question, |token| {
            if terms.len() < QUESTION_TERMS_MAX * languages {
                terms.push(token.term.to_owned());
                words.push(token.position);
            }
        });
        let mut links = if link {
            graph.link_question(&request.question)
        } else {
            Vec::new()
        };
        // What is named as a whole comes before what is named in part.
        links.sort_by_key(|link| (link.how == How::Part, link.concept));
        let mut known = HashSet::new();
        links.retain(|link| known.insert(link.concept));
        links.truncate(request.query_concepts);
        Ok(Analysed {
            terms,
            words,
            links,
        })
    };
    run.trace
        .step("analyse", work, |analysed| analysed.terms.len() as u64)
}

/// What the vector arm alone answers to a question without a vector: nothing, when the embedder
/// knows none of its words.
fn no_vector(view: &ReadView) -> Result<Vec<Scored>, QueryError> {
    match view.snapshot().space() {
        None => Err(QueryError::NoVector("the store has no vector space yet")),
        Some(space) if space.record.builtin => Ok(Vec::new()),
        Some(_) => Err(QueryError::NoVector(
            "the store's vectors are given by the caller, so the question's must be too",
        )),
    }
}

/// What a search with all arms went without.
fn partial(view: &ReadView, request: &SearchRequest, words_left_out: usize) -> Vec<String> {
    let space = view.snapshot().space();
    let mut partial = match (space, &request.vector) {
        (Some(space), None) if request.strategy.uses_vectors() => {
            vec![match space.record.builtin {
                true => "vectors: the embedder knows no word of the question".into(),
                false => "vectors: the question has none".into(),
            }]
        }
        _ => Vec::new(),
    };
    if words_left_out > 0 {
        partial.push(format!(
            "text: for time, {words_left_out} of the question's terms not counted"
        ));
    }
    partial
}

/// The rule of this store: its calibrated share, else the default.
fn fusion(view: &ReadView, request: &SearchRequest) -> Fusion {
    if let Some(fusion) = request.fusion {
        return fusion;
    }
    let calibrated = view
        .snapshot()
        .space()
        .and_then(|space| space.record.vector_share);
    let default = Mixture::default();
    Fusion::Mixture(Mixture {
        vector_share: calibrated.unwrap_or(default.vector_share),
        ..default
    })
}

/// Names of concepts, each read once.
struct Names<'r> {
    rows: &'r dyn Rows,
    known: HashMap<ConceptId, String>,
}

impl Names<'_> {
    fn get(&mut self, id: ConceptId) -> Result<String, StoreError> {
        if let Some(name) = self.known.get(&id) {
            return Ok(name.clone());
        }
        let concept = self.rows.concept(id)?;
        let concept = concept.ok_or_else(|| missing(Table::Concepts, &keys::concept(id)))?;
        self.known.insert(id, concept.name.clone());
        Ok(concept.name)
    }

    fn all(&mut self, ids: &[ConceptId]) -> Result<Vec<String>, StoreError> {
        ids.iter().map(|&id| self.get(id)).collect()
    }
}

/// Rows of chunks, each document read once.
struct Fetch<'v> {
    view: &'v ReadView,
    rows: &'v dyn Rows,
    documents: HashMap<DocumentId, DocumentRecord>,
}

/// A chunk with its document and parent.
struct Fetched<'f> {
    document: &'f DocumentRecord,
    chunk: ChunkRecord,
    parent: Option<ChunkRecord>,
}

impl Fetch<'_> {
    fn get(&mut self, ordinal: Ordinal) -> Result<Fetched<'_>, StoreError> {
        let place = self.view.snapshot().place(ordinal).ok_or_else(|| {
            StoreError::Invalid(format!("ordinal {} is not of this view", ordinal.0))
        })?;
        let chunk = self.chunk(place.document, place.index)?;
        let parent = chunk
            .parent
            .map(|parent| self.chunk(place.document, parent))
            .transpose()?;
        let rows = self.rows;
        let document =
            match self.documents.entry(place.document) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(free) => {
                    let record = rows.document(place.document)?;
                    free.insert(record.ok_or_else(|| {
                        missing(Table::Documents, &keys::document(place.document))
                    })?)
                }
            };
        Ok(Fetched {
            document,
            chunk,
            parent,
        })
    }

    /// A chunk that a view promises.
    fn chunk(&self, document: DocumentId, index: u32) -> Result<ChunkRecord, StoreError> {
        let chunk = self.rows.chunk(document, index)?;
        chunk.ok_or_else(|| missing(Table::Chunks, &keys::in_document(document, index)))
    }
}

fn hits(
    fused: &[Fused],
    request: &SearchRequest,
    fetch: &mut Fetch<'_>,
    names: &mut Names<'_>,
    graph: GraphView<'_, Section>,
    reached: &[Reached],
) -> Result<Vec<Cited>, QueryError> {
    let mut hits = Vec::with_capacity(request.k.min(fused.len()));
    for found in fused.iter().take(request.k) {
        let path = match found.graph {
            Some(_) => names.all(path_to(graph, reached, found.ordinal))?,
            None => Vec::new(),
        };
        let rank = hits.len() as u32 + 1;
        hits.push(hit(rank, found, fetch.get(found.ordinal)?, path));
    }
    Ok(hits)
}

/// A hit with what its context needs beside it.
struct Cited {
    hit: Hit,
    /// What a reader calls the document.
    title: String,
    /// What its words were stemmed by.
    language: Language,
    /// Characters and label of the parent.
    parent: Option<((u64, u64), String)>,
}

impl Cited {
    /// A hit without its section: levels overlap, so each shows its own words only.
    fn alone(hit: Hit) -> Cited {
        let title = hit.citation.path.first().cloned().unwrap_or_default();
        Cited {
            hit,
            title,
            language: Language::ENGLISH,
            parent: None,
        }
    }
}

fn hit(rank: u32, found: &Fused, fetched: Fetched<'_>, path: Vec<String>) -> Cited {
    let Fetched {
        document,
        chunk,
        parent,
    } = fetched;
    let citation = cite(document, &chunk);
    let key = chunk_key(document, chunk.suffix);
    let place = parent
        .as_ref()
        .map(|p| (p.location.chars, cite(document, p).label));
    let parent = parent.map(|parent| ParentHit {
        chunk: chunk_key(document, parent.suffix).to_string(),
        text: parent.text,
    });
    let hit = Hit {
        rank,
        score: found.score,
        document: key.document.to_string(),
        chunk: key.to_string(),
        level: chunk.level,
        chunk_type: chunk.chunk_type,
        text: chunk.text,
        highlights: None,
        citation,
        parent,
        methods: Methods::of(found, path),
    };
    Cited {
        hit,
        title: name(document).to_owned(),
        language: Language::of(document.language.as_deref()),
        parent: place,
    }
}

/// The hits with their sections, as one text of at most `budget` tokens.
fn context(cited: &[Cited], budget: usize) -> Context {
    let passages: Vec<Passage<'_>> = cited.iter().map(passage).collect();
    assemble(&passages, budget, &|text| tokens::count(text) as usize)
}

fn passage(cited: &Cited) -> Passage<'_> {
    let hit = &cited.hit;
    let section = hit.parent.as_ref().zip(cited.parent.as_ref());
    Passage {
        rank: hit.rank,
        document: &hit.document,
        title: &cited.title,
        own: Extent {
            chunk: &hit.chunk,
            chars: hit.citation.chars,
            text: &hit.text,
            label: &hit.citation.label,
        },
        section: section.map(|(parent, (chars, label))| Extent {
            chunk: &parent.chunk,
            chars: *chars,
            text: &parent.text,
            label,
        }),
    }
}

/// The path to the first reached concept that a chunk mentions; empty when it mentions none.
fn path_to<'r>(
    graph: GraphView<'_, Section>,
    reached: &'r [Reached],
    chunk: Ordinal,
) -> &'r [ConceptId] {
    let mentioned: Vec<ConceptId> = graph.concepts(chunk).map(|(concept, _)| concept).collect();
    let first = reached
        .iter()
        .find(|reached| mentioned.binary_search(&reached.concept).is_ok());
    first.map_or(&[], |reached| &reached.path)
}

fn concept_hits(links: &[Link], names: &mut Names<'_>) -> Result<Vec<ConceptHit>, QueryError> {
    let hit = |link: &Link| {
        let name = names.get(link.concept)?;
        Ok(ConceptHit {
            name,
            score: link.share,
            how: match link.how {
                How::Part => ConceptSource::Capitalised,
                _ => ConceptSource::Dictionary,
            },
        })
    };
    links.iter().map(hit).collect()
}

/// Relations among the reached concepts, nearest first.
fn relations(
    graph: GraphView<'_, Section>,
    reached: &[Reached],
    names: &mut Names<'_>,
) -> Result<Vec<RelationHit>, QueryError> {
    let mut found = Vec::new();
    for from in reached {
        for edge in graph.edges(from.concept) {
            if !edge.outgoing || !reached.iter().any(|to| to.concept == edge.other) {
                continue;
            }
            if found.len() == RELATIONS_MAX {
                return Ok(found);
            }
            found.push(RelationHit {
                source: names.get(from.concept)?,
                kind: edge.kind.into(),
                target: names.get(edge.other)?,
            });
        }
    }
    Ok(found)
}
