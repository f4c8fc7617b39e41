//! `THIRD-PARTY-NOTICES.txt`, which `loci about` prints: what the licences of the crates in the binary ask for.
//!
//! The file follows from `Cargo.lock` and from the crates' own files. `LOCI_WRITE_NOTICES=1 cargo test -p loci --test
//! notices` writes it anew; without that, a file that differs is a failure.
//!
//! Of a crate that may be used under MIT or Apache-2.0, the lines of its copyright and one text of each licence are
//! enough. Of every other crate all of its licence files are in the notices, whole. Of a crate under MPL-2.0 the notices
//! say where its source is.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Licences under one of which a crate may be used without its own licence files.
const SHARED: [(&str, &str); 2] = [("Apache-2.0", "LICENSE-APACHE"), ("MIT", "LICENSE-MIT")];
/// Folders below a crate's own that are searched for licences, as of C sources.
const DEPTH_MAX: usize = 3;
/// Lines at the top of a C file that may say whose it is.
const HEAD_LINES: usize = 15;
const LINE: &str =
    "\n--------------------------------------------------------------------------------\n\n";

/// A crate in the binary.
struct Crate {
    name: String,
    version: String,
    license: String,
    source: String,
    authors: Vec<String>,
    folder: PathBuf,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The crates of others that the binary is built of, by name and version.
fn crates() -> Vec<Crate> {
    let output = Command::new(env!("CARGO"))
        // What is shipped is built with it.
        .args(["metadata", "--features", "loci/minilm"])
        .args(["--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(top())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = all["packages"].as_array().unwrap().iter();
    let packages: HashMap<&str, &Value> = packages
        .map(|of| (of["id"].as_str().unwrap(), of))
        .collect();
    let nodes = all["resolve"]["nodes"].as_array().unwrap().iter();
    let nodes: HashMap<&str, &Value> = nodes.map(|of| (of["id"].as_str().unwrap(), of)).collect();
    let is_binary = |of: &&&str| packages[**of]["name"] == "loci";
    let mut left = vec![*packages.keys().find(is_binary).unwrap()];
    let mut found = BTreeSet::new();
    while let Some(id) = left.pop() {
        if !found.insert(id) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let mut kinds = dependency["dep_kinds"].as_array().unwrap().iter();
            // Neither what tests need nor what builds need is in the binary.
            if kinds.any(|kind| kind["kind"].is_null()) {
                left.push(dependency["pkg"].as_str().unwrap());
            }
        }
    }
    let others = found.into_iter().map(|id| packages[id]);
    let others = others.filter(|package| !package["source"].is_null());
    let mut crates: Vec<Crate> = others.map(read).collect();
    crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    crates
}

fn read(package: &Value) -> Crate {
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let authors = package["authors"].as_array().unwrap().iter();
    let (name, version) = (text("name"), text("version"));
    Crate {
        source: format!("https://crates.io/crates/{name}/{version}"),
        license: text("license").replace('/', " OR ").replace("  ", " "),
        authors: authors
            .filter_map(|of| Some(of.as_str()?.to_owned()))
            .collect(),
        folder: Path::new(&text("manifest_path"))
            .parent()
            .unwrap()
            .to_owned(),
        name,
        version,
    }
}

/// Files of a crate that are its licences and notices, by path.
fn legal_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut entries: Vec<PathBuf> = entries.collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
        let begins = [
            "license",
            "licence",
            "copying",
            "copyright",
            "notice",
            "unlicense",
        ];
        let is_code = [".rs", ".py", ".toml", ".json", ".js", ".c", ".h", ".hbs"];
        if path.is_dir() {
            if depth < DEPTH_MAX {
                legal_files(&path, depth + 1, found);
            }
        } else if begins.iter().any(|of| name.starts_with(of))
            && !is_code.iter().any(|of| name.ends_with(of))
        {
            found.push(path);
        }
    }
}

/// Text as it is compared and printed: without carriage returns and blanks at ends of lines.
fn plain(text: &str) -> String {
    let lines = text.lines().map(str::trim_end);
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .trim_matches('\n')
        .to_owned()
}

/// Lines that say whose the work is.
fn copyrights(text: &str) -> BTreeSet<String> {
    let marks = |of: char| of.is_whitespace() || "*#/;".contains(of);
    let lines = text.lines().map(|line| line.trim_start_matches(marks));
    let lines = lines.map(|line| line.trim_end_matches("*/").trim_end());
    let says_whose = |line: &&str| {
        let lower = line.to_lowercase();
        let says = lower.find("copyright").is_some_and(|at| {
            let rest = lower[at + "copyright".len()..].trim_start();
            let is_year = rest.starts_with(|of: char| of.is_ascii_digit());
            is_year || rest.starts_with(['(', '©', ':']) || rest.starts_with("the ")
        });
        // Forms to be filled in, and sentences of licences.
        let is_form = line.contains(['[', '{', '<']) && !line.contains('@');
        let is_clause = line.len() > 300 || lower.contains("copyright (c) and");
        says && !is_form && !is_clause
    };
    lines.filter(says_whose).map(str::to_owned).collect()
}

/// Whose the C sources are that a crate brings, as the heads of their files say.
fn copyrights_of_c(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if matches!(ending, Some("c" | "h" | "cc" | "S" | "inc")) {
                let text = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&text);
                let head: Vec<&str> = text.lines().take(HEAD_LINES).collect();
                found.extend(copyrights(&head.join("\n")));
            }
        }
    }
    found
}

/// Whether a licence lets one choose MIT or Apache-2.0.
fn is_shared(license: &str) -> bool {
    let parts = license.trim_matches(['(', ')']).split(" OR ");
    !license.contains(" AND ")
        && parts
            .map(str::trim)
            .any(|of| SHARED.iter().any(|(name, _)| *name == of))
}

/// The whole file.
fn notices() -> String {
    let crates = crates();
    let mut text = String::from(
        "Notices for the software that is built into the binary loci\n\
         \n\
         Each crate below is used unchanged. Its source is at the address beside it. Crates that are offered under\n\
         several licences are used under Apache-2.0 or MIT, where these are among them.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for of in &crates {
        let named = format!("{} {}", of.name, of.version);
        writeln!(text, "{named}\n  {}\n  {}", of.license, of.source).unwrap();
        let mut files = Vec::new();
        legal_files(&of.folder, 0, &mut files);
        let mut lines = BTreeSet::new();
        for path in &files {
            let file = plain(&String::from_utf8_lossy(&fs::read(path).unwrap()));
            lines.extend(copyrights(&file));
            let is_notice = path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .to_lowercase()
                .starts_with("notice");
            if is_notice || !is_shared(&of.license) {
                texts.entry(file).or_default().push(named.clone());
            }
        }
        lines.extend(copyrights_of_c(&of.folder));
        if lines.is_empty() {
            lines.extend(of.authors.iter().map(|author| format!("Authors: {author}")));
        }
        lines
            .iter()
            .for_each(|line| writeln!(text, "  {line}").unwrap());
    }
    text.push_str(LINE);
    let of_mpl: Vec<String> = crates
        .iter()
        .filter(|of| of.license.contains("MPL-2.0"))
        .map(|of| {
            format!(
                "  {} {}: {}/download\n",
                of.name,
                of.version,
                of.source.replace("/crates/", "/api/v1/crates/")
            )
        })
        .collect();
    writeln!(
        text,
        "Mozilla Public License 2.0\n\nThese crates are covered by the Mozilla Public License, version 2.0, whose text is below. You can get their\n\
         source code, under that license, here:\n\n{}",
        of_mpl.concat()
    )
    .unwrap();
    for (name, path) in SHARED {
        let license = plain(&fs::read_to_string(top().join(path)).unwrap());
        let lines = license
            .lines()
            .filter(|line| !line.starts_with("Copyright (c)"));
        let license = lines.collect::<Vec<_>>().join("\n");
        write!(text, "{LINE}{name}\n\n{license}\n").unwrap();
    }
    // In the order of their first crate.
    let mut texts: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(file, of)| (of, file)).collect();
    texts.sort();
    for (mut of, file) in texts {
        of.dedup();
        write!(text, "{LINE}{}:\n\n{file}\n", of.join(", ")).unwrap();
    }
    text
}

#[test]
fn notices_file_matches_the_crates_in_the_binary() {
    let path = top().join("THIRD-PARTY-NOTICES.txt");
    let expected = notices();
    if std::env::var_os("LOCI_WRITE_NOTICES").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differ = || {
        let mut lines = expected.lines().zip(found.lines());
        lines.find(|(expected, found)| expected != found)
    };
    assert!(
        found == expected,
        "THIRD-PARTY-NOTICES.txt is not that of Cargo.lock: LOCI_WRITE_NOTICES=1 cargo test -p loci --test notices; expected, found: {:?}",
        differ()
    );
}

#[test]
fn about_prints_all_licences() {
    let output = common::loci(&["about"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(concat!("loci ", env!("CARGO_PKG_VERSION"))));
    for part in [
        "Apache License",
        "Mozilla Public License Version 2.0",
        "https://crates.io/api/v1/crates/selectors/",
        "Permission is hereby granted, free of charge",
        "Microsoft Research, Daan Leijen",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let output = common::loci(&["about", "--json"]);
    let parsed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(parsed["about"]["license"], "Apache-2.0 OR MIT");
    assert!(text.contains(parsed["about"]["notices"].as_str().unwrap()));
}
