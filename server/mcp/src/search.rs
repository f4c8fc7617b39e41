//! The tool `search`: passages that answer a question.

use std::fmt::Write;

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use loci_views::concepts::ShownRelation;
use locidb::query::answer::Hit;
use locidb::storage::records::Level;
use locidb::{Answer, Expr, SearchRequest, Strategy};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{Dispatcher, ToolOutput, check_range, truncate};

/// Passages that can be requested.
const K_MAX: u32 = 50;
/// Tokens of a context that can be requested.
const CONTEXT_TOKENS_MAX: u32 = 20_000;
/// Characters of a passage at most.
const PASSAGE_CHARS: usize = 2_000;
/// Characters of all passages at most.
const PASSAGES_CHARS: usize = 60_000;
/// Concepts and relations that are listed at most.
const LISTED_MAX: usize = 20;

/// The question and how it is answered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// The question, or its key words. With strategy `text`: words, "phrases", +must, -not, prefix*, OR, AND, NOT.
    question: String,
    /// Passages at most.
    #[serde(default = "k")]
    #[schemars(range(min = 1, max = 50))]
    k: u32,
    /// Which chunks may be found, as comparisons joined by and, or, not and parentheses: `file_type = pdf and year >=
    /// 2020`, `key prefix "lectures/"`, `authors has "Donald Knuth"`, `page in 10..20`, `not collection = drafts`. Fields
    /// are among others key, title, authors, year, file_type, collection, language, topics, level, chunk_type
    /// (concept, example, question, other), page, ingested_at, and meta.NAME.
    #[serde(default)]
    filter: Option<String>,
    /// How passages are looked for. `auto` chooses by the question; `text` goes by words, `vector` by similarity, `graph`
    /// by concepts, `hybrid` by all of these; `staged` looks for documents, then sections, then passages; `global`
    /// answers from digests of the whole store.
    #[serde(default = "strategy")]
    #[schemars(extend("enum" = Strategy::ALL.map(Strategy::name)))]
    strategy: String,
    /// Only chunks of this level; else of all that answer.
    #[serde(default)]
    #[schemars(extend("enum" = levels()))]
    level: Option<String>,
    /// Returns the passages as one text of at most so many tokens, in the order of their documents, with the headings
    /// around them, in place of their own texts.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20_000))]
    context_tokens: Option<u32>,
}

fn k() -> u32 {
    8
}

fn strategy() -> String {
    Strategy::Auto.name().to_owned()
}

/// The names of levels.
fn levels() -> Vec<&'static str> {
    Level::ALL.iter().map(|level| level.name()).collect()
}

/// The level of this name.
pub(super) fn level(name: &str) -> Result<Level, Fault> {
    Level::from_name(name).ok_or_else(|| {
        let why = format!("level {name:?}: give one of {}", levels().join(", "));
        Fault::new(Code::Invalid, why)
    })
}

/// The passages that answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Passages {
    /// Best first.
    passages: Vec<Passage>,
    /// The passages as one text, if that was requested; `[3]` in a heading names the passages of that rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// Concepts of the question.
    concepts: Vec<String>,
    /// Relations among them.
    relations: Vec<Relation>,
    /// Words that no chunk has, with others that may be meant.
    did_you_mean: Vec<Suggestion>,
    /// What could not be searched, and why.
    not_searched: Vec<String>,
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Passage {
    /// From 1.
    rank: u32,
    /// The key of its chunk.
    chunk: String,
    /// The key of its document.
    document: String,
    /// The document's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Where it is in its document, for a reader.
    label: String,
    /// The page, from 1, if it is on one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u32>,
    /// Where to open it.
    link: String,
    /// Its text; absent if a context was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether its chunk has more text.
    is_cut: bool,
}

/// A relation between two concepts.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Relation {
    /// Where it starts.
    pub(super) source: String,
    /// What it says.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// Where it leads.
    pub(super) target: String,
}

impl From<ShownRelation> for Relation {
    fn from(relation: ShownRelation) -> Relation {
        Relation {
            source: relation.source,
            kind: relation.kind,
            target: relation.target,
        }
    }
}

/// A word that no chunk has.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Suggestion {
    /// The word, as it was written.
    word: String,
    /// What may have been meant.
    meant: String,
}

/// Passages that answer a question.
pub(super) async fn search(dispatcher: Dispatcher, args: Search) -> Result<Passages, Fault> {
    let request = Box::new(request(args)?);
    let wants_context = request.context_tokens.is_some();
    let record = false;
    let answer = dispatcher.call(call::Search { request, record }).await?;
    Ok(passages(answer, wants_context))
}

fn request(args: Search) -> Result<SearchRequest, Fault> {
    let invalid = |why: String| Fault::new(Code::Invalid, why);
    let name = &args.strategy[..];
    let strategy = Strategy::from_name(name).ok_or_else(|| {
        let names = Strategy::ALL.map(Strategy::name).join(", ");
        invalid(format!("strategy {name:?}: give one of {names}"))
    })?;
    let filter = args
        .filter
        .as_deref()
        .filter(|text| !text.trim().is_empty());
    let filter = filter.map(Expr::parse).transpose();
    let tokens = args.context_tokens;
    let tokens = tokens.map(|tokens| check_range("context_tokens", tokens, 1..=CONTEXT_TOKENS_MAX));
    Ok(SearchRequest {
        k: check_range("k", args.k, 1..=K_MAX)? as usize,
        strategy,
        filter: filter.map_err(|error| invalid(format!("filter: {error}")))?,
        levels: args
            .level
            .as_deref()
            .map(level)
            .transpose()?
            .into_iter()
            .collect(),
        context_tokens: tokens.transpose()?.map(|tokens| tokens as usize),
        syntax: strategy == Strategy::Text,
        ..SearchRequest::new(args.question)
    })
}

fn passages(answer: Answer, wants_context: bool) -> Passages {
    let mut left = PASSAGES_CHARS;
    let shown = answer.hits.into_iter().map(|hit| {
        if wants_context {
            passage(hit, None)
        } else {
            let most = PASSAGE_CHARS.min(left);
            left -= hit.text.chars().count().min(most);
            passage(hit, Some(most))
        }
    });
    Passages {
        passages: shown.collect(),
        context: answer.context.map(|context| context.text),
        concepts: (answer.concepts.into_iter().take(LISTED_MAX))
            .map(|concept| concept.name)
            .collect(),
        relations: (answer.relations.into_iter().take(LISTED_MAX))
            .map(|of| Relation {
                source: of.source,
                kind: of.kind,
                target: of.target,
            })
            .collect(),
        did_you_mean: (answer.did_you_mean.into_iter())
            .map(|of| Suggestion {
                word: of.word,
                meant: of.meant,
            })
            .collect(),
        not_searched: (answer.partial.iter().map(ToString::to_string)).collect(),
    }
}

/// A hit with so many characters of its text, or without it.
fn passage(hit: Hit, chars: Option<usize>) -> Passage {
    let text = chars.map(|chars| truncate(&hit.text, chars));
    Passage {
        rank: hit.rank,
        chunk: hit.chunk,
        document: hit.document,
        title: hit.citation.path.into_iter().next(),
        label: hit.citation.label,
        page: hit.citation.page,
        link: hit.citation.link,
        is_cut: text.as_ref().is_none_or(|(_, is_cut)| *is_cut),
        text: text.map(|(text, _)| text),
    }
}

impl ToolOutput for Passages {
    fn text(&self) -> String {
        let mut out = String::new();
        if self.passages.is_empty() {
            out.push_str(
                "No passage answers that. Other words, a wider filter or another strategy may.\n",
            );
        }
        for passage in &self.passages {
            let title = passage.title.as_deref().unwrap_or(&passage.document);
            // Writing to a string does not fail.
            let _ = writeln!(out, "[{}] {title}: {}", passage.rank, passage.label);
            let _ = writeln!(out, "chunk {} | link {}", passage.chunk, passage.link);
            if let Some(text) = &passage.text {
                let _ = writeln!(out, "{text}\n");
            }
        }
        if let Some(context) = &self.context {
            let _ = writeln!(out, "\n{context}\n");
        }
        for of in &self.did_you_mean {
            let _ = writeln!(out, "No chunk has {:?}. Is {:?} meant?", of.word, of.meant);
        }
        if !self.concepts.is_empty() {
            let _ = writeln!(out, "Concepts: {}", self.concepts.join(", "));
        }
        for missing in &self.not_searched {
            let _ = writeln!(out, "Not searched: {missing}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use locidb::query::cite::Citation;

    use super::*;

    fn parse_request(json: &str) -> Result<SearchRequest, String> {
        let args: Search = serde_json::from_str(json).map_err(|error| error.to_string())?;
        request(args).map_err(|fault| fault.message)
    }

    #[test]
    fn invalid_parameters_are_named_in_the_error() {
        for (json, says) in [
            (r#"{"question":"q","k":0}"#, "k: 0 is not between 1 and 50"),
            (r#"{"question":"q","strategy":"best"}"#, "hybrid"),
            (r#"{"question":"q","level":"page"}"#, "paragraph"),
            (r#"{"question":"q","filter":"year >"}"#, "filter: "),
            (
                r#"{"question":"q","context_tokens":90000}"#,
                "context_tokens",
            ),
            (r#"{"question":"q","limit":3}"#, "unknown field"),
            ("{}", "question"),
        ] {
            let error = parse_request(json).unwrap_err();
            assert!(error.contains(says), "{json}: {error}");
        }
        let all =
            r#"{"question":"q","k":3,"strategy":"text","level":"section","filter":"year = 1998"}"#;
        let request = parse_request(all).unwrap();
        assert!(request.syntax && request.filter.is_some());
        assert_eq!((request.k, &request.levels[..]), (3, &[Level::Section][..]));
    }

    fn hit(rank: u32, text: &str) -> Hit {
        Hit {
            rank,
            score: 1.0,
            chunk: format!("heron.md#{rank}"),
            document: "heron.md".into(),
            level: Level::Paragraph,
            chunk_type: Default::default(),
            text: text.into(),
            highlights: None,
            citation: Citation {
                label: "Page 2, Herons".into(),
                path: vec!["Birds".into(), "Herons".into()],
                link: "/note/heron.md".into(),
                ..Citation::default()
            },
            parent: None,
            methods: Default::default(),
        }
    }

    #[test]
    fn total_passage_text_is_bounded() {
        let long = "ö".repeat(10_000);
        let answer = Answer {
            hits: (1..=50).map(|rank| hit(rank, &long)).collect(),
            ..Answer::default()
        };
        let output = passages(answer, false);
        assert!(output.passages.iter().all(|passage| passage.is_cut));
        let text = output.text();
        let chars = text.chars().count();
        assert!((PASSAGES_CHARS..PASSAGES_CHARS + 10_000).contains(&chars));
        assert!(
            text.contains("[50] Birds: Page 2, Herons\nchunk heron.md#50 | link /note/heron.md")
        );
    }
}
