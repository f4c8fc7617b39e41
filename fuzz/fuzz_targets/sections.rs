//! Any bytes are a section or a typed error; what opens is searched without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_graph::link::link_parts;
use loci_graph::{
    Adjacency, CommunitiesReader, GraphView, MentionsReader, NamesReader, Ranks, Reach, RelationsReader, RestartOptions,
    StoredLinks, link, restart_walk,
};
use loci_index::facets::{FacetReader, Predicate};
use loci_index::analysis::Analyzer;
use loci_index::text::{self, TextQuery, TextReader, TextScratch, TextSearch};
use loci_index::vector::{self, VectorQuery, VectorReader, VectorScratch};
use loci_models::lsa::Projection;
use loci_storage::{ConceptId, Local, Ordinal, Placed, SegmentId};
use roaring::RoaringBitmap;

const CHUNKS: u32 = 64;

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let dead = RoaringBitmap::new();
    let base = Ordinal(0);
    match kind % 10 {
        0 => {
            if let Ok(reader) = TextReader::new(bytes) {
                let placed = [Placed { base, chunk_count: CHUNKS, dead: &dead, reader: &reader }];
                let mut scratch = TextScratch::new();
                let _ = text::search(&placed, &["a", "water"], &TextSearch::new(10), &mut scratch);
                let query = TextQuery::parse("\"a water\"~1 wat* title:a wtaer~").unwrap();
                let mut analyzer = Analyzer::new();
                let _ = text::search_query(&placed, &query, &mut analyzer, &TextSearch::new(10), &mut scratch);
                let merged = [text::Merged { reader: &reader, locals: &[0, text::LEFT_OUT, 1, 2] }];
                let _ = text::merge(&merged, reader.weights(), reader.languages().clone());
                let _ = text::unknown(&placed, &query, None, &mut analyzer);
            }
        }
        1 => {
            // Flat vectors, and a graph in the second half of the bytes.
            let (flat, graph) = bytes.split_at(bytes.len() / 2);
            for (flat, graph) in [(bytes, None), (flat, Some(graph))] {
                let Ok(reader) = VectorReader::new(flat, graph) else { continue };
                let placed = [Placed { base, chunk_count: CHUNKS, dead: &dead, reader: &reader }];
                let query = VectorQuery::new(&[1.0, 0.5], 10);
                let _ = vector::search(&placed, &query, &mut VectorScratch::default());
            }
        }
        2 => {
            if let Ok(reader) = FacetReader::new(bytes) {
                let _ = reader.select("page", &Predicate::Has);
                let _ = reader.fields();
            }
        }
        3 => {
            if let Ok(reader) = NamesReader::open(bytes) {
                let links = link(&[&reader], "water and the method of loci");
                link_parts(&[&reader], "Water and Loci", &links, |_| true, |_| 0.0);
            }
        }
        4 => {
            if let Ok(reader) = MentionsReader::open(bytes, CHUNKS) {
                reader.chunks(ConceptId(1)).for_each(drop);
                reader.concepts(Local(1)).for_each(drop);
            }
        }
        5 => {
            if let Ok(reader) = RelationsReader::open(bytes, CHUNKS) {
                reader.edges(ConceptId(1)).for_each(|edge| edge.evidence.for_each(drop));
            }
        }
        6 => {
            if let Ok(reader) = Ranks::open(bytes) {
                let _ = reader.get(ConceptId(1));
            }
        }
        7 => {
            if let Ok(adjacency) = Adjacency::open(bytes) {
                adjacency.neighbours(ConceptId(1)).for_each(drop);
                adjacency.covers([(SegmentId(1), 0)].into_iter());
            }
        }
        8 => {
            if let Ok(links) = StoredLinks::open(bytes) {
                links.covers([(SegmentId(1), 0, Ordinal(0))].into_iter());
                let view = GraphView { segments: &[], ranks: None, adjacency: None, links: Some(&links) };
                for reach in [Reach::Steps(5), Reach::Residual(1e-3)] {
                    let options = RestartOptions { reach, relations: 0.5, ..RestartOptions::default() };
                    restart_walk(view, &[(ConceptId(1), 1.0)], options, None, 5);
                }
            }
            if let Ok(communities) = CommunitiesReader::open(bytes) {
                for (level, community) in communities.path(ConceptId(1)) {
                    communities.members(level, community).for_each(drop);
                    let _ = communities.parent(level, community);
                }
            }
        }
        _ => {
            if let Ok(projection) = Projection::new(bytes) {
                let _ = projection.embed_terms(["water", "a"]);
            }
        }
    }
});
