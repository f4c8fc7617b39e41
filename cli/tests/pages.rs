//! The pages end to end: the real binary, asked as a browser asks, by plain requests.
//!
//! What a person sees of them is looked at in a browser by `tests/browser/pages.mjs`.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use common::db_path;
use common::test_server::TestServer;
use loci_client::call::{Change, Role};
use locidb::storage::records::{ChunkRecord, DocumentRecord, Location};
use locidb::{NewAsset, NewChunk, NewDocument};

const HOST: (&str, &str) = ("Host", "localhost");
/// What a browser takes.
const BROWSER: (&str, &str) = (
    "Accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
);

/// A response.
#[derive(Debug)]
struct PageResponse {
    status: u16,
    head: String,
    body: String,
}

impl PageResponse {
    /// The value of a field, empty where there is none.
    fn field(&self, name: &str) -> &str {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = fields.find(|(of, _)| of.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// The cookie that it has a browser keep, as the browser sends it.
    fn cookie(&self) -> String {
        self.field("Set-Cookie")
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    }

    /// Where the first link leads whose tag has this in it.
    fn link(&self, with: &str) -> String {
        let tags = self
            .body
            .split("<a ")
            .skip(1)
            .map(|rest| rest.split_once('>').unwrap().0);
        let tag = tags
            .into_iter()
            .find(|tag| tag.contains(with))
            .unwrap_or_else(|| panic!("no {with}: {}", self.body));
        let path = tag
            .split_once("href=\"")
            .unwrap()
            .1
            .split_once('"')
            .unwrap()
            .0;
        path.replace("&amp;", "&")
    }
}

/// Sends a request, and reads what comes.
fn send(at: SocketAddr, line: &str, fields: &[(&str, &str)], body: &str) -> PageResponse {
    let mut stream = TcpStream::connect(at).unwrap();
    let fields: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    // Version 1.0 asks for a body without chunks, and for the end of the connection after it.
    let request = format!("{line} HTTP/1.0\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    PageResponse {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// A browser that has signed in with a key, or needs none.
struct Browser {
    at: SocketAddr,
    cookie: String,
}

impl Browser {
    fn sign_in(served: &TestServer, key: &str) -> Browser {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let body = format!("key={key}");
        let signed_in = send(served.http, "POST /sign-in", &[HOST, form], &body);
        Browser {
            at: served.http,
            cookie: signed_in.cookie(),
        }
    }

    fn get(&self, path: &str) -> PageResponse {
        let fields = [HOST, BROWSER, ("Cookie", &self.cookie)];
        send(self.at, &format!("GET {path}"), &fields, "")
    }
}

fn chunk(text: &str) -> NewChunk {
    let record = ChunkRecord {
        text: text.into(),
        token_count: text.len() as u32 / 4,
        ..ChunkRecord::default()
    };
    NewChunk {
        record,
        vector: None,
    }
}

fn document(user: &str, key: &str, texts: &[&str]) -> NewDocument {
    NewDocument {
        record: DocumentRecord {
            user: user.into(),
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: texts.concat().into(),
        chunks: texts.iter().map(|text| chunk(text)).collect(),
        ..NewDocument::default()
    }
}

fn put(served: &TestServer, documents: Vec<NewDocument>) {
    let changes = documents
        .into_iter()
        .map(|new| Change::PutDocument(Box::new(new)));
    served.admin().apply(changes.collect()).unwrap();
}

#[test]
fn a_browser_signs_in_once_and_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let key = &served.keys[0].1[..];
    let stranger = |path: &str| send(served.http, &format!("GET {path}"), &[HOST, BROWSER], "");
    let post = |path: &str, fields: &[(&str, &str)], body: &str| {
        send(
            served.http,
            &format!("POST {path}"),
            &[&[HOST], fields].concat(),
            body,
        )
    };

    let redirect = stranger("/documents?collection=a+b");
    assert_eq!((redirect.status, redirect.body.len()), (303, 0));
    let form = redirect.field("Location").to_owned();
    assert_eq!(form, "/sign-in?to=%2Fdocuments%3Fcollection%3Da%2Bb");
    assert!(
        stranger(&form)
            .body
            .contains("name=\"to\" value=\"/documents?collection=a+b\"")
    );
    assert!(
        stranger("/sign-in?to=//evil.test")
            .body
            .contains("name=\"to\" value=\"/\"")
    );

    let wrong = post("/sign-in", &[], "key=loci_no&to=/documents");
    assert_eq!((wrong.status, wrong.cookie().as_str()), (401, ""));
    assert!(
        wrong.body.contains("role=\"alert\">The key is wrong"),
        "{}",
        wrong.body
    );
    assert_eq!(post("/sign-in", &[], "to=/").status, 400);
    assert_eq!(
        post("/sign-in", &[], &format!("key={}", "x".repeat(5_000))).status,
        413
    );
    for foreign in [
        ("Origin", "https://evil.test"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        let refused = post("/sign-in", &[foreign], &format!("key={key}"));
        assert_eq!((refused.status, refused.cookie().as_str()), (403, ""));
    }
    let elsewhere = post("/sign-in", &[], &format!("key={key}&to=%2F%2Fevil.test"));
    assert_eq!(elsewhere.field("Location"), "/");

    let signed_in = post(
        "/sign-in",
        &[("Origin", "http://localhost")],
        &format!("key={key}&to=%2Fdocuments"),
    );
    assert_eq!(
        (signed_in.status, signed_in.field("Location")),
        (303, "/documents")
    );
    let cookie = signed_in.field("Set-Cookie");
    assert!(
        cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let cookie = signed_in.cookie();
    let browser = Browser {
        at: served.http,
        cookie: cookie.clone(),
    };
    assert_eq!(browser.get("/documents").status, 200);
    assert_eq!(
        browser.get("/v1/stats").status,
        401,
        "the cookie is for pages alone"
    );

    let out = post("/sign-out", &[("Cookie", &cookie)], "");
    assert!(
        out.field("Set-Cookie")
            .starts_with("loci_session=; Path=/; Max-Age=0;"),
        "{out:?}"
    );
    let after = browser.get("/");
    assert_eq!(
        (after.status, after.cookie().as_str()),
        (303, "loci_session="),
        "a copy of the cookie is of no use"
    );
}

#[test]
fn cross_site_link_reloads_to_send_the_session_cookie() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let from = |site| {
        send(
            served.http,
            "GET /?q=a%22b",
            &[HOST, BROWSER, ("Sec-Fetch-Site", site)],
            "",
        )
    };
    let again = from("cross-site");
    assert_eq!(
        (again.status, again.field("Refresh")),
        (200, "0; url=/?q=a%22b")
    );
    assert_eq!(from("same-origin").status, 303);
}

#[test]
fn pages_set_security_headers_and_static_files_are_cached() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let browser = Browser::sign_in(&served, &served.keys[0].1);
    for path in ["/", "/?q=heron", "/documents", "/read/none", "/sign-in"] {
        let got = browser.get(path);
        let policy = got.field("Content-Security-Policy");
        assert!(
            policy.starts_with("default-src 'none';"),
            "{path}: {policy}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        let want = [
            ("Cache-Control", "private, no-store"),
            ("Referrer-Policy", "same-origin"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ];
        for (name, value) in want {
            assert_eq!(got.field(name), value, "{path}: {name}");
        }
        assert!(
            !got.body.contains("<style")
                && !got.body.contains(" style=")
                && !got.body.contains("http://"),
            "{path}"
        );
    }
    let page = browser.get("/").body;
    for (name, kind) in [
        ("style.css", "text/css"),
        ("script.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ] {
        let end = page.find(name).unwrap() + name.len();
        let path = &page[page[..end].rfind('"').unwrap() + 1..end];
        let got = send(served.http, &format!("GET {path}"), &[HOST], "");
        assert!(
            got.status == 200 && got.field("Content-Type").starts_with(kind),
            "{got:?}"
        );
        assert!(got.field("Cache-Control").contains("immutable"));
        let conditional = [HOST, ("If-None-Match", got.field("ETag"))];
        assert_eq!(
            send(served.http, &format!("GET {path}"), &conditional, "").status,
            304
        );
        assert_eq!(
            send(served.http, &format!("GET /pages/0/{name}"), &[HOST], "").status,
            404
        );
    }
}

#[test]
fn search_results_link_to_the_cited_passage() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let key = &served.keys[0].1;
    let browser = Browser::sign_in(&served, key);
    let empty = browser.get("/");
    assert!(
        empty.status == 200 && empty.body.contains("loci ingest --db DIR"),
        "{}",
        empty.body
    );
    assert!(
        browser
            .get("/documents")
            .body
            .contains("loci ingest --db DIR")
    );

    let texts = [
        "The otter sleeps.",
        "A heron waits in shallow water.",
        "The bittern booms.",
    ];
    put(&served, vec![document("", "a b/birds.md", &texts)]);
    let found = browser.get("/?q=heron&strategy=text");
    assert_eq!(found.status, 200);
    assert!(
        found
            .body
            .contains("A <mark>heron</mark> waits in shallow water."),
        "{}",
        found.body
    );
    assert!(found.body.contains("<h2>1 passage</h2>") && found.body.contains("words"));
    let link = found.link("/note/");
    assert_eq!(
        link,
        "/note/a%20b%2Fbirds.md/chunk/a%20b%2Fbirds.md%231#here"
    );
    let path = link.trim_end_matches("#here");
    let opened = browser.get(path);
    assert_eq!(opened.status, 200);
    let marked = "<mark class=\"cited\" id=\"here\" tabindex=\"-1\" autofocus>A heron waits in shallow water.</mark>";
    assert!(
        opened.body.contains(marked) && opened.body.contains("The otter sleeps."),
        "{}",
        opened.body
    );
    assert!(
        opened.link("rel=\"prev\"").ends_with("%230#here")
            && opened.link("rel=\"next\"").ends_with("%232#here")
    );
    assert!(
        browser
            .get("/?q=heorn&strategy=text")
            .body
            .contains("<a href=\"/?q=heron&amp;strategy=text\">heron</a>")
    );
    assert!(
        browser
            .get("/?q=heron&answer=1")
            .body
            .contains("<h2 id=\"answer\">Answer</h2>")
    );

    let bearer = format!("Bearer {key}");
    let program = |path: &str| {
        send(
            served.http,
            &format!("GET {path}"),
            &[HOST, ("Accept", "*/*"), ("Authorization", &bearer)],
            "",
        )
    };
    let chunk: serde_json::Value =
        serde_json::from_str(&program(&format!("{path}?context=1")).body).unwrap();
    assert_eq!(
        (
            &chunk["record"]["text"],
            chunk["before"].as_array().unwrap().len()
        ),
        (&texts[1].into(), 1)
    );
    assert_eq!(program(&format!("{path}?context=11")).status, 400);
    assert_eq!(program("/note/x/chunk/x%231").status, 404);
    assert_eq!(
        program("/note/x/chunk/a%20b%2Fbirds.md%231").status,
        404,
        "the chunk is of another document"
    );
    let cookie = browser.cookie.clone();
    let unkeyed = send(
        served.http,
        &format!("GET {path}"),
        &[HOST, ("Cookie", &cookie)],
        "",
    );
    assert!(
        unkeyed.status == 401 && unkeyed.field("Content-Type").contains("problem+json"),
        "{unkeyed:?}"
    );
    assert_eq!(browser.get("/note/x/chunk/x%231").status, 404);
    assert_eq!(browser.get("/read/none").status, 404);
    let nowhere = browser.get("/read/birds/heron.md");
    assert_eq!(nowhere.status, 404);
    assert!(nowhere.body.contains("percent-encoded"));
    let wrong = browser.get("/read/%ff");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("role=\"alert\""), "{}", wrong.body);
    let problem = program("/note/%ff/chunk/x");
    assert!(problem.status == 400 && problem.field("Content-Type").contains("problem+json"));
}

#[test]
fn document_and_question_text_is_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let browser = Browser::sign_in(&served, &served.keys[0].1);
    let evil = "heron <script>alert(1)</script> \" onload=x <img src=x>";
    let mut hostile = document(
        "",
        "<script>alert(1)</script>.md",
        &[
            evil,
            "# <script>alert(1)</script>\n\n| <script>alert(1)</script> |",
        ],
    );
    hostile.record.title = Some(evil.into());
    hostile.record.filename = Some(evil.into());
    hostile.record.authors = vec![evil.into()];
    hostile.record.collection = "<i>".into();
    hostile.record.language = Some("\"><script>".into());
    hostile.record.address = Some("javascript://x/%0aalert(1)".into());
    hostile.record.doi = Some("10.1/\"><script>".into());
    hostile.chunks[0].record.heading_path = vec![evil.into()];
    hostile.chunks[0].record.images = vec![evil.into()];
    hostile.assets = vec![NewAsset {
        name: evil.into(),
        bytes: b"<script>alert(1)</script>".to_vec(),
    }];
    put(&served, vec![hostile]);
    let coded = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%20onload%3Dx";
    let found = browser.get("/?q=heron&strategy=text");
    let read = browser.get("/documents").link("/read/");
    let pages = [
        browser.get(found.link("/note/").trim_end_matches("#here")),
        found,
        browser.get("/documents"),
        browser.get(&read),
        browser.get(&format!("/?q=heron&filter={coded}")),
        browser.get(&format!("/?q={coded}&k={coded}&strategy={coded}")),
        browser.get(&format!("/?q={coded}&answer=1")),
        browser.get(&format!("/documents?collection={coded}&after={coded}")),
        browser.get(&format!("/read/{coded}")),
        browser.get(&format!("/note/{coded}/chunk/{coded}%230")),
        browser.get(&format!("/sign-in?to=/{coded}")),
    ];
    for page in &pages {
        for raw in ["<script>", "<img src=x>", "<i>", "javascript:", "\" onload"] {
            assert!(!page.body.contains(raw), "{raw}: {}", page.body);
        }
    }
    let statuses: Vec<u16> = pages.iter().map(|page| page.status).collect();
    assert_eq!(
        statuses,
        [200, 200, 200, 200, 400, 400, 200, 200, 404, 404, 200]
    );
    assert!(
        pages[4].body.contains("id=\"filter\"")
            && pages[4]
                .body
                .contains("aria-invalid=\"true\" aria-describedby=\"wrong\"")
    );
}

#[test]
fn raster_images_are_inline_and_other_files_are_attachments() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let browser = Browser::sign_in(&served, &served.keys[0].1);
    let mut shown = document("", "d", &["A picture."]);
    shown.chunks[0].record.images = vec!["x/a.png".into()];
    let files: [(&str, &[u8]); 3] = [
        ("x/a.png", b"\x89PNG\r\n\x1a\nrest"),
        (
            "b.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
        ),
        ("html.png", b"<html><script>alert(1)</script>"),
    ];
    shown.assets = files
        .iter()
        .map(|(name, bytes)| NewAsset {
            name: (*name).into(),
            bytes: bytes.to_vec(),
        })
        .collect();
    put(&served, vec![shown]);
    let page = browser.get("/read/d").body;
    assert!(
        page.contains("<img src=\"/picture/d/x%2Fa%2Epng\""),
        "{page}"
    );
    assert!(page.contains("href=\"/picture/d/b%2Esvg\""), "{page}");
    let picture = browser.get("/picture/d/x%2Fa%2Epng");
    assert_eq!(
        (
            picture.status,
            picture.field("Content-Type"),
            picture.field("Content-Disposition")
        ),
        (200, "image/png", "inline")
    );
    assert!(picture.body.ends_with("PNG\r\n\u{1a}\nrest"), "{picture:?}");
    for name in ["b.svg", "html.png"] {
        let file = browser.get(&format!("/picture/d/{name}"));
        assert_eq!(
            (file.status, file.field("Content-Type")),
            (200, "application/octet-stream")
        );
        assert!(
            file.field("Content-Disposition")
                .starts_with("attachment; "),
            "{file:?}"
        );
        assert!(file.field("Content-Security-Policy").contains("sandbox"));
        assert_eq!(file.field("X-Content-Type-Options"), "nosniff");
    }
    assert_eq!(browser.get("/picture/d/none.png").status, 404);
    assert_eq!(
        send(served.http, "GET /picture/d/b.svg", &[HOST, BROWSER], "").status,
        303
    );
}

#[test]
fn bound_user_sees_nothing_of_other_users_on_pages() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let mut foreign = document("ben", "secret.md", &["The heron of Ben."]);
    foreign.assets = vec![NewAsset {
        name: "a.png".into(),
        bytes: b"\x89PNG\r\n\x1a\n".to_vec(),
    }];
    put(
        &served,
        vec![document("ann", "own.md", &["The heron of Ann."]), foreign],
    );
    let (_, key) = served.with_key(Role::Read, Some("ann"));
    let ann = Browser::sign_in(&served, &key);
    for path in [
        "/",
        "/?q=heron",
        "/?q=Ben",
        "/?q=heron&filter=user_id+%3D+%22ben%22",
        "/?q=heron&answer=1",
        "/documents",
        "/documents?after=ann",
    ] {
        let got = ann.get(path);
        assert_eq!(got.status, 200, "{path}");
        assert!(
            !got.body.contains("secret") && !got.body.contains("of Ben"),
            "{path}: {}",
            got.body
        );
    }
    assert!(ann.get("/?q=heron").body.contains("of Ann"));
    for path in [
        "/read/ben%3A%3A%3A%3Asecret.md",
        "/note/ben%3A%3A%3A%3Asecret.md/chunk/ben%3A%3A%3A%3Asecret.md%230",
        "/picture/ben%3A%3A%3A%3Asecret.md/a.png",
    ] {
        assert_eq!(ann.get(path).status, 404, "{path}");
        assert_eq!(
            Browser::sign_in(&served, &served.keys[0].1)
                .get(path)
                .status,
            200,
            "{path}"
        );
    }
}

#[test]
fn long_documents_and_lists_are_paginated() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let browser = Browser::sign_in(&served, &served.keys[0].1);
    let texts: Vec<String> = (0..60).map(|n| format!("Passage number {n}.")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let short = (0..60).map(|n| document("", &format!("short-{n:02}"), &["x"]));
    put(
        &served,
        short.chain([document("", "long", &texts)]).collect(),
    );
    let first = browser.get("/read/long");
    assert!(
        first.body.contains("number 0.") && !first.body.contains("number 59."),
        "{}",
        first.body
    );
    let second = browser.get(&first.link("rel=\"next\""));
    assert!(
        !second.body.contains("number 0.") && second.body.contains("number 25."),
        "{}",
        second.body
    );
    let last = browser.get("/note/long/chunk/long%2359");
    assert!(
        last.body.contains("autofocus>Passage number 59.</mark>"),
        "{}",
        last.body
    );
    assert_eq!(browser.get("/read/long?part=4").status, 404);
    assert_eq!(browser.get("/read/long?part=x").status, 200);

    let list = browser.get("/documents");
    assert!(
        list.body.contains("short-48") && !list.body.contains("short-59"),
        "{}",
        list.body
    );
    let rest = browser.get(&list.link("rel=\"next\""));
    assert!(
        rest.body.contains("short-59") && !rest.body.contains("short-48"),
        "{}",
        rest.body
    );
}

#[test]
fn cited_text_is_marked_within_its_section() {
    let folder = tempfile::tempdir().unwrap();
    let served = TestServer::for_folder(folder.path());
    let browser = Browser::sign_in(&served, &served.keys[0].1);
    let text = "Birds\n\nA heron waits. A bittern booms. Öl ist <da>.";
    let at = |from: u64, to: u64| Location {
        chars: (from, to),
        pages: Some((3, 3)),
        ..Location::default()
    };
    let of = |level, parent, from: usize, to: usize| {
        let text: String = text.chars().skip(from).take(to - from).collect();
        let mut new = chunk(&text);
        new.record.level = level;
        new.record.parent = parent;
        new.record.heading_path = vec!["Birds".into()];
        new.record.location = at(from as u64, to as u64);
        new
    };
    use locidb::storage::records::Level::{Paragraph, Section};
    let len = text.chars().count();
    let mut tree = document("", "tree", &[]);
    tree.chunks = vec![
        of(Section, None, 0, len),
        of(Paragraph, Some(0), 0, 21),
        of(Paragraph, Some(0), 22, len),
    ];
    tree.original = text.into();
    put(&served, vec![tree]);
    let page = browser.get("/note/tree/chunk/tree%232").body;
    let want = "<h2><span class=\"at\" id=\"c0\"></span><span class=\"at\" id=\"c1\"></span>Birds</h2>\
                <p class=\"kept\">A heron waits. <span class=\"at\" id=\"c2\"></span>\
                <mark class=\"cited\" id=\"here\" tabindex=\"-1\" autofocus>A bittern booms. Öl ist &lt;da&gt;.</mark></p>";
    assert!(page.contains(want), "{page}");
    assert!(
        page.contains("<p class=\"page\">Page 3</p>")
            && page.contains("aria-current=\"location\" lang=\"\">Birds</a>"),
        "{page}"
    );
}

#[test]
fn only_loopback_is_served_without_keys_and_sign_in_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let served = TestServer::start(&["--db", &db, "--listen", "127.0.0.1:0", "--insecure-local"]);
    let get = |host: &str, path: &str| {
        send(
            served.http,
            &format!("GET {path}"),
            &[("Host", host), BROWSER],
            "",
        )
    };
    let page = get("127.0.0.1:7626", "/");
    assert!(
        page.status == 200 && !page.body.contains("Sign out"),
        "{page:?}"
    );
    assert_eq!(get("evil.test", "/").status, 403);
    assert_eq!(get("evil.test", "/read/x").status, 403);
    let form = get("localhost", "/sign-in?to=/documents");
    assert_eq!((form.status, form.field("Location")), (303, "/documents"));
}

#[test]
fn key_selects_the_store_on_pages() {
    let root = tempfile::tempdir().unwrap();
    let served = TestServer::with_two_stores(root.path());
    for (name, key) in &served.keys {
        let page = Browser::sign_in(&served, key).get("/");
        assert!(
            page.body.contains(&format!("Store </span>{name}</span>")),
            "{}",
            page.body
        );
    }
}
