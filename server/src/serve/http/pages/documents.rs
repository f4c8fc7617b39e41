//! `/documents`: the documents of a store, a page of them at a time.

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use loci_protocol::call::ListDocuments;
use maud::{Markup, html};

use super::fields::{Fields, percent_encode};
use super::layout::{self, Layout, NavSection};
use super::principal::Principal;
use crate::serve::http::HttpState;
use loci_views::documents::{DocumentLine, DocumentPage};

/// Documents of a page.
const PAGE_LEN: u32 = 50;

/// Its route.
pub(super) fn router() -> Router<HttpState> {
    Router::new().route("/documents", get(documents))
}

async fn documents(principal: Principal, RawQuery(query): RawQuery) -> Response {
    let fields = Fields::read(query.as_deref().unwrap_or_default());
    let field = |name: &str| Some(fields.get(name).to_owned()).filter(|value| !value.is_empty());
    let listed = ListDocuments {
        collection: field("collection"),
        user: None,
        after: field("after"),
        limit: PAGE_LEN,
    };
    let (collection, is_first) = (listed.collection.clone(), listed.after.is_none());
    let page = match principal.view(listed).await {
        Ok(page) => page,
        Err(fault) => return layout::error_page(Some(&principal), &fault),
    };
    let main = html! {
        div class="wide" {
            h1 { "Documents" }
            (form(collection.as_deref()))
            @if page.documents.is_empty() { (no_documents(is_first && collection.is_none())) }
            ul class="documents" {
                @for line in &page.documents { (document_item(line)) }
            }
            (pager(&page, collection.as_deref(), is_first))
        }
    };
    Layout::new(&principal, NavSection::Documents, "Documents").render(StatusCode::OK, &main)
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

fn no_documents(is_whole: bool) -> Markup {
    if is_whole {
        ingest_hint()
    } else {
        html! { p class="notice" { "There are no more documents here." } }
    }
}

/// What to do with an empty store.
pub(super) fn ingest_hint() -> Markup {
    html! {
        section class="empty" {
            h2 { "There is nothing here yet" }
            p { "Fill the store from a folder. While a server has it open, programs add files over its API; else, on the machine that it lies on:" }
            pre { code { "loci ingest --db DIR ~/papers ~/notes" } }
            p { "PDF, Word, PowerPoint, EPUB, HTML, Markdown, LaTeX, source code, chats and plain text are read." }
        }
    }
}

fn document_item(line: &DocumentLine) -> Markup {
    let names = [&line.title, &line.filename].into_iter().flatten();
    let name = names.map(|name| name.trim()).find(|name| !name.is_empty());
    let about = [
        (!line.authors.is_empty()).then(|| line.authors.join(", ")),
        line.year.map(|year| year.to_string()),
    ];
    let about: Vec<String> = about.into_iter().flatten().collect();
    html! {
        li {
            a href=(format!("/read/{}", percent_encode(&line.document))) lang="" { (name.unwrap_or(&line.document)) }
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
        .map(|name| format!("collection={}&", percent_encode(name)))
        .unwrap_or_default();
    html! {
        @if !is_first || page.next.is_some() {
            nav class="pager" aria-label="More documents" {
                @if !is_first { a href=(format!("/documents?{}", of.trim_end_matches('&'))) { "First" } }
                @if let Some(next) = &page.next {
                    a rel="next" href=(format!("/documents?{of}after={}", percent_encode(next))) { "Next" }
                }
            }
        }
    }
}
