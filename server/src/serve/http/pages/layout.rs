//! What all pages have in common: head, navigation, foot, and pages of errors.

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use loci_protocol::fault::Fault;
use maud::{DOCTYPE, Markup, html};

use super::files;
use super::principal::{self, Principal};

/// The current part of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NavSection {
    /// The search.
    Search,
    /// The documents.
    Documents,
    /// None that the navigation names.
    Other,
}

/// The frame of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'f> {
    title: &'f str,
    section: NavSection,
    principal: Option<&'f Principal>,
}

impl<'f> Layout<'f> {
    /// The frame of a page for this principal.
    pub(super) fn new(principal: &'f Principal, section: NavSection, title: &'f str) -> Layout<'f> {
        Layout {
            title,
            section,
            principal: Some(principal),
        }
    }

    /// That of a page for somebody who is not known.
    pub(super) fn signed_out(title: &'f str) -> Layout<'f> {
        Layout {
            title,
            section: NavSection::Other,
            principal: None,
        }
    }

    /// The whole page.
    pub(super) fn render(&self, status: StatusCode, main: &Markup) -> Response {
        let whole = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " – LociDB" }
                    link rel="icon" href=(files::path("icon.svg")) type="image/svg+xml";
                    link rel="stylesheet" href=(files::path("style.css"));
                    script src=(files::path("script.js")) defer {}
                }
                body {
                    a class="skip" href="#main" { "Skip to the content" }
                    (self.head())
                    main id="main" tabindex="-1" { (main) }
                }
            }
        };
        (status, Html(whole.into_string())).into_response()
    }

    fn head(&self) -> Markup {
        html! {
            header class="top" {
                a class="brand" href="/" { span class="sign" aria-hidden="true" {} span class="name" { "LociDB" } }
                @if let Some(principal) = self.principal {
                    nav aria-label="Pages" {
                        (self.link(NavSection::Search, "/", "Search"))
                        (self.link(NavSection::Documents, "/documents", "Documents"))
                    }
                    div class="who" {
                        span class="store" { span class="unseen" { "Store " } (principal.store()) }
                        @if principal.has_key {
                            form action="/sign-out" method="post" {
                                button class="plain" { "Sign out" }
                            }
                        }
                    }
                }
            }
        }
    }

    fn link(&self, part: NavSection, path: &str, name: &str) -> Markup {
        let current = (self.section == part).then_some("page");
        html! { a href=(path) aria-current=[current] { (name) } }
    }
}

/// A page with a fault.
pub(super) fn error_page(principal: Option<&Principal>, fault: &Fault) -> Response {
    let status = principal::status(fault);
    let title = match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        status if status.is_server_error() => "Not now",
        _ => "That did not work",
    };
    let main = html! {
        div class="narrow" {
            h1 { (title) }
            (notice(fault))
            @if principal.is_some() {
                p { a href="/" { "Search" } " or look at the " a href="/documents" { "documents" } "." }
            }
        }
    };
    let frame = Layout {
        title,
        section: NavSection::Other,
        principal,
    };
    (retry_after(fault), frame.render(status, &main)).into_response()
}

/// What went wrong, in words.
pub(super) fn notice(fault: &Fault) -> Markup {
    html! {
        p class="notice bad" role="alert" { (sentence(&fault.message)) }
    }
}

/// `Retry-After`, if the fault has a time.
pub(super) fn retry_after(fault: &Fault) -> Option<[(header::HeaderName, String); 1]> {
    let after_ms = fault.retry_after_ms?;
    Some([(header::RETRY_AFTER, after_ms.div_ceil(1_000).to_string())])
}

/// A message as a sentence: with a capital and a stop.
pub(super) fn sentence(message: &str) -> String {
    let mut rest = message.trim().chars();
    let first = rest.next().map(|first| first.to_uppercase().to_string());
    let mut sentence = first.unwrap_or_default();
    sentence.push_str(rest.as_str());
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}
