//! The rivals: tantivy for text, usearch for vectors, petgraph for concepts, redb for rows, each in memory or mapped, and
//! the hybrid search that an application would build from them.
//!
//! Invariants: the same terms as LociDB (its analyzer is tantivy's tokenizer), inner products, M 16, efConstruction 200.
//!
//! Start reading at [`Glue::build`].

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use loci_index::analysis::Analyzer;
use petgraph::graph::{NodeIndex, UnGraph};
use redb::{ReadableDatabase, TableDefinition};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{Index, Searcher, TantivyDocument, Term};
use usearch::{IndexOptions, MetricKind, ScalarKind};

use crate::data::{CHUNKS_PER_DOCUMENT, DIM, Data, Question};
use crate::tokenizer::LociTokenizer;
use crate::{EF, K, LEG};

const ROWS: TableDefinition<'_, u64, &str> = TableDefinition::new("rows");
const SMALL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("small");
/// Memory of tantivy's writer: enough for one segment.
const WRITER_BYTES: usize = 1 << 30;
/// The constant of reciprocal ranks.
const RRF_K: f32 = 60.0;

/// All rivals over the same data.
pub(crate) struct Glue {
    searcher: Searcher,
    body: Field,
    number: Field,
    analyzer: Analyzer,
    vectors: usearch::Index,
    graph: UnGraph<(), ()>,
    /// Chunks that mention each concept.
    mentions: Vec<Vec<u64>>,
    rows: redb::Database,
    small: redb::Database,
    _folder: tempfile::TempDir,
}

impl Glue {
    /// Builds every index, and commits the rows.
    pub(crate) fn build(data: &Data) -> Result<Glue> {
        let folder = tempfile::tempdir()?;
        let (searcher, body, number) = text_index(data, &folder.path().join("text"))?;
        let vectors = usearch::Index::new(&IndexOptions {
            dimensions: DIM,
            metric: MetricKind::IP,
            quantization: ScalarKind::F32,
            connectivity: 16,
            expansion_add: 200,
            expansion_search: EF,
            multi: false,
        })
        .context("creating an empty vector index")?;
        vectors.reserve_capacity_and_threads(data.chunks.len(), 1)?;
        for (number, chunk) in (0..).zip(&data.chunks) {
            vectors.add(number, &chunk.vector)?;
        }
        let mut graph = UnGraph::with_capacity(data.concept_count, data.relations.len());
        let nodes: Vec<NodeIndex> = (0..data.concept_count)
            .map(|_| graph.add_node(()))
            .collect();
        for &(source, target) in &data.relations {
            graph.add_edge(nodes[source as usize], nodes[target as usize], ());
        }
        let mut mentions = vec![Vec::new(); data.concept_count];
        for (number, chunk) in (0..).zip(&data.chunks) {
            for &concept in &chunk.concepts {
                mentions[concept as usize].push(number);
            }
        }
        let rows = redb::Database::create(folder.path().join("rows.redb"))?;
        let transaction = rows.begin_write()?;
        {
            let mut table = transaction.open_table(ROWS)?;
            for (number, chunk) in (0u64..).zip(&data.chunks) {
                table.insert(number, &chunk.text[..])?;
            }
            for (parent, chunks) in (0u64..).zip(data.chunks.chunks(CHUNKS_PER_DOCUMENT)) {
                let texts: Vec<&str> = chunks.iter().map(|chunk| &chunk.text[..]).collect();
                table.insert(parent_row(parent), &texts.join("\n")[..])?;
            }
        }
        transaction.commit()?;
        Ok(Glue {
            searcher,
            body,
            number,
            analyzer: Analyzer::new(),
            vectors,
            graph,
            mentions,
            rows,
            small: redb::Database::create(folder.path().join("small.redb"))?,
            _folder: folder,
        })
    }

    pub(crate) fn text(&mut self, question: &Question) -> Result<Vec<u64>> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let field = self.body;
        self.analyzer.for_each_term(&question.text, |term| {
            let term = Term::from_field_text(field, term);
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            clauses.push((Occur::Should, Box::new(query)));
        });
        let query = BooleanQuery::new(clauses);
        let found = self.searcher.search(&query, &TopDocs::with_limit(LEG))?;
        found
            .into_iter()
            .map(|(_, address)| {
                let document: TantivyDocument = self.searcher.doc(address)?;
                let number = document.get_first(self.number);
                number
                    .and_then(|value| value.as_u64())
                    .context("a document without number")
            })
            .collect()
    }

    pub(crate) fn vector(&mut self, question: &Question) -> Result<Vec<u64>> {
        Ok(self.vectors.search(&question.vector, LEG)?.keys)
    }

    /// Two hops, breadth first, then the chunks of what was reached.
    pub(crate) fn graph(&mut self, question: &Question) -> Result<Vec<u64>> {
        let mut seen: HashSet<u32> = question.concepts.iter().copied().collect();
        let mut level = question.concepts.clone();
        let mut reached = level.clone();
        for _ in 0..2 {
            let mut next = Vec::new();
            for concept in level {
                for other in self.graph.neighbors(NodeIndex::new(concept as usize)) {
                    let other = other.index() as u32;
                    if seen.insert(other) {
                        next.push(other);
                    }
                }
            }
            next.sort_unstable();
            reached.extend(&next);
            level = next;
        }
        reached.truncate(LEG);
        let mut chunks = Vec::with_capacity(LEG);
        for concept in reached {
            for &chunk in &self.mentions[concept as usize] {
                if chunks.len() == LEG {
                    return Ok(chunks);
                }
                if !chunks.contains(&chunk) {
                    chunks.push(chunk);
                }
            }
        }
        Ok(chunks)
    }

    /// All three, fused by reciprocal ranks, and the rows of the best with those of their parents.
    pub(crate) fn hybrid(&mut self, question: &Question) -> Result<usize> {
        let lists = [
            self.text(question)?,
            self.vector(question)?,
            self.graph(question)?,
        ];
        let mut scores: HashMap<u64, f32> = HashMap::new();
        for list in &lists {
            for (rank, &chunk) in (1u32..).zip(list) {
                *scores.entry(chunk).or_default() += 1.0 / (RRF_K + rank as f32);
            }
        }
        let mut fused: Vec<(u64, f32)> = scores.into_iter().collect();
        fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let transaction = self.rows.begin_read()?;
        let table = transaction.open_table(ROWS)?;
        let mut texts = Vec::with_capacity(K);
        for (chunk, _) in fused.into_iter().take(K) {
            let own = table.get(chunk)?.context("a chunk is missing")?;
            let parent = table.get(parent_row(chunk / CHUNKS_PER_DOCUMENT as u64))?;
            let parent = parent.context("a parent is missing")?;
            texts.push((own.value().to_owned(), parent.value().to_owned()));
        }
        Ok(std::hint::black_box(texts).len())
    }

    /// One small row, committed as durably as LociDB commits: it opens after a crash without a repair.
    pub(crate) fn commit(&self, number: u64) -> Result<()> {
        let mut transaction = self.small.begin_write()?;
        transaction.set_quick_repair(true);
        transaction
            .open_table(SMALL)?
            .insert(number, &[7u8; 256][..])?;
        Ok(transaction.commit()?)
    }
}

fn parent_row(parent: u64) -> u64 {
    parent | 1 << 63
}

fn text_index(data: &Data, folder: &std::path::Path) -> Result<(Searcher, Field, Field)> {
    std::fs::create_dir(folder)?;
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("loci")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let body = schema.add_text_field(
        "body",
        TextOptions::default().set_indexing_options(indexing),
    );
    let number = schema.add_u64_field("number", INDEXED | STORED);
    let index = Index::create_in_dir(folder, schema.build())?;
    index
        .tokenizers()
        .register("loci", LociTokenizer::default());
    let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
    for (place, chunk) in (0u64..).zip(&data.chunks) {
        let mut document = TantivyDocument::default();
        document.add_text(body, &chunk.text);
        document.add_u64(number, place);
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok((index.reader()?.searcher(), body, number))
}
