//! TLS as other programs see it: `openssl s_client` and `curl` against `loci serve --tls-cert --tls-key`.

mod common;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::db_path;
use common::test_server::TestServer;

/// Runs a program without input, whatever comes of it.
fn run(program: &str, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    let run = command.args(args).stdin(Stdio::null()).output();
    run.unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Both of what a program printed.
fn printed(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr];
    let texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
    texts.concat()
}

/// A certificate for this machine that signs itself, and its key.
fn certificate(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (certificate, key) = (path("cert.pem"), path("key.pem"));
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
    let of_key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let files = ["-keyout", &key, "-out", &certificate];
    let about = ["-days", "2", "-subj", "/CN=localhost", "-addext", names];
    let output = run(
        "openssl",
        &[&["req", "-x509"][..], &of_key, &files, &about].concat(),
    );
    assert!(output.status.success(), "{}", printed(&output));
    (certificate, key)
}

/// What `openssl s_client` prints of a handshake, its lines about the connection alone.
fn handshake(to: SocketAddr, authority: &str, args: &[&str]) -> (bool, String) {
    let to = to.to_string();
    let usual = [
        "s_client",
        "-connect",
        &to,
        "-CAfile",
        authority,
        "-servername",
        "localhost",
    ];
    let output = run("openssl", &[&usual[..], args].concat());
    let text = printed(&output);
    let shown_fields = [
        "Protocol  :",
        "New, ",
        "ALPN",
        "No ALPN",
        "Verif",
        "alert",
        "no protocols",
    ];
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| shown_fields.iter().any(|field| line.contains(field)));
    let lines: Vec<&str> = lines.collect();
    println!("openssl s_client {}: {}", args.join(" "), lines.join("; "));
    (output.status.success(), text)
}

#[test]
#[ignore = "it runs openssl and curl, which a machine need not have"]
fn openssl_and_curl_negotiate_tls_and_verify_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let db = db_path(folder.path());
    let files = ["--tls-cert", &certificate, "--tls-key", &key];
    let served =
        TestServer::start(&[&["--db", &db, "--listen", "127.0.0.1:0"][..], &files].concat());
    for (to, name, other) in [
        (served.address, "loci/1", "http/1.1"),
        (served.http, "http/1.1", "loci/1"),
    ] {
        for version in ["-tls1_2", "-tls1_3"] {
            let (is_done, text) = handshake(to, &certificate, &[version, "-alpn", name]);
            assert!(
                is_done && text.contains("Verify return code: 0 (ok)"),
                "{text}"
            );
            assert!(text.contains(&format!("ALPN protocol: {name}")), "{text}");
            let printed_version = version.replace("-tls", "TLSv").replace('_', ".");
            assert!(text.contains(&format!("New, {printed_version}")), "{text}");
        }
        for old in ["-tls1", "-tls1_1"] {
            // The program would not try by itself.
            let args = [old, "-cipher", "ALL:@SECLEVEL=0", "-alpn", name];
            let (is_done, text) = handshake(to, &certificate, &args);
            assert!(!is_done && text.contains("SSL alert number"), "{text}");
        }
        let (is_done, text) = handshake(to, &certificate, &["-alpn", other]);
        assert!(
            !is_done && text.contains("no application protocol"),
            "{text}"
        );
    }
    let url = format!("https://localhost:{}/readyz", served.http.port());
    let curl = |args: &[&str]| {
        let output = run("curl", &[&["-sS", &url][..], args].concat());
        let text = printed(&output);
        println!(
            "curl {}: {}",
            args.join(" ").replace(&certificate, "cert.pem"),
            text.trim()
        );
        (output.status.code(), text)
    };
    let trusting = ["--cacert", &certificate];
    assert_eq!(curl(&trusting), (Some(0), "ready\n".to_owned()));
    let with_version =
        |version: &'static str| [&trusting[..], &[version, "--tls-max", "1.2"]].concat();
    assert_eq!(curl(&with_version("--tlsv1.2")).0, Some(0));
    assert_eq!(curl(&[&trusting[..], &["--tlsv1.3"]].concat()).0, Some(0));
    let old = ["--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0"];
    assert_eq!(curl(&[&trusting[..], &old].concat()).0, Some(35));
    // Who does not trust the certificate says so; who speaks without TLS hears nothing.
    assert_eq!(curl(&[]).0, Some(60));
    let plain = format!("http://localhost:{}/readyz", served.http.port());
    let refused = run("curl", &["-sS", &plain]);
    println!("curl http://: {}", printed(&refused).trim());
    assert!(!refused.status.success());
}
