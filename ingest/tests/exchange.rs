//! The concept graph out to files of other programs, and in from theirs.

use std::fs;
use std::path::{Path, PathBuf};

use loci_ingest::exchange::{ExchangeError, Neo4jImport, cypher, graphml};
use locidb::graph::normalise;
use locidb::storage::DocumentKey;
use locidb::{Database, EmbedderChoice, NoProgress};
use quick_xml::Reader;
use quick_xml::events::Event;

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

const NODES: &str = "personId:ID(Person),name,born:int,aliases:string[],:LABEL\n\
    1,\"Curie, Marie\",1867,Skłodowska;Maria,Person;Physicist\n\
    2,Pierre Curie,1859,,Person\n";
const PLACES: &str = "place:ID(Place),:LABEL\nParis,City\n";
const LIVED: &str = ":START_ID(Person),since:int,weight:double,:END_ID(Place),:TYPE\n\
    1,1891,2.5,Paris,LIVED_IN\n2,1859,,Paris,LIVED_IN\n";
const MARRIED: &str = ":START_ID(Person),:END_ID(Person),:TYPE\n1,2,MARRIED_TO\n";

/// A store of the graph in these files.
fn store(folder: &Path) -> Database {
    let mut graph = Neo4jImport::default();
    let files = [
        ("nodes", NODES),
        ("places", PLACES),
        ("lived", LIVED),
        ("married", MARRIED),
    ];
    for (name, text) in files {
        graph.read(&[write(folder, name, text)], b',').unwrap();
    }
    assert_eq!(graph.len(), (3, 3));
    let database = Database::open(folder.join("store")).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    put(&database, &graph, "people");
    database.finish(&NoProgress).unwrap();
    database
}

fn named(collection: &str, key: &str) -> DocumentKey {
    DocumentKey::new("", collection, key).unwrap()
}

fn put(database: &Database, graph: &Neo4jImport, key: &str) {
    for document in graph.documents(&named("", key)).unwrap() {
        database
            .write(|tx| tx.put_document(document).map(drop))
            .unwrap();
    }
}

#[test]
fn what_neo4j_imports_becomes_concepts_with_relations_and_passages() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let id = graph.lookup(&normalise("Skłodowska")).unwrap();
    let concept = rows.concept(id).unwrap().unwrap();
    assert_eq!(
        (&concept.name[..], &concept.kind[..]),
        ("Curie, Marie", "Person")
    );
    let edges = graph.edges(id);
    let actual = edges.iter().map(|edge| {
        let other = rows.concept(edge.other).unwrap().unwrap().name;
        (edge.outgoing, edge.kind, other, edge.weight)
    });
    let expected = [
        (true, "LIVED_IN", "Paris".to_owned(), 2.5),
        (true, "MARRIED_TO", "Pierre Curie".to_owned(), 1.0),
    ];
    assert_eq!(actual.collect::<Vec<_>>(), expected);
    let place = view.snapshot().position(edges[0].evidence[0]).unwrap();
    let chunk = rows.chunk(place.document, place.index).unwrap().unwrap();
    let expected_text = "Curie, Marie (Person)\nborn: 1867\nCurie, Marie lived in Paris.\n\
        Curie, Marie married to Pierre Curie.";
    assert_eq!(chunk.text, expected_text);
}

#[test]
fn graphml_is_xml_that_says_what_the_view_does() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let mut bytes = Vec::new();
    assert_eq!(graphml(&database.snapshot(), &mut bytes).unwrap(), (3, 3));
    let text = String::from_utf8(bytes).unwrap();
    let mut reader = Reader::from_str(&text);
    let (mut nodes, mut edges, mut depth) = (0, 0, 0i32);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                depth += 1;
                nodes += usize::from(start.name().as_ref() == "node");
                edges += usize::from(start.name().as_ref() == "edge");
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((nodes, edges, depth), (3, 3, 0));
    assert!(
        text.contains("<data key=\"name\">Curie, Marie</data>"),
        "{text}"
    );
    assert!(text.contains("<data key=\"weight\">2.5</data>"), "{text}");
}

#[test]
fn a_cypher_script_escapes_what_names_hold() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let mut graph = Neo4jImport::default();
    let odd = "id:ID,name\n1,\"a \"\"quoted\"\" \\ name\"\n2,b\n";
    let kinds = ":START_ID,:END_ID,:TYPE\n1,2,say `it\\u0060`\n";
    for (name, text) in [("odd", odd), ("kinds", kinds)] {
        graph
            .read(&[write(folder.path(), name, text)], b',')
            .unwrap();
    }
    put(&database, &graph, "odd");
    let mut bytes = Vec::new();
    assert_eq!(cypher(&database.snapshot(), &mut bytes).unwrap(), (5, 4));
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.starts_with("CREATE CONSTRAINT concept_id IF NOT EXISTS"));
    for part in [
        r#"name: "a \"quoted\" \\ name""#,
        r"[r:`say ``it\u005cu0060```]",
        "[r:`LIVED_IN`]",
        "w: 2.5}",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn one_file_of_apoc_holds_nodes_and_relationships() {
    let folder = tempfile::tempdir().unwrap();
    let all = "\"_id\",\"_labels\",\"name\",\"_start\",\"_end\",\"_type\",\"weight\"\n\
        \"0\",\":City:Place\",\"Oslo\",,,,\n\"1\",\":Country\",\"Norway\",,,,\n\
        ,,,\"0\",\"1\",\"CAPITAL_OF\",\"3\"\n";
    let mut graph = Neo4jImport::default();
    graph
        .read(&[write(folder.path(), "all", all)], b',')
        .unwrap();
    let documents = graph.documents(&named("atlas", "places")).unwrap();
    assert_eq!(documents[0].concepts[0].kind, "City");
    let relation = &documents[0].relations[0];
    let actual = (
        &relation.source[..],
        &relation.kind[..],
        &relation.target[..],
    );
    assert_eq!(
        (actual, relation.weight),
        (("Oslo", "CAPITAL_OF", "Norway"), 3.0)
    );
    assert_eq!(documents[0].record.collection, "atlas");
}

#[test]
fn a_node_is_called_by_its_name_before_its_title_and_may_weigh_anything() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = ":ID,title,name,weight\n1,Dr,Ada Lovelace,70 kg\n2,Prof,,\n";
    let mut graph = Neo4jImport::default();
    graph
        .read(&[write(folder.path(), "nodes", nodes)], b',')
        .unwrap();
    let document = &graph.documents(&named("", "n")).unwrap()[0];
    assert_eq!(
        document.chunks[0].record.text,
        "Ada Lovelace\nweight: 70 kg"
    );
    assert_eq!(document.concepts[1].name, "Prof");
}

#[test]
fn a_header_may_be_in_a_separate_file() {
    let folder = tempfile::tempdir().unwrap();
    let header = write(folder.path(), "header", "\u{feff}:ID|name\n");
    let data = write(folder.path(), "data", "1|one\n2|two\n");
    let mut graph = Neo4jImport::default();
    graph.read(&[header, data], b'|').unwrap();
    assert_eq!(graph.len(), (2, 0));
    assert_eq!(
        graph.documents(&named("", "n")).unwrap()[0].concepts[1].name,
        "two"
    );
}

#[test]
fn what_cannot_be_read_names_the_file_and_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("name\nx\n", "line 1: the header names neither :ID"),
        (
            ":ID,name\n1,a\n1,b\n",
            "line 3: the id \"1\" is that of \"a\" already",
        ),
        (":ID\n1,2\n", "line 2: 1 fields more than in the header"),
        (":ID,name\n,b\n", "line 2: neither the id of a node"),
        (
            ":START_ID,:END_ID,weight\n1,2,heavy\n",
            "line 2: the weight \"heavy\"",
        ),
        (
            ":START_ID,:END_ID,weight\n1,2,-1\n",
            "line 2: the weight \"-1\"",
        ),
    ];
    for (text, expected) in cases {
        let path = write(folder.path(), "file.csv", text);
        let error = Neo4jImport::default()
            .read(&[path], b',')
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("file.csv") && error.contains(expected),
            "{error}"
        );
    }
    let latin = folder.path().join("latin.csv");
    fs::write(&latin, b":ID\n\xe9\n").unwrap();
    let error = Neo4jImport::default().read(&[latin], b',').unwrap_err();
    assert!(
        matches!(error, ExchangeError::Row { line: 2, .. }),
        "{error}"
    );
    let missing = Neo4jImport::default().read(&[folder.path().join("nowhere")], b',');
    assert!(matches!(missing, Err(ExchangeError::File { .. })));
    let mut graph = Neo4jImport::default();
    let path = write(folder.path(), "ends.csv", ":START_ID,:END_ID\n1,2\n");
    graph.read(&[path], b',').unwrap();
    let error = graph.documents(&named("", "x")).unwrap_err().to_string();
    assert!(error.contains("line 2: there is no node \"1\""), "{error}");
}

#[test]
fn a_short_file_that_says_a_long_name_many_times_is_refused() {
    let name = "x".repeat(64 << 10);
    let nodes = format!(":ID,name\n1,{name}\n2,b\n");
    let relations = format!(":START_ID,:END_ID\n{}", "1,2\n".repeat(10_000));
    let mut graph = Neo4jImport::with_bytes_max(64 << 20);
    graph
        .read_bytes(&[("nodes.csv", nodes.as_bytes())], b',')
        .unwrap();
    graph
        .read_bytes(&[("relations.csv", relations.as_bytes())], b',')
        .unwrap();
    let refused = graph.documents(&named("", "n")).unwrap_err();
    assert!(
        matches!(refused, ExchangeError::TooLarge { .. }),
        "{refused}"
    );
    // A header that is said again with each row.
    let rows: String = (0..10_000).map(|id| format!("{id}\n")).collect();
    let rows = format!(":ID({name})\n{rows}");
    let refused =
        Neo4jImport::with_bytes_max(64 << 20).read_bytes(&[("n.csv", rows.as_bytes())], b',');
    assert!(
        matches!(refused, Err(ExchangeError::TooLarge { .. })),
        "{refused:?}"
    );
    let wide = format!(":ID{}\n", ",".repeat(20_000));
    let refused = Neo4jImport::default().read_bytes(&[("n.csv", wide.as_bytes())], b',');
    assert!(refused.unwrap_err().to_string().contains("10000 fields"));
}
