//! A prepared data folder: chunks, vectors, questions, judgements, concepts.
//!
//! Everything is read into memory and checked: line numbers point at lines that are there, vectors
//! are as many as lines. Start reading at [`Folder::open`].

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use locidb::storage::records::Intent;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::BenchError;
use crate::metrics::Judgements;

/// One chunk of the folder.
#[derive(Clone, Debug, Deserialize)]
pub struct ChunkLine {
    /// Its id in the folder.
    pub id: String,
    /// Its title, or empty.
    #[serde(default)]
    pub title: String,
    /// Its text.
    pub text: String,
    /// Line of its parent in `parents.jsonl`.
    #[serde(default)]
    pub parent: Option<usize>,
}

/// One question of the folder.
#[derive(Clone, Debug, Deserialize)]
pub struct QueryLine {
    /// Its id in the folder.
    pub id: String,
    /// The question.
    pub text: String,
    /// Its words, each once, if given.
    #[serde(default)]
    pub terms: Vec<String>,
}

/// What an extractor found in one chunk.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ExtractedLine {
    /// Id of the chunk.
    pub id: String,
    /// Names of concepts.
    #[serde(default)]
    pub entities: Vec<String>,
    /// Source, relation, target; lines that are not triples are left out.
    #[serde(default)]
    pub triples: Vec<Vec<String>>,
}

/// A citation that a chunk makes.
#[derive(Clone, Debug, Deserialize)]
pub struct CitationLine {
    /// Line of the chunk.
    pub chunk: usize,
    /// The work that it cites.
    pub reference: ReferenceLine,
    /// As it is written.
    #[serde(default)]
    pub text: String,
    /// The words around it.
    #[serde(default)]
    pub context: String,
    /// How sure it is that this work is meant, in 0..=1.
    #[serde(default)]
    pub confidence: Option<f32>,
    /// What it is for.
    #[serde(default)]
    pub intent: Intent,
    /// Whether it makes a claim about the work.
    #[serde(default)]
    pub claim: bool,
}

/// A cited work: `key` is the id of a chunk of the folder without a parent, or of any stored document.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReferenceLine {
    /// As it is written.
    pub text: String,
    /// The key of its document.
    pub key: Option<String>,
    /// Digital object identifier.
    pub doi: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Authors, in order.
    pub authors: Vec<String>,
    /// Year of publication.
    pub year: Option<i32>,
    /// Journal, conference or publisher.
    pub venue: Option<String>,
}

#[derive(Deserialize)]
struct ParentLine {
    text: String,
}

#[derive(Deserialize)]
struct EntityLine {
    name: String,
    #[serde(default)]
    pagerank: Option<f32>,
}

/// Vectors, one a line.
#[derive(Clone, Debug, Default)]
pub struct Vectors {
    /// Numbers in a vector.
    pub dim: usize,
    numbers: Vec<f32>,
}

impl Vectors {
    /// The vector of a line.
    pub fn get(&self, line: usize) -> &[f32] {
        &self.numbers[line * self.dim..(line + 1) * self.dim]
    }
}

/// A data folder, read.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Its path.
    pub path: PathBuf,
    /// Its name: the last part of the path.
    pub name: String,
    /// Chunks, by line.
    pub chunks: Vec<ChunkLine>,
    /// Texts of parents, by line; empty where there are none.
    pub parents: Vec<String>,
    /// Questions, by line.
    pub queries: Vec<QueryLine>,
    /// Vectors of the chunks, if given.
    pub chunk_vectors: Option<Vectors>,
    /// Vectors of the questions, if given.
    pub query_vectors: Option<Vectors>,
    /// Judgements by line of the question, by id of the chunk.
    pub judgements: Vec<Judgements>,
    /// What an extractor found, by line of the chunk; empty if the folder has none.
    pub extracted: Vec<ExtractedLine>,
    /// (source name, target name, weight) of relations without evidence.
    pub relations: Vec<(String, String, f32)>,
    /// Citations by line of the chunk; empty if the folder has none.
    pub citations: Vec<Vec<CitationLine>>,
}

impl Folder {
    /// Reads the folder at `path`.
    ///
    /// # Errors
    /// [`BenchError::Io`], [`BenchError::Format`] with file and line, [`BenchError::MissingInput`].
    pub fn open(path: &Path) -> Result<Folder, BenchError> {
        let chunks: Vec<ChunkLine> = match find(path, &["chunks.jsonl", "corpus.jsonl"]) {
            Some(file) => json_lines(&file)?,
            None => {
                return Err(BenchError::MissingInput(format!(
                    "{} has neither chunks.jsonl nor corpus.jsonl; give a prepared data folder",
                    path.display()
                )));
            }
        };
        let parents: Vec<ParentLine> = optional_lines(path, "parents.jsonl")?;
        let queries: Vec<QueryLine> = optional_lines(path, "queries.jsonl")?;
        let lines_are_ids = !by_line_number(path)?;
        let judgements = judgements(path, &queries, &chunks, lines_are_ids)?;
        let (extracted, relations) = concepts(path, &chunks)?;
        let citations = citations(path, chunks.len())?;
        let name = path
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into());
        Ok(Folder {
            path: path.to_path_buf(),
            name,
            chunk_vectors: vectors(path, &["vectors.f32", "corpus.f32"], chunks.len())?,
            query_vectors: vectors(path, &["queries.f32"], queries.len())?,
            parents: parents.into_iter().map(|parent| parent.text).collect(),
            chunks,
            queries,
            judgements,
            extracted,
            relations,
            citations,
        })
    }

    /// Leaves the first `limit` chunks, with what is known of them: mentions, citations, judgements. Relations
    /// stay where a chunk that is left mentions one of their ends.
    pub fn truncate(&mut self, limit: usize) {
        self.chunks.truncate(limit);
        self.extracted.truncate(limit);
        self.citations.truncate(limit);
        let mentioned: HashSet<&String> = self
            .extracted
            .iter()
            .flat_map(|line| &line.entities)
            .collect();
        self.relations
            .retain(|(source, target, _)| mentioned.contains(source) || mentioned.contains(target));
        let left: HashSet<&String> = self.chunks.iter().map(|chunk| &chunk.id).collect();
        for judged in &mut self.judgements {
            judged.retain(|id, _| left.contains(id));
        }
    }

    /// Bytes of text in the folder.
    pub fn text_len(&self) -> u64 {
        self.chunks
            .iter()
            .map(|chunk| (chunk.title.len() + chunk.text.len()) as u64)
            .sum()
    }
}

fn find(path: &Path, names: &[&str]) -> Option<PathBuf> {
    names
        .iter()
        .map(|name| path.join(name))
        .find(|file| file.is_file())
}

fn read(file: &Path) -> Result<Vec<u8>, BenchError> {
    let failed = |source| BenchError::Io {
        file: file.display().to_string(),
        source,
    };
    fs::read(file).map_err(failed)
}

fn wrong(file: &Path, line: usize, why: impl ToString) -> BenchError {
    BenchError::Format {
        file: file.display().to_string(),
        line,
        why: why.to_string(),
    }
}

fn text_lines(file: &Path) -> Result<Vec<String>, BenchError> {
    let text = String::from_utf8(read(file)?).map_err(|why| wrong(file, 1, why))?;
    Ok(text.lines().map(String::from).collect())
}

fn json_lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, BenchError> {
    let lines = text_lines(file)?;
    let parse = |(at, line): (usize, &String)| {
        serde_json::from_str(line).map_err(|why| wrong(file, at + 1, why))
    };
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(parse)
        .collect()
}

fn optional_lines<T: DeserializeOwned>(path: &Path, name: &str) -> Result<Vec<T>, BenchError> {
    let file = path.join(name);
    if file.is_file() {
        json_lines(&file)
    } else {
        Ok(Vec::new())
    }
}

/// Whether `qrels.tsv` speaks line numbers: `meta.json` then has `k_leg`.
fn by_line_number(path: &Path) -> Result<bool, BenchError> {
    let file = path.join("meta.json");
    if !file.is_file() {
        return Ok(false);
    }
    let meta: serde_json::Value =
        serde_json::from_slice(&read(&file)?).map_err(|why| wrong(&file, why.line(), &why))?;
    Ok(meta.get("k_leg").is_some())
}

fn vectors(path: &Path, names: &[&str], lines: usize) -> Result<Option<Vectors>, BenchError> {
    let Some(file) = find(path, names) else {
        return Ok(None);
    };
    let bytes = read(&file)?;
    let numbers: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    if lines == 0 || numbers.is_empty() || !numbers.len().is_multiple_of(lines) {
        return Err(wrong(
            &file,
            1,
            format!("{} numbers for {lines} lines", numbers.len()),
        ));
    }
    Ok(Some(Vectors {
        dim: numbers.len() / lines,
        numbers,
    }))
}

/// The columns of a file with a row a line, checked to be `N`.
fn columns<const N: usize>(file: &Path) -> Result<Vec<[String; N]>, BenchError> {
    let split = |(at, line): (usize, &String)| {
        let fields: Vec<String> = line.split('\t').map(|field| field.trim().into()).collect();
        let found = fields.len();
        <[String; N]>::try_from(fields).map_err(|_| {
            wrong(
                file,
                at + 1,
                format!("{found} columns where there must be {N}"),
            )
        })
    };
    let lines = text_lines(file)?;
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(split)
        .collect()
}

fn number<T: std::str::FromStr>(file: &Path, at: usize, field: &str) -> Result<T, BenchError> {
    field
        .parse()
        .map_err(|_| wrong(file, at + 1, format!("{field:?} is no number")))
}

fn line_of(file: &Path, at: usize, field: &str, lines: usize) -> Result<usize, BenchError> {
    let line: usize = number(file, at, field)?;
    if line >= lines {
        return Err(wrong(file, at + 1, format!("line {line} of {lines}")));
    }
    Ok(line)
}

fn judgements(
    path: &Path,
    queries: &[QueryLine],
    chunks: &[ChunkLine],
    lines_are_ids: bool,
) -> Result<Vec<Judgements>, BenchError> {
    let mut judgements = vec![Judgements::new(); queries.len()];
    let file = path.join("qrels.tsv");
    if !file.is_file() {
        return Ok(judgements);
    }
    let ids: HashMap<&str, usize> = (0..).zip(queries).map(|(at, q)| (&q.id[..], at)).collect();
    for (at, [query, chunk, gain]) in columns::<3>(&file)?.iter().enumerate() {
        let gain: f64 = number(&file, at, gain)?;
        if lines_are_ids {
            if let Some(&query) = ids.get(query.as_str()) {
                judgements[query].insert(chunk.clone(), gain);
            }
        } else {
            let query = line_of(&file, at, query, queries.len())?;
            let chunk = line_of(&file, at, chunk, chunks.len())?;
            judgements[query].insert(chunks[chunk].id.clone(), gain);
        }
    }
    Ok(judgements)
}

/// The graph of a folder, by line number: entities, relations and mentions, and questions.
#[derive(Clone, Debug)]
pub struct GivenGraph {
    /// The folder's name.
    pub name: String,
    /// Names of the entities, by line.
    pub names: Vec<String>,
    /// PageRank of the entities, by line; empty if not given.
    pub ranks: Vec<f32>,
    /// Entities.
    pub entity_count: usize,
    /// Chunks.
    pub chunk_count: usize,
    /// (source, target, weight).
    pub relations: Vec<(u32, u32, f32)>,
    /// (entity, chunk).
    pub mentions: Vec<(u32, u32)>,
    /// Entities that each question starts from; empty if not given.
    pub seeds: Vec<Vec<u32>>,
    /// The chunks that each question must find; empty if not given.
    pub answers: Vec<Vec<u32>>,
}

/// The part of a question for the graph.
#[derive(Deserialize)]
struct SeedsLine {
    #[serde(default)]
    seeds: Vec<u32>,
}

impl GivenGraph {
    /// Reads the graph of the folder at `path`: `entities.jsonl`, `relations.tsv`, and where they are there
    /// `mentions.tsv`, `queries.jsonl` and `graph20.jsonl`.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn open(path: &Path) -> Result<GivenGraph, BenchError> {
        let file = path.join("entities.jsonl");
        if !file.is_file() {
            let why = format!(
                "{} has no entities.jsonl and relations.tsv; peers/export.py writes them",
                path.display()
            );
            return Err(BenchError::MissingInput(why));
        }
        let entities: Vec<EntityLine> = json_lines(&file)?;
        let ranks: Option<Vec<f32>> = entities.iter().map(|entity| entity.pagerank).collect();
        let relations = relation_lines(path, entities.len())?;
        let mut mentions = Vec::new();
        let file = path.join("mentions.tsv");
        if file.is_file() {
            for (at, [entity, chunk]) in columns::<2>(&file)?.iter().enumerate() {
                let entity = line_of(&file, at, entity, entities.len())?;
                mentions.push((entity as u32, number(&file, at, chunk)?));
            }
        }
        let seeds: Vec<SeedsLine> = optional_lines(path, "queries.jsonl")?;
        let chunk_count = mentions.iter().map(|&(_, chunk)| chunk as usize + 1).max();
        Ok(GivenGraph {
            name: path
                .file_name()
                .map_or_else(String::new, |n| n.to_string_lossy().into()),
            ranks: ranks.unwrap_or_default(),
            entity_count: entities.len(),
            names: entities.into_iter().map(|entity| entity.name).collect(),
            chunk_count: chunk_count.unwrap_or(0),
            relations,
            mentions,
            seeds: seeds.into_iter().map(|line| line.seeds).collect(),
            answers: optional_lines(path, "graph20.jsonl")?,
        })
    }
}

/// (source, target, weight) of `relations.tsv`.
fn relation_lines(path: &Path, entities: usize) -> Result<Vec<(u32, u32, f32)>, BenchError> {
    let file = path.join("relations.tsv");
    let mut relations = Vec::new();
    for (at, [source, target, weight]) in columns::<3>(&file)?.iter().enumerate() {
        let source = line_of(&file, at, source, entities)?;
        let target = line_of(&file, at, target, entities)?;
        relations.push((source as u32, target as u32, number(&file, at, weight)?));
    }
    Ok(relations)
}

/// The citations of each chunk, by line.
fn citations(path: &Path, chunks: usize) -> Result<Vec<Vec<CitationLine>>, BenchError> {
    let file = path.join("citations.jsonl");
    let lines: Vec<CitationLine> = optional_lines(path, "citations.jsonl")?;
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let mut by_chunk = vec![Vec::new(); chunks];
    for (at, line) in lines.into_iter().enumerate() {
        let Some(of) = by_chunk.get_mut(line.chunk) else {
            let why = format!("chunk {} of {chunks}", line.chunk);
            return Err(wrong(&file, at + 1, why));
        };
        of.push(line);
    }
    Ok(by_chunk)
}

type Concepts = (Vec<ExtractedLine>, Vec<(String, String, f32)>);

fn concepts(path: &Path, chunks: &[ChunkLine]) -> Result<Concepts, BenchError> {
    if path.join("entities.jsonl").is_file() {
        return given_graph(path, chunks);
    }
    let Some(file) = find(path, &["openie.jsonl", "concepts.jsonl"]) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let lines: Vec<ExtractedLine> = json_lines(&file)?;
    let mut by_id: HashMap<String, ExtractedLine> = lines
        .into_iter()
        .map(|line| (line.id.clone(), line))
        .collect();
    let in_order = chunks
        .iter()
        .map(|chunk| by_id.remove(&chunk.id).unwrap_or_default());
    Ok((in_order.collect(), Vec::new()))
}

/// Entities, relations and mentions by line number.
fn given_graph(path: &Path, chunks: &[ChunkLine]) -> Result<Concepts, BenchError> {
    let entities: Vec<EntityLine> = json_lines(&path.join("entities.jsonl"))?;
    let mut extracted = vec![ExtractedLine::default(); chunks.len()];
    let file = path.join("mentions.tsv");
    for (at, [entity, chunk]) in columns::<2>(&file)?.iter().enumerate() {
        let entity = line_of(&file, at, entity, entities.len())?;
        let chunk = line_of(&file, at, chunk, chunks.len())?;
        extracted[chunk]
            .entities
            .push(entities[entity].name.clone());
    }
    let name = |line: u32| entities[line as usize].name.clone();
    let relations = relation_lines(path, entities.len())?.into_iter();
    let relations = relations.map(|(source, target, weight)| (name(source), name(target), weight));
    Ok((extracted, relations.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    const CHUNKS: &[u8] =
        b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"title\":\"t\",\"text\":\"y\"}\n";
    const QUERIES: &[u8] = b"{\"id\":\"q\",\"text\":\"why\"}\n";

    #[test]
    fn judgements_speak_ids_or_line_numbers() {
        for (meta, qrels) in [("{}", "q\tb\t2\n"), ("{\"k_leg\":20}", "0\t1\t2\n")] {
            let files: &[(&str, &[u8])] = &[
                ("corpus.jsonl", CHUNKS),
                ("queries.jsonl", QUERIES),
                ("meta.json", meta.as_bytes()),
                ("qrels.tsv", qrels.as_bytes()),
            ];
            let folder = Folder::open(folder(files).path()).unwrap();
            assert_eq!(folder.judgements[0]["b"], 2.0);
        }
    }

    #[test]
    fn files_that_do_not_fit_are_named() {
        let cases: &[(&str, &[u8], &str)] = &[
            ("corpus.f32", &[0; 12], "3 numbers for 2 lines"),
            ("qrels.tsv", b"q\tb\n", "line 1: 2 columns"),
            ("queries.jsonl", b"{\"id\":1}\n", "queries.jsonl, line 1"),
        ];
        for (name, bytes, says) in cases {
            let folder = folder(&[("corpus.jsonl", CHUNKS), (name, bytes)]);
            let error = Folder::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(matches!(
            Folder::open(Path::new("/nowhere")),
            Err(BenchError::MissingInput(_))
        ));
    }

    #[test]
    fn a_given_graph_is_read_by_line_number() {
        let files: &[(&str, &[u8])] = &[
            ("chunks.jsonl", CHUNKS),
            ("entities.jsonl", b"{\"name\":\"E\"}\n{\"name\":\"F\"}\n"),
            ("mentions.tsv", b"1\t0\n"),
            ("relations.tsv", b"0\t1\t1.5\n"),
        ];
        let read = Folder::open(folder(files).path()).unwrap();
        assert_eq!(read.extracted[0].entities, ["F"]);
        assert_eq!(read.relations, [("E".into(), "F".into(), 1.5)]);
        let mut wrong = files.to_vec();
        wrong[2] = ("mentions.tsv", b"2\t0\n");
        assert!(Folder::open(folder(&wrong).path()).is_err());
    }
}
