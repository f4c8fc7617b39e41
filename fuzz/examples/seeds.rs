//! Writes the seeds of the fuzz targets anew: small inputs that are sound, from which a run starts.
//! `cargo run --example seeds` in `fuzz/`.

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use loci_documents::{Kind, Limits, ParseError, parse};
use loci_fuzz::data::NAMES;
use loci_fuzz::joined;
use loci_fuzz::rows::RowSet;
use loci_fuzz::store::SAMPLE;
use loci_graph::{
    CitationEdge, CitationsBuilder, Communities, LeidenOptions, MentionsBuilder, NamesBuilder,
    RanksBuilder, RelationsBuilder, StoredLinks, adjacency, communities, leiden,
};
use loci_index::analysis::Analyzer;
use loci_index::facets::{FacetBuilder, FacetValue};
use loci_index::text::{Field, TextBuilder};
use loci_index::vector::{Codes, FlatBuilder, GraphOptions, Metric};
use loci_ingest::document::{DocumentSource, Settings};
use loci_models::lsa::{FitOptions, Fitter};
use loci_query::SearchRequest;
use loci_storage::records::Intent;
use loci_storage::segment::{
    DocumentRun, DocumentsBuilder, PartBuilder, PartKind, SectionId, SkeletonBuilder,
};
use loci_storage::{ConceptId, DocumentId, LocalOrdinal, SegmentId, Table, WorkId};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const TEXTS: [&str; 4] = [
    "The method of loci: a walk past water.",
    "Water, water and a palace.",
    "Schlösser am Wasser",
    "a b a b water",
];

fn main() -> Result<()> {
    sections()?;
    rows()?;
    files()?;
    texts()
}

fn write(target: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), bytes)?)
}

fn sections() -> Result<()> {
    let text = text_section();
    write("text_section", "list", &text)?;
    write("text_section", "transducer", &as_transducer(&text)?)?;
    write("facets", "bitmaps", &facets())?;
    vectors()?;
    graph()?;
    part()?;
    let mut fitter = Fitter::new();
    for text in TEXTS {
        fitter.push(text.to_lowercase().split([' ', ',', '.']))?;
    }
    let options = FitOptions {
        dim: Some(2),
        ..FitOptions::default()
    };
    let fitted = fitter.fit(&options, |_| ControlFlow::Continue(()))?;
    write("projection", "small", &fitted.into_bytes())
}

fn text_section() -> Vec<u8> {
    let (mut analyzer, mut builder) = (Analyzer::new(), TextBuilder::new());
    for (local, text) in (0..).zip(TEXTS) {
        let fields = [(Field::ALL[local as usize % 2], text)];
        builder
            .push_texts(LocalOrdinal(local), &mut analyzer, fields, |_, _| {})
            .expect("locals ascend");
    }
    builder.finish()
}

/// A text section whose few terms are a transducer, as otherwise only many are.
fn as_transducer(section: &[u8]) -> Result<Vec<u8>> {
    let mut terms = Vec::new();
    loci_index::text::TextReader::new(section)?.for_each_term(|term, _| {
        terms.push(term.to_owned());
        Ok(())
    })?;
    let map = fst::Map::from_iter((0..).zip(&terms).map(|(place, term)| (term, place)))?;
    let list: usize = 12 + terms.iter().map(|term| term.len() + 4).sum::<usize>();
    let at = section
        .windows(8)
        .rposition(|bytes| bytes == [0; 8])
        .into_iter();
    let starts = (64..section.len() - list).filter(|&start| {
        section[start..start + 8] == [0; 8]
            && section[start + 8..start + 12] == (terms.len() as u32).to_le_bytes()
    });
    let start = starts
        .chain(at)
        .next()
        .ok_or("a section has a dictionary")?;
    let mut bytes = section[..start].to_vec();
    bytes.extend(map.as_fst().as_bytes());
    bytes.extend(&section[start + list..]);
    bytes[40..48].copy_from_slice(&(map.as_fst().as_bytes().len() as u64).to_le_bytes());
    Ok(bytes)
}

fn facets() -> Vec<u8> {
    let mut builder = FacetBuilder::new();
    for (local, tag) in (0..).zip(["draft", "a", "", "draft"]) {
        builder.push(LocalOrdinal(local), "tag", FacetValue::Text(tag.into()));
        builder.push(
            LocalOrdinal(local),
            "page",
            FacetValue::Integer(i64::from(local) - 1),
        );
        builder.push(LocalOrdinal(local), "page", FacetValue::Text("iv".into()));
    }
    builder.finish()
}

fn vectors() -> Result<()> {
    for (name, codes, metric) in [
        ("i8", Codes::I8, Metric::Cosine),
        ("b1", Codes::B1, Metric::L2),
    ] {
        let mut flat = FlatBuilder::new(2, metric)?;
        for (local, x) in [(0, 1.0), (1, -0.5), (4, 0.25)] {
            flat.push(LocalOrdinal(local), &[x, 0.5])?;
        }
        let graph = flat
            .build_graph(
                &GraphOptions {
                    m: 2,
                    ef_construction: 4,
                    codes,
                    seed: 1,
                },
                1,
            )?
            .ok_or("a graph")?;
        let flat = flat.finish();
        write(
            "vectors",
            &format!("flat_{name}"),
            &[&[0], &flat[..]].concat(),
        )?;
        write(
            "vectors",
            &format!("graph_{name}"),
            &[&[0x81], &joined(&[&flat, &graph])[..]].concat(),
        )?;
    }
    for codes in 0..6u8 {
        let patch = [24, 0, 0, 0, 4, codes, 0, 0, 0, 0, 2, 0, 0, 2, 9, 0];
        write(
            "vectors",
            &format!("patched_{codes}"),
            &[&[codes << 2 | 0x82], &joined(&[&[], &patch])[..]].concat(),
        )?;
    }
    Ok(())
}

fn graph() -> Result<()> {
    let (mut names, mut mentions) = (NamesBuilder::default(), MentionsBuilder::default());
    let mut relations = RelationsBuilder::default();
    let listed = [
        "water",
        "method of loci",
        "memory palace",
        "rome",
        "neural network",
    ];
    for (id, name) in (0..).zip(listed) {
        names.push(name, ConceptId(id));
        names.push_synonym(&name[..3], ConceptId(id));
        mentions.push(ConceptId(id), LocalOrdinal(id), 2);
        mentions.push(ConceptId(id), LocalOrdinal(id + 1), 1);
        let next = ConceptId((id + 1) % 5);
        let kind = if id % 2 == 0 {
            "uses"
        } else {
            "PREREQUISITE_FOR"
        };
        relations.push(
            ConceptId(id),
            next,
            kind,
            0.5,
            &[LocalOrdinal(id), LocalOrdinal(id + 3)],
        );
    }
    let (names, mentions, relations) = (names.finish(), mentions.finish(), relations.finish());
    write("names", "small", &names)?;
    write("graph", "small", &joined(&[&mentions, &relations, &names]))?;
    write("graph", "nameless", &joined(&[&mentions, &relations, &[]]))?;
    let mut citations = CitationsBuilder::default();
    for (number, work) in (0..).zip([3, 1, 3]) {
        let cites = CitationEdge {
            work: WorkId(work),
            number,
            intent: Intent::Uses,
            is_claim: number == 1,
            confidence: 0.5,
        };
        citations.push(LocalOrdinal(number / 2), cites);
    }
    write("citations", "small", &citations.finish())?;
    analysis(&mentions, &relations)
}

fn analysis(mentions: &[u8], relations: &[u8]) -> Result<()> {
    use loci_graph::{GraphReader, GraphView};
    use loci_storage::{Ordinal, SegmentReader};
    let dead = roaring::RoaringBitmap::new();
    let names = NamesBuilder::default().finish();
    let reader = GraphReader::open(&names[..], mentions, relations, 8)?;
    let segments = [SegmentReader {
        base: Ordinal(0),
        chunk_count: 8,
        dead: &dead,
        reader: &reader,
    }];
    let view = GraphSnapshot {
        segments: &segments,
        ranks: None,
        adjacency: None,
        links: None,
    };
    let mut ranks = RanksBuilder::default();
    (0..5).for_each(|id| ranks.push(ConceptId(id), 0.2));
    let edges = view.weighted_edges();
    let ends: Vec<_> = edges
        .iter()
        .map(|&(source, target, _)| (source, target))
        .collect();
    let neighbours = adjacency(&ends, |id| id.0 as f32, &[(SegmentId(1), 0)]);
    let found: Communities = leiden(view.concept_ids(), &edges, LeidenOptions::default());
    let found = communities::write(&found, |id| id.0 as f32);
    let links = loci_graph::links(view, &[(SegmentId(1), 0, Ordinal(0))]);
    StoredLinks::open(&links[..])?;
    write(
        "analysis_sections",
        "small",
        &joined(&[&ranks.finish(), &neighbours, &found, &links]),
    )?;
    write(
        "analysis_sections",
        "ranked",
        &joined(&[&[], &neighbours, &[], &[]]),
    )
}

fn part() -> Result<()> {
    let (mut runs, mut rows) = (DocumentsBuilder::default(), SkeletonBuilder::default());
    for (index, document) in (0..).zip([2, 5]) {
        runs.push(DocumentRun {
            document: DocumentId(document),
            first: LocalOrdinal(index),
            count: 1,
        });
        rows.push_document(LocalOrdinal(index), index, &[Default::default()]);
    }
    let mut part = PartBuilder::new(PartKind::Segment, 2, 2);
    part.push(SectionId::Documents, 0, runs.finish());
    part.push(SectionId::Skeleton, 0, rows.finish());
    part.push(SectionId::Text, 1, b"text".to_vec());
    write("part", "small", &part.finish(3, 4))
}

fn rows() -> Result<()> {
    for table in Table::ALL {
        let of_table = SAMPLE
            .rows
            .iter()
            .filter(|row| row.table == table && row.payload.len() < 2000);
        if let Some(row) = of_table.min_by_key(|row| row.payload.len()) {
            write(
                "rows",
                table.name(),
                &RowSet::bytes(table, &row.key, &row.payload),
            )?;
        }
    }
    let of_document = SAMPLE.rows.iter().filter(|row| {
        let is_small = row.payload.len() < 400 && row.table != Table::Meta;
        is_small && row.key.starts_with(&1u64.to_be_bytes())
    });
    let together: Vec<u8> = of_document
        .take(8)
        .flat_map(|row| RowSet::bytes(row.table, &row.key, &row.payload))
        .collect();
    write("rows", "together", &together)?;
    write("manifest", "patched", &[0, 16, 0, 0, 0, 2, 9, 9])?;
    for table in [
        Table::Meta,
        Table::Chunks,
        Table::Spaces,
        Table::Tombstones,
        Table::Settings,
    ] {
        if let Some(place) = SAMPLE.rows.iter().position(|row| row.table == table) {
            let head = [
                &(place as u16).to_le_bytes()[..],
                &[0, 7, 0, 4, 0, 0, 0, 2, 1, 1],
            ]
            .concat();
            write("store", table.name(), &head)?;
        }
    }
    Ok(())
}

/// Files of a data folder, as the target reads them.
fn folder(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        let number = NAMES
            .iter()
            .position(|known| known == name)
            .expect("a known name");
        bytes.push(number as u8);
        bytes.extend((content.len() as u16).to_le_bytes());
        bytes.extend_from_slice(content);
    }
    bytes
}

fn files() -> Result<()> {
    const CHUNKS: &[u8] = b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"title\":\"t\",\"text\":\"y\",\"parent\":0}\n";
    const QUERIES: &[u8] = b"{\"id\":\"q\",\"text\":\"why\",\"terms\":[\"why\"],\"seeds\":[0]}\n";
    let by_id = folder(&[
        ("chunks.jsonl", CHUNKS),
        ("parents.jsonl", b"{\"text\":\"x y\"}\n"),
        ("queries.jsonl", QUERIES),
        ("qrels.tsv", b"q\tb\t2\n"),
        ("vectors.f32", &[0, 0, 128, 63, 0, 0, 0, 64]),
        (
            "openie.jsonl",
            b"{\"id\":\"b\",\"entities\":[\"Rome\"],\"triples\":[[\"Rome\",\"is\",\"old\"]]}\n",
        ),
        (
            "citations.jsonl",
            b"{\"chunk\":1,\"reference\":{\"title\":\"On it\"},\"intent\":\"uses\"}\n",
        ),
    ]);
    write("data_folder", "by_id", &by_id)?;
    let by_line = folder(&[
        ("corpus.jsonl", CHUNKS),
        ("queries.jsonl", QUERIES),
        ("meta.json", b"{\"k_leg\":20}"),
        ("qrels.tsv", b"0\t1\t2\n"),
        (
            "entities.jsonl",
            b"{\"name\":\"Rome\",\"pagerank\":0.5}\n{\"name\":\"Loci\"}\n",
        ),
        ("relations.tsv", b"0\t1\t0.5\n"),
        ("mentions.tsv", b"0\t1\n1\t0\n"),
        ("graph20.jsonl", b"[0,1]\n"),
    ]);
    write("data_folder", "by_line", &by_line)?;
    let nodes = b"id:ID(c),name,:LABEL,year:int,synonyms\n1,Rome,City,753,Roma;Urbs\n2,\"Lo,ci\",Idea;Old,,\n";
    let relationships = b":START_ID(c),:END_ID(c),:TYPE,weight:float\n2,1,LIES_IN,0.5\n";
    write(
        "neo4j_csv",
        "admin",
        &[&[0], &joined(&[nodes, b"", relationships])[..]].concat(),
    )?;
    let all = b"_id;_labels;name;_start;_end;_type\n1;:City;Rome;;;\n;;;1;1;IS\n";
    write(
        "neo4j_csv",
        "apoc",
        &[&[1], &joined(&[all, b"", b""])[..]].concat(),
    )?;
    let limits = serde_json::to_string(&Limits::default())?;
    for (name, kind) in [
        ("text", Kind::Text),
        ("markdown", Kind::Markdown),
        ("html", Kind::Html),
    ] {
        let text: &[u8] = b"# One\n\nTwo <b>*three*</b>.\n\n- four\n";
        let kind_json = serde_json::to_string(&kind)?;
        let source = serde_json::to_string(&DocumentSource::default())?;
        let settings = serde_json::to_string(&BuildSettings::default())?;
        let head = format!(
            "{{\"kind\":{kind_json},\"limits\":{limits},\"source\":{source},\"settings\":{settings}}}\n"
        );
        write("parse_child", name, &[head.as_bytes(), text].concat())?;
        let answer: std::result::Result<_, ParseError> = Ok(parse(kind, text, Some("a"))?);
        write(
            "parse_child",
            &format!("answer_{name}"),
            &serde_json::to_vec(&answer)?,
        )?;
    }
    for (number, (name, text)) in (0u8..).zip([
        (
            "markdown",
            "# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn f() {}\n```\n\n> q *e* [l](u)\n",
        ),
        ("text", "1. One\n\nTwo.\n\n\u{feff}Three"),
        (
            "html",
            "<h1>A</h1><p>b <i>c</i></p><ul><li>d<table><tr><td>e</table></ul>",
        ),
        (
            "rust",
            "/// A.\nstruct S { a: u8 }\nimpl S { fn f(&self) {} }\n",
        ),
        (
            "python",
            "class A:\n    \"\"\"Doc.\"\"\"\n    def f(self):\n        pass\n",
        ),
    ]) {
        write("parsers", name, &[&[number], text.as_bytes()].concat())?;
    }
    Ok(())
}

fn texts() -> Result<()> {
    let filters = [
        "page in 3..5 and not collection = drafts",
        "created >= 2020-01-02T03:04 or (year = 1999 and has doi)",
    ];
    for (number, filter) in filters.iter().enumerate() {
        write("filter", &number.to_string(), filter.as_bytes())?;
    }
    write(
        "text_query",
        "query",
        b"\"a water\"~2 -title:wat* OR (lo~1 AND +pal?ce)^2 a water\nwater a\npalace",
    )?;
    write(
        "analysis",
        "languages",
        "The Schlösser, running ran. Ça va; 東京タワー \u{e01}\u{e02} 3.14 don't".as_bytes(),
    )?;
    write(
        "settings",
        "all",
        b"hops=3\nembedder=none\nchunk_overlap=0.3\nlanguage=deu\nfusion=rrf\nrrf_k=7\nseed=5",
    )?;
    write(
        "settings",
        "json",
        b"{\"hops\":2,\"embed_levels\":\"children\",\"weight_title\":3}",
    )?;
    let options =
        b"k=3\nstrategy=graph\nfilter=page = 3\neffort=recall=0.9\nlevels=[\"section\"]\nrerank.types=false\nfusion.vector_share=0.25\nseeds.hits=5";
    write("request", "options", options)?;
    let huge = b"k=18446744073709551615\ncandidates=18446744073709551615\nstages=[18446744073709551615,18446744073709551615,1]\nvector=[1,0.5,-0.5,0.1,0,0,0,1]\ncontext_tokens=18446744073709551615\nneighbours=18446744073709551615\nhops=18446744073709551615\nlevel_limits=[[\"section\",18446744073709551615]]";
    write("request", "huge", huge)?;
    let request = SearchRequest {
        vector: Some(vec![0.5, -1.0]),
        ..SearchRequest::new("what?")
    };
    write("request", "json", &serde_json::to_vec(&request)?)?;
    for (name, key) in [
        ("document", "ada::notes::a.md"),
        ("chunk", "notes::a.md#3"),
        ("row", "\0\0\0\x07\0\0\0\x09uses"),
    ] {
        write("keys", name, key.as_bytes())?;
    }
    write(
        "operations",
        "some",
        &[
            7, 1, 9, 200, 3, 8, 44, 5, 6, 2, 1, 77, 31, 4, 9, 1, 0, 255, 3, 2,
        ],
    )
}
