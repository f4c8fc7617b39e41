//! The reader: a document with its outline, opened where a citation leads or at its start.
//!
//! `/note/{document}/chunk/{chunk}` is where citations lead: a browser gets the reader there, a program the chunk as JSON.
//! A document is read a part at a time, so that no page grows with it: a part is as many sections as one call of GetChunk
//! tells, or fewer where they are long.
//!
//! Start reading at [`note`], then [`Opened`].

use std::collections::{HashMap, HashSet};

use axum::Router;
use axum::extract::{FromRequestParts, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use loci_protocol::call::GetChunk;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::records::DocumentRecord;
use locidb::storage::{ChunkKey, DocumentKey};
use maud::{Markup, html};

use super::fields::{Fields, percent_encode};
use super::layout::{self, Layout, NavSection};
use super::outline;
use super::paged_document::{self, CONTEXT_MAX, ChunkStart, ChunkText, PagedDocument};
use super::path_params::PagePathParams;
use super::principal::Principal;
use super::text_blocks::{self, Block, RenderState, TextRun};
use crate::serve::http::access::AuthenticatedRequest;
use crate::serve::http::{HttpState, Problem};
use loci_views::documents::ListedChunk;

/// Headings that are named above a document at most.
const CRUMBS_MAX: usize = 12;

/// Its routes.
pub(super) fn router() -> Router<HttpState> {
    Router::new()
        .route("/note/{document}/chunk/{chunk}", get(note))
        .route("/read/{document}", get(read))
}

/// The document of a path.
///
/// # Errors
/// [`Code::NotFound`] where no document can have that key.
pub(super) fn document_key(text: &str) -> Result<DocumentKey, Fault> {
    let none = |_| Fault::new(Code::NotFound, format!("there is no document {text:?}"));
    text.parse().map_err(none)
}

/// The chunk of a path.
fn chunk_key(document: &str, chunk: &str) -> Result<ChunkKey, Fault> {
    let key: Option<ChunkKey> = chunk.parse().ok();
    let document: Option<DocumentKey> = document.parse().ok();
    let is_of = |key: &ChunkKey| document.as_ref() == Some(&key.document);
    let none = || Fault::new(Code::NotFound, format!("there is no chunk {chunk:?} here"));
    key.filter(is_of).ok_or_else(none)
}

/// Where a citation leads.
async fn note(
    State(http): State<HttpState>,
    PagePathParams((document, chunk)): PagePathParams<(String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let (mut parts, _) = request.into_parts();
    let key = chunk_key(&document, &chunk);
    if !is_browser(&parts.headers) {
        return match AuthenticatedRequest::from_request_parts(&mut parts, &http).await {
            Ok(auth) => chunk_json(&auth, key, query.as_deref()).await,
            Err(problem) => problem.into_response(),
        };
    }
    let principal = match Principal::from_request_parts(&mut parts, &http).await {
        Ok(principal) => principal,
        Err(response) => return response,
    };
    let page = match key {
        Ok(key) => chunk_page(&principal, key).await,
        Err(fault) => Err(fault),
    };
    page.unwrap_or_else(|fault| layout::error_page(Some(&principal), &fault))
}

/// Whether a person asks, by what the request takes.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let mut accepts = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok());
    accepts.any(|accept| accept.to_ascii_lowercase().contains("text/html"))
}

/// The chunk for a program.
async fn chunk_json(
    auth: &AuthenticatedRequest,
    key: Result<ChunkKey, Fault>,
    query: Option<&str>,
) -> Response {
    let fields = Fields::read(query.unwrap_or_default());
    let context = match fields.get("context") {
        "" => Ok(0),
        context => context.parse().map_err(|_| {
            Fault::new(
                Code::Invalid,
                format!("context: give a number from 0 to {CONTEXT_MAX}"),
            )
        }),
    };
    let call = key.and_then(|key| {
        Ok(GetChunk {
            key,
            context: context?,
        })
    });
    let output = match call {
        Ok(call) => auth.call(call).await,
        Err(fault) => Err(fault),
    };
    match output {
        Ok(output) => output.into_response(),
        Err(fault) => Problem::from(fault).into_response(),
    }
}

/// A document from its start, or a part of it.
async fn read(
    principal: Principal,
    PagePathParams(document): PagePathParams<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let fields = Fields::read(query.as_deref().unwrap_or_default());
    // Parts are counted from 1; what is no number is the first.
    let part: usize = fields.get("part").parse().unwrap_or(1);
    let page = match document_key(&document) {
        Ok(key) => document_page(&principal, key, part.saturating_sub(1)).await,
        Err(fault) => Err(fault),
    };
    page.unwrap_or_else(|fault| layout::error_page(Some(&principal), &fault))
}

async fn chunk_page(principal: &Principal, key: ChunkKey) -> Result<Response, Fault> {
    let book = PagedDocument::load(principal, key.document.clone()).await?;
    let name = key.to_string();
    let cited = book
        .outline
        .chunks
        .iter()
        .position(|chunk| chunk.chunk == name);
    let none = || {
        Fault::new(
            Code::NotFound,
            format!("there is no chunk {name:?} any more"),
        )
    };
    let cited = cited.ok_or_else(none)?;
    let part = book.part_of(cited);
    render_page(principal, &book, part, Some(cited)).await
}

async fn document_page(
    principal: &Principal,
    key: DocumentKey,
    part: usize,
) -> Result<Response, Fault> {
    let book = PagedDocument::load(principal, key).await?;
    if part < book.parts.len() || part == 0 {
        render_page(principal, &book, part, None).await
    } else {
        let why = format!("the document has {} parts", book.parts.len());
        Err(Fault::new(Code::NotFound, why))
    }
}

async fn render_page(
    principal: &Principal,
    book: &PagedDocument,
    part: usize,
    cited: Option<usize>,
) -> Result<Response, Fault> {
    let texts = book.load_texts(principal, part).await?;
    let apart = book.cited_text(principal, cited).await?;
    let opened = ReaderPage { book, part, cited };
    let main = opened.whole(&texts, apart.as_deref());
    Ok(Layout::new(principal, NavSection::Documents, book.title()).render(StatusCode::OK, &main))
}

/// A document that is open at some place.
#[derive(Clone, Copy, Debug)]
struct ReaderPage<'o> {
    book: &'o PagedDocument,
    part: usize,
    /// The chunk that is cited, by its place.
    cited: Option<usize>,
}

impl ReaderPage<'_> {
    fn whole(&self, texts: &HashMap<String, String>, apart: Option<&str>) -> Markup {
        let language = language(self.book.outline.document.language.as_deref());
        html! {
            div class="reader" {
                (self.outline())
                article class="book" {
                    (self.head())
                    @if let Some(cited) = self.cited { (self.passage_nav(cited)) }
                    @if let Some(apart) = apart {
                        aside class="apart" aria-label="What is cited" { p lang="" { mark { (apart) } } }
                    }
                    div class="text" lang=(language) { (self.text(texts)) }
                    (self.files())
                    (self.pager())
                }
            }
        }
    }

    fn outline(&self) -> Markup {
        let book = self.book;
        let entries = outline::entries(&book.outline.chunks, &book.spine);
        let at = self.cited.or(book.part_chunks(self.part).first().copied());
        let at = at.unwrap_or(0);
        let current = entries.iter().rposition(|entry| entry.chunk <= at);
        html! {
            @if !entries.is_empty() {
                nav class="outline" aria-label="Outline" {
                    details id="outline" open {
                        summary { "Outline" }
                        (outline::tree(&entries, current, &|chunk| self.link(chunk)))
                    }
                }
            }
        }
    }

    /// Where a chunk is read, from this page.
    fn link(&self, chunk: usize) -> String {
        let found = self.book.chunk(chunk);
        let fragment = found.map_or_else(String::new, |of| {
            format!("#{}", text_blocks::anchor(paged_document::chunk_number(of)))
        });
        match self.book.part_of(chunk) {
            part if part == self.part => fragment,
            part => format!("{}{fragment}", self.part_url(part)),
        }
    }

    /// Where a part is read.
    fn part_url(&self, part: usize) -> String {
        format!("/read/{}?part={}", self.book.encoded_key, part + 1)
    }

    fn head(&self) -> Markup {
        let (record, title) = (&self.book.outline.document, self.book.title());
        let cited = self.cited.and_then(|index| self.book.chunk(index));
        let above = cited.and_then(|chunk| chunk.citation.path.get(1..));
        html! {
            header {
                nav class="crumbs small" aria-label="Where this is" {
                    ol {
                        li { a href="/documents" { "Documents" } }
                        @if !record.collection.is_empty() {
                            li { a href=(format!("/documents?collection={}", percent_encode(&record.collection))) lang="" { (record.collection) } }
                        }
                        li { a href=(format!("/read/{}", self.book.encoded_key)) lang="" { (title) } }
                        @for heading in above.unwrap_or_default().iter().take(CRUMBS_MAX) { li lang="" { (heading) } }
                    }
                }
                h1 lang="" { (title) }
                (document_details(record, title))
            }
        }
    }

    /// What is cited, in words, and the chunks of its level beside it.
    fn passage_nav(&self, cited: usize) -> Markup {
        let Some(chunk) = self.book.chunk(cited) else {
            return html! {};
        };
        let is_near = |of: &&ListedChunk| of.level == chunk.level;
        let (before, after) = self.book.outline.chunks.split_at(cited);
        let previous = before.iter().rev().find(is_near);
        let next = after.iter().skip(1).find(is_near);
        let opened = |chunk: &ListedChunk| format!("{}#here", chunk.citation.link);
        html! {
            nav class="steps" aria-label="Passages" {
                @if let Some(previous) = previous {
                    a rel="prev" href=(opened(previous)) aria-keyshortcuts="k" { span aria-hidden="true" { "← " } "Previous" span class="wide-only" { " passage" } }
                }
                a class="cite" href="#here" { span class="unseen" { "To what is cited: " } span lang="" { (chunk.citation.label) } }
                @if let Some(next) = next {
                    a rel="next" href=(opened(next)) aria-keyshortcuts="j" { "Next" span class="wide-only" { " passage" } span aria-hidden="true" { " →" } }
                }
            }
        }
    }

    fn pager(&self) -> Markup {
        let (part, count) = (self.part, self.book.parts.len());
        html! {
            @if count > 1 {
                nav class="pager" aria-label="Parts" {
                    @if part > 0 { a rel="prev" href=(self.part_url(part - 1)) { "← Previous part" } }
                    span class="soft" { "Part " (part + 1) " of " (count) }
                    @if part + 1 < count { a rel="next" href=(self.part_url(part + 1)) { "Next part →" } }
                }
            }
        }
    }

    /// Files within the document that are no pictures of its text.
    fn files(&self) -> Markup {
        let shown = &self.book.outline;
        let pictures: HashSet<&String> = shown.chunks.iter().flat_map(|of| &of.images).collect();
        let others = shown.assets.iter().filter(|name| !pictures.contains(name));
        let others: Vec<&String> = others.collect();
        html! {
            @if self.part + 1 >= self.book.parts.len() && !others.is_empty() {
                section class="files" {
                    h2 class="small soft" { "Files within" }
                    ul { @for name in others { li { a href=(self.file(name)) lang="" { (name) } } } }
                }
            }
        }
    }

    fn file(&self, name: &str) -> String {
        format!(
            "/picture/{}/{}",
            self.book.encoded_key,
            percent_encode(name)
        )
    }

    fn text(&self, texts: &HashMap<String, String>) -> Markup {
        let spine = self.book.part_chunks(self.part);
        let known = DocumentLookup {
            headings: self.book.headings(),
            assets: self.book.outline.assets.iter().collect(),
        };
        let mut state = PageState::default();
        let mut before = None;
        html! {
            @if spine.is_empty() { p class="notice" { "This document has no text." } }
            @for chunk in spine {
                @if let Some(piece) = self.book.chunk_text(*chunk, texts, before) {
                    (self.piece(&piece, &known, &mut state))
                    @if piece.is_cut { p class="notice" { "The rest of this chunk is too long to be shown here." } }
                }
                @let () = before = self.book.chunk(*chunk).map(|chunk| &chunk.citation);
            }
        }
    }

    fn piece(
        &self,
        piece: &ChunkText,
        known: &DocumentLookup<'_>,
        state: &mut PageState,
    ) -> Markup {
        let text: String = piece.chars.iter().collect();
        let style = self.book.style();
        let blocks = text_blocks::blocks(&text, style, &known.headings);
        let stops = self.book.chunk_starts(piece);
        let anchors = anchors(&stops, &blocks);
        let run = TextRun {
            chars: &piece.chars,
            style,
            cited: self.book.cited_range(piece, self.cited),
            anchors: &anchors,
        };
        let mut pictures: Vec<&ChunkStart<'_>> = stops.iter().collect();
        pictures.retain(|stop| !stop.images.is_empty());
        pictures.sort_by_key(|stop| stop.end);
        let mut pictures = pictures.into_iter().peekable();
        let mut begun = anchors.iter().zip(&stops).peekable();
        html! {
            @for block in &blocks {
                @let mut place = None;
                @while let Some((_, stop)) = begun.next_if(|((at, _), _)| *at < block.chars.end) {
                    @let () = place = stop.location.as_ref().or(place);
                }
                @if let Some(place) = place { (state.location_marker(place)) }
                (run.block(block, &mut state.render))
                @while let Some(stop) = pictures.next_if(|stop| stop.end <= block.chars.end) { (self.pictures(stop, known)) }
            }
            @for stop in pictures { (self.pictures(stop, known)) }
        }
    }

    fn pictures(&self, stop: &ChunkStart<'_>, known: &DocumentLookup<'_>) -> Markup {
        let there = stop
            .images
            .iter()
            .filter(|name| known.assets.contains(*name));
        html! {
            @for name in there {
                @let short = name.rsplit('/').next().unwrap_or(name);
                @if is_picture(name) {
                    figure { img src=(self.file(name)) alt=(format!("Picture {short}")) loading="lazy"; }
                } @else {
                    p class="small" { a href=(self.file(name)) lang="" { (short) } }
                }
            }
        }
    }
}

/// What is looked up of a document while its text is set.
#[derive(Debug)]
struct DocumentLookup<'k> {
    headings: HashMap<&'k str, usize>,
    assets: HashSet<&'k String>,
}

/// What a page has told so far.
#[derive(Debug, Default)]
struct PageState {
    render: RenderState,
    location: Option<String>,
}

impl PageState {
    /// The page, slide or time where the text goes on, where that is another than before.
    fn location_marker(&mut self, place: &str) -> Markup {
        let is_new = self.location.as_deref() != Some(place);
        self.location = Some(place.to_owned());
        html! { @if is_new { p class="page" { (place) } } }
    }
}

/// Where chunks begin, moved to the block that has it or comes next, and their numbers.
fn anchors(stops: &[ChunkStart<'_>], blocks: &[Block]) -> Vec<(usize, u32)> {
    let moved = |at: usize| {
        let block = blocks.get(blocks.partition_point(|block| block.chars.end <= at));
        block.map_or(at, |block| block.chars.start.max(at))
    };
    stops
        .iter()
        .map(|stop| (moved(stop.at), stop.number))
        .collect()
}

/// Whether a name is that of a picture that a browser may show.
fn is_picture(name: &str) -> bool {
    let ends = [".png", ".jpg", ".jpeg", ".gif", ".webp"];
    let name = name.to_ascii_lowercase();
    ends.iter().any(|end| name.ends_with(end))
}

/// What is known of a document beside its title.
fn document_details(record: &DocumentRecord, title: &str) -> Markup {
    let details = [
        (!record.authors.is_empty()).then(|| record.authors.join(", ")),
        record.venue.clone(),
        record.year.map(|year| year.to_string()),
        record.filename.clone().filter(|name| name != title),
    ];
    let details: Vec<String> = details
        .into_iter()
        .flatten()
        .filter(|part| !part.trim().is_empty())
        .collect();
    let doi = record.doi.as_ref().map(|doi| {
        format!(
            "https://doi.org/{}",
            percent_encode(doi).replace("%2F", "/").replace("%2E", ".")
        )
    });
    let address = record.address.as_deref().filter(|address| is_web(address));
    html! {
        p class="about soft" {
            span lang="" { (details.join(" · ")) }
            @if let (Some(link), Some(doi)) = (&doi, &record.doi) {
                " · " a href=(link) rel="noopener noreferrer external" { "doi:" (doi) }
            }
            @if let Some(address) = address {
                " · " a href=(address) rel="noopener noreferrer external" lang="" { (address) }
            }
        }
    }
}

/// Whether an address is one of the web: others may have a browser run something.
fn is_web(address: &str) -> bool {
    let scheme = address
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| scheme == "http" || scheme == "https")
}

/// The language of a document (ISO 639-3), as HTML names it; empty where it is not known.
fn language(of: Option<&str>) -> &str {
    const SHORT: [(&str, &str); 24] = [
        ("eng", "en"),
        ("deu", "de"),
        ("fra", "fr"),
        ("spa", "es"),
        ("ita", "it"),
        ("por", "pt"),
        ("nld", "nl"),
        ("swe", "sv"),
        ("dan", "da"),
        ("nob", "nb"),
        ("fin", "fi"),
        ("pol", "pl"),
        ("ces", "cs"),
        ("hun", "hu"),
        ("ron", "ro"),
        ("tur", "tr"),
        ("rus", "ru"),
        ("ukr", "uk"),
        ("ell", "el"),
        ("ara", "ar"),
        ("heb", "he"),
        ("jpn", "ja"),
        ("kor", "ko"),
        ("cmn", "zh"),
    ];
    let of = of.unwrap_or_default();
    let short = SHORT.iter().find(|(long, _)| *long == of);
    let is_code = (2..=3).contains(&of.len()) && of.bytes().all(|byte| byte.is_ascii_lowercase());
    match short {
        Some((_, short)) => short,
        None if is_code => of,
        None => "",
    }
}
