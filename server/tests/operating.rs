//! What the operator of a server has: configuration, a look at everything before it starts, metrics, traces.

mod common;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use common::served::Served;
use common::{db_path, json, json_lines, refused};
use loci_client::call::Role;
use serde_json::{Value, json};

/// Writes a file beside the store of a test; its path.
fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Makes a store, which is of English.
fn make(path: &Path) {
    let path = path.to_str().unwrap();
    json(0, &["config", "--db", path, "set", "language", "en"]);
}

/// The finding about something.
fn finding<'f>(found: &'f [Value], what: &str) -> &'f Value {
    let is_about = |of: &&Value| of["what"].as_str().is_some_and(|of| of.starts_with(what));
    found
        .iter()
        .find(is_about)
        .unwrap_or_else(|| panic!("{what}: {found:?}"))
}

#[test]
fn a_flag_goes_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        folder.path(),
        "loci.toml",
        "db = \"store\"\nslow_ms = 1\nlog = \"json\"\n[limits]\ncalls_max = 3\n",
    );
    let output = Command::cargo_bin("loci")
        .unwrap()
        .args(["serve", "--show-config", "--json", "--slow-ms", "3"])
        .env("LOCI_CONFIG", &config)
        .env("LOCI_SLOW_MS", "2")
        .env("LOCI_LOG", "none")
        .env("LOCI_METRICS_TOKEN", "0123456789abcdef")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("0123456789abcdef"), "{text}");
    let told = json_lines(&text).remove(0);
    let (settings, from) = (&told["config"], &told["from"]);
    assert_eq!(settings["db"], db_path(folder.path()));
    assert_eq!(
        (&settings["slow_ms"], &from["slow_ms"]),
        (&json!(3), &json!("--slow-ms"))
    );
    assert_eq!(
        (&settings["log"], &from["log"]),
        (&json!("none"), &json!("LOCI_LOG"))
    );
    assert_eq!(
        (&settings["limits"]["calls_max"], &from["limits.calls_max"]),
        (&json!(3), &json!(config))
    );
    assert_eq!(settings["http"], "127.0.0.1:7626");
    assert_eq!(from["http"], Value::Null);
}

#[test]
fn a_server_does_what_its_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(
        folder.path(),
        "loci.toml",
        "db = \"store\"\nlisten = \"127.0.0.1:0\"\n[limits]\ncalls_max = 3\n",
    );
    let served = Served::start(&["--config", &config]);
    assert_eq!(served.admin().session().unwrap().calls_max, 3);
    assert_eq!(served.get("/healthz", None).status, 200);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let config = file(
        folder.path(),
        "loci.toml",
        "db = \"store\"\ntls_crt = \"c\"\n",
    );
    refused(
        2,
        &["serve", "--config", &config],
        "loci.toml: there is no setting tls_crt: was tls_cert or tls_key meant?",
    );
    refused(2, &["serve", "--config", "nowhere.toml"], "nowhere.toml: ");
    refused(
        2,
        &["serve", "--db", &db, "--http", "off"],
        "--http: http: give an address",
    );
    refused(2, &["serve", "--db", &db, "--root", &db], "--root");
    refused(2, &["serve"], "give --db DIR");
    let environment = Command::cargo_bin("loci")
        .unwrap()
        .args(["serve", "--db", &db])
        .env("LOCI_INSECURE_LOCAL", "true")
        .output()
        .unwrap();
    assert_eq!(environment.status.code(), Some(2));
    assert!(!Path::new(&db).exists());
}

#[test]
fn a_check_tells_of_everything_that_starting_needs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("stores");
    for name in ["one", "two"] {
        make(&root.join(name));
    }
    let root = root.to_str().unwrap();
    let check = [
        "serve",
        "--check",
        "--root",
        root,
        "--http",
        "none",
        "--listen",
        "127.0.0.1:0",
    ];
    let found = json(0, &check);
    assert_eq!(found[0]["config"]["root"], root);
    assert_eq!(found[0]["config"]["http"], "none");
    for what in [
        "listen",
        "keys of one",
        "store one",
        "keys of two",
        "store two",
    ] {
        assert_eq!(finding(&found, what)["level"], "ok", "{what}");
    }
    fs::write(folder.path().join("stores/one/keys.json"), "{").unwrap();
    fs::write(folder.path().join("stores/two/loci.redb"), "no database").unwrap();
    let pem = file(folder.path(), "cert.pem", "no certificate");
    let audit = folder.path().join("none/audit.log").display().to_string();
    let wrong = [
        &check[..],
        &["--tls-cert", &pem, "--tls-key", &pem, "--audit-log", &audit],
    ]
    .concat();
    let found = json(1, &wrong);
    for what in ["keys of one", "store two", "tls", "audit_log"] {
        assert_eq!(finding(&found, what)["level"], "wrong", "{what}");
    }
    for what in ["store one", "keys of two"] {
        assert_eq!(finding(&found, what)["level"], "ok", "{what}");
    }
}

#[test]
fn a_check_of_a_store_that_there_is_not_makes_none_and_one_of_a_store_in_use_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let check = ["serve", "--check", "--db", &db, "--http", "none"];
    let listen = ["--listen", "127.0.0.1:0"];
    let found = json(0, &[&check[..], &listen].concat());
    assert_eq!(finding(&found, "store store")["level"], "ok");
    assert!(!Path::new(&db).exists());
    let served = Served::of(folder.path());
    let address = served.address.to_string();
    let found = json(1, &[&check[..], &["--listen", &address]].concat());
    assert_eq!(finding(&found, "listen")["level"], "wrong");
    assert_eq!(finding(&found, "store store")["level"], "wrong");
    assert_eq!(finding(&found, "keys of store")["detail"], "1 are read");
}

#[test]
fn pages_of_the_origins_that_are_named_may_call_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let (page, other) = ("https://notes.example", "https://elsewhere.example");
    let served = Served::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--cors-origins",
        page,
    ]);
    let preflight = |origin: &str| {
        let head = [
            ("origin", origin),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "authorization,loci-store"),
        ];
        served.request("OPTIONS", "/v1/stats", &head)
    };
    let told = preflight(page);
    assert_eq!(told.status, 200);
    assert_eq!(told.field("access-control-allow-origin"), Some(page));
    let allowed = told.field("access-control-allow-headers").unwrap();
    for name in [
        "authorization",
        "content-type",
        "if-match",
        "if-none-match",
        "loci-store",
    ] {
        assert!(allowed.contains(name), "{allowed}");
    }
    assert_eq!(told.field("access-control-allow-credentials"), None);
    assert_eq!(preflight(other).field("access-control-allow-origin"), None);
    // A page needs a key as everybody does, and may read what programs go by.
    let told = served.request("GET", "/v1/stats", &[("origin", page)]);
    assert_eq!(told.status, 401);
    let exposed = told.field("access-control-expose-headers").unwrap();
    assert!(
        exposed.contains("etag") && exposed.contains("retry-after"),
        "{exposed}"
    );
    let silent = tempfile::tempdir().unwrap();
    let silent = Served::of(silent.path());
    let told = silent.request("GET", "/healthz", &[("origin", page)]);
    assert_eq!(told.field("access-control-allow-origin"), None);
}

/// The value of a figure, with its labels as they are written.
fn figure(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

#[test]
fn figures_of_one_store_are_for_its_admins_and_for_who_has_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = "a token of sixteen";
    let token = token.replace(' ', "-");
    let path = file(folder.path(), "token", &format!("{token}\n"));
    let db = db_path(folder.path());
    let served = Served::start(&[
        "--db",
        &db,
        "--listen",
        "127.0.0.1:0",
        "--metrics-token-file",
        &path,
    ]);
    let admin = served.keys[0].1.clone();
    let (reader, key) = served.with_key(Role::Read, None);
    reader.search(&locidb::SearchRequest::new("heron")).unwrap();
    assert_eq!(served.get("/v1/stats", Some(&admin)).status, 200);
    assert_eq!(served.get("/no/such/secret-path", None).status, 404);
    assert_eq!(served.get("/metrics", Some(&key)).status, 403);
    assert_eq!(served.get("/metrics", None).status, 401);
    assert_eq!(
        served.get("/metrics", Some("another-token-of-16")).status,
        401
    );
    assert_eq!(served.get("/metrics", Some(&admin)).status, 200);
    let told = served.get("/metrics", Some(&token));
    assert_eq!(told.status, 200);
    let text = told.body;
    for (name, expected) in [
        ("loci_calls_total{call=\"Search\",code=\"ok\"}", 1.0),
        ("loci_call_seconds_count{call=\"Search\"}", 1.0),
        ("loci_call_seconds_bucket{call=\"Search\",le=\"60\"}", 1.0),
        (
            "loci_http_requests_total{method=\"GET\",route=\"/v1/stats\",status=\"200\"}",
            1.0,
        ),
        (
            "loci_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"}",
            1.0,
        ),
        ("loci_stores", 1.0),
        ("loci_stores_open", 1.0),
        ("loci_documents", 0.0),
    ] {
        assert_eq!(figure(&text, name), Some(expected), "{name}\n{text}");
    }
    if cfg!(target_os = "linux") {
        for name in [
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_cpu_seconds_total",
        ] {
            assert!(
                figure(&text, name).is_some_and(|value| value > 0.0),
                "{name}\n{text}"
            );
        }
    }
    assert!(
        !text.contains("secret-path") && !text.contains("heron"),
        "{text}"
    );
    every_figure_is_explained(&text);
}

/// Each has a line of help, and stands in the guide.
fn every_figure_is_explained(text: &str) {
    let guide = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/guide/operating.md"
    ));
    let guide = guide.unwrap();
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names: Vec<&str> = kinds.filter_map(|kind| kind.split(' ').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(text.contains(&format!("# HELP {name} ")), "{name}\n{text}");
        assert!(
            guide.contains(&format!("`{name}`")),
            "{name} is not in the guide"
        );
    }
}

#[test]
fn figures_of_several_stores_are_for_who_has_the_token_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        make(&folder.path().join(name));
    }
    let root = folder.path().to_str().unwrap();
    let args = ["--root", root, "--listen", "127.0.0.1:0"];
    let without = Served::start(&args);
    let key = without.keys[0].1.clone();
    for shown in [None, Some(&key[..])] {
        assert_eq!(without.get("/metrics", shown).status, 404);
    }
    drop(without);
    let token = "0123456789abcdef";
    let config = file(
        folder.path(),
        "loci.toml",
        &format!("metrics_token = \"{token}\""),
    );
    let with = Served::start(&[&args[..], &["--config", &config]].concat());
    for shown in [None, Some(&key[..])] {
        assert_eq!(with.get("/metrics", shown).status, 401);
    }
    let told = with.get("/metrics", Some(token));
    assert_eq!(figure(&told.body, "loci_stores"), Some(2.0));
    assert!(
        !told.body.contains("loci_documents") && !told.body.contains("one\""),
        "{}",
        told.body
    );
}

#[test]
fn figures_of_a_server_that_asks_for_no_keys_are_for_everybody() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let served = Served::start(&["--db", &db, "--listen", "127.0.0.1:0", "--insecure-local"]);
    assert_eq!(served.get("/metrics", None).status, 200);
}
