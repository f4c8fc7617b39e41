//! `loci bench --task hybrid`: a store searched like a user does.
//!
//! A question is one call of [`Database::search`]: 20 candidates by words, 20 by vectors (ef 64) and 20 by two
//! hops from the question's seeds, fused by reciprocal ranks, the ten best with their texts and those of their
//! parents. The legs are measured twice, as searches of their own and as calls of the indexes below them; the
//! `call` of a line says which.
//!
//! Start reading at [`run`], then [`Asked::request`].

use std::collections::HashMap;
use std::path::Path;

use loci_index::analysis::{Analyzer, TermList};
use loci_index::text::{self, TextScratch, TextSearch};
use loci_index::vector::{self, VectorQuery, VectorScratch};
use loci_storage::records::ChunkRecord;
use loci_storage::rows::missing;
use loci_storage::segment::Layer;
use loci_storage::snapshot::ChunkPosition;
use loci_storage::{ChunkKey, ConceptId, ScoredChunk, StoreError, Table, keys};
use locidb::graph::{HopOptions, chunks_mentioning, normalise, two_hop};
use locidb::query::cite::chunk_key;
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::{
    Answer, Climb, Database, DatabaseSnapshot, Effort, NoProgress, Rerank, SearchRequest, Seeds,
    Strategy, Walk,
};
use serde_json::{Value, json};

use crate::BenchError;
use crate::clock::latency;
use crate::folder::{Folder, GivenGraph};
use crate::line::result_line;
use crate::load::{self, Concepts, Embedder, line_id};
use crate::metrics::{ndcg, recall};

/// Hits of an answer.
const K: usize = 10;
/// Candidates of each leg, and concepts of a walk.
const LEG: usize = 20;

/// What to measure, and how.
#[derive(Clone, Copy, Debug)]
pub struct HybridBench {
    /// Threads that search.
    pub threads: usize,
    /// The first so many chunks alone.
    pub limit: Option<usize>,
}

/// Measures, and calls `line` with every result.
///
/// # Errors
/// [`BenchError::MissingInput`] when `folder` has no vectors or asks no questions; any error of the database.
pub fn run(
    folder: &Path,
    bench: &HybridBench,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let workload = Workload::read(folder, bench.limit)?;
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let database = Database::open(at.path())?;
    workload.load(&database)?;
    database.wait_for_merges()?;
    let hybrid = workload.requests(&database, Strategy::Hybrid)?;
    let mut report = |result: &str, fields: Value| {
        line(&workload.result_line("hybrid", bench.threads, result, fields));
    };
    let mut fields = searches(&database, bench.threads, &hybrid)?;
    let lists = workload.lists(&database, &hybrid)?;
    workload.judge(&lists, &mut fields);
    report("hybrid", fields);
    for (leg, strategy) in [
        ("vector", Strategy::Vector),
        ("text", Strategy::Text),
        ("graph", Strategy::Graph),
    ] {
        let requests = workload.requests(&database, strategy)?;
        let mut fields = searches(&database, bench.threads, &requests)?;
        let lists = workload.lists(&database, &requests)?;
        workload.compare(leg, &lists, &mut fields);
        fields["leg"] = json!(leg);
        fields["call"] = json!("search");
        report("leg", fields);
    }
    let view = database.snapshot();
    for (leg, find) in LEGS {
        let mut fields = json!(latency(
            hybrid.len(),
            bench.threads,
            Scratch::default,
            |scratch, at| {
                // Whether it succeeds is seen where the lists are compared.
                let _ = std::hint::black_box(find(&view, &hybrid[at], scratch));
            }
        ));
        let mut scratch = Scratch::default();
        let lists = hybrid.iter().map(|request| {
            let hits = find(&view, request, &mut scratch)?;
            workload.lines(&view, &hits)
        });
        let lists = lists.collect::<Result<Vec<_>, BenchError>>()?;
        workload.compare(leg, &lists, &mut fields);
        fields["leg"] = json!(leg);
        fields["call"] = json!("index");
        report("leg", fields);
    }
    let places = workload.hit_positions(&database, &hybrid)?;
    let mut fields = json!(latency(
        places.len(),
        bench.threads,
        || (),
        |(), at| {
            let _ = std::hint::black_box(fetch(&view, &places[at]));
        }
    ));
    fields["leg"] = json!("fetch");
    fields["call"] = json!("rows");
    let texts = places.iter().map(|places| fetch(&view, places));
    let texts = texts.collect::<Result<Vec<_>, BenchError>>()?;
    let bytes = texts
        .iter()
        .flatten()
        .map(|(own, parent)| own.len() + parent.len());
    fields["text_bytes"] = json!(bytes.sum::<usize>() as f64 / texts.len().max(1) as f64);
    report("leg", fields);
    drop(view);
    database.close();
    Ok(())
}

/// A folder with its questions.
pub(crate) struct Workload {
    pub(crate) folder: Folder,
    /// Names of the concepts that each question starts from.
    seeds: Vec<Vec<String>>,
    /// The expected chunks of two hops, by line; empty if not given.
    answers: Vec<Vec<u32>>,
    /// The exact ten nearest, likewise.
    nearest: Vec<Vec<u32>>,
    /// Lines of the chunks by id.
    line_of: HashMap<String, u32>,
    /// Chunks of the folder, with those that a limit leaves out.
    pub(crate) line_count: usize,
}

impl Workload {
    /// Reads the folder at `path`, or its first `limit` chunks.
    pub(crate) fn read(path: &Path, limit: Option<usize>) -> Result<Workload, BenchError> {
        let mut folder = Folder::open(path)?;
        let (mut seeds, mut answers) = (Vec::new(), Vec::new());
        if path.join("entities.jsonl").is_file() {
            let graph = GivenGraph::open(path)?;
            answers = graph.answers;
            let names = |seeds: Vec<u32>| -> Vec<String> {
                let names = seeds
                    .iter()
                    .filter_map(|&seed| graph.names.get(seed as usize));
                names.cloned().collect()
            };
            seeds = graph.seeds.into_iter().map(names).collect();
        }
        let mut nearest = nearest(path)?;
        let line_count = folder.chunks.len();
        if let Some(limit) = limit.filter(|&limit| limit < line_count) {
            folder.truncate(limit);
            (answers, nearest) = (Vec::new(), Vec::new());
        }
        let lacks = |what: &str| {
            let why = format!("{} has no {what}", folder.path.display());
            BenchError::MissingInput(why)
        };
        if folder.queries.is_empty() {
            return Err(lacks("queries.jsonl to ask"));
        }
        if folder.chunk_vectors.is_none() || folder.query_vectors.is_none() {
            return Err(lacks("vectors.f32 and queries.f32"));
        }
        let lines = (0..).zip(&folder.chunks);
        let line_of = lines
            .map(|(line, chunk)| (chunk.id.clone(), line))
            .collect();
        Ok(Workload {
            seeds,
            answers,
            nearest,
            line_of,
            line_count,
            folder,
        })
    }

    /// Stores everything, durably; concepts are not ranked yet.
    pub(crate) fn store(&self, database: &Database) -> Result<(), BenchError> {
        let (vectors, concepts) = (Embedder::Given, Concepts::Given);
        load::store(database, &self.folder, vectors, concepts, &NoProgress).map(drop)
    }

    /// Stores everything, durably, and ranks its concepts.
    pub(crate) fn load(&self, database: &Database) -> Result<(), BenchError> {
        let (vectors, concepts) = (Embedder::Given, Concepts::Given);
        load::load(database, &self.folder, vectors, concepts, &NoProgress).map(drop)
    }

    /// The questions of the folder, as requests with `strategy`.
    pub(crate) fn requests(
        &self,
        database: &Database,
        strategy: Strategy,
    ) -> Result<Vec<SearchRequest>, BenchError> {
        let lines = 0..self.folder.queries.len();
        lines
            .map(|line| self.request(database, strategy, line))
            .collect()
    }

    /// The question at `line`.
    pub(crate) fn request(
        &self,
        database: &Database,
        strategy: Strategy,
        line: usize,
    ) -> Result<SearchRequest, BenchError> {
        let view = database.snapshot();
        let query = &self.folder.queries[line];
        let question = if query.terms.is_empty() {
            query.text.clone()
        } else {
            query.terms.join(" ")
        };
        let mut concepts = Vec::new();
        for name in self.seeds.get(line).into_iter().flatten() {
            let id = view.snapshot().rows().concept_id(&normalise(name));
            concepts.extend(id.map_err(locidb::Error::from)?);
        }
        let vectors = self.folder.query_vectors.as_ref();
        let vector = vectors.map(|vectors| vectors.get(line).to_vec());
        let is_whole = strategy == Strategy::Hybrid;
        Ok(SearchRequest {
            vector: vector.filter(|_| strategy.uses_vectors()),
            strategy,
            k: if is_whole { K } else { LEG },
            candidates: Some(LEG),
            fusion: Some(Fusion::Rrf(RankWeights::default())),
            seeds: Seeds {
                question: false,
                concepts,
                hits: 0,
            },
            walk: Walk::Hops,
            hops: Some(2),
            neighbours: Some(LEG),
            climb: if is_whole { Climb::Parent } else { Climb::None },
            concepts: false,
            effort: Effort::Ef(64),
            rerank: Rerank::NONE,
            ..SearchRequest::new(question)
        })
    }

    /// `fields` with the common fields of all lines.
    pub(crate) fn result_line(
        &self,
        task: &str,
        threads: usize,
        result: &str,
        fields: Value,
    ) -> Value {
        let (set, count) = (&self.folder.name, self.folder.chunks.len());
        result_line(task, set, threads, count, result, fields)
    }

    /// The chunks that each request finds, by line.
    fn lists(
        &self,
        database: &Database,
        requests: &[SearchRequest],
    ) -> Result<Vec<Vec<u32>>, BenchError> {
        let list = |request: &SearchRequest| {
            let answer = database.search(request)?;
            Ok(self.lines_of(&answer))
        };
        requests.iter().map(list).collect()
    }

    fn lines_of(&self, answer: &Answer) -> Vec<u32> {
        let line = |hit: &locidb::Hit| {
            let id = line_id(&self.folder, &hit.document, &hit.chunk)?;
            self.line_of.get(&id).copied()
        };
        answer.hits.iter().filter_map(line).collect()
    }

    /// The lines of what an index found.
    fn lines(&self, view: &DatabaseSnapshot, hits: &[ScoredChunk]) -> Result<Vec<u32>, BenchError> {
        let mut lines = Vec::with_capacity(hits.len());
        for hit in hits {
            let Some(place) = view.snapshot().position(hit.ordinal) else {
                continue;
            };
            let rows = view.snapshot().rows();
            let document = rows.document(place.document).map_err(locidb::Error::from)?;
            let chunk = chunk_at(view, place)?;
            let Some(document) = document else {
                continue;
            };
            let key = chunk_key(&document, chunk.suffix);
            let id = line_id(&self.folder, &key.document.to_string(), &key.to_string());
            lines.extend(id.and_then(|id| self.line_of.get(&id)));
        }
        Ok(lines)
    }

    /// Where the hits of each request lie.
    fn hit_positions(
        &self,
        database: &Database,
        requests: &[SearchRequest],
    ) -> Result<Vec<Vec<ChunkPosition>>, BenchError> {
        let view = database.snapshot();
        let rows = view.snapshot().rows();
        let places = |request: &SearchRequest| {
            let answer = database.search_in(&view, request)?;
            let place = |hit: &locidb::Hit| {
                let key: ChunkKey = hit.chunk.parse()?;
                let found = rows.find_chunk(&key)?;
                Ok::<_, StoreError>(
                    found.map(|(document, index)| ChunkPosition { document, index }),
                )
            };
            let found = answer.hits.iter().map(place);
            let found = found.collect::<Result<Vec<_>, _>>();
            Ok(found
                .map_err(locidb::Error::from)?
                .into_iter()
                .flatten()
                .collect())
        };
        requests.iter().map(places).collect()
    }

    /// Adds recall and gain at 10 over the judged questions, where there are any.
    fn judge(&self, lists: &[Vec<u32>], fields: &mut Value) {
        let (mut found, mut gain, mut judged) = (0.0, 0.0, 0usize);
        for (list, judgements) in lists.iter().zip(&self.folder.judgements) {
            if !judgements.values().any(|&gain| gain > 0.0) {
                continue;
            }
            let ids = list
                .iter()
                .map(|&line| self.folder.chunks[line as usize].id.clone());
            let ids: Vec<String> = ids.collect();
            found += recall(&ids, judgements, K);
            gain += ndcg(&ids, judgements, K);
            judged += 1;
        }
        if judged > 0 {
            fields["recall10"] = json!(found / judged as f64);
            fields["ndcg10"] = json!(gain / judged as f64);
        }
        fields["judged"] = json!(judged);
    }

    /// Adds how near the lists of a leg come to what is known to be right: for vectors the exact ten nearest,
    /// for the graph its reference, as lists that are equal and as chunks that both have; for text the judgements.
    fn compare(&self, leg: &str, lists: &[Vec<u32>], fields: &mut Value) {
        let mean = |sum: f64| sum / lists.len().max(1) as f64;
        match leg {
            "vector" if self.nearest.len() == lists.len() => {
                let pairs = lists.iter().zip(&self.nearest);
                let shares =
                    pairs.map(|(list, best)| overlap_fraction(&list[..list.len().min(K)], best));
                fields["recall10"] = json!(mean(shares.sum()));
            }
            "graph" if self.answers.len() == lists.len() => {
                let pairs = || lists.iter().zip(&self.answers);
                let same = pairs().filter(|(list, answer)| list == answer).count();
                let shares = pairs().map(|(list, answer)| overlap_fraction(list, answer));
                fields["same_as_reference"] = json!(mean(same as f64));
                fields["shared_with_reference"] = json!(mean(shares.sum()));
            }
            "text" => self.judge(lists, fields),
            _ => {}
        }
    }
}

/// The share of `right` that `found` has.
fn overlap_fraction(found: &[u32], right: &[u32]) -> f64 {
    let both = right.iter().filter(|line| found.contains(line)).count();
    match right.len() {
        0 => 1.0,
        all => both as f64 / all as f64,
    }
}

/// The rows of `gt10.i32`; none where there is no such file.
fn nearest(path: &Path) -> Result<Vec<Vec<u32>>, BenchError> {
    let file = path.join("gt10.i32");
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let bytes = std::fs::read(&file).map_err(|why| BenchError::io("gt10.i32", why))?;
    let words = bytes.chunks_exact(4);
    let words: Vec<u32> = words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    Ok(words.chunks(K).map(<[u32]>::to_vec).collect())
}

/// Latency of the requests, each a whole search.
fn searches(
    database: &Database,
    threads: usize,
    requests: &[SearchRequest],
) -> Result<Value, BenchError> {
    // Errors are returned before the clock starts.
    requests
        .iter()
        .try_for_each(|request| database.search(request).map(drop))?;
    Ok(json!(latency(
        requests.len(),
        threads,
        || (),
        |(), at| {
            let _ = std::hint::black_box(database.search(&requests[at]));
        }
    )))
}

/// The state of one thread that searches the indexes.
#[derive(Default)]
struct Scratch {
    analyzer: Analyzer,
    terms: TermList,
    text: TextScratch,
    vector: VectorScratch,
}

type Find =
    fn(&DatabaseSnapshot, &SearchRequest, &mut Scratch) -> Result<Vec<ScoredChunk>, BenchError>;

/// The indexes of passages, searched separately.
const LEGS: [(&str, Find); 3] = [
    ("vector", |view, request, scratch| {
        let query = VectorQuery {
            effort: request.effort,
            ..VectorQuery::new(request.vector.as_deref().unwrap_or_default(), LEG)
        };
        let segments = view.read_view().vectors(Layer::Leaves);
        Ok(vector::search(&segments, &query, &mut scratch.vector)?)
    }),
    ("text", |view, request, scratch| {
        scratch.analyzer.set_languages(view.read_view().languages());
        scratch
            .analyzer
            .fill_term_list(&request.question, &mut scratch.terms);
        let terms: Vec<&str> = scratch.terms.iter().collect();
        let segments = view.read_view().text(Layer::Leaves);
        Ok(text::search(
            &segments,
            &terms,
            &TextSearch::new(LEG),
            &mut scratch.text,
        )?)
    }),
    ("graph", |view, request, _| {
        Ok(walk(view, &request.seeds.concepts))
    }),
];

/// The chunks of what two hops reach.
fn walk(view: &DatabaseSnapshot, seeds: &[ConceptId]) -> Vec<ScoredChunk> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let options = HopOptions {
        limit: LEG,
        ..HopOptions::default()
    };
    let walk = two_hop(graph, seeds, options);
    let chunks = chunks_mentioning(graph, &walk.reached, None, LEG);
    chunks.into_iter().map(|found| found.hit).collect()
}

/// A chunk that a view promises.
fn chunk_at(view: &DatabaseSnapshot, place: ChunkPosition) -> Result<ChunkRecord, locidb::Error> {
    let chunk = view.snapshot().rows().chunk(place.document, place.index)?;
    let key = keys::document_entry(place.document, place.index);
    Ok(chunk.ok_or_else(|| missing(Table::Chunks, &key))?)
}

/// The texts of chunks and of their parents.
fn fetch(
    view: &DatabaseSnapshot,
    places: &[ChunkPosition],
) -> Result<Vec<(String, String)>, BenchError> {
    let mut texts = Vec::with_capacity(places.len());
    for &place in places {
        let chunk = chunk_at(view, place)?;
        let parent = match chunk.parent {
            Some(index) => chunk_at(view, ChunkPosition { index, ..place })?.text,
            None => String::new(),
        };
        texts.push((chunk.text, parent));
    }
    Ok(texts)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;

    /// A folder of twelve chunks in four parents, a concept each; every question is the title of a chunk.
    pub(crate) fn small_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        let words = ["amber", "birch", "coral", "delta", "ember", "fjord"];
        let words = [
            words,
            ["gorse", "heath", "islet", "jetty", "knoll", "larch"],
        ]
        .concat();
        let lines = |line: &dyn Fn(usize) -> String| (0..12).map(|n| line(n) + "\n").collect();
        put(
            "chunks.jsonl",
            lines(&|n| {
                let (word, next) = (words[n], words[(n + 1) % 12]);
                json!({"id": format!("c{n}"), "title": word, "parent": n / 3,
                    "text": format!("The {word} lies beside the {next}.")})
                .to_string()
            }),
        );
        let parent = |n: usize| json!({"text": format!("Section {n}")}).to_string() + "\n";
        put("parents.jsonl", (0..4).map(parent).collect());
        put(
            "entities.jsonl",
            lines(&|n| json!({"name": words[n]}).to_string()),
        );
        put("mentions.tsv", lines(&|n| format!("{n}\t{n}")));
        put(
            "relations.tsv",
            lines(&|n| format!("{n}\t{}\t1", (n + 1) % 12)),
        );
        put(
            "queries.jsonl",
            lines(&|n| {
                json!({"id": format!("q{n}"), "text": format!("Where is the {}?", words[n]),
                    "terms": ["where", "is", "the", words[n]], "seeds": [n]})
                .to_string()
            }),
        );
        put("qrels.tsv", lines(&|n| format!("{n}\t{n}\t1")));
        put("meta.json", json!({"k_leg": 20}).to_string());
        let axis = |n: usize| (0..12).map(move |at| f32::from(u8::from(at == n)));
        let axes: Vec<u8> = (0..12).flat_map(axis).flat_map(f32::to_le_bytes).collect();
        fs::write(folder.path().join("vectors.f32"), &axes).unwrap();
        fs::write(folder.path().join("queries.f32"), &axes).unwrap();
        folder
    }

    fn lines_of(limit: Option<usize>) -> Vec<Value> {
        let folder = small_folder();
        let bench = HybridBench { threads: 2, limit };
        let mut lines = Vec::new();
        run(folder.path(), &bench, |line| lines.push(line.clone())).unwrap();
        lines
    }

    #[test]
    fn a_store_is_asked_whole_and_leg_by_leg() {
        let lines = lines_of(None);
        let results: Vec<String> = lines
            .iter()
            .map(|line| {
                let part = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
                [part("result"), part("leg"), part("call")].join(" ")
            })
            .collect();
        let legs = ["vector", "text", "graph"];
        let mut want = vec!["hybrid - -".to_owned()];
        want.extend(legs.map(|leg| format!("leg {leg} search")));
        want.extend(legs.map(|leg| format!("leg {leg} index")));
        want.push("leg fetch rows".into());
        assert_eq!(results, want);
        assert_eq!(lines[0]["recall10"], 1.0);
        assert_eq!(lines[0]["samples"], 12);
        for line in &lines {
            assert!(line["p50_ms"].as_f64().unwrap() > 0.0, "{line}");
            assert_eq!((&line["threads"], &line["n"]), (&json!(2), &json!(12)));
        }
    }

    #[test]
    fn a_limit_leaves_the_first_chunks_and_what_is_asked_of_them() {
        let lines = lines_of(Some(6));
        assert_eq!(lines[0]["n"], 6);
        assert_eq!(
            (&lines[0]["judged"], &lines[0]["recall10"]),
            (&json!(6), &json!(1.0))
        );
    }

    #[test]
    fn seeds_are_found_by_name_and_walked_from() {
        let folder = small_folder();
        let workload = Workload::read(folder.path(), None).unwrap();
        let at = tempfile::tempdir().unwrap();
        let database = Database::open(at.path()).unwrap();
        workload.load(&database).unwrap();
        let request = workload.request(&database, Strategy::Hybrid, 4).unwrap();
        assert_eq!(request.question, "where is the ember");
        let view = database.snapshot();
        let hits = walk(&view, &request.seeds.concepts);
        // Its own chunk, those a link away by rank, then those two links away.
        let mut lines = workload.lines(&view, &hits).unwrap();
        assert_eq!(lines.remove(0), 4);
        lines.sort_unstable();
        assert_eq!(lines, [2, 3, 5, 6]);
    }

    #[test]
    fn a_folder_without_vectors_says_so() {
        let folder = small_folder();
        fs::remove_file(folder.path().join("vectors.f32")).unwrap();
        let error = Workload::read(folder.path(), None).map(drop).unwrap_err();
        assert!(error.to_string().contains("vectors.f32"), "{error}");
    }
}
