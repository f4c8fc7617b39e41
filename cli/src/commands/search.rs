//! `loci search`: the passages that answer a question, with citations.

use locidb::query::QueryError;
use locidb::query::answer::{ConceptHit, ConceptSource, ExplainStep};
use locidb::storage::records::Level;
use locidb::{Answer, Expr, SearchRequest, Strategy};

use super::{open_for_search, options, wait_for_rebuild};
use crate::args::Search;
use crate::output::{Printer, escape_to_one_line, shorten};
use crate::{CommandStatus, UsageError};

/// Characters shown of a hit.
const SHOWN_CHARS: usize = 240;

/// The largest number of hits.
const K_MAX: usize = 10_000;

pub(crate) fn run(args: &Search, out: &Printer) -> anyhow::Result<CommandStatus> {
    let mut request = parse_request(args)?;
    let database = open_for_search(args)?;
    // People see the part of a hit that the question asked for.
    request.highlights |= !out.json;
    if request.strategy == Strategy::Vector
        && !database.lost().is_empty()
        && !database.is_read_only()
    {
        // Without the lost index there is no answer at all.
        wait_for_rebuild(&database)?;
    }
    let mut answer = check_query(database.search(&request))?;
    if args.record {
        answer.response = Some(database.record(&request, &answer)?.0);
    }
    if out.json {
        out.json_line(&answer)?
    } else {
        let shows = Shows {
            is_filtered: args.filter.is_some(),
            marks: args.highlights,
        };
        print(&answer, shows, out)?
    }
    if !database.is_read_only() {
        wait_for_rebuild(&database)?;
    }
    database.close();
    Ok(CommandStatus::Success)
}

/// The result of a search; a syntax error in the question is a usage error.
pub(super) fn check_query<T>(result: Result<T, locidb::Error>) -> anyhow::Result<T> {
    match result {
        Err(locidb::Error::Query(QueryError::Syntax(error))) => {
            Err(UsageError(format!("the question, {error}")).into())
        }
        Err(locidb::Error::Query(error @ QueryError::Question(_))) => {
            Err(UsageError(error.to_string()).into())
        }
        result => Ok(result?),
    }
}

/// The request that `args` describe, which is checked before a store is opened.
pub(super) fn parse_request(args: &Search) -> anyhow::Result<SearchRequest> {
    let strategy = Strategy::from_name(&args.strategy).ok_or_else(|| {
        UsageError(format!(
            "--strategy {}: give one of {}",
            args.strategy,
            Strategy::ALL.map(Strategy::name).join(", ")
        ))
    })?;
    let filter = args.filter.as_deref().map(Expr::parse).transpose();
    let filter = filter.map_err(|error| UsageError(format!("--filter: {error}")))?;
    let levels = args
        .level
        .iter()
        .map(|name| level(name))
        .collect::<Result<_, _>>()?;
    let (k, level_limits) = limits(&args.k)?;
    let options = options::parse("--set", &args.set)?;
    let request = SearchRequest {
        k,
        level_limits,
        levels,
        strategy,
        filter,
        context_tokens: args.budget,
        explain: args.explain,
        effort: args.effort,
        syntax: strategy == Strategy::Text,
        highlights: args.highlights,
        ..SearchRequest::new(&args.question[..])
    };
    Ok(options::apply(&request, &options)?)
}

fn level(name: &str) -> Result<Level, UsageError> {
    Level::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Level::ALL.iter().map(|level| level.name()).collect();
        UsageError(format!(
            "there is no level {name:?}; there are {}",
            names.join(", ")
        ))
    })
}

/// `10`, or `sentence=20,section=5`.
fn limits(k: &str) -> Result<(usize, Vec<(Level, usize)>), UsageError> {
    let number = |text: &str| match text.parse() {
        Ok(k) if (1..=K_MAX).contains(&k) => Ok(k),
        _ => Err(UsageError(format!(
            "-k {text}: give a number from 1 to {K_MAX}"
        ))),
    };
    if !k.contains('=') {
        return Ok((number(k)?, Vec::new()));
    }
    let mut limits = Vec::new();
    for part in k.split(',') {
        let wrong = || UsageError(format!("-k {part}: give LEVEL=NUMBER"));
        let (name, count) = part.split_once('=').ok_or_else(wrong)?;
        let limit = (level(name.trim())?, number(count.trim())?);
        if limits
            .iter()
            .any(|known: &(Level, usize)| known.0 == limit.0)
        {
            return Err(UsageError(format!(
                "-k {part}: {} has a limit already",
                name.trim()
            )));
        }
        limits.push(limit);
    }
    Ok((limits.iter().map(|(_, count)| count).sum(), limits))
}

/// The part of a hit's text to show: the first window of `len` characters with the most highlighted characters.
/// `marks`: whether to enclose highlights in «».
fn excerpt(text: &str, highlights: &[(u32, u32)], len: usize, marks: bool) -> String {
    let from = window(highlights, text.chars().count(), len);
    let end = (from + len) as u32;
    let mut out = String::from(if from > 0 { "… " } else { "" });
    let inside = |&&(start, last): &&(u32, u32)| start as usize >= from && last <= end;
    let mut spans = highlights
        .iter()
        .filter(inside)
        .filter(|_| marks)
        .peekable();
    for (at, c) in (0u32..).zip(text.chars()).skip(from).take(len) {
        if spans.next_if(|&&(_, end)| end == at).is_some() {
            out.push('»');
        }
        if spans.peek().is_some_and(|&&(start, _)| start == at) {
            out.push('«');
        }
        out.push(c);
    }
    if spans.peek().is_some() {
        out.push('»');
    }
    if text.chars().count() > from + len {
        out.push('…');
    }
    out
}

/// The start of the window of `len` characters with the most highlighted characters; a quarter of the window is before
/// the first highlight. A text that fits is shown from its start.
fn window(highlights: &[(u32, u32)], chars: usize, len: usize) -> usize {
    if chars <= len {
        return 0;
    }
    let begin = |start: u32| {
        let start = start as usize;
        if start < len / 2 { 0 } else { start - len / 4 }
    };
    // Long words are more specific than short ones.
    let highlighted = |from: usize| -> u32 {
        let inside =
            |&&(start, end): &&(u32, u32)| start as usize >= from && end as usize <= from + len;
        let lens = highlights
            .iter()
            .filter(inside)
            .map(|(start, end)| end - start);
        lens.sum()
    };
    let starts = highlights.iter().map(|&(start, _)| begin(start));
    // The first of equal windows.
    let best = starts
        .rev()
        .max_by_key(|&from| highlighted(from))
        .unwrap_or(0);
    best.min(chars - len)
}

/// How an answer is printed for people.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shows {
    /// Whether a filter was given.
    pub(super) is_filtered: bool,
    /// Whether highlights are enclosed in «».
    pub(super) marks: bool,
}

pub(super) fn print(answer: &Answer, shows: Shows, out: &Printer) -> anyhow::Result<()> {
    if let Some(why) = answer.why.as_ref().filter(|_| answer.explain.is_some()) {
        out.line(&format!("{}: {why}", answer.strategy))?;
    }
    if answer.hits.is_empty() {
        out.line("No chunk answers that. Try other words, a wider filter or another strategy.")?;
    }
    for hit in &answer.hits {
        out.line(&format!(
            "{:2}. {}  —  {}",
            hit.rank,
            escape_to_one_line(&hit.citation.label),
            escape_to_one_line(&hit.document)
        ))?;
        let highlights = hit.highlights.as_deref().unwrap_or_default();
        let text = excerpt(&hit.text, highlights, SHOWN_CHARS, shows.marks);
        out.line(&format!("    {}", shorten(&text, usize::MAX)))?;
        let methods = [
            hit.methods.text.map(|m| format!("text {}", m.rank)),
            hit.methods.vector.map(|m| format!("vector {}", m.rank)),
            hit.methods
                .graph
                .as_ref()
                .map(|m| format!("graph {}", m.rank)),
        ];
        let methods: Vec<String> = methods.into_iter().flatten().collect();
        let chunk = escape_to_one_line(&hit.chunk);
        out.line(&format!("    {chunk}  ({})", methods.join(", ")))?;
    }
    let allowed = if shows.is_filtered {
        " that matches the filter"
    } else {
        ""
    };
    for suggestion in &answer.did_you_mean {
        out.line(&format!(
            "No chunk{allowed} contains \"{}\". Did you mean \"{}\"?",
            suggestion.word, suggestion.meant
        ))?;
    }
    if !answer.concepts.is_empty() {
        // Concepts that the question names, or that are similar to it.
        let is_similar = |of: &ConceptHit| of.how == ConceptSource::Vector;
        let what = if answer.concepts.iter().all(is_similar) {
            "Similar concepts"
        } else {
            "Concepts"
        };
        let names: Vec<&str> = answer.concepts.iter().map(|c| &c.name[..]).collect();
        out.line(&format!(
            "{what}: {}",
            escape_to_one_line(&names.join(", "))
        ))?;
    }
    for missing in &answer.partial {
        out.line(&format!("Not searched: {missing}"))?;
    }
    if let Some(context) = &answer.context {
        out.line(&format!(
            "\nContext, {} tokens:\n{}",
            context.tokens, context.text
        ))?;
    }
    if let Some(steps) = &answer.explain {
        print_steps(steps, out)?;
    }
    if let Some(response) = answer.response {
        out.line(&format!("Recorded as {response}"))?;
    }
    Ok(())
}

/// Prints the operators with their candidates and times.
pub(super) fn print_steps(steps: &[ExplainStep], out: &Printer) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|s| {
            vec![
                s.operator.clone(),
                s.candidates.to_string(),
                s.took_us.to_string(),
            ]
        })
        .collect();
    out.table(&["operator", "candidates", "took_us"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_where_most_of_the_question_is() {
        let cases: &[(&str, &[(u32, u32)], &str)] = &[
            ("a text that fits", &[(2, 6)], "a «text» that fits"),
            (
                "no highlight is in this long text",
                &[],
                "no highlight is in t…",
            ),
            (
                "an ox, and far away a red fox runs",
                &[(3, 5), (22, 25), (26, 29)],
                "…  away a «red» «fox» runs",
            ),
            (
                "oxen are here, and nothing but grass",
                &[(0, 4)],
                "«oxen» are here, and n…",
            ),
        ];
        for (text, highlights, want) in cases {
            assert_eq!(excerpt(text, highlights, 20, true), *want, "{text}");
            let plain = want.replace(['«', '»'], "");
            assert_eq!(excerpt(text, highlights, 20, false), plain, "{text}");
        }
    }
}
