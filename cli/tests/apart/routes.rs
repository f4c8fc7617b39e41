//! Every way to ask a server, as one table: calls of the wire, routes of HTTP, tools of MCP, pages.
//!
//! A route makes requests that name what is an owner's: its documents, users, works and so on. Asked by a store's caller
//! with the names of its own owner they find things, with those of another or of nobody they must not.
//!
//! Start reading at [`TABLE`], then at [`Route`].

use loci_client::call::{self, Call, Change, File, Role};
use locidb::storage::ItemId;
use locidb::storage::records::Feedback;
use locidb::{Answer, SearchRequest, Strategy};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::planted::{Owner, SeededStore, document, item};

/// What a route does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// It looks: asked with names of every owner.
    Read,
    /// It changes what it names, or makes it: asked with names that are not of the store, so that nothing changes.
    Change,
    /// It is about the whole store and names nothing: asked once in a while.
    WholeStore,
}

/// A way to ask.
pub(crate) struct Route {
    /// `GET /v1/search`, `wire Search`, `mcp search`, `page /read/{document}`.
    pub(crate) name: &'static str,
    pub(crate) kind: RouteKind,
    /// Requests that name what is the owner's; of the store that is asked, where numbers count.
    pub(crate) requests: fn(Owner, &SeededStore) -> Vec<TestRequest>,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) enum TestRequest {
    Http(Http),
    Wire(Box<Call>),
    /// A transaction over the wire, with these steps.
    Steps(Vec<Change>),
}

/// A request over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Whole lines.
    pub(crate) fields: Vec<String>,
    pub(crate) body: String,
    /// Whether the key goes in a cookie, as a browser has it.
    pub(crate) is_page: bool,
}

impl TestRequest {
    /// All that is said in it, in which an answer may repeat words.
    pub(crate) fn text(&self) -> String {
        match self {
            TestRequest::Http(http) => {
                let text = format!("{} {} {:?}", http.path, http.body, http.fields);
                let decoded = percent_encoding::percent_decode_str(&text);
                format!("{text} {}", decoded.decode_utf8_lossy())
            }
            TestRequest::Wire(call) => format!("{call:?}"),
            TestRequest::Steps(changes) => format!("{changes:?}"),
        }
    }

    /// By which strategy it searches, where it does.
    pub(crate) fn strategy(&self) -> Option<&'static str> {
        let path_or_body = match self {
            TestRequest::Wire(call) => {
                return match &**call {
                    Call::Search(call) => Some(call.request.strategy.name()),
                    Call::Ask(call) => Some(call.request.strategy.name()),
                    Call::AskPrompt(call) => Some(call.request.strategy.name()),
                    _ => None,
                };
            }
            TestRequest::Http(http) => format!("{}{}", http.path, http.body),
            TestRequest::Steps(_) => return None,
        };
        let (_, after) = path_or_body.split_once("strategy")?;
        let name = after.trim_start_matches(['"', ':', '=']);
        Strategy::ALL
            .into_iter()
            .map(Strategy::name)
            .find(|of| name.starts_with(of))
    }
}

fn coded(text: impl ToString) -> String {
    utf8_percent_encode(&text.to_string(), NON_ALPHANUMERIC).to_string()
}

fn http(method: &'static str, path: impl Into<String>) -> Http {
    Http {
        method,
        path: path.into(),
        fields: Vec::new(),
        body: String::new(),
        is_page: false,
    }
}

fn get(path: impl Into<String>) -> TestRequest {
    TestRequest::Http(http("GET", path))
}

fn empty(method: &'static str, path: impl Into<String>) -> TestRequest {
    TestRequest::Http(http(method, path))
}

fn sent(method: &'static str, path: impl Into<String>, kind: &str, body: String) -> TestRequest {
    TestRequest::Http(Http {
        fields: vec![format!("Content-Type: {kind}")],
        body,
        ..http(method, path)
    })
}

fn post(path: impl Into<String>, body: &Value) -> TestRequest {
    sent("POST", path, "application/json", body.to_string())
}

fn put(path: impl Into<String>, body: &Value) -> TestRequest {
    sent("PUT", path, "application/json", body.to_string())
}

/// The same told as events, too.
fn with_events(ask: TestRequest) -> Vec<TestRequest> {
    let mut events = ask.clone();
    if let TestRequest::Http(http) = &mut events {
        http.fields.push("Accept: text/event-stream".into());
    }
    vec![ask, events]
}

fn page(path: impl Into<String>) -> TestRequest {
    TestRequest::Http(Http {
        fields: vec!["Accept: text/html".into()],
        is_page: true,
        ..http("GET", path)
    })
}

fn wire(call: impl Into<Call>) -> TestRequest {
    TestRequest::Wire(Box::new(call.into()))
}

fn mcp(method: &str, params: &Value) -> TestRequest {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    TestRequest::Http(Http {
        fields: vec![
            "Content-Type: application/json".into(),
            "Accept: application/json, text/event-stream".into(),
            "MCP-Protocol-Version: 2025-06-18".into(),
        ],
        body: message.to_string(),
        ..http("POST", "/mcp")
    })
}

fn tool(name: &str, arguments: &Value) -> TestRequest {
    mcp(
        "tools/call",
        &json!({ "name": name, "arguments": arguments }),
    )
}

/// Filters that name what is the owner's.
fn filters(of: Owner) -> Vec<String> {
    let key = of.document(1);
    vec![
        format!("user_id = {}", of.word("user")),
        format!(
            "document = \"{key}\" or collection = {}",
            of.word("collection")
        ),
        format!(
            "author = {} or venue = {}",
            of.word("author"),
            of.word("venue")
        ),
        format!("meta.{} = {}", of.word("metakey"), of.word("metavalue")),
        format!(
            "not title = \"Heaps of {}\" and year > 1990",
            of.word("title")
        ),
    ]
}

/// Questions that name what is the owner's, by every strategy: with its words, its concepts, its words misspelt, its
/// names in filters, and about everything.
fn questions(of: Owner) -> Vec<SearchRequest> {
    let word = |what: &str| of.word(what);
    let concept = of.nth("concept", 0);
    let mut requests = Vec::new();
    for (at, strategy) in Strategy::ALL.into_iter().enumerate() {
        let request = |question: String| SearchRequest {
            strategy,
            k: 5,
            explain: true,
            highlights: true,
            communities: 3,
            context_tokens: Some(800),
            syntax: strategy == Strategy::Text,
            ..SearchRequest::new(question)
        };
        let filter = filters(of).swap_remove(at % filters(of).len());
        requests.push(request(format!("heap {} {}", word("text"), word("title"))));
        requests.push(SearchRequest {
            critic: true,
            ..request(format!("What does {concept} have to do with a heap?"))
        });
        requests.push(SearchRequest {
            filter: Some(filter.parse().unwrap()),
            ..request(format!("tree {}", of.misspelled("text")))
        });
    }
    requests.push(SearchRequest {
        strategy: Strategy::Text,
        syntax: true,
        ..SearchRequest::new(format!(
            "\"{}\" OR {}",
            word("title"),
            of.misspelled("text")
        ))
    });
    requests.push(SearchRequest::new("What are the main themes?"));
    requests
}

fn as_body(request: SearchRequest) -> Value {
    serde_json::to_value(request).unwrap()
}

/// A question as a query of HTTP or of a page says it.
fn as_query(request: &SearchRequest, is_page: bool) -> String {
    let filter = request.filter.as_ref();
    let filter = filter.map_or_else(String::new, |filter| format!("&filter={}", coded(filter)));
    let more = if is_page {
        ""
    } else {
        "&explain=true&highlights=true"
    };
    format!(
        "q={}&strategy={}{filter}{more}",
        coded(&request.question),
        request.strategy.name()
    )
}

/// An address of a document below `/v1`.
fn at(of: Owner, rest: &str) -> String {
    format!("/v1/documents/{}{rest}", coded(of.document(1)))
}

/// A name of the owner's that comes after all others, whoever's they are.
fn after(of: Owner) -> String {
    format!("~{}", of.word("document"))
}

fn asset(of: Owner) -> String {
    of.word("asset") + ".png"
}

fn note(of: Owner) -> String {
    format!(
        "/note/{}/chunk/{}",
        coded(of.document(1)),
        coded(of.chunk(1, 1))
    )
}

/// Keys that no store has.
const NO_KEY: &str = "0123456789abcdef";

/// An item over HTTP that names what is the owner's.
fn item_json(of: Owner) -> Value {
    json!({ "front": "f", "chunk": of.chunk(1, 1).to_string(), "owner": of.word("user") })
}

fn patch(of: Owner) -> Change {
    Change::PatchDocument(of.document(1), Box::default())
}

/// Changes of what is the owner's, which a store that does not have it refuses or does not find.
fn changes(of: Owner, own: &SeededStore) -> Vec<Change> {
    let beyond = ItemId(u64::from(own.items) + 1);
    vec![
        Change::DeleteDocument(of.document(1)),
        Change::ReadDocument(of.document(1)),
        patch(of),
        Change::ReadChunk(of.chunk(1, 1)),
        Change::PatchChunk(of.chunk(1, 1), Box::default()),
        Change::SetGraph(of.document(1), Vec::new(), Vec::new()),
        Change::SetCitations(of.document(1), Vec::new(), Vec::new(), Vec::new()),
        Change::ReplaceItem(beyond, Box::default()),
        Change::DeleteItem(beyond),
        Change::UndoConceptEdit(1),
    ]
}

/// Changes of what is the owner's that end a transaction where it is not there.
fn refused(of: Owner) -> Vec<Change> {
    vec![
        Change::MergeConcepts(of.nth("concept", 0), "Heap".into()),
        Change::SplitConcept("Heap".into(), vec![of.document(1)], "Pile".into()),
        Change::PutItem(Box::new(item(of, 1, 0))),
    ]
}

fn file_of(of: Owner) -> Box<File> {
    Box::new(File {
        name: of.word("file") + ".md",
        kind: Some("nonsense".into()),
        user: of.word("user"),
        ..File::default()
    })
}

macro_rules! table {
    ($($kind:ident $name:literal => |$of:pat_param, $own:pat_param| $asks:expr;)*) => {
        &[$(Route { name: $name, kind: RouteKind::$kind, requests: |$of, $own| $asks }),*]
    };
}

/// All of them.
pub(crate) const TABLE: &[Route] = table! {
    Read "GET /v1/search" => |of, _| {
        let asked = questions(of).into_iter().filter(|of| !of.syntax || of.strategy == Strategy::Text);
        asked.map(|of| get(format!("/v1/search?{}", as_query(&of, false)))).collect()
    };
    Read "POST /v1/search" => |of, _| {
        questions(of).into_iter().map(|of| post("/v1/search", &as_body(of))).collect()
    };
    Read "POST /v1/ask" => |of, _| {
        questions(of).into_iter().flat_map(|of| with_events(post("/v1/ask", &as_body(of)))).collect()
    };
    Read "POST /v1/prompt" => |of, _| {
        questions(of).into_iter().map(|of| post("/v1/prompt", &as_body(of))).collect()
    };
    Read "GET /v1/documents" => |of, _| vec![
        get("/v1/documents?limit=1000"),
        get(format!("/v1/documents?user={}", of.word("user"))),
        get(format!("/v1/documents?collection={}&limit=1", of.word("collection"))),
        get(format!("/v1/documents?after={}", coded(after(of)))),
    ];
    Change "POST /v1/documents" => |of, _| vec![
        sent("POST", format!("/v1/documents?name={}&kind=nonsense", of.word("file")), "text/plain", "x".into()),
    ];
    Read "GET /v1/documents/{document}" => |of, _| vec![get(at(of, ""))];
    Change "GET /v1/documents/{document}" => |of, _| vec![get(format!("/v1/documents/{}", of.word("document")))];
    Change "PUT /v1/documents/{document}" => |of, _| vec![
        sent("PUT", at(of, "?kind=nonsense"), "text/plain", "x".into()),
        TestRequest::Http(Http { fields: vec!["If-Match: *".into()], ..http("PUT", at(of, "")) }),
    ];
    Change "DELETE /v1/documents/{document}" => |of, _| vec![
        empty("DELETE", at(of, "")),
        TestRequest::Http(Http { fields: vec!["If-Match: *".into()], ..http("DELETE", at(of, "")) }),
    ];
    Read "GET /v1/documents/{document}/original" => |of, _| vec![get(at(of, "/original"))];
    Read "GET /v1/documents/{document}/text" => |of, _| vec![get(at(of, "/text"))];
    Read "GET /v1/documents/{document}/assets/{name}" => |of, _| vec![get(at(of, &format!("/assets/{}", asset(of))))];
    Read "GET /v1/chunks/{chunk}" => |of, _| vec![
        get(format!("/v1/chunks/{}?context=5", coded(of.chunk(1, 1)))),
        get(format!("/v1/chunks/{}", coded(of.chunk(0, 2)))),
    ];
    Change "POST /collections/{name}/link" => |of, _| vec![
        post("/collections/c/link", &json!({ "files": [{ "name": "n.md", "file_id": of.document(1).to_string() }] })),
    ];
    Read "GET /v1/concepts" => |of, _| vec![
        get("/v1/concepts?limit=1000"),
        get(format!("/v1/concepts?prefix={}", of.nth("concept", 0))),
    ];
    Read "GET /v1/concepts/{name}" => |of, _| vec![
        get(format!("/v1/concepts/{}", of.nth("concept", 0))),
        get(format!("/v1/concepts/{}", of.nth("synonym", 0))),
        get("/v1/concepts/Heap"),
    ];
    Read "GET /v1/paths" => |of, _| vec![
        get(format!("/v1/paths?from={}&to=Heap", of.nth("concept", 0))),
        get(format!("/v1/paths?from={}&to={}&along={}", of.nth("concept", 0), of.nth("concept", 1), of.word("relates"))),
    ];
    Change "PUT /v1/graph" => |of, _| vec![
        sent("PUT", format!("/v1/graph?key={}&user={}", of.word("document"), of.word("user")), "text/csv", of.word("node")),
    ];
    Read "GET /v1/graph" => |_, _| vec![get("/v1/graph"), get("/v1/graph?format=cypher")];
    Read "GET /v1/citations" => |of, _| vec![
        get(format!("/v1/citations?of={}", coded(of.document(1)))),
        get(format!("/v1/citations?of={}", coded(format!("On the {} of heaps and trees", of.nth("work", 0))))),
    ];
    Change "GET /v1/citations" => |of, _| vec![
        get(format!("/v1/citations?of={}", coded(format!("10.1000/{}", of.nth("doi", 0))))),
    ];
    Read "GET /v1/works" => |of, _| vec![
        get("/v1/works?limit=1000"),
        get(format!("/v1/works?author={}&stubs=true", of.word("cited"))),
    ];
    Read "GET /v1/communities" => |of, _| vec![
        get("/v1/communities"),
        get("/v1/communities?level=0"),
        get(format!("/v1/communities?of={}", of.nth("concept", 0))),
    ];
    Read "GET /v1/types" => |_, _| vec![get("/v1/types")];
    WholeStore "DELETE /v1/types" => |_, _| vec![empty("DELETE", "/v1/types")];
    WholeStore "POST /v1/types/consolidate" => |_, _| vec![
        empty("POST", "/v1/types/consolidate?stratified=true"),
        empty("POST", "/v1/types/consolidate"),
    ];
    Change "POST /v1/concept-edits" => |of, _| vec![
        post("/v1/concept-edits", &json!({ "merge": { "from": of.nth("concept", 0), "into": "Heap" } })),
        post("/v1/concept-edits", &json!({ "split": { "concept": "Heap", "documents": [of.document(1).to_string()], "into": "Pile" } })),
    ];
    Change "DELETE /v1/concept-edits/{edit}" => |_, _| vec![empty("DELETE", "/v1/concept-edits/1")];
    Read "GET /v1/items" => |of, _| vec![
        get("/v1/items?limit=1000"),
        get(format!("/v1/items?owner={}", of.word("user"))),
        get(format!("/v1/items?document={}", coded(of.document(1)))),
    ];
    Change "POST /v1/items" => |of, _| vec![post("/v1/items", &item_json(of))];
    Change "PUT /v1/items/{item}" => |of, own| vec![
        put(format!("/v1/items/{}", own.items + 1), &json!({ "front": "f" })),
        put("/v1/items/1", &item_json(of)),
    ];
    Change "DELETE /v1/items/{item}" => |_, own| vec![empty("DELETE", format!("/v1/items/{}", own.items + 1))];
    Read "GET /v1/item-figures" => |_, _| vec![get("/v1/item-figures")];
    Read "GET /v1/records" => |_, _| vec![get("/v1/records?limit=1000")];
    Change "DELETE /v1/records" => |_, _| vec![empty("DELETE", "/v1/records?before_ms=1")];
    Read "GET /v1/records/{record}" => |_, _| vec![get("/v1/records/1")];
    Change "GET /v1/records/{record}" => |_, own| vec![get(format!("/v1/records/{}", own.records + 1))];
    Change "POST /v1/records/{record}/feedback" => |of, own| vec![
        post(format!("/v1/records/{}/feedback", own.records + 1), &json!({ "hit": 1, "feedback": "helpful" })),
        post("/v1/records/1/feedback", &json!({ "hit": of.chunk(1, 1).to_string(), "feedback": "helpful" })),
    ];
    Read "POST /v1/replay" => |of, _| {
        let filter = format!("user_id = {}", of.word("user"));
        let mut asks = with_events(post("/v1/replay", &json!({ "limit": 2, "set": { "k": 3 } })));
        asks.push(post("/v1/replay", &json!({ "limit": 2, "set": { "filter": filter } })));
        asks
    };
    Change "POST /v1/write" => |of, _| vec![
        post("/v1/write", &json!({ "changes": [{ "delete_document": of.document(1).to_string() }] })),
        post("/v1/write", &json!({ "changes": [{ "put_item": item_json(of) }] })),
    ];
    Read "GET /v1/stats" => |_, _| vec![get("/v1/stats")];
    Read "GET /v1/usage" => |_, _| vec![get("/v1/usage")];
    Read "GET /v1/settings" => |_, _| vec![get("/v1/settings")];
    Change "PUT /v1/settings/{name}" => |of, _| vec![put(format!("/v1/settings/{}", of.word("setting")), &json!({ "value": "x" }))];
    WholeStore "POST /v1/finish" => |_, _| with_events(empty("POST", "/v1/finish"));
    WholeStore "POST /v1/analyse" => |_, _| with_events(empty("POST", "/v1/analyse"));
    WholeStore "POST /v1/compact" => |_, _| with_events(empty("POST", "/v1/compact"));
    WholeStore "POST /v1/refit" => |_, _| with_events(empty("POST", "/v1/refit"));
    WholeStore "POST /v1/check" => |_, _| with_events(empty("POST", "/v1/check?deep=true"));
    WholeStore "POST /v1/repair" => |_, _| vec![empty("POST", "/v1/repair")];
    WholeStore "PUT /v1/backups/{name}" => |of, _| with_events(empty("PUT", format!("/v1/backups/{}", of.word("backup"))));
    Change "PUT /v1/backups/{name}" => |of, _| vec![
        empty("PUT", format!("/v1/backups/{}", coded(format!("../{}/{}", of.word("store"), of.word("backup"))))),
    ];
    WholeStore "GET /v1/export" => |_, _| vec![get("/v1/export")];
    Read "GET /v1/keys" => |_, _| vec![get("/v1/keys")];
    Change "POST /v1/keys" => |of, _| vec![
        post("/v1/keys", &json!({ "role": "admin", "user": of.word("user"), "note": of.word("note") })),
    ];
    Change "DELETE /v1/keys/{id}" => |_, _| vec![empty("DELETE", format!("/v1/keys/{NO_KEY}"))];
    Read "GET /healthz" => |_, _| vec![get("/healthz")];
    Read "GET /readyz" => |_, _| vec![get("/readyz")];
    Read "GET /openapi.json" => |_, _| vec![get("/openapi.json")];
    Change "none" => |of, _| vec![get(format!("/v1/{}", of.word("route"))), empty("PATCH", at(of, ""))];

    Read "wire Search" => |of, _| questions(of).into_iter()
        .map(|of| wire(call::Search { request: Box::new(of), record: false })).collect();
    Read "wire Ask" => |of, _| questions(of).into_iter()
        .map(|of| wire(call::Ask { request: Box::new(of), record: false })).collect();
    Read "wire AskPrompt" => |of, _| questions(of).into_iter()
        .map(|of| wire(call::AskPrompt { request: Box::new(of) })).collect();
    Read "wire GetSettings" => |_, _| vec![wire(call::GetSettings {})];
    Read "wire GetStats" => |_, _| vec![wire(call::GetStats {})];
    Read "wire GetUsage" => |_, _| vec![wire(call::GetUsage {})];
    Read "wire ListDocuments" => |of, _| vec![
        wire(call::ListDocuments { collection: None, user: None, after: None, limit: 1_000 }),
        wire(call::ListDocuments { collection: None, user: Some(of.word("user")), after: None, limit: 10 }),
        wire(call::ListDocuments { collection: Some(of.word("collection")), user: None, after: Some(after(of)), limit: 10 }),
    ];
    Read "wire GetDocument" => |of, _| vec![wire(call::GetDocument { key: of.document(1) })];
    Read "wire GetChunk" => |of, _| vec![wire(call::GetChunk { key: of.chunk(1, 1), context: 5 })];
    Read "wire GetOriginal" => |of, _| vec![wire(call::GetOriginal { key: of.document(1) })];
    Read "wire GetAsset" => |of, _| vec![wire(call::GetAsset { key: of.document(1), name: asset(of) })];
    Read "wire GetText" => |of, _| vec![wire(call::GetText { key: of.document(0) })];
    Read "wire GetConcept" => |of, _| vec![
        wire(call::GetConcept { name: of.nth("concept", 0) }),
        wire(call::GetConcept { name: "heap".into() }),
    ];
    Read "wire ListConcepts" => |of, _| vec![
        wire(call::ListConcepts { prefix: String::new(), limit: 1_000 }),
        wire(call::ListConcepts { prefix: of.nth("concept", 0), limit: 10 }),
    ];
    Read "wire GetPath" => |of, _| vec![
        wire(call::GetPath { from: of.nth("concept", 0), to: "Heap".into(), along: Vec::new() }),
        wire(call::GetPath { from: of.nth("concept", 0), to: of.nth("concept", 1), along: vec![of.word("relates")] }),
    ];
    Read "wire ExportGraph" => |_, _| {
        [call::GraphFormat::Graphml, call::GraphFormat::Cypher].map(|format| wire(call::ExportGraph { format })).into()
    };
    Read "wire GetCitations" => |of, _| vec![
        wire(call::GetCitations { of: of.document(1).to_string() }),
        wire(call::GetCitations { of: format!("On the {} of heaps and trees", of.nth("work", 0)) }),
    ];
    Read "wire ListWorks" => |of, _| vec![
        wire(call::ListWorks { author: None, year: None, stubs: false, limit: 1_000 }),
        wire(call::ListWorks { author: Some(of.word("cited")), year: Some(1964), stubs: true, limit: 10 }),
    ];
    Read "wire ListCommunities" => |of, _| vec![
        wire(call::ListCommunities { level: None, of: None }),
        wire(call::ListCommunities { level: None, of: Some(of.nth("concept", 0)) }),
    ];
    Read "wire ListTypes" => |_, _| vec![wire(call::ListTypes {})];
    Read "wire ListRecords" => |_, _| vec![
        wire(call::ListRecords { response: None, limit: 1_000 }),
        wire(call::ListRecords { response: Some(1), limit: 1 }),
    ];
    Change "wire ListRecords" => |_, own| vec![
        wire(call::ListRecords { response: Some(u64::from(own.records) + 1), limit: 1 }),
    ];
    Read "wire ListItems" => |of, _| vec![
        wire(call::ListItems { owner: None, document: None, due_ms: None, after: None, limit: 1_000 }),
        wire(call::ListItems { owner: Some(of.word("user")), document: Some(of.document(1)), due_ms: Some(1), after: None, limit: 10 }),
    ];
    Read "wire GetItemFigures" => |_, _| vec![wire(call::GetItemFigures {})];
    Change "wire Write" => |of, own| {
        let each = changes(of, own).into_iter().chain(refused(of));
        each.map(|change| wire(call::Write { changes: vec![change] })).collect()
    };
    Change "wire Begin" => |of, own| vec![TestRequest::Steps(changes(of, own))];
    Change "wire Step" => |of, _| {
        let each = refused(of).into_iter().map(|change| TestRequest::Steps(vec![change]));
        each.chain([wire(call::Step { transaction: 1, change: patch(of) })]).collect()
    };
    Change "wire Commit" => |_, _| vec![wire(call::Commit { transaction: 1 })];
    Change "wire Rollback" => |_, _| vec![wire(call::Rollback { transaction: 1 })];
    WholeStore "wire Record" => |of, _| {
        let request = Box::new(SearchRequest::new(of.word("asked")));
        vec![wire(call::Record { request, answer: Box::<Answer>::default() })]
    };
    Change "wire GiveFeedback" => |of, own| vec![
        wire(call::GiveFeedback { response: u64::from(own.records) + 1, hit: "1".into(), feedback: Feedback::Helpful }),
        wire(call::GiveFeedback { response: 1, hit: of.chunk(1, 1).to_string(), feedback: Feedback::Helpful }),
    ];
    Change "wire Ingest" => |of, _| vec![wire(call::Ingest { file: file_of(of) })];
    Change "wire ImportGraph" => |of, _| {
        let file = call::GraphFile { name: of.word("file"), bytes: of.word("node").into_bytes(), continues_previous: false };
        let graph = call::GraphFiles { files: vec![file], key: of.word("document"), user: of.word("user"), ..call::GraphFiles::default() };
        vec![wire(call::ImportGraph { graph: Box::new(graph) })]
    };
    WholeStore "wire Finish" => |_, _| vec![wire(call::Finish {})];
    Change "wire SetSetting" => |of, _| vec![
        wire(call::SetSetting { name: of.word("setting"), value: "x".into() }),
        wire(call::SetSetting { name: "model".into(), value: of.word("model") }),
    ];
    WholeStore "wire Analyse" => |_, _| vec![wire(call::Analyse {})];
    WholeStore "wire Compact" => |_, _| vec![wire(call::Compact {})];
    WholeStore "wire Check" => |_, _| vec![wire(call::Check { deep: true })];
    WholeStore "wire Repair" => |_, _| vec![wire(call::Repair {})];
    WholeStore "wire Backup" => |of, _| vec![wire(call::Backup { name: of.word("backup") })];
    Change "wire Backup" => |of, _| vec![wire(call::Backup { name: format!("../{}", of.word("store")) })];
    WholeStore "wire Export" => |_, _| vec![wire(call::Export {})];
    WholeStore "wire Refit" => |_, _| vec![wire(call::Refit {})];
    WholeStore "wire ConsolidateTypes" => |_, _| vec![wire(call::ConsolidateTypes { stratified: true })];
    WholeStore "wire ForgetTypes" => |_, _| vec![wire(call::ForgetTypes {})];
    Change "wire ForgetRecords" => |_, _| vec![wire(call::ForgetRecords { before_ms: 1 })];
    Read "wire Replay" => |of, _| vec![
        wire(call::Replay { limit: 2, set: Vec::new() }),
        wire(call::Replay { limit: 2, set: vec![("filter".into(), format!("user_id = {}", of.word("user")))] }),
    ];
    Read "wire ListKeys" => |_, _| vec![wire(call::ListKeys {})];
    Change "wire AddKey" => |of, _| vec![
        wire(call::AddKey { role: Role::Admin, user: Some(of.word("user")), note: of.word("note") }),
    ];
    Change "wire RevokeKey" => |_, _| vec![wire(call::RevokeKey { id: NO_KEY.into() })];

    Read "mcp search" => |of, _| questions(of).into_iter().map(|of| {
        let filter = of.filter.map(|filter| filter.to_string());
        let mut arguments = json!({ "question": of.question, "strategy": of.strategy.name(), "k": 5, "context_tokens": 500 });
        if let Some(filter) = filter {
            arguments["filter"] = filter.into();
        }
        tool("search", &arguments)
    }).collect();
    Read "mcp read_chunk" => |of, _| vec![tool("read_chunk", &json!({ "key": of.chunk(1, 1).to_string(), "context": 3 }))];
    Read "mcp walk_concepts" => |of, _| vec![
        tool("walk_concepts", &json!({})),
        tool("walk_concepts", &json!({ "name": "Heap" })),
        tool("walk_concepts", &json!({ "name": of.nth("concept", 0) })),
        tool("walk_concepts", &json!({ "name": of.nth("concept", 0), "to": "Heap" })),
        tool("walk_concepts", &json!({ "prefix": of.nth("concept", 0) })),
    ];
    Read "mcp cite" => |of, _| vec![
        tool("cite", &json!({ "of": of.chunk(1, 1).to_string() })),
        tool("cite", &json!({ "of": of.document(1).to_string() })),
        tool("cite", &json!({ "of": format!("On the {} of heaps and trees", of.nth("work", 0)) })),
    ];
    Read "mcp list_documents" => |of, _| vec![
        tool("list_documents", &json!({})),
        tool("list_documents", &json!({ "collection": of.word("collection"), "after": after(of) })),
    ];
    Read "mcp read_document" => |of, _| vec![tool("read_document", &json!({ "key": of.document(1).to_string() }))];
    Read "mcp resources" => |of, _| vec![
        mcp("tools/list", &json!({})),
        mcp("resources/list", &json!({})),
        mcp("resources/templates/list", &json!({})),
        mcp("resources/read", &json!({ "uri": format!("loci://document/{}", coded(of.document(1))) })),
    ];

    Read "page /" => |of, _| {
        let mut asks = vec![page("/")];
        for request in questions(of) {
            asks.push(page(format!("/?{}", as_query(&request, true))));
            asks.push(page(format!("/?{}&answer=1", as_query(&request, true))));
        }
        asks
    };
    Read "page /read/{document}" => |of, _| vec![page(format!("/read/{}", coded(of.document(1))))];
    Read "page /note/{document}/chunk/{chunk}" => |of, _| vec![page(note(of)), get(note(of))];
    Read "page /documents" => |of, _| vec![
        page("/documents"),
        page(format!("/documents?collection={}&after={}", of.word("collection"), coded(after(of)))),
    ];
    Read "page /picture/{document}/{name}" => |of, _| vec![
        page(format!("/picture/{}/{}", coded(of.document(1)), asset(of))),
    ];
    Read "page /sign-in" => |of, _| vec![page(format!("/sign-in?to={}", coded(format!("/read/{}", of.document(1)))))];
};

/// A document of the owner's that is put over the wire.
pub(crate) fn put_document(of: Owner, n: u32) -> Change {
    Change::PutDocument(Box::new(document(of, n)))
}
