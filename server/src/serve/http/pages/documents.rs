//! `/documents`: the documents of a store, a page of them at a time.

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use loci_protocol::call::ListDocuments;
use maud::{Markup, html};

use super::fields::{Fields, coded};
use super::frame::{self, Frame, Part};
use super::visitor::Visitor;
use crate::serve::http::Http;
use crate::views::documents::{DocumentLine, DocumentPage};

/// Documents of a page.
const PAGE_LEN: u32 = 50;

/// Its route.
pub(super) fn router() -> Router<Http> {
    Router::new().route("/documents", get(documents))
}

async fn documents(visitor: Visitor, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::read(query.as_deref().unwrap_or_default());
    let given = |name: &str| Some(fields.get(name).to_owned()).filter(|value| !value.is_empty());
    let listed = ListDocuments {
        collection: given("collection"),
        user: None,
        after: given("after"),
        limit: PAGE_LEN,
    };
    let (collection, is_first) = (listed.collection.clone(), listed.after.is_none());
    let page: DocumentPage = match visitor.told(listed).await {
        Ok(page) => page,
        Err(fault) => return frame::failed(Some(&visitor), &fault),
    };
    let main = html! {
        div class="wide" {
            h1 { "Documents" }
            (form(collection.as_deref()))
            @if page.documents.is_empty() { (nothing(is_first && collection.is_none())) }
            ul class="documents" {
                @for line in &page.documents { (shown(line)) }
            }
            (pager(&page, collection.as_deref(), is_first))
        }
    };
    Frame::of(&visitor, Part::Documents, "Documents").page(StatusCode::OK, &main)
}

fn form(collection: Option<&str>) -> Markup {
    html! {
        form class="inline" action="/documents" {
            label for="collection" { "Collection" }
            input id="collection" name="collection" value=[collection] placeholder="all" autocomplete="off";
            button class="quiet" { "Show" }
        }
    }
}

fn nothing(is_whole: bool) -> Markup {
    if is_whole {
        how_to_fill()
    } else {
        html! { p class="notice" { "There are no more documents here." } }
    }
}

/// What to do with an empty store.
pub(super) fn how_to_fill() -> Markup {
    html! {
        section class="empty" {
            h2 { "There is nothing here yet" }
            p { "Fill the store from a folder. While a server has it open, programs add files over its API; else, on the machine that it lies on:" }
            pre { code { "loci ingest --db DIR ~/papers ~/notes" } }
            p { "PDF, Word, PowerPoint, EPUB, HTML, Markdown, LaTeX, source code, chats and plain text are read." }
        }
    }
}

fn shown(line: &DocumentLine) -> Markup {
    let names = [&line.title, &line.filename].into_iter().flatten();
    let name = names.map(|name| name.trim()).find(|name| !name.is_empty());
    let about = [
        (!line.authors.is_empty()).then(|| line.authors.join(", ")),
        line.year.map(|year| year.to_string()),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    html! {
        li {
            a href=(format!("/read/{}", coded(&line.document))) lang="" { (name.unwrap_or(&line.document)) }
            @if !about.is_empty() { p class="soft" lang="" { (about.join(" · ")) } }
            p class="soft small" {
                span class="kind" { (line.file_type.name()) } " "
                span class="key" lang="" { (line.document) } " · "
                (line.chunks) @if line.chunks == 1 { " chunk" } @else { " chunks" }
            }
        }
    }
}

fn pager(page: &DocumentPage, collection: Option<&str>, is_first: bool) -> Markup {
    let of = collection
        .map(|name| format!("collection={}&", coded(name)))
        .unwrap_or_default();
    html! {
        @if !is_first || page.next.is_some() {
            nav class="pager" aria-label="More documents" {
                @if !is_first { a href=(format!("/documents?{}", of.trim_end_matches('&'))) { "First" } }
                @if let Some(next) = &page.next {
                    a rel="next" href=(format!("/documents?{of}after={}", coded(next))) { "Next" }
                }
            }
        }
    }
}
