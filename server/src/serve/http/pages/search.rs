//! `/`: a question, and the passages that answer it.
//!
//! Start reading at [`search`].

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use loci_protocol::call::{Ask, GetStats, ListDocuments, Search};
use loci_protocol::fault::{Code, Fault};
use locidb::query::answer::{AnswerText, ArmScores, ConceptHit, Hit};
use locidb::query::cite::Citation;
use locidb::{Answer, Expr, SearchRequest, Strategy};
use maud::{Markup, html};

use super::documents::ingest_hint;
use super::fields::{Fields, percent_encode};
use super::layout::{self, Layout, NavSection};
use super::principal::{self, Principal};
use crate::serve::http::HttpState;
use crate::service::CallOutput;

/// Passages that may be asked for.
const K_MAX: usize = 100;
/// Characters that are shown of a passage, about.
const SHOWN_CHARS: usize = 520;
/// Characters before the first highlight, where a passage is not shown from its start.
const BEFORE_CHARS: usize = 120;
/// Highlights of a passage that are looked at, at most.
const HIGHLIGHTS_MAX: usize = 500;
/// Letters of a small word at most.
const SMALL_CHARS: usize = 3;
/// Width of a score's bar in its own units.
const BAR_WIDTH: f32 = 40.0;

/// Its route.
pub(super) fn router() -> Router<HttpState> {
    Router::new().route("/", get(search))
}

async fn search(principal: Principal, RawQuery(query): RawQuery) -> Response {
    let form = SearchForm::from_fields(&Fields::read(query.as_deref().unwrap_or_default()));
    if form.question.is_empty() {
        return home(&principal, &form).await;
    }
    let request = match form.request() {
        Ok(request) => request,
        Err(wrong) => return error_page(&principal, &form, &wrong),
    };
    let output = if form.in_words {
        principal
            .auth()
            .call(Ask {
                request,
                record: false,
            })
            .await
    } else {
        principal
            .auth()
            .call(Search {
                request,
                record: false,
            })
            .await
    };
    match output {
        Ok(CallOutput::Answer(answer)) => results_page(&principal, &form, &answer),
        Ok(_) => layout::error_page(
            Some(&principal),
            &crate::service::internal(&"a search gave no answer"),
        ),
        Err(fault) => error_page(&principal, &form, &FormError { field: "q", fault }),
    }
}

/// What was typed.
#[derive(Clone, Debug, PartialEq)]
struct SearchForm {
    question: String,
    k: String,
    strategy: String,
    filter: String,
    in_words: bool,
}

/// What of a form cannot be done.
#[derive(Debug)]
struct FormError {
    /// The field that it is about.
    field: &'static str,
    fault: Fault,
}

impl FormError {
    fn new(field: &'static str, why: String) -> FormError {
        FormError {
            field,
            fault: Fault::new(Code::Invalid, why),
        }
    }
}

impl SearchForm {
    fn from_fields(fields: &Fields) -> SearchForm {
        SearchForm {
            question: fields.get("q").to_owned(),
            k: fields.get("k").to_owned(),
            strategy: fields.get("strategy").to_owned(),
            filter: fields.get("filter").to_owned(),
            in_words: !fields.get("answer").is_empty(),
        }
    }

    /// The request that it makes.
    fn request(&self) -> Result<Box<SearchRequest>, FormError> {
        let k = match &self.k[..] {
            "" => 10,
            k => match k.parse() {
                Ok(k) if (1..=K_MAX).contains(&k) => k,
                _ => {
                    return Err(FormError::new(
                        "k",
                        format!("passages: give a number from 1 to {K_MAX}"),
                    ));
                }
            },
        };
        let strategy = match &self.strategy[..] {
            "" => Strategy::Auto,
            name => Strategy::from_name(name).ok_or_else(|| {
                FormError::new(
                    "strategy",
                    "there is no such strategy: choose one of the list".into(),
                )
            })?,
        };
        let filter = match &self.filter[..] {
            "" => None,
            filter => Some(
                Expr::parse(filter)
                    .map_err(|error| FormError::new("filter", format!("filter: {error}")))?,
            ),
        };
        Ok(Box::new(SearchRequest {
            k,
            strategy,
            filter,
            syntax: strategy == Strategy::Text,
            highlights: true,
            ..SearchRequest::new(&self.question[..])
        }))
    }

    /// Whether anything beside the question was said.
    fn has_options(&self) -> bool {
        let is_usual = |value: &str, usual: &str| value.is_empty() || value == usual;
        !(is_usual(&self.k, "10") && is_usual(&self.strategy, "auto") && self.filter.is_empty())
    }

    /// The same form with another question, as an address.
    fn link(&self, question: &str) -> String {
        let mut link = format!("/?q={}", percent_encode(question));
        for (name, value) in [
            ("k", &self.k),
            ("strategy", &self.strategy),
            ("filter", &self.filter),
        ] {
            if !value.is_empty() {
                link.push_str(&format!("&{name}={}", percent_encode(value)));
            }
        }
        link
    }

    fn render(&self, wrong: Option<&FormError>, is_first: bool) -> Markup {
        let is_open = self.has_options() || wrong.is_some_and(|wrong| wrong.field != "q");
        let field = wrong.map(|wrong| wrong.field);
        html! {
            form class="search" action="/" role="search" {
                div class="ask" {
                    label class="unseen" for="q" { "Question" }
                    input id="q" name="q" type="search" value=(self.question) required autofocus[is_first]
                        placeholder="Ask your documents" autocomplete="off" enterkeyhint="search"
                        aria-keyshortcuts="/" aria-invalid=[invalid("q", field)] aria-describedby=[about("q", field)];
                    button { "Search" }
                    button class="quiet" name="answer" value="1" { "Answer" span class="wide-only" { " in words" } }
                }
                @if let Some(wrong) = wrong {
                    div id="wrong" { (layout::notice(&wrong.fault)) }
                }
                details class="options" open[is_open] {
                    summary { "Options" }
                    div class="fields" { (self.options(field)) }
                }
            }
        }
    }

    fn options(&self, wrong: Option<&str>) -> Markup {
        let k = match &self.k[..] {
            "" => "10",
            k => k,
        };
        html! {
            div class="field short" {
                label for="k" { "Passages" }
                input id="k" name="k" inputmode="numeric" value=(k) autocomplete="off" aria-invalid=[invalid("k", wrong)] aria-describedby=[about("k", wrong)];
            }
            div class="field" {
                label for="strategy" { "Strategy" }
                select id="strategy" name="strategy" aria-invalid=[invalid("strategy", wrong)] aria-describedby=[about("strategy", wrong)] {
                    @for strategy in Strategy::ALL {
                        option value=(strategy.name()) selected[strategy.name() == self.strategy] { (strategy_label(strategy)) }
                    }
                }
            }
            div class="field long" {
                label for="filter" { "Filter" }
                input id="filter" name="filter" value=(self.filter) placeholder="file_type = pdf and year >= 2020"
                    autocomplete="off" autocapitalize="none" spellcheck="false" aria-invalid=[invalid("filter", wrong)] aria-describedby=[about("filter", wrong)];
            }
        }
    }
}

/// Whether a field is the wrong one.
fn invalid(field: &str, wrong: Option<&str>) -> Option<&'static str> {
    (wrong == Some(field)).then_some("true")
}

/// What says why.
fn about(field: &str, wrong: Option<&str>) -> Option<&'static str> {
    (wrong == Some(field)).then_some("wrong")
}

/// What a strategy does, in a few words.
fn strategy_label(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Auto => "auto: as the question needs",
        Strategy::Hybrid => "hybrid: words, nearness, concepts",
        Strategy::Staged => "staged: documents, then sections",
        Strategy::Global => "global: digests of the whole store",
        Strategy::Text => "text: words, with + - \"…\" field:",
        Strategy::Vector => "vector: nearness alone",
        Strategy::Graph => "graph: concepts alone",
    }
}

/// The page before anything was asked.
async fn home(principal: &Principal, form: &SearchForm) -> Response {
    let contents = match store_contents(principal).await {
        Ok(contents) => contents,
        Err(fault) => return layout::error_page(Some(principal), &fault),
    };
    let main = html! {
        div class="narrow home" {
            h1 { "What do you want to know?" }
            (form.render(None, true))
            @match contents {
                StoreContents::Empty => (ingest_hint()),
                StoreContents::NotEmpty => p class="soft" { "Passages come with their places in your " a href="/documents" { "documents" } "." },
                StoreContents::Counted { documents, chunks } => p class="soft" {
                    a href="/documents" { (pluralize(documents, "document")) } ", " (pluralize(chunks, "chunk"))
                }
            }
            p class="soft small keys" {
                kbd { "/" } " to ask, " kbd { "j" } " " kbd { "k" } " through the passages, " kbd { "Enter" } " opens one"
            }
        }
    };
    Layout::new(principal, NavSection::Search, "Search").render(StatusCode::OK, &main)
}

/// What there is to be searched.
#[derive(Clone, Copy, Debug)]
enum StoreContents {
    Empty,
    NotEmpty,
    Counted { documents: u64, chunks: u64 },
}

/// What the store holds for a principal. For one that is bound to a user nothing is counted: that would read all
/// documents.
async fn store_contents(principal: &Principal) -> Result<StoreContents, Fault> {
    if principal.is_bound() {
        let first = ListDocuments {
            collection: None,
            user: None,
            after: None,
            limit: 1,
        };
        let page = principal.view(first).await?;
        return Ok(if page.documents.is_empty() {
            StoreContents::Empty
        } else {
            StoreContents::NotEmpty
        });
    }
    Ok(match principal.view(GetStats {}).await?.counts() {
        (0, _) => StoreContents::Empty,
        (documents, chunks) => StoreContents::Counted { documents, chunks },
    })
}

fn pluralize(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// The form again, with what is wrong beside it.
fn error_page(principal: &Principal, form: &SearchForm, wrong: &FormError) -> Response {
    let main = html! {
        div class="wide results" {
            h1 class="unseen" { "Search" }
            (form.render(Some(wrong), false))
        }
    };
    let page = Layout::new(principal, NavSection::Search, &form.question)
        .render(principal::status(&wrong.fault), &main);
    (layout::retry_after(&wrong.fault), page).into_response()
}

fn results_page(principal: &Principal, form: &SearchForm, answer: &Answer) -> Response {
    let best = BestScores::from_hits(&answer.hits);
    let main = html! {
        div class="wide results" {
            h1 class="unseen" { "Search" }
            (form.render(None, false))
            (summary(form, answer))
            @if let Some(digest) = &answer.answer { (digest_section(digest)) }
            @if answer.hits.is_empty() && answer.answer.is_none() { (no_hits(form)) }
            ol class="hits" {
                @for hit in &answer.hits { (hit_item(hit, best)) }
            }
        }
    };
    Layout::new(principal, NavSection::Search, &form.question).render(StatusCode::OK, &main)
}

/// What there is to say of an answer as a whole.
fn summary(form: &SearchForm, answer: &Answer) -> Markup {
    let took_ms = answer.took_us as f64 / 1_000.0;
    html! {
        div class="summary" {
            div role="status" { h2 { (pluralize(answer.hits.len() as u64, "passage")) } }
            p class="soft small" {
                (format!("{took_ms:.1}")) " ms, " (answer.strategy)
                @if let Some(why) = &answer.why { ": " (why) }
            }
        }
        @for missing in &answer.partial {
            p class="notice" role="status" { "Not searched: " (layout::sentence(&missing.to_string())) }
        }
        @for suggestion in &answer.did_you_mean {
            p class="notice" {
                "No passage has “" (suggestion.word) "”. Did you mean "
                a href=(form.link(&form.question.replace(&suggestion.word, &suggestion.meant))) { (suggestion.meant) } "?"
            }
        }
        @if !answer.concepts.is_empty() { (concepts(form, &answer.concepts)) }
    }
}

fn concepts(form: &SearchForm, concepts: &[ConceptHit]) -> Markup {
    html! {
        nav class="concepts" aria-labelledby="concepts" {
            h2 id="concepts" class="small soft" { "Concepts" }
            ul {
                @for concept in concepts {
                    li { a href=(form.link(&concept.name)) lang="" { (concept.name) } }
                }
            }
        }
    }
}

fn no_hits(form: &SearchForm) -> Markup {
    html! {
        p class="notice" {
            "No passage answers that. Other words"
            @if !form.filter.is_empty() { ", a wider filter" }
            " or another strategy may."
        }
    }
}

/// An answer in words; its references lead to what it rests on.
fn digest_section(digest: &AnswerText) -> Markup {
    html! {
        section class="answer" aria-labelledby="answer" {
            h2 id="answer" { "Answer" }
            @if digest.text.trim().is_empty() {
                p { "The passages found do not answer that." }
            } @else {
                @for part in digest.text.split("\n\n") {
                    p lang="" { (link_references(part, &digest.citations)) }
                }
                ol class="sources small" {
                    @for citation in &digest.citations {
                        li { a href=(citation_url(citation)) lang="" { (title(citation)) ", " (citation.label) } }
                    }
                }
            }
        }
    }
}

/// A text whose `[1]` are links to the first citation, and so on.
fn link_references(text: &str, citations: &[Citation]) -> Markup {
    let mut parts = text.split('[');
    let first = parts.next().unwrap_or_default();
    let reference = |part: &str| -> Option<(usize, String)> {
        let (number, rest) = part.split_once(']')?;
        let number: usize = number.parse().ok()?;
        (1..=citations.len())
            .contains(&number)
            .then(|| (number, rest.to_owned()))
    };
    html! {
        (first)
        @for part in parts {
            @match reference(part) {
                Some((number, rest)) => {
                    a class="ref" href=(citation_url(&citations[number - 1])) { "[" (number) "]" } (rest)
                }
                None => { "[" (part) }
            }
        }
    }
}

/// Where a citation is opened, at the passage itself.
fn citation_url(citation: &Citation) -> String {
    format!("{}#here", citation.link)
}

/// The title of the document that is cited.
fn title(citation: &Citation) -> &str {
    citation.path.first().map_or("", String::as_str)
}

fn hit_item(hit: &Hit, best: BestScores) -> Markup {
    let citation = &hit.citation;
    let above = citation.path.get(1..).unwrap_or_default();
    let above = above.split_last().map_or(&[][..], |(_, above)| above);
    html! {
        li class="hit" {
            article {
                h3 { a href=(citation_url(citation)) lang="" { (title(citation)) } }
                p class="place" lang="" {
                    (citation.label)
                    @if !above.is_empty() { span class="soft" { " in " (above.join(" › ")) } }
                }
                p class="passage" lang="" { (snippet(&hit.text, citation.path.last().map_or("", String::as_str), hit.highlights.as_deref().unwrap_or_default())) }
                (methods(&hit.methods, best))
            }
        }
    }
}

/// The best score of each method in an answer.
#[derive(Clone, Copy, Debug, Default)]
struct BestScores {
    text: f32,
    vector: f32,
    graph: f32,
}

impl BestScores {
    fn from_hits(hits: &[Hit]) -> BestScores {
        hits.iter().fold(BestScores::default(), |best, hit| {
            let methods = &hit.methods;
            BestScores {
                text: methods.text.map_or(best.text, |of| best.text.max(of.score)),
                vector: methods
                    .vector
                    .map_or(best.vector, |of| best.vector.max(of.score)),
                graph: methods
                    .graph
                    .as_ref()
                    .map_or(best.graph, |of| best.graph.max(of.score)),
            }
        })
    }
}

/// Which methods found a passage, and how well.
fn methods(methods: &ArmScores, best: BestScores) -> Markup {
    let graph = methods.graph.as_ref();
    let found = [
        (
            "words",
            methods.text.map(|of| (of.rank, of.score)),
            best.text,
        ),
        (
            "nearness",
            methods.vector.map(|of| (of.rank, of.score)),
            best.vector,
        ),
        ("concepts", graph.map(|of| (of.rank, of.score)), best.graph),
    ];
    let path = graph
        .map(|of| of.path.join(" → "))
        .filter(|path| !path.is_empty());
    html! {
        ul class="methods" {
            @for (name, place, best) in found {
                @if let Some((rank, score)) = place { li class=(name) { (method(name, rank, score, best)) } }
            }
            @if let Some(path) = path { li class="path soft" lang="" { span class="unseen" { "Way through concepts: " } (path) } }
        }
    }
}

fn method(name: &str, rank: u32, score: f32, best: f32) -> Markup {
    let fraction = if best > 0.0 {
        (score / best).clamp(0.0, 1.0)
    } else {
        0.0
    };
    html! {
        span title=(format!("score {score:.4}")) {
            (name) " " span class="unseen" { "rank " } b { (rank) }
            span class="unseen" { (format!(", score {score:.3}")) }
        }
        svg width=(BAR_WIDTH) height="4" aria-hidden="true" focusable="false" {
            rect class="all" width=(BAR_WIDTH) height="4" rx="2" {}
            rect class="part" width=(format!("{:.1}", fraction * BAR_WIDTH)) height="4" rx="2" {}
        }
    }
}

/// A passage with its highlights marked: whole where it is short, else where most of them are. A heading
/// that it begins with was told above it, and is left out. `highlights`: characters from and to, ascending.
fn snippet(text: &str, heading: &str, highlights: &[(u32, u32)]) -> Markup {
    let chars: Vec<char> = text.chars().collect();
    let begin = after_heading(text, heading);
    let spans = significant_highlights(&chars, begin, highlights);
    let first = densest_start(&spans).unwrap_or(begin);
    let (from, to) = window(chars.len() - begin, first - begin, |at| {
        chars[begin + at].is_whitespace()
    });
    let (from, to) = (begin + from, begin + to);
    let mut runs: Vec<(bool, String)> = Vec::new();
    let mut at = from;
    for (start, end) in spans {
        let start = start.clamp(at, to);
        let end = end.clamp(start, to);
        runs.push((false, chars[at..start].iter().collect()));
        runs.push((true, chars[start..end].iter().collect()));
        at = end;
    }
    runs.push((false, chars[at..to].iter().collect()));
    html! {
        @if from > begin { "… " }
        @for (is_marked, run) in runs.iter().filter(|(_, run)| !run.is_empty()) {
            @if *is_marked { mark { (run) } } @else { (run) }
        }
        @if to < chars.len() { " …" }
    }
}

/// Where a text goes on after a heading that it begins with, in characters; 0 where it does not, or has nothing else.
fn after_heading(text: &str, heading: &str) -> usize {
    let first = text.lines().next().unwrap_or_default();
    let title = first.trim_start_matches('#').trim();
    let rest = &text[first.len()..];
    if !title.is_empty() && title == heading.trim() && !rest.trim().is_empty() {
        text.chars().count() - rest.trim_start().chars().count()
    } else {
        0
    }
}

/// The highlights that tell something: those of short words that are not names only where there are no others.
fn significant_highlights(
    chars: &[char],
    begin: usize,
    highlights: &[(u32, u32)],
) -> Vec<(usize, usize)> {
    let spans = highlights
        .iter()
        .take(HIGHLIGHTS_MAX)
        .map(|(start, end)| (*start as usize, (*end as usize).min(chars.len())));
    let spans: Vec<(usize, usize)> = spans
        .filter(|(start, end)| *start >= begin && start < end)
        .collect();
    let is_small = |(start, end): &&(usize, usize)| {
        let word = &chars[*start..*end];
        let is_word = word.iter().all(char::is_ascii_alphabetic);
        let is_name = word.iter().skip(1).any(char::is_ascii_uppercase);
        word.len() <= SMALL_CHARS && is_word && !is_name
    };
    let telling: Vec<(usize, usize)> = spans
        .iter()
        .filter(|span| !is_small(span))
        .copied()
        .collect();
    if telling.is_empty() { spans } else { telling }
}

/// The first of the highlights that most others follow within what is shown.
fn densest_start(spans: &[(usize, usize)]) -> Option<usize> {
    let follows = |from: usize| {
        let near = spans.iter().skip_while(|(start, _)| *start < from);
        near.take_while(|(_, end)| *end <= from + SHOWN_CHARS - BEFORE_CHARS)
            .count()
    };
    // Of several the first: `max_by_key` takes the last.
    let starts = spans.iter().rev().map(|(start, _)| *start);
    starts.max_by_key(|start| follows(*start))
}

/// Which of so many characters are shown, from one word to another. `first`: the one that must be among them.
fn window(len: usize, first: usize, is_space: impl Fn(usize) -> bool) -> (usize, usize) {
    if len <= SHOWN_CHARS + BEFORE_CHARS {
        return (0, len);
    }
    let space_from = |at: usize| {
        let near = at..len.min(at + BEFORE_CHARS / 2);
        near.into_iter().find(|at| is_space(*at)).unwrap_or(at)
    };
    let from = if first + BEFORE_CHARS <= SHOWN_CHARS {
        0
    } else {
        space_from((first - BEFORE_CHARS).min(len - SHOWN_CHARS))
    };
    if from + SHOWN_CHARS + BEFORE_CHARS / 2 >= len {
        (from, len)
    } else {
        (from, space_from(from + SHOWN_CHARS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlights_are_marked_and_html_is_escaped() {
        let cases: [(&str, &[(u32, u32)], &str); 8] = [
            (
                "## Öl\n\nist schwer",
                &[(3, 5), (11, 17)],
                "ist <mark>schwer</mark>",
            ),
            ("Öl\n", &[(0, 2)], "<mark>Öl</mark>\n"),
            (
                "a word is a word",
                &[(0, 1), (2, 6), (7, 9)],
                "a <mark>word</mark> is a word",
            ),
            ("a <b> c", &[(2, 5)], "a <mark>&lt;b&gt;</mark> c"),
            ("äöü", &[(1, 2)], "ä<mark>ö</mark>ü"),
            ("both", &[(0, 2), (2, 4)], "<mark>bo</mark><mark>th</mark>"),
            ("over", &[(2, 99), (0, 3)], "ov<mark>er</mark>"),
            ("", &[(0, 1)], ""),
        ];
        for (text, highlights, want) in cases {
            assert_eq!(snippet(text, "Öl", highlights).into_string(), want);
        }
    }

    #[test]
    fn a_long_passage_is_shown_around_its_first_highlight() {
        let text = "word ".repeat(1_000);
        let chars: Vec<char> = text.chars().collect();
        for first in [0, 399, 401, 2_500, 4_990, 4_999] {
            let (from, to) = window(chars.len(), first, |at| chars[at].is_whitespace());
            assert!(from <= first && first < to, "{first}: {from}..{to}");
            assert!(
                to - from <= SHOWN_CHARS + BEFORE_CHARS,
                "{first}: {from}..{to}"
            );
        }
        let (from, to) = window(5_000, 2_500, |_| false);
        assert!(to - from <= SHOWN_CHARS + BEFORE_CHARS && (from..to).contains(&2_500));
    }

    #[test]
    fn answer_references_link_to_citations() {
        let citation = Citation {
            link: "/note/a/chunk/a%230".into(),
            ..Citation::default()
        };
        let shown = link_references("So it is [1], not [2] or [x] <i>.", &[citation]).into_string();
        let want = "So it is <a class=\"ref\" href=\"/note/a/chunk/a%230#here\">[1]</a>, not [2] or [x] &lt;i&gt;.";
        assert_eq!(shown, want);
    }

    #[test]
    fn form_builds_a_request_or_reports_the_invalid_field() {
        let form = |text: &str| SearchForm::from_fields(&Fields::read(text));
        let request = form("q=heron&k=3&strategy=text&filter=year+%3D+1998")
            .request()
            .unwrap();
        assert_eq!((request.k, request.strategy), (3, Strategy::Text));
        assert!(request.syntax && request.highlights && request.filter.is_some());
        for (text, field) in [
            ("q=x&k=0", "k"),
            ("q=x&k=lots", "k"),
            ("q=x&strategy=magic", "strategy"),
            ("q=x&filter=%3D", "filter"),
        ] {
            assert_eq!(form(text).request().unwrap_err().field, field);
        }
    }
}
