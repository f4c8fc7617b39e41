//! The graph through the real binary: concepts, their communities, what goes out and comes in, and citations.

mod common;

use std::fs;
use std::path::Path;

use common::{data_folder, db_path, json, text};

#[test]
fn concepts_are_ranked_and_grouped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = db_path(path);
    json(
        0,
        &[
            "load",
            "--db",
            &db,
            "--data",
            &data_folder(path),
            "--embedder",
            "none",
        ],
    );
    let analysed = &json(0, &["analyze", "--db", &db])[0];
    assert_eq!(
        (&analysed["concepts"], &analysed["relations"]),
        (&4.into(), &1.into())
    );
    let printed = text(0, &["analyze", "--db", &db]);
    assert!(
        printed.starts_with("4 concepts, 1 relations; "),
        "{printed}"
    );
    let concept = &json(0, &["concept", "--db", &db, "sand"])[0];
    assert!(concept["communities"].is_array() && concept["pagerank"].as_f64() > Some(0.0));
    assert!(concept["first"]["chunk"].is_string(), "{concept}");
    let related = |end: &str| concept["relations"][0][end].as_str().unwrap().to_owned();
    let (source, target) = (related("source"), related("target"));
    let found_path = &json(0, &["concept", "--db", &db, &source, "--path-to", &target])[0];
    assert_eq!(found_path["path"], serde_json::json!([source, target]));
    assert_eq!(
        found_path["relations"][0],
        serde_json::json!({
            "source": source, "type": "is covered by", "target": target,
        })
    );
    json(
        1,
        &[
            "concept",
            "--db",
            &db,
            &source,
            "--path-to",
            &target,
            "--along",
            "eats",
        ],
    );
    assert!(
        json(0, &["communities", "--db", &db]).is_empty(),
        "two are no community"
    );
    json(1, &["communities", "--db", &db, "--of", "nothing"]);
    assert_eq!(
        json(0, &["analyze", "--db", &db, "--central", "5"]).len(),
        1
    );
}

#[test]
fn concepts_are_merged_and_split_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = db_path(path);
    let data = data_folder(path);
    json(
        0,
        &["load", "--db", &db, "--data", &data, "--embedder", "none"],
    );
    let concept = |name: &str| json(0, &["concept", "--db", &db, name]).remove(0);
    let before = concept("sand");
    let merged = json(
        0,
        &["concept", "--db", &db, "sand", "--merge-into", "Gravel"],
    );
    let edit = merged[0]["edit"].to_string();
    let gravel = concept("sand");
    assert_eq!(
        (&gravel["name"], &gravel["synonyms"][0]),
        (&"Gravel".into(), &"sand".into())
    );
    assert_eq!(
        (&gravel["chunks"], &gravel["first"]),
        (&before["chunks"], &before["first"])
    );
    let edits = json(0, &["concept", "--db", &db, "--edits"]);
    assert_eq!(
        (&edits[0]["from"], &edits[0]["into"]),
        (&"sand".into(), &"Gravel".into())
    );
    json(0, &["concept", "--db", &db, "--undo", &edit]);
    assert_eq!(concept("sand"), before);
    json(1, &["concept", "--db", &db, "--undo", &edit]);

    let key = before["first"]["document"].as_str().unwrap();
    let split = [
        "concept",
        "--db",
        &db,
        "sand",
        "--split-into",
        "sand (beach)",
        "--document",
        key,
    ];
    json(0, &split);
    assert_eq!(concept("sand beach")["first"]["document"], key);
    json(
        1,
        &[
            "concept",
            "--db",
            &db,
            "sand",
            "--split-into",
            "x",
            "--document",
            "nowhere",
        ],
    );
    json(2, &["concept", "--db", &db, "sand", "--split-into", "x"]);
    json(2, &["concept", "--db", &db]);
}

#[test]
fn graph_is_exported_and_imported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = db_path(path);
    let file = |name: &str, text: &str| {
        let file = path.join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let nodes = file(
        "nodes.csv",
        ":ID,name,:LABEL\n1,Oslo,City\n2,Norway,Country\n",
    );
    let capital = file("capital.csv", ":START_ID,:END_ID,:TYPE\n1,2,CAPITAL_OF\n");
    let import = [
        "graph",
        "import",
        "--db",
        &db,
        "--nodes",
        &nodes,
        "--relationships",
        &capital,
    ];
    let imported = &json(0, &import)[0];
    assert_eq!(
        (&imported["nodes"], &imported["relationships"]),
        (&2.into(), &1.into())
    );
    let oslo = &json(0, &["concept", "--db", &db, "oslo"])[0];
    assert_eq!(oslo["relations"][0]["type"], "CAPITAL_OF");
    assert_eq!(
        json(0, &["search", "--db", &db, "capital of Norway"])[0]["hits"][0]["chunk"],
        "graph#0"
    );
    for (name, part) in [
        ("g.graphml", "CAPITAL_OF</data>"),
        ("g.cypher", "[r:`CAPITAL_OF`]"),
    ] {
        let out = path.join(name);
        let exported = &json(0, &["graph", "export", "--db", &db, out.to_str().unwrap()])[0];
        assert_eq!(
            (&exported["concepts"], &exported["relations"]),
            (&2.into(), &1.into())
        );
        assert!(fs::read_to_string(out).unwrap().contains(part));
    }
    let notes = path.join("notes");
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("0"), "A note of one's own.").unwrap();
    json(
        0,
        &[
            "ingest",
            "--db",
            &db,
            "--kind",
            "text",
            "--key",
            "graph/0",
            notes.join("0").to_str().unwrap(),
        ],
    );
    json(0, &import);
    json(0, &["show", "--db", &db, "graph/0"]);
    let other = [
        "graph", "import", "--db", &db, "--nodes", &nodes, "--key", "graph/0",
    ];
    json(1, &other);
    // Another import's document is not a part of this one, whatever it is called.
    let under = |key: &str| {
        let import = ["graph", "import", "--db", &db, "--nodes", &nodes];
        json(0, &[&import[..], &["--key", key]].concat())
    };
    under("atlas/0");
    under("atlas");
    json(0, &["show", "--db", &db, "atlas/0"]);
    let empty = file("empty.csv", ":ID,name\n");
    json(1, &["graph", "import", "--db", &db, "--nodes", &empty]);
    json(0, &["show", "--db", &db, "graph"]);
    let wrong = file("wrong.csv", "name\nx\n");
    json(1, &["graph", "import", "--db", &db, "--nodes", &wrong]);
    json(2, &["graph", "import", "--db", &db]);
    json(
        2,
        &[
            "graph",
            "import",
            "--db",
            &db,
            "--nodes",
            &nodes,
            "--delimiter",
            "::",
        ],
    );
}

#[test]
fn citations_are_loaded_and_followed_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let db = db_path(path);
    let data = data_folder(path);
    let citations = "{\"chunk\":0,\"text\":\"[1]\",\"intent\":\"extends\",\"reference\":{\"title\":\"A work on sand and water\",\"authors\":[\"Ada Lovelace\"],\"year\":1843}}\n\
        {\"chunk\":1,\"text\":\"[2]\",\"reference\":{\"title\":\"A work on sand and water\"}}\n\
        {\"chunk\":1,\"text\":\"[3]\",\"reference\":{\"doi\":\"10.1/x\"}}\n";
    fs::write(Path::new(&data).join("citations.jsonl"), citations).unwrap();
    json(
        0,
        &["load", "--db", &db, "--data", &data, "--embedder", "none"],
    );
    let works = json(0, &["citations", "--db", &db]);
    assert_eq!(works.len(), 2);
    assert_eq!(
        (&works[0]["references"], &works[0]["year"]),
        (&2.into(), &1843.into())
    );
    for filter in [
        &["--author", "lovelace"][..],
        &["--year", "1843"],
        &["--stubs"],
    ] {
        let call = [&["citations", "--db", &db][..], filter].concat();
        assert!(!json(0, &call).is_empty(), "{filter:?}");
    }
    assert!(json(0, &["citations", "--db", &db, "--author", "nobody"]).is_empty());
    let network = &json(0, &["citations", "--db", &db, "a work on sand and water"])[0];
    assert_eq!(network["cited_by"].as_array().unwrap().len(), 2);
    assert_eq!(network["cited_by"][0]["intent"], "extends");
    assert_eq!(network["co_cited"][0]["work"]["doi"], "10.1/x");
    let document = network["cited_by"][0]["chunk"]
        .as_str()
        .unwrap()
        .split('#')
        .next()
        .unwrap();
    let network = &json(0, &["citations", "--db", &db, document])[0];
    assert_eq!(
        (
            network["cites"][0]["text"].as_str(),
            network["coupled"][0]["count"].as_u64()
        ),
        (Some("[1]"), Some(1))
    );
    json(1, &["citations", "--db", &db, "nothing of the kind"]);
    let printed = text(0, &["citations", "--db", &db, document]);
    assert!(
        printed.contains("documents that cite the same"),
        "{printed}"
    );
}
