//! What a file states about itself beside its title, authors and year.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Statements of a file about itself. Nothing here is inferred from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextMetrics {
    /// Language of its text, as the file writes it: `en`, `de-DE`.
    pub language: Option<String>,
    /// Digital object identifier.
    pub doi: Option<String>,
    /// Journal, conference or publisher.
    pub venue: Option<String>,
    /// Where it is published on the web.
    pub address: Option<String>,
    /// Category.
    pub category: Option<String>,
    /// Difficulty for its readers.
    pub difficulty: Option<String>,
    /// Topics.
    pub tags: Vec<String>,
    /// What its readers should know.
    pub prerequisites: Vec<String>,
    /// What its readers learn.
    pub learning_outcomes: Vec<String>,
    /// What it is about, in sentences.
    pub description: Option<String>,
    /// Keywords, in one line as the file writes them.
    pub keywords: Option<String>,
    /// Subject.
    pub subject: Option<String>,
    /// When it was created, as the file writes it.
    pub created: Option<String>,
    /// Count of pages, and of those that cannot be read.
    pub pages: Option<PageCounts>,
    /// All else by name: numbers of archives and volumes, size of a picture, keys of front matter.
    pub other: BTreeMap<String, String>,
}

/// Pages of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCounts {
    /// All pages.
    pub all: usize,
    /// Pages that cannot be read.
    pub unreadable: usize,
}

impl TextMetrics {
    /// States something that has no field of its own.
    pub fn state(&mut self, name: &str, value: impl Into<String>) {
        self.other.insert(name.to_owned(), value.into());
    }

    /// Takes what has no field in a catalogue of documents, by name: description, keywords, pages and all that is free.
    pub fn take_free(&mut self) -> BTreeMap<String, String> {
        let mut free = std::mem::take(&mut self.other);
        let texts = [
            ("description", self.description.take()),
            ("keywords", self.keywords.take()),
            ("subject", self.subject.take()),
            ("created", self.created.take()),
        ];
        let texts = texts.into_iter();
        free.extend(texts.filter_map(|(name, text)| Some((name.to_owned(), text?))));
        if let Some(pages) = self.pages.take() {
            free.insert("pages".to_owned(), pages.all.to_string());
            if pages.unreadable > 0 {
                let count = pages.unreadable.to_string();
                free.insert("pages_unreadable".to_owned(), count);
            }
        }
        free
    }
}
