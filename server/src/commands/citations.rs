//! `loci citations`: who cites whom.

use locidb::graph::normalise;
use locidb::storage::DocumentKey;
use locidb::{Cited, View, Work};
use serde_json::json;

use super::open;
use crate::Done;
use crate::args::Citations;
use crate::output::{Out, shorten};

/// Works and documents that are cited together, or cite the same, that are listed at most.
const LISTED_MAX: usize = 20;

pub(crate) fn run(args: &Citations, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let view = database.view();
    match &args.of {
        Some(of) => network(&view, of, out),
        None => works(&view, args, out),
    }
}

/// Cited works, those of most references first.
fn works(view: &View, args: &Citations, out: &Out) -> anyhow::Result<Done> {
    let author = args.author.as_deref().map(normalise);
    let wrote = |work: &Work| {
        author.as_ref().is_none_or(|asked| {
            let names = work.authors.iter().map(|name| normalise(name));
            names
                .into_iter()
                .any(|name| name == *asked || has_words(&name, asked))
        })
    };
    let mut works = view.works(|work| {
        let is_year = args.year.is_none_or(|year| work.year == Some(year));
        is_year && (!args.stubs || work.document.is_none()) && wrote(work)
    })?;
    works.sort_by(|a, b| b.references.cmp(&a.references).then(a.id.cmp(&b.id)));
    if out.json {
        for work in &works {
            out.json_line(work)?;
        }
        return Ok(Done::Well);
    }
    let rows: Vec<_> = works
        .iter()
        .map(|work| row(work, work.references))
        .collect();
    out.table(&["references", "year", "work", "document"], &rows)?;
    Ok(Done::Well)
}

/// Whether all words of `asked` are in `name`.
fn has_words(name: &str, asked: &str) -> bool {
    let mut words = asked.split(' ');
    words.all(|word| name.split(' ').any(|of| of == word))
}

fn row(work: &Work, count: u64) -> Vec<String> {
    let title = work.title.as_deref().unwrap_or(&work.text);
    vec![
        count.to_string(),
        work.year.map(|year| year.to_string()).unwrap_or_default(),
        shorten(title, 80),
        work.document.clone().unwrap_or_else(|| "(stub)".into()),
    ]
}

/// What a document cites, who cites it or the work, and what is near it.
fn network(view: &View, of: &str, out: &Out) -> anyhow::Result<Done> {
    let key: Option<DocumentKey> = of.parse().ok();
    let cites = match &key {
        Some(key) => view.citations_of(key)?,
        None => None,
    };
    let work = view.find_work(of)?;
    if cites.is_none() && work.is_none() {
        eprintln!("loci: no document and no cited work {of:?}");
        return Ok(Done::Wrong);
    }
    let (mut cited_by, mut together) = (Vec::new(), Vec::new());
    if let Some(work) = &work {
        cited_by = view.cited_by(work.id)?;
        together = view.co_cited(work.id)?;
        together.truncate(LISTED_MAX);
    }
    let mut coupled = match key.filter(|_| cites.is_some()) {
        Some(key) => view.coupled(&key)?.unwrap_or_default(),
        None => Vec::new(),
    };
    coupled.truncate(LISTED_MAX);
    let cites = cites.unwrap_or_default();
    if out.json {
        let together = together
            .iter()
            .map(|(work, count)| json!({ "work": work, "count": count }));
        let coupled = coupled
            .iter()
            .map(|(key, count)| json!({ "document": key, "count": count }));
        out.json_line(&json!({
            "work": work,
            "cites": cites,
            "cited_by": cited_by,
            "co_cited": together.collect::<Vec<_>>(),
            "coupled": coupled.collect::<Vec<_>>(),
        }))?;
        return Ok(Done::Well);
    }
    let quote = |cited: &Cited| {
        let title = cited.work.title.as_deref().unwrap_or(&cited.work.text);
        vec![
            cited.chunk.clone(),
            cited.intent.name().into(),
            shorten(title, 60),
            shorten(&cited.context, 80),
        ]
    };
    for (name, listed) in [("cites", &cites), ("cited by", &cited_by)] {
        if !listed.is_empty() {
            out.line(name)?;
            let rows: Vec<_> = listed.iter().map(quote).collect();
            out.table(&["chunk", "intent", "work", "context"], &rows)?;
        }
    }
    if !together.is_empty() {
        out.line("cited together with")?;
        let rows: Vec<_> = together
            .iter()
            .map(|(work, n)| row(work, *n as u64))
            .collect();
        out.table(&["times", "year", "work", "document"], &rows)?;
    }
    if !coupled.is_empty() {
        out.line("documents that cite the same")?;
        let rows: Vec<_> = coupled
            .iter()
            .map(|(key, n)| vec![n.to_string(), key.clone()])
            .collect();
        out.table(&["works", "document"], &rows)?;
    }
    Ok(Done::Well)
}
