//! `loci ask`: an answer to a question with citations, or the prompt for a model.

use locidb::query::cite::Citation;
use locidb::{Answer, Critique, Error, Prompt, SearchRequest};

use super::{open_for_search, search, wait_for_rebuild};
use crate::args::Ask;
use crate::output::Printer;
use crate::{CommandStatus, UsageError};

pub(crate) fn run(args: &Ask, out: &Printer) -> anyhow::Result<CommandStatus> {
    let request = SearchRequest {
        critic: args.critic,
        ..search::parse_request(&args.search)?
    };
    let database = open_for_search(&args.search)?;
    if args.prompt {
        if args.search.record {
            let why = "--record stores an answer, and --prompt creates none: use only one of them";
            return Err(UsageError(why.into()).into());
        }
        let prompt = match database.prompt(&request) {
            Err(Error::Budget(error)) => {
                return Err(UsageError(format!("--budget: {error}")).into());
            }
            prompt => search::check_query(prompt)?,
        };
        print_prompt(&prompt, out)?;
    } else {
        let mut answer = search::check_query(database.ask(&request))?;
        if args.search.record {
            answer.response = Some(database.record(&request, &answer)?.0);
        }
        if out.json {
            out.json_line(&answer)?
        } else {
            print(&answer, out)?
        }
        if let Some(response) = answer.response.filter(|_| !out.json) {
            out.line(&format!("Recorded as {response}"))?;
        }
    }
    if !database.is_read_only() {
        wait_for_rebuild(&database)?;
    }
    database.close();
    Ok(CommandStatus::Success)
}

fn print_prompt(prompt: &Prompt, out: &Printer) -> anyhow::Result<()> {
    if out.json {
        out.json_line(prompt)
    } else {
        out.line(&prompt.text)
    }
}

fn print(answer: &Answer, out: &Printer) -> anyhow::Result<()> {
    if let Some(digest) = &answer.answer {
        out.line(&digest.text)?;
        if !digest.citations.is_empty() {
            out.line("")?;
        }
        for (number, citation) in (1..).zip(&digest.citations) {
            out.line(&format!("[{number}] {}", format_location(citation)))?;
        }
    }
    if let Some(critique) = &answer.critique {
        out.line(&format!("\n{}", coverage(critique)))?;
    }
    for note in &answer.partial {
        out.line(&format!("Note: {note}"))?;
    }
    if let Some(steps) = &answer.explain {
        search::print_steps(steps, out)?;
    }
    Ok(())
}

/// `Page 3, Deltas  —  Rivers > Deltas  (rivers.pdf#4, characters 10–42)`.
fn format_location(citation: &Citation) -> String {
    let path = citation.path.join(" > ");
    let (label, chunk) = (&citation.label, citation.chunk());
    let chars = citation.known_chars();
    let chars = chars.map(|(start, end)| format!(", characters {start}–{end}"));
    format!("{label}  —  {path}  ({chunk}{})", chars.unwrap_or_default())
}

fn coverage(critique: &Critique) -> String {
    let percent = (100.0 * critique.score).round();
    let verdict = critique.verdict.name();
    if critique.missing.is_empty() {
        format!("Coverage of the question: {percent} % ({verdict}).")
    } else {
        format!(
            "Coverage of the question: {percent} % ({verdict}). No hit mentions: {}.",
            critique.missing.join(", ")
        )
    }
}
