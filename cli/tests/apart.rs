//! Tenants are apart: what lies in a store is in no answer, error, count or suggestion of another; what is one user's is
//! in none of another's key. The real binary is asked over every route that it has.
//!
//! Every name and text is planted with a mark of its owner (`apart/planted.rs`). What a server says is searched for marks
//! of others, whole; and what it says of another's names must be what it says of names that nobody has.
//!
//! Start reading at [`Hosted`], then at [`Round`]. `apart/routes.rs` has the table of all routes.

mod common;

#[path = "apart/asking.rs"]
mod asking;
#[path = "apart/planted.rs"]
mod planted;
#[path = "apart/routes.rs"]
mod routes;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use asking::{Caller, RawResponse, first_difference, masked, raw_response};
use common::http::request;
use common::test_server::TestServer;
use loci_client::Client;
use loci_client::call::{AddKey, Call, Change, Role};
use locidb::{NewCitation, NewItem, NewReference};
use planted::{Owner, SeededStore, find_foreign_word, kinds_in, seed};
use routes::{Http, Route, RouteKind, TABLE, TestRequest, put_document};
use serde_json::Value;

/// Whose names nobody has.
const NOBODY: Owner = Owner(288);
/// The keys that are made for each store: an admin's, which the server makes, and these.
const ROLES: [Role; 2] = [Role::Write, Role::Read];

/// A server of several stores, with a caller for each role in each.
struct MultiStoreServer {
    root: tempfile::TempDir,
    backups: tempfile::TempDir,
    server: TestServer,
    stores: Vec<(SeededStore, Vec<Caller>)>,
}

impl MultiStoreServer {
    fn new(count: u32) -> MultiStoreServer {
        let root = tempfile::tempdir().unwrap();
        let backups = tempfile::tempdir().unwrap();
        let all: Vec<SeededStore> = (0..count).map(SeededStore::nth).collect();
        thread::scope(|scope| {
            for part in all.chunks(all.len().div_ceil(2)) {
                scope.spawn(|| part.iter().for_each(|one| seed(root.path(), one)));
            }
        });
        let token = backups.path().join("token");
        std::fs::write(&token, TOKEN).unwrap();
        let server = TestServer::start(&[
            "--root",
            root.path().to_str().unwrap(),
            "--listen",
            "127.0.0.1:0",
            "--backups",
            backups.path().to_str().unwrap(),
            "--metrics-token-file",
            token.to_str().unwrap(),
        ]);
        let callers = |planted: &SeededStore| {
            let named = server.keys.iter().find(|(name, _)| *name == planted.name());
            let admin = Caller::new(&server, &named.unwrap().1);
            let others = ROLES.map(|role| caller(&server, &admin.key, role, planted.owner, false));
            [admin].into_iter().chain(others).collect()
        };
        let stores = all.iter().map(|planted| (*planted, callers(planted)));
        MultiStoreServer {
            stores: stores.collect(),
            root,
            backups,
            server,
        }
    }
}

impl MultiStoreServer {
    /// An admin's key of the first store.
    fn admin(&self) -> &str {
        &self.stores[0].1[0].key
    }

    /// A caller in the first store whose key is bound to a user.
    fn bound_caller(&self, role: Role, user: Owner) -> Caller {
        caller(&self.server, self.admin(), role, user, true)
    }
}

/// The token for metrics.
const TOKEN: &str = "a-token-that-is-long-enough";

/// A caller with a new key, which has a word of the owner's in its note, and may be bound to that user.
fn caller(served: &TestServer, admin: &str, role: Role, owner: Owner, is_bound: bool) -> Caller {
    let new = AddKey {
        role,
        user: is_bound.then(|| owner.word("user")),
        note: owner.word("note"),
    };
    let created = served.client(admin).unwrap().call(&new).unwrap().0;
    Caller::new(served, created["key"].as_str().unwrap())
}

/// The requests of a route that name what is the owner's.
fn requests_of(name: &str, owner: Owner, planted: &SeededStore) -> Vec<TestRequest> {
    let route = TABLE.iter().find(|route| route.name == name).unwrap();
    (route.requests)(owner, planted)
}

/// What came of asking.
#[derive(Debug, Default)]
struct Tally {
    by_route: BTreeMap<&'static str, u64>,
    by_strategy: BTreeMap<&'static str, u64>,
    compared: u64,
    findings: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        for (route, count) in other.by_route {
            *self.by_route.entry(route).or_default() += count;
        }
        for (strategy, count) in other.by_strategy {
            *self.by_strategy.entry(strategy).or_default() += count;
        }
        self.compared += other.compared;
        self.findings.extend(other.findings);
    }

    fn queries(&self) -> u64 {
        self.by_route.values().sum()
    }

    /// The table that goes into `docs/testing.md`.
    fn print(&self, took: Duration) {
        for (name, count) in self.by_route.iter().chain(&self.by_strategy) {
            println!("{name}: {count}");
        }
        println!(
            "{} queries, {} of them compared with the same of nobody's names, {} findings, {:.0} s",
            self.queries(),
            self.compared,
            self.findings.len(),
            took.as_secs_f64()
        );
    }
}

/// A round of questions to one store.
struct Round<'h> {
    planted: &'h SeededStore,
    /// An admin first.
    callers: &'h [Caller],
    /// Whose words may be told.
    own: Vec<Owner>,
    /// Kinds of words that all may be told.
    shared: &'h [&'h str],
    /// What is said of nobody's names, by the place of the question and the caller.
    baseline: HashMap<(usize, usize, usize), String>,
    tally: Tally,
}

impl<'h> Round<'h> {
    fn new(planted: &'h SeededStore, callers: &'h [Caller]) -> Round<'h> {
        Round {
            planted,
            callers,
            own: vec![planted.owner],
            shared: &[],
            baseline: HashMap::new(),
            tally: Tally::default(),
        }
    }

    /// Asks, and looks for what is another's in what is said.
    fn ask(&mut self, by: usize, route: &Route, ask: &TestRequest) -> RawResponse {
        let response = self.callers[by].ask(ask);
        *self.tally.by_route.entry(route.name).or_default() += 1;
        if let Some(strategy) = ask.strategy() {
            *self.tally.by_strategy.entry(strategy).or_default() += 1;
        }
        if let Some(word) = find_foreign_word(&response.bytes, &self.own, &ask.text(), self.shared)
        {
            self.report(format!("{}: {word} in the answer to {ask:?}", route.name));
        }
        response
    }

    fn report(&mut self, what: String) {
        self.tally
            .findings
            .push(format!("{}: {what}", self.planted.name()));
    }

    /// Asks everything that there is to look at with the store's own names; which kinds of words were told.
    fn ask_own(&mut self) -> BTreeSet<&'static str> {
        let (planted, mut kinds) = (*self.planted, BTreeSet::new());
        for route in TABLE.iter().filter(|route| route.kind == RouteKind::Read) {
            for ask in (route.requests)(planted.owner, &planted) {
                let response = self.ask(0, route, &ask);
                if !response.succeeded {
                    let why = String::from_utf8_lossy(&response.bytes).into_owned();
                    self.report(format!("{}: {ask:?} was refused: {why}", route.name));
                }
                kinds.extend(kinds_in(&response.bytes, planted.owner));
            }
        }
        kinds
    }

    /// Asks with names of another's, of all questions those whose place leaves `rest` of `parts`; what is said must be what
    /// is said of nobody's names, where the route is not `free` to say something else.
    fn ask_about(&mut self, other: Owner, (rest, parts): (usize, usize), free: &[&str]) {
        let (planted, mut index) = (*self.planted, 0);
        for (of, route) in TABLE.iter().enumerate() {
            if route.kind == RouteKind::WholeStore {
                continue;
            }
            let asks = (route.requests)(other, &planted).into_iter();
            for (at, ask) in asks.enumerate() {
                index += 1;
                if index % parts != rest {
                    continue;
                }
                let by = (index / parts + rest) % self.callers.len();
                let response = masked(&self.ask(by, route, &ask), &ask.text(), other);
                if free.contains(&route.name) {
                    continue;
                }
                self.tally.compared += 1;
                let of_nobody = self.baseline_response((of, at, by));
                if response != of_nobody {
                    self.report(format!(
                        "{}: {ask:?} of another's names and of nobody's: {}",
                        route.name,
                        first_difference(&response, &of_nobody)
                    ));
                }
            }
        }
    }

    fn baseline_response(&mut self, position: (usize, usize, usize)) -> String {
        if let Some(response) = self.baseline.get(&position) {
            return response.clone();
        }
        let (of, at, by) = position;
        let route = &TABLE[of];
        let ask = (route.requests)(NOBODY, self.planted).swap_remove(at);
        let response = masked(&self.ask(by, route, &ask), &ask.text(), NOBODY);
        self.baseline.insert(position, response.clone());
        response
    }

    /// Has done what is done to the whole store; which kinds of words were told.
    fn ask_whole_store(&mut self) -> BTreeSet<&'static str> {
        let (planted, mut kinds) = (*self.planted, BTreeSet::new());
        for route in TABLE
            .iter()
            .filter(|route| route.kind == RouteKind::WholeStore)
        {
            for ask in (route.requests)(planted.owner, &planted) {
                let response = self.ask(0, route, &ask);
                kinds.extend(kinds_in(&response.bytes, planted.owner));
            }
        }
        kinds
    }

    /// Counts of the store must be its own.
    fn check_counts(&mut self) {
        let (planted, api) = (*self.planted, &self.callers[0]);
        let documents = u64::from(planted.documents);
        let stats = api.get("/v1/stats");
        let len =
            |path: &str, name: &str| api.get(path)[name].as_array().map_or(0, Vec::len) as u64;
        let counted = [
            ("documents", stats["documents"].as_u64().unwrap(), documents),
            ("chunks", stats["chunks"].as_u64().unwrap(), 3 * documents),
            (
                "documents that are listed",
                len("/v1/documents?limit=1000", "documents"),
                documents,
            ),
            (
                "items",
                len("/v1/items?limit=1000", "items"),
                planted.items.into(),
            ),
            (
                "records",
                len("/v1/records?limit=1000", "records"),
                planted.records.into(),
            ),
            ("works", len("/v1/works?limit=1000", "works"), documents),
            (
                "concepts",
                len("/v1/concepts?limit=1000", "concepts"),
                documents + 2,
            ),
            ("keys", len("/v1/keys", "keys"), self.callers.len() as u64),
        ];
        for (what, reported, planted) in counted {
            if reported != planted {
                self.report(format!("{reported} {what} are told, {planted} are there"));
            }
        }
    }
}

/// Asks every store: with its own names, with those of every other one (each time a part of all questions, which leaves none
/// out over all others), and what is about it whole.
fn ask_stores(hosted: &MultiStoreServer, threads: usize, parts: usize, until: u64) -> Tally {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Tally::default());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((planted, callers)) = hosted.stores.get(at) else {
                        return;
                    };
                    let tally = ask_store(hosted, planted, callers, parts, until);
                    all.lock().unwrap().add(tally);
                }
            });
        }
    });
    all.into_inner().unwrap()
}

fn ask_store(
    hosted: &MultiStoreServer,
    planted: &SeededStore,
    callers: &[Caller],
    parts: usize,
    at_least: u64,
) -> Tally {
    let mut round = Round::new(planted, callers);
    let mut kinds = round.ask_own();
    let others = hosted.stores.iter().map(|(other, _)| other.owner);
    let others: Vec<Owner> = others.filter(|other| *other != planted.owner).collect();
    let mut rest = 0;
    while rest < parts.max(others.len()) || round.tally.queries() < at_least {
        round.ask_about(others[rest % others.len()], (rest % parts, parts), &[]);
        rest += 1;
    }
    round.check_counts();
    kinds.extend(round.ask_whole_store());
    // What is told to nobody is not shown to be kept from others.
    for kind in SeededStore::KINDS
        .iter()
        .filter(|kind| !kinds.contains(*kind))
    {
        round.report(format!("no route tells {kind}"));
    }
    round.tally
}

#[test]
fn every_route_and_call_is_covered() {
    let names: BTreeSet<&str> = TABLE.iter().map(|route| route.name).collect();
    let file = include_str!("../../server/src/serve/http/api/openapi.json");
    let description: Value = serde_json::from_str(file).unwrap();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in ["get", "put", "post", "delete", "patch", "head", "options"] {
            let name = format!("{} {path}", method.to_uppercase());
            let is_there = methods.get(method).is_some();
            assert!(
                !is_there || names.contains(&name[..]),
                "{name} is in no row of the table"
            );
        }
    }
    for (_, call, _) in Call::ALL {
        let name = format!("wire {call}");
        assert!(
            names.contains(&name[..]),
            "{name} is in no row of the table"
        );
    }
}

#[test]
fn responses_of_a_store_contain_nothing_of_another() {
    let hosted = MultiStoreServer::new(4);
    let tally = ask_stores(&hosted, 2, 3, 0);
    assert_eq!(tally.findings, Vec::<String>::new());
    assert!(tally.compared > 300, "{tally:?}");
    // All tools that there are were asked.
    let (planted, callers) = &hosted.stores[0];
    let tools = requests_of("mcp resources", planted.owner, planted);
    let tool_list = String::from_utf8(callers[0].ask(&tools[0]).bytes).unwrap();
    let (_, json) = tool_list.split_once('{').unwrap();
    let listed: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = format!("mcp {}", tool["name"].as_str().unwrap());
        assert!(TABLE.iter().any(|route| route.name == name), "{name}");
    }
    check_keys_are_per_store(&hosted);
    check_metrics_name_no_store(&hosted);
}

#[test]
#[ignore = "200,000 queries take minutes"]
fn responses_of_a_hundred_stores_contain_nothing_of_another_in_200_000_queries() {
    let started = Instant::now();
    let hosted = MultiStoreServer::new(100);
    println!("planted in {:.0} s", started.elapsed().as_secs_f64());
    let started = Instant::now();
    let tally = ask_stores(&hosted, 4, 50, 2_000);
    tally.print(started.elapsed());
    assert_eq!(tally.findings, Vec::<String>::new());
    assert!(tally.queries() >= 200_000);
    check_keys_are_per_store(&hosted);
    check_metrics_name_no_store(&hosted);
}

/// Another store that is named beside a key is as if it was not there, on every route and for the wire.
fn check_keys_are_per_store(hosted: &MultiStoreServer) {
    let (planted, callers) = &hosted.stores[0];
    let other = &hosted.stores[1].0;
    // These look at no key.
    let open = [
        "GET /healthz",
        "GET /readyz",
        "GET /openapi.json",
        "page /sign-in",
        "none",
    ];
    let closed = TABLE.iter().filter(|route| !open.contains(&route.name));
    let asks =
        closed.filter_map(
            |route| match (route.requests)(other.owner, planted).swap_remove(0) {
                TestRequest::Http(http) => Some(http),
                TestRequest::Wire(_) | TestRequest::Steps(_) => None,
            },
        );
    let asks: Vec<Http> = asks.collect();
    assert!(asks.len() > 60, "{}", asks.len());
    let (admin, left) = (&callers[0], AtomicUsize::new(asks.len()));
    // Whoever fails waits the longer the more often, until somebody there has a key that is right.
    let shows_a_right_key = || {
        thread::sleep(Duration::from_millis(2));
        assert_eq!(admin.get("/v1/stats")["documents"], planted.documents);
    };
    thread::scope(|scope| {
        for ask in &asks {
            let left = &left;
            scope.spawn(move || {
                let of_other = refused(admin, ask, &other.name());
                let request_text = TestRequest::Http(ask.clone()).text();
                assert_eq!(find_foreign_word(&of_other, &[], &request_text, &[]), None);
                let of_nobody = refused(admin, ask, &NOBODY.word("store"));
                assert_eq!(of_other, of_nobody, "{ask:?}");
                left.fetch_sub(1, Ordering::Relaxed);
            });
            shows_a_right_key();
        }
        let until = Instant::now() + Duration::from_secs(30);
        while left.load(Ordering::Relaxed) > 0 && Instant::now() < until {
            shows_a_right_key();
        }
    });
    let connect = |key: &str, store: &str| {
        let address = format!("loci://{key}@{}/{store}", hosted.server.address);
        let refused = Client::connect(&address).map(drop);
        format!("{:?}", refused.unwrap_err())
    };
    let of_other = connect(&admin.key, &other.name());
    assert_eq!(of_other, connect(&admin.key, &NOBODY.word("store")));
    let (start, end) = admin.key.split_at(admin.key.len() - 1);
    let wrong = format!("{start}{}", if end == "0" { 1 } else { 0 });
    assert_eq!(of_other, connect(&wrong, &other.name()));
}

/// What a request is refused with that names another store than the key's.
fn refused(caller: &Caller, ask: &Http, store: &str) -> Vec<u8> {
    let response = caller.send(ask, &[format!("Loci-Store: {store}")]);
    let is_sent_to_sign_in = ask.is_page && response.status == 303;
    let why = response.text();
    assert!(
        response.status == 401 || is_sent_to_sign_in,
        "{ask:?}: {why}"
    );
    raw_response(&response).bytes
}

/// Figures of a server with several stores are for its operator, and name none.
fn check_metrics_name_no_store(hosted: &MultiStoreServer) {
    let line = format!("Authorization: Bearer {TOKEN}");
    let response = request(hosted.server.http, "GET", "/metrics", &[&line], b"");
    assert_eq!(response.status, 200);
    assert_eq!(find_foreign_word(&response.body, &[], "", &[]), None);
    assert!(
        response
            .text()
            .contains(&format!("loci_stores {}", hosted.stores.len()))
    );
    let by_key = hosted.stores[0].1[0].send(&metrics(), &[]);
    assert_eq!(
        (by_key.status, find_foreign_word(&by_key.body, &[], "", &[])),
        (401, None)
    );
    let ready = request(hosted.server.http, "GET", "/readyz", &[], b"");
    assert_eq!((ready.status, &ready.body[..]), (200, &b"ready\n"[..]));
}

fn metrics() -> Http {
    Http {
        method: "GET",
        path: "/metrics".into(),
        fields: Vec::new(),
        body: String::new(),
        is_page: false,
    }
}

/// A user's documents, items and a recorded question in a store of many users.
fn plant_users(hosted: &MultiStoreServer, users: &[Owner]) {
    let admin = hosted.server.client(hosted.admin()).unwrap();
    let mut changes = Vec::new();
    for (at, user) in users.iter().enumerate() {
        let neighbour = users[(at + 1) % users.len()];
        for n in 0..2 + at as u32 {
            changes.push(of_user(*user, n, neighbour));
        }
    }
    for user in users {
        changes.push(Change::PutItem(Box::new(NewItem {
            owner: user.word("user"),
            ..planted::item(*user, 1, 1)
        })));
    }
    admin.apply(changes).unwrap();
    admin.finish(|_| ()).unwrap();
    admin.analyse(|_| ()).unwrap();
}

/// A document of a user's, who cites a work that all cite, in its own words, and a document of a neighbour's.
fn of_user(user: Owner, n: u32, neighbour: Owner) -> Change {
    let mut change = put_document(user, 2 * n + 1);
    if let Change::PutDocument(document) = &mut change {
        if n == 0 {
            // What others call it must not become its title for the user.
            document.record.title = None;
            document.record.authors.clear();
        }
        let word = |what: &str| user.word(what);
        document.references.extend([
            NewReference {
                text: word("reference"),
                doi: Some("10.1000/shared.by.all".into()),
                title: Some(format!("The {} of one work", word("work"))),
                authors: vec![word("cited")],
                venue: Some(word("journal")),
                ..NewReference::default()
            },
            NewReference {
                text: word("reference"),
                key: Some(neighbour.document(1)),
                title: Some(format!("The {} of a neighbour", word("work"))),
                authors: vec![word("cited")],
                ..NewReference::default()
            },
            NewReference {
                text: word("reference"),
                key: Some(user.document(1)),
                ..NewReference::default()
            },
        ]);
        let cites = |reference: u32| NewCitation {
            chunk: 1,
            reference,
            text: word("mark"),
            context: word("around"),
            ..NewCitation::default()
        };
        document.citations.extend((1..4).map(cites));
    }
    change
}

/// Names of concepts, how they are related, and of what type they are is shared by all users of a store, whose name they
/// know.
const SHARED: &[&str] = &["concept", "synonym", "relates", "kind", "store"];

/// Routes by which concepts are found by their names, which all users share.
const BY_CONCEPT: &[&str] = &[
    "GET /v1/search",
    "POST /v1/search",
    "POST /v1/ask",
    "POST /v1/prompt",
    "GET /v1/paths",
    "wire Search",
    "wire Ask",
    "wire AskPrompt",
    "wire GetPath",
    "mcp search",
    "mcp walk_concepts",
    "page /",
];

#[test]
fn responses_to_a_user_contain_nothing_of_another() {
    let hosted = MultiStoreServer::new(1);
    let users: Vec<Owner> = (100..110).map(Owner).collect();
    plant_users(&hosted, &users);
    let admin = &hosted.stores[0].1[0];
    let before = admin.get("/v1/stats");
    let mut findings = Vec::new();
    for (at, user) in users.iter().enumerate() {
        let callers = [Role::Write, Role::Read].map(|role| hosted.bound_caller(role, *user));
        // Numbers of items and records count those of all users, so none is beyond its own.
        let planted = SeededStore {
            owner: *user,
            documents: 2 + at as u32,
            items: 1_000,
            records: 1_000,
        };
        let mut round = Round::new(&planted, &callers);
        round.shared = SHARED;
        let kinds = ask_as_user(&mut round);
        for kind in [
            "title", "text", "document", "work", "around", "front", "concept",
        ] {
            assert!(kinds.contains(kind), "{kind} of {kinds:?}");
        }
        for of in 1..4 {
            let other = users[(at + of * 3) % users.len()];
            round.ask_about(other, (of % 2, 2), BY_CONCEPT);
        }
        round.ask_about(hosted.stores[0].0.owner, (0, 5), BY_CONCEPT);
        let api = &callers[0];
        let documents = u64::from(planted.documents);
        assert_eq!(api.get("/v1/stats")["documents"], documents);
        assert_eq!(api.get("/v1/stats")["chunks"], 3 * documents);
        assert_eq!(api.get("/v1/items")["items"].as_array().unwrap().len(), 1);
        assert_eq!(api.get("/v1/search?q=heap")["snapshot"], 0);
        findings.extend(round.tally.findings);
    }
    assert_eq!(findings, Vec::<String>::new());
    let after = admin.get("/v1/stats");
    for count in ["documents", "chunks", "concepts", "items"] {
        assert_eq!(before[count], after[count], "{count}");
    }
    check_progress_hides_counts_from_bound_users(&hosted, users[0], users[1]);
}

/// Work on the whole store counts the documents of all users, which one of them is not told.
fn check_progress_hides_counts_from_bound_users(
    hosted: &MultiStoreServer,
    user: Owner,
    other: Owner,
) {
    let admin = hosted.server.client(hosted.admin()).unwrap();
    let bound = hosted.bound_caller(Role::Write, user);
    let bound = hosted.server.client(&bound.key).unwrap();
    let put = |from: u32| {
        let changes = (from..from + 40).map(|n| put_document(other, 2 * n + 1));
        admin.apply(changes.collect()).unwrap();
    };
    put(100);
    let mut reports = Vec::new();
    admin.finish(|progress| reports.push(progress)).unwrap();
    assert!(
        reports.iter().any(|progress| progress.total > 0),
        "{reports:?}"
    );
    put(200);
    reports.clear();
    bound.finish(|progress| reports.push(progress)).unwrap();
    assert!(!reports.is_empty());
    let counts = reports.iter().filter(|of| (of.done, of.total) != (0, 0));
    assert_eq!(counts.count(), 0, "{reports:?}");
}

/// Asks all that there is with the user's own names; which kinds of words were told. Much is refused.
fn ask_as_user(round: &mut Round<'_>) -> BTreeSet<&'static str> {
    let (planted, mut kinds) = (*round.planted, BTreeSet::new());
    for route in TABLE.iter().filter(|route| route.kind != RouteKind::Change) {
        for ask in (route.requests)(planted.owner, &planted) {
            let response = round.ask(0, route, &ask);
            kinds.extend(kinds_in(&response.bytes, planted.owner));
        }
    }
    kinds
}

/// Tries again until it holds, for as long as a server may take to see what changed on its disk.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn status(hosted: &MultiStoreServer, key: &str, path: &str, store: &str) -> (u16, Vec<u8>) {
    let lines = [
        format!("Authorization: Bearer {key}"),
        format!("Loci-Store: {store}"),
    ];
    let response = request(
        hosted.server.http,
        "GET",
        path,
        &[&lines[0], &lines[1]],
        b"",
    );
    (response.status, response.body)
}

#[test]
fn revoked_key_is_refused_on_every_route() {
    let hosted = MultiStoreServer::new(1);
    let (planted, callers) = &hosted.stores[0];
    let page = TestRequest::Http(Http {
        method: "GET",
        path: "/documents".into(),
        fields: vec!["Accept: text/html".into()],
        body: String::new(),
        is_page: true,
    });
    let requests = [
        "GET /v1/documents",
        "wire ListDocuments",
        "mcp list_documents",
    ];
    let requests = requests.map(|name| requests_of(name, planted.owner, planted).swap_remove(0));
    let requests: Vec<TestRequest> = requests.into_iter().chain([page]).collect();
    let reader = &callers[2];
    let shows = |response: &RawResponse| !kinds_in(&response.bytes, planted.owner).is_empty();
    assert!(requests.iter().all(|door| shows(&reader.ask(door))));
    let id = reader.key.split('_').nth(1).unwrap();
    let folder = hosted.root.path().join(planted.name());
    common::text(0, &["key", "revoke", "--db", folder.to_str().unwrap(), id]);
    wait_until("the key is refused", || {
        requests.iter().all(|request| !shows(&reader.ask(request)))
    });
    assert!(requests.iter().all(|door| shows(&callers[1].ask(door))));
}

#[test]
fn document_moved_to_another_user_is_hidden_from_the_first() {
    let hosted = MultiStoreServer::new(1);
    let (one, two) = (Owner(100), Owner(101));
    plant_users(&hosted, &[one, two]);
    let (of_one, of_two) = (
        hosted.bound_caller(Role::Write, one),
        hosted.bound_caller(Role::Write, two),
    );
    let finds = |of: &Caller| {
        let found = of.get(&format!("/v1/search?q={}", one.word("text")));
        find_foreign_word(found["hits"].to_string().as_bytes(), &[two], "", &[]).is_some()
    };
    let planted = hosted.stores[0].0;
    let looks = [
        "wire GetChunk",
        "GET /v1/documents/{document}/text",
        "mcp read_chunk",
    ];
    let looks = looks.map(|name| requests_of(name, one, &planted).swap_remove(0));
    let shows =
        |of: &Caller, look: &TestRequest| kinds_in(&of.ask(look).bytes, one).contains(&"text");
    assert!(finds(&of_one) && !finds(&of_two));
    assert!(looks.iter().all(|look| shows(&of_one, look)));
    // The same documents, of the other user now.
    let mut moved = Vec::new();
    for n in 0..2 {
        let Change::PutDocument(mut document) = of_user(one, n, two) else {
            unreachable!("a document is put");
        };
        moved.push(Change::DeleteDocument(one.document(2 * n + 1)));
        document.record.user = two.word("user");
        moved.push(Change::PutDocument(document));
    }
    let admin = hosted.server.client(hosted.admin()).unwrap();
    admin.apply(moved).unwrap();
    assert!(!looks.iter().any(|look| shows(&of_one, look)));
    assert!(!finds(&of_one) && finds(&of_two));
    assert_eq!(of_one.get("/v1/stats")["documents"], 0);
}

#[test]
fn replaced_store_serves_only_its_own_rows_and_keys() {
    let hosted = MultiStoreServer::new(2);
    let (old, callers) = &hosted.stores[0];
    // The one that comes has the name of the old, and other words in it.
    let new = SeededStore {
        documents: 9,
        ..SeededStore::nth(50)
    };
    seed(hosted.backups.path(), &new);
    let (new_folder, old_folder) = (
        hosted.backups.path().join(new.name()),
        hosted.root.path().join(old.name()),
    );
    let db = new_folder.to_str().unwrap();
    let created = common::json(0, &["key", "add", "--db", db, "--role", "admin"]).remove(0);
    let key = created["key"].as_str().unwrap();
    let routes = [
        "GET /v1/documents",
        "wire ListDocuments",
        "POST /v1/search",
        "GET /v1/keys",
        "wire ListKeys",
    ];
    let asks = routes.map(|name| requests_of(name, NOBODY, old).swap_remove(0));
    let back_up = |key: &str| {
        let line = format!("Authorization: Bearer {key}");
        request(
            hosted.server.http,
            "PUT",
            "/v1/backups/first",
            &[&line],
            b"",
        )
    };
    assert_eq!(back_up(&callers[0].key).status, 200);
    thread::scope(|scope| {
        // The old key asks on until nothing is done for it, and never hears of the new store.
        scope.spawn(|| {
            let ask = |ask: &TestRequest| {
                let response = callers[0].ask(ask);
                let found = find_foreign_word(&response.bytes, &[old.owner], &ask.text(), &[]);
                assert_eq!(found, None, "{ask:?}");
                response
            };
            let is_refused = |response: &RawResponse| {
                let response = String::from_utf8_lossy(&response.bytes).to_lowercase();
                response.contains("unauthorized")
            };
            while !asks.iter().map(&ask).any(|response| is_refused(&response)) {}
            assert!(asks.iter().all(|of| is_refused(&ask(of))));
        });
        thread::sleep(Duration::from_millis(50));
        std::fs::remove_dir_all(&old_folder).unwrap();
        std::fs::rename(&new_folder, &old_folder).unwrap();
        // The new key hears of nothing else.
        wait_until("the new store answers", || {
            let (code, body) = status(&hosted, key, "/v1/documents?limit=1000", "");
            assert_eq!(find_foreign_word(&body, &[new.owner], "", &[]), None);
            code == 200 && kinds_in(&body, new.owner).contains(&"title")
        });
    });
    let (_, body) = status(&hosted, key, "/v1/stats", "");
    let stats: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(stats["documents"], new.documents);
    // A backup of the old one is not made one of the new, and where it lies is nobody's business.
    let refused = back_up(key);
    let folder = hosted.backups.path().to_str().unwrap();
    assert_eq!(refused.status, 400);
    assert!(!refused.text().contains(folder), "{}", refused.text());
}

#[test]
fn store_copied_with_its_keys_must_be_named() {
    let hosted = MultiStoreServer::new(1);
    let (planted, callers) = &hosted.stores[0];
    let (from, name) = (hosted.root.path().join(planted.name()), "copy");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(&from)
        .arg(hosted.root.path().join(name))
        .status();
    assert!(copied.unwrap().success());
    let key = &callers[0].key;
    // Which of the two is meant is told by none but the caller.
    wait_until("the key alone says no more which store is meant", || {
        status(&hosted, key, "/v1/stats", "").0 == 401
    });
    assert_eq!(status(&hosted, key, "/v1/stats", &planted.name()).0, 200);
    assert_eq!(status(&hosted, key, "/v1/stats", name).0, 200);
    let id = callers[2].key.split('_').nth(1).unwrap();
    let folder = hosted.root.path().join(name);
    common::text(0, &["key", "revoke", "--db", folder.to_str().unwrap(), id]);
    wait_until("the key is taken back in one", || {
        status(&hosted, &callers[2].key, "/v1/stats", name).0 == 401
    });
    assert_eq!(
        status(&hosted, &callers[2].key, "/v1/stats", &planted.name()).0,
        200
    );
    // What is put into one is in it alone.
    let copy = Client::connect(&format!("loci://{key}@{}/{name}", hosted.server.address)).unwrap();
    copy.apply(vec![put_document(Owner(60), 0)]).unwrap();
    let (_, body) = status(&hosted, key, "/v1/documents", &planted.name());
    assert_eq!(find_foreign_word(&body, &[planted.owner], "", &[]), None);
    let (_, body) = status(&hosted, key, "/v1/documents", name);
    assert!(kinds_in(&body, Owner(60)).contains(&"title"));
}
