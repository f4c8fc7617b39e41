use std::fs;

use serde_json::json;

use super::*;
use crate::access::connection_rate::{ConnectionRateLimits, Network, Rate};

/// What these flags, this environment and a file with this text say.
fn config(flags: &[&str], environment: &[(&str, &str)], file: &str) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loci.toml");
    fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    let options = Options {
        file: Some(path.into()),
        ..options(flags)
    };
    let environment = environment.iter();
    let environment = environment.map(|(name, value)| (name.into(), value.into()));
    Config::from_sources(&options, environment)
}

/// What these flags of a command line say.
fn options(flags: &[&str]) -> Options {
    let mut options = Options::default();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if *flag == "--insecure-local" {
            options.insecure_local = Some(true);
            continue;
        }
        let value = *flags.next().unwrap();
        match *flag {
            "--db" => options.db = Some(value.into()),
            "--root" => options.root = Some(value.into()),
            "--listen" => options.listen = Some(value.parse().unwrap()),
            "--http" => options.http = Some(value.into()),
            "--cors-origins" => {
                let origins = value.split(',').map(str::to_owned);
                options.cors_origins = Some(origins.collect());
            }
            "--otlp-sample" => options.otlp_sample = Some(value.parse().unwrap()),
            "--limit" => options
                .limits
                .get_or_insert_default()
                .push(value.to_owned()),
            other => panic!("no test gives {other}"),
        }
    }
    options
}

fn shown(config: &Config, name: &str) -> serde_json::Value {
    config.to_json().pointer(name).unwrap().clone()
}

#[test]
fn flags_override_environment_file_and_defaults_in_that_order() {
    let file = "db = \"store\"\nslow_ms = 1\nlisten = \"127.0.0.1:1\"\n[limits]\ndrain_s = 1\ncalls_max = 1\nthreads = 1\n";
    let environment = [
        ("LOCI_SLOW_MS", "2"),
        ("LOCI_LISTEN", "127.0.0.1:2"),
        ("LOCI_LIMITS__CALLS_MAX", "2"),
        ("LOCI_LIMITS__DRAIN_S", "2"),
        ("LOCI_LOG", ""),
    ];
    let flags = ["--listen", "127.0.0.1:3", "--limit", "drain_s=3"];
    let config = config(&flags, &environment, file).unwrap();
    let cases = [
        ("/config/listen", json!("127.0.0.1:3")),
        ("/config/slow_ms", json!(2)),
        ("/config/http", json!("127.0.0.1:7626")),
        ("/config/log", json!("text")),
        ("/config/limits/drain_s", json!(3)),
        ("/config/limits/calls_max", json!(2)),
        ("/config/limits/threads", json!(1)),
        ("/config/limits/queue_max", json!(1_024)),
        ("/from/listen", json!("--listen")),
        ("/from/slow_ms", json!("LOCI_SLOW_MS")),
        ("/from/limits.drain_s", json!("--limit drain_s")),
        ("/from/limits.calls_max", json!("LOCI_LIMITS__CALLS_MAX")),
    ];
    for (name, expected) in cases {
        assert_eq!(shown(&config, name), expected, "{name}");
    }
    let StoreLocation::Single(folder) = config.store_location() else {
        panic!("that is one store");
    };
    assert!(folder.is_absolute(), "a path of the file is from there on");
}

#[test]
fn of_alternative_settings_the_higher_layer_wins() {
    let one = config(&["--root", "r"], &[("LOCI_DB", "d")], "db = \"e\"").unwrap();
    assert!(matches!(one.store_location(), StoreLocation::Root(_)));
    let other = config(&[], &[("LOCI_DB", "d")], "root = \"r\"").unwrap();
    assert!(matches!(other.store_location(), StoreLocation::Single(_)));
    let both = config(&[], &[], "root = \"r\"\ndb = \"d\"").unwrap_err();
    assert!(both.to_string().ends_with("give db or root, not both"));
}

#[test]
fn invalid_settings_are_rejected_with_their_origin() {
    let cases: &[(&[&str], &[(&str, &str)], &str, &[&str])] = &[
        (&[], &[], "db = 5", &["loci.toml: db: give the folder"]),
        (&[], &[], "", &["give --db DIR"]),
        (
            &[],
            &[],
            "db = \"d\"\ndb_ = 1",
            &["loci.toml: there is no setting db_"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\nmetrics_tokens = 1",
            &["no setting metrics_tokens: was metrics_token or metrics_token_file meant?"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\n[limits]\nconnections = 1",
            &["limits.connections: was limits.connections_max meant?"],
        ),
        (
            &[],
            &[],
            "limits = 5\ndb = \"d\"",
            &["limits: give a table"],
        ),
        (&[], &[], "db = \"d\"\nlog \"x\"", &["loci.toml: line 2: "]),
        (
            &[],
            &[("LOCI_HTTP", "yes")],
            "db = \"d\"",
            &["LOCI_HTTP: http: give"],
        ),
        (
            &[],
            &[("LOCI_LIMITS__CALLS_MAX", "many")],
            "db = \"d\"",
            &["LOCI_LIMITS__CALLS_MAX: limits.calls_max: give a whole number"],
        ),
        (
            &[],
            &[("LOCI_LIMITS__CALS_MAX", "1")],
            "db = \"d\"",
            &["LOCI_LIMITS__CALS_MAX: was ", "LOCI_LIMITS__CALLS_MAX"],
        ),
        (
            &["--limit", "calls=1"],
            &[],
            "db = \"d\"",
            &["was calls_max meant?"],
        ),
        (
            &["--limit", "calls_max"],
            &[],
            "db = \"d\"",
            &["--limit calls_max: "],
        ),
        (
            &[],
            &[],
            "db = \"d\"\n[limits]\npayload_len_max = 1",
            &["limits.payload_len_max: give bytes"],
        ),
        (
            &["--limit", "room_bytes=65536"],
            &[],
            "db = \"d\"",
            &["--limit room_bytes: limits.room_bytes: give bytes"],
        ),
        (
            &[],
            &[("LOCI_TLS_CERT", "c")],
            "db = \"d\"",
            &["tls_cert and tls_key"],
        ),
        (
            &[],
            &[("LOCI_INSECURE_LOCAL", "1")],
            "db = \"d\"",
            &["only the flag --insecure-local"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\ninsecure_local = true",
            &["only the flag --insecure-local"],
        ),
        (
            &["--insecure-local", "--listen", "0.0.0.0:1"],
            &[],
            "db = \"d\"",
            &["can be reached from elsewhere"],
        ),
        (
            &["--insecure-local"],
            &[("LOCI_HTTP", "[::]:1")],
            "db = \"d\"",
            &["can be reached from elsewhere"],
        ),
        (
            &["--insecure-local", "--cors-origins", "*"],
            &[],
            "db = \"d\"",
            &["name the origins"],
        ),
        (
            &["--otlp-sample", "2"],
            &[],
            "db = \"d\"",
            &["--otlp-sample: otlp_sample: give"],
        ),
        (
            &["--limit", "store_share=half"],
            &[],
            "db = \"d\"",
            &["--limit store_share: limits.store_share: give a share"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\n[limits]\nstore_share = 1.5",
            &["loci.toml: limits.store_share: give a share"],
        ),
        (
            &[],
            &[("LOCI_OTLP_ENDPOINT", "http://me:pw@collector")],
            "db = \"d\"",
            &["LOCI_OTLP_ENDPOINT: otlp_endpoint: give"],
        ),
        (
            &[],
            &[(
                "LOCI_CORS_ORIGINS",
                "https://a.example, https://b.example/x",
            )],
            "db = \"d\"",
            &["LOCI_CORS_ORIGINS: cors_origins: give origins"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\ncors_origins = [1]",
            &["cors_origins: give"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\ncors_origins = [\"*\", \"https://a\"]",
            &["give origins"],
        ),
        (
            &[],
            &[],
            "db = \"d\"\nmetrics_token_file = \"none\"",
            &["metrics_token_file names it"],
        ),
    ];
    for (flags, environment, file, says) in cases {
        let why = config(flags, environment, file).unwrap_err().to_string();
        for says in *says {
            assert!(
                why.contains(says),
                "{flags:?} {environment:?} {file}: {why}"
            );
        }
    }
}

#[test]
fn store_concurrency_is_a_fraction_with_several_stores_and_unlimited_with_one() {
    let file = "[limits]\nwrites_max = 9\nlong_max = 1\nstore_share = 0.5\n";
    let rooms = |flags: &[&str]| config(flags, &[], file).unwrap().store_concurrency();
    let several = rooms(&["--root", "r"]);
    assert_eq!(
        (several.writes, several.long, several.transactions),
        (5, 1, 32)
    );
    assert!(rooms(&["--db", "d"]).writes >= 9);
    assert_eq!(
        rooms(&["--root", "r", "--limit", "store_share=1"]).writes,
        9
    );
}

#[test]
fn connection_rate_limits_can_be_set_in_every_layer() {
    let file = "db = \"d\"\n[limits]\naccept_per_second = 7\naccept_unlimited = [\"10.0.0.0/8\"]\n";
    let environment = [
        ("LOCI_LIMITS__ACCEPT_PER_SECOND_ALL", "0"),
        ("LOCI_LIMITS__ACCEPT_UNLIMITED", "192.0.2.1, 2001:db8::/32"),
    ];
    let set = config(&["--limit", "accept_burst=9"], &environment, file).unwrap();
    let arrivals = set.server(None).limits.connection_rate;
    let rate = |per_second, burst| Rate { per_second, burst };
    assert_eq!(arrivals.network, rate(7, 9));
    assert_eq!(
        arrivals.all,
        rate(0, ConnectionRateLimits::default().all.burst)
    );
    let networks = arrivals.unlimited.iter().map(Network::to_string);
    let networks: Vec<String> = networks.collect();
    assert_eq!(networks, ["192.0.2.1/32", "2001:db8::/32"]);
    let none = config(&["--limit", "accept_unlimited="], &[], file).unwrap();
    assert_eq!(none.server(None).limits.connection_rate.unlimited, []);
    let by_default = config(&[], &[], "db = \"d\"").unwrap();
    assert_eq!(
        by_default.server(None).limits.connection_rate,
        ConnectionRateLimits::default()
    );
    for wrong in ["10.0.0.0/99", "here"] {
        let flag = format!("accept_unlimited={wrong}");
        let why = config(&["--limit", &flag], &[], file).unwrap_err();
        let why = why.to_string();
        assert!(
            why.starts_with("--limit accept_unlimited: limits.accept_unlimited: give networks"),
            "{why}"
        );
    }
}

#[test]
fn secrets_do_not_appear_in_errors_or_output() {
    let token = "correct-horse-battery-staple";
    let file = format!("db = \"d\"\nmetrics_token = \"{token}\"\n");
    let kept = config(&[], &[], &file).unwrap();
    let output = format!("{} {kept:?}", kept.to_json());
    assert!(!output.contains("horse"), "{output}");
    assert_eq!(
        kept.settings.metrics_token.unwrap().bytes(),
        token.as_bytes()
    );
    // A token of digits alone is text, too.
    let digits = [("LOCI_METRICS_TOKEN", "01234567890123456789")];
    let kept = config(&[], &digits, &file).unwrap();
    assert_eq!(
        kept.settings.metrics_token.unwrap().bytes(),
        digits[0].1.as_bytes()
    );
    for wrong in [
        "db = \"d\"\nmetrics_token = \"horse and more\"",
        "db = \"d\"\nmetrics_token = [\"horse\"]",
        "db = \"d\"\nmetrics_token = \"horse",
    ] {
        let why = config(&[], &[], wrong).unwrap_err().to_string();
        assert!(!why.contains("horse"), "{why}");
    }
}

#[test]
fn unrelated_environment_variables_are_ignored() {
    let environment = [
        ("LOCI_DB", "d"),
        ("LOCI_SERVICE_HOST", "10.0.0.1"),
        ("LOCI_CONFIG", ""),
    ];
    let config = config(&[], &environment, "").unwrap();
    assert_eq!(config.ignored(), ["LOCI_SERVICE_HOST"]);
}

#[test]
fn http_can_be_disabled_and_all_cors_origins_allowed() {
    let file = "db = \"d\"\ncors_origins = [\"*\"]";
    let all = config(&["--http", "none"], &[], file).unwrap();
    assert_eq!(all.addresses().len(), 1);
    let some = "https://a.example,http://localhost:3000";
    let some = config(&["--cors-origins", some], &[], file).unwrap();
    assert_eq!(some.settings.cors_origins.len(), 2);
}
