//! What a user sees of a store: answers, an export, a backup, findings.
//!
//! Answers are compared without what may differ between sound stores: times, generations, and the order of hits with
//! equal scores, which is that of segments; ranks go with it, and so do sums of them.
//!
//! Start reading at [`look`].

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use locidb::{Answer, Database, NoProgress, SearchRequest, Strategy};
use serde::{Deserialize, Serialize};

use super::subject::options;
use crate::panics;

/// The questions: by names of concepts, by other words, and for all of it.
const QUESTIONS: [&str; 4] = [
    "where does the heron nest near the river",
    "winter storm on the island",
    "what does the eagle hunt at dawn",
    "an overview of all birds",
];
const STRATEGIES: [Strategy; 6] = [
    Strategy::Text,
    Strategy::Vector,
    Strategy::Graph,
    Strategy::Hybrid,
    Strategy::Global,
    Strategy::Auto,
];
/// More than the store has chunks.
const ALL: usize = 1000;

/// What the weights of arms are called among the answers.
const STATS: &str = "stats";
/// The findings about data that is derived from the whole store.
const GIVEN_UP: &str = "it was damaged and given up";

/// What to look at.
#[derive(Clone, Debug, clap::Args)]
pub struct LookArgs {
    /// The store
    #[arg(long)]
    store: PathBuf,
    /// Folder of its backup, and of stores created from its copies
    #[arg(long)]
    copies: PathBuf,
    /// Where what is seen is written
    #[arg(long)]
    out: PathBuf,
}

/// The outcome of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Outcome<T> {
    /// An answer.
    Given(T),
    /// It was refused, with a reason.
    Refused(String),
    /// It panicked.
    Panicked,
}

/// An answer, as far as it may not differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ComparableAnswer {
    /// Sorted.
    lines: Vec<String>,
    partial: Vec<String>,
}

type Answers = BTreeMap<String, Outcome<ComparableAnswer>>;

/// All that was seen of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoreObservation {
    /// Why it cannot be opened, the first and the second time.
    opened: [Outcome<()>; 2],
    answers: [Answers; 2],
    /// The lines of the export that are no index's.
    export: Outcome<Vec<String>>,
    /// The export of a store that was created from the backup.
    backup: Outcome<Vec<String>>,
    /// Problems of a store that was created from the export, or from the backup.
    copies: Vec<String>,
    /// What the check found, the first and the second time.
    findings: [Vec<String>; 2],
    /// Threads that panicked, if nothing else shows it.
    panicked: Option<String>,
}

/// Looks at a store, and writes what is seen.
///
/// # Errors
/// Where that cannot be written.
pub fn observe(args: &LookArgs) -> Result<()> {
    panics::watch();
    let mut seen = StoreObservation {
        opened: [Outcome::Panicked, Outcome::Panicked],
        answers: Default::default(),
        export: Outcome::Refused(String::new()),
        backup: Outcome::Refused(String::new()),
        copies: Vec::new(),
        findings: Default::default(),
        panicked: None,
    };
    std::fs::create_dir_all(&args.copies)?;
    for time in 0..2 {
        let opened = tried(|| Ok(Database::open_with(&args.store, &options())?));
        let database = match opened {
            Outcome::Given(database) => database,
            Outcome::Refused(why) => {
                seen.opened[time] = Outcome::Refused(why);
                continue;
            }
            Outcome::Panicked => continue,
        };
        seen.opened[time] = Outcome::Given(());
        seen.answers[time] = answers(&database);
        if time == 0 {
            seen.copy(&database, &args.copies);
        }
        seen.findings[time] = findings(&database);
        database.close();
    }
    // redb meets damage with panics, which the store makes errors of.
    seen.panicked = panics::expect_none().err().map(|error| error.to_string());
    std::fs::write(&args.out, serde_json::to_vec(&seen)?)?;
    Ok(())
}

fn tried<T>(work: impl FnOnce() -> Result<T>) -> Outcome<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(given)) => Outcome::Given(given),
        Ok(Err(error)) => Outcome::Refused(format!("{error:#}")),
        Err(_) => Outcome::Panicked,
    }
}

fn answers(database: &Database) -> Answers {
    let mut answers = Answers::new();
    for strategy in STRATEGIES {
        for question in QUESTIONS {
            let request = SearchRequest {
                strategy,
                k: ALL,
                concepts: true,
                communities: 2,
                ..SearchRequest::new(question)
            };
            let answer = tried(|| Ok(comparable_answer(database.search(&request)?)));
            answers.insert(format!("{}: {question}", strategy.name()), answer);
        }
    }
    // What arms are weighed by.
    let weights = tried(|| {
        let stats = database.stats();
        let share = stats.space.and_then(|space| space.vector_share);
        let lines = vec![
            format!("share {share:?}"),
            format!("ranked {}", stats.ranked),
        ];
        let partial = stats.lost.into_iter().map(str::to_owned).collect();
        Ok(ComparableAnswer { lines, partial })
    });
    answers.insert(STATS.into(), weights);
    answers
}

fn comparable_answer(answer: Answer) -> ComparableAnswer {
    let mut lines = vec![format!("strategy {}", answer.strategy)];
    for hit in &answer.hits {
        let score = |of: Option<f32>| of.map_or_else(String::new, |of| format!("{of:.4}"));
        let of = &hit.methods;
        let scores = [
            of.text.map(|of| of.score),
            of.vector.map(|of| of.score),
            of.graph.as_ref().map(|of| of.score),
        ];
        let [text, vector, graph] = scores.map(score);
        let path = of.graph.as_ref().map(|of| &of.path);
        lines.push(format!(
            "{} text {text} vector {vector} graph {graph} {path:?} {} {} {:?} {:?}",
            hit.chunk, hit.document, hit.citation.label, hit.parent, hit.text
        ));
    }
    let concepts = answer.concepts.iter();
    lines.extend(concepts.map(|of| format!("concept {} {:.4} {:?}", of.name, of.score, of.how)));
    let relations = answer.relations.iter();
    lines.extend(relations.map(|of| format!("relation {of:?}")));
    let communities = answer.communities.iter();
    lines.extend(communities.map(|of| format!("community {of:?}")));
    lines.sort();
    ComparableAnswer {
        lines,
        partial: answer.partial.iter().map(ToString::to_string).collect(),
    }
}

fn findings(database: &Database) -> Vec<String> {
    let mut found = Vec::new();
    let checked = tried(|| {
        let mut on_finding = |finding: locidb::Finding| {
            let (section, why) = (finding.section, finding.finding);
            found.push(format!("{} {section} {}: {why}", finding.file, finding.key));
        };
        Ok(database.check(true, &NoProgress, &mut on_finding)?)
    });
    match checked {
        Outcome::Given(()) => {}
        Outcome::Refused(why) => found.push(format!("the check ended: {why}")),
        Outcome::Panicked => found.push("the check panicked".into()),
    }
    found
}

/// The lines of an export with rows: vector spaces, which are derived, and sums over all lines are left out.
fn exported(database: &Database) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    database.export(&mut lines, &NoProgress)?;
    Ok(lines)
}

/// The lines that must be the same: all but those of vector spaces, which may have been built anew, and the counts
/// over all of them.
fn compared(lines: &[u8]) -> Result<Vec<String>> {
    let text = std::str::from_utf8(lines)?;
    let mut comparable = Vec::new();
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let table = value["table"].as_str().unwrap_or_default();
        let is_derived = matches!(table, "spaces" | "digests") || value.get("projection").is_some();
        if !table.is_empty() && !is_derived {
            comparable.push(line.to_owned());
        }
    }
    Ok(comparable)
}

impl StoreObservation {
    /// Copies the store in both ways, and looks at the copies.
    fn copy(&mut self, database: &Database, copies: &Path) {
        let export = tried(|| exported(database));
        self.export = match export {
            Outcome::Given(lines) => {
                let imported = tried(|| {
                    let to = copies.join("imported");
                    Ok(Database::import(
                        &mut &lines[..],
                        to,
                        &options(),
                        &NoProgress,
                    )?)
                });
                self.note_copy("the store that was made of the export", imported);
                tried(|| compared(&lines))
            }
            Outcome::Refused(why) => Outcome::Refused(why),
            Outcome::Panicked => Outcome::Panicked,
        };
        let (backup, restored) = (copies.join("backup"), copies.join("restored"));
        self.backup = match tried(|| Ok(database.backup(&backup, &NoProgress)?)) {
            Outcome::Given(_) => {
                let restored = tried(|| Ok(Database::restore(&backup, &restored, &options())?));
                let lines = match &restored {
                    Outcome::Given(restored) => {
                        tried(|| exported(restored).and_then(|lines| compared(&lines)))
                    }
                    _ => Outcome::Given(Vec::new()),
                };
                self.note_copy("the backup", restored);
                lines
            }
            Outcome::Refused(why) => Outcome::Refused(why),
            Outcome::Panicked => Outcome::Panicked,
        };
    }

    fn note_copy(&mut self, what: &str, copy: Outcome<Database>) {
        match copy {
            Outcome::Given(copy) => {
                let found = findings(&copy).into_iter();
                // That something is to be built anew comes with a backup of a store of which that is true.
                let found = found.filter(|found| !found.contains(GIVEN_UP));
                self.copies
                    .extend(found.map(|found| format!("{what}: {found}")));
                copy.close();
            }
            Outcome::Refused(why) => self.copies.push(format!("{what}: {why}")),
            Outcome::Panicked => self.copies.push(format!("{what}: it panicked")),
        }
    }

    /// Nothing is wrong with it, and all answers were given.
    pub(super) fn is_sound(&self) -> Result<()> {
        for answers in &self.answers {
            ensure!(answers.len() > STRATEGIES.len() * QUESTIONS.len());
            for (question, answer) in answers {
                match answer {
                    Outcome::Given(given) if given.partial.is_empty() => {
                        ensure!(!given.lines.is_empty(), "{question}: nothing");
                    }
                    answer => bail!("{question}: {answer:?}"),
                }
            }
        }
        ensure!(
            self.answers[0] == self.answers[1],
            "it answers otherwise the second time"
        );
        ensure!(
            self.findings.iter().all(Vec::is_empty),
            "{:?}",
            self.findings
        );
        ensure!(self.copies.is_empty(), "{:?}", self.copies);
        ensure!(
            matches!(&self.export, Outcome::Given(lines) if !lines.is_empty()),
            "{:?}",
            self.export
        );
        ensure!(self.export == self.backup, "the backup has other rows");
        ensure!(self.panicked.is_none(), "{:?}", self.panicked);
        Ok(())
    }

    /// How the damage showed.
    pub(super) fn outcome(&self, whole: &StoreObservation) -> &'static str {
        match () {
            () if self.opened[0] != Outcome::Given(()) => "refused",
            () if !self.findings[0].is_empty() => "found",
            () if self.answers == whole.answers => "harmless",
            () => "told",
        }
    }

    /// Answers that differ from those of `whole` and do not say why themselves: the check alone tells.
    pub(super) fn count_found_by_check_only(&self, whole: &StoreObservation) -> u64 {
        let answers = self.answers[0].iter();
        let searches = answers.filter(|(question, _)| *question != STATS);
        let differ =
            searches.filter(
                |(question, answer)| match (answer, &whole.answers[0][*question]) {
                    (Outcome::Given(found), Outcome::Given(right)) => {
                        found.partial.is_empty() && found.lines != right.lines
                    }
                    _ => false,
                },
            );
        differ.count() as u64
    }

    /// Whether it is as `whole`, or says that it is not.
    pub(super) fn compare(&self, whole: &StoreObservation) -> Result<()> {
        for time in 0..2 {
            ensure!(self.opened[time] != Outcome::Panicked, "opening panicked");
            self.compare_answers(time, whole)?;
        }
        for (what, of, whole) in [
            ("export", &self.export, &whole.export),
            ("backup", &self.backup, &whole.backup),
        ] {
            match of {
                Outcome::Given(_) if of != whole => bail!(
                    "a damaged {what} is told to be good: {}",
                    first_difference(of, whole)
                ),
                Outcome::Panicked => bail!("the {what} panicked"),
                _ => {}
            }
        }
        if let Some(first) = self.copies.first() {
            bail!("a damaged copy is told to be good: {first}");
        }
        let stumbled = self
            .findings
            .iter()
            .flatten()
            .find(|of| of.contains("the check panicked"));
        ensure!(
            stumbled.is_none(),
            "the check panicked: {:?}",
            self.panicked
        );
        Ok(())
    }

    fn compare_answers(&self, time: usize, whole: &StoreObservation) -> Result<()> {
        let is_found = !self.findings[time].is_empty();
        // What was fitted anew is near to what it was, and no more: sums of floats in another order.
        let was_given_up = self.findings[0].iter().any(|of| of.contains(GIVEN_UP));
        let is_same = |answer: &ComparableAnswer, right: &ComparableAnswer, question: &str| {
            if time == 0 || !was_given_up || question == STATS {
                answer.lines == right.lines
            } else if question.starts_with(Strategy::Global.name()) {
                // Other digests may be the nearest then, with more or fewer sentences, but there are some.
                answer.lines.is_empty() == right.lines.is_empty()
            } else {
                answer.lines.len() == right.lines.len()
            }
        };
        for (question, answer) in &self.answers[time] {
            match (answer, &whole.answers[time][question]) {
                (Outcome::Panicked, _) => bail!("{question}: it panicked: {:?}", self.panicked),
                (Outcome::Given(found), Outcome::Given(right))
                    if !is_same(found, right, question) =>
                {
                    let is_reported = !found.partial.is_empty() || is_found;
                    let differ = || difference(&found.lines, &right.lines);
                    ensure!(
                        is_reported,
                        "{question}, the {time}. time, is silently wrong: {}",
                        differ()
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn first_difference(of: &Outcome<Vec<String>>, whole: &Outcome<Vec<String>>) -> String {
    match (of, whole) {
        (Outcome::Given(of), Outcome::Given(whole)) => difference(of, whole),
        _ => String::new(),
    }
}

/// Some lines that only one of both has.
fn difference(of: &[String], right: &[String]) -> String {
    let only = |a: &[String], b: &[String]| -> Vec<String> {
        let only = a.iter().filter(|line| !b.contains(line));
        only.take(2)
            .map(|line| line.chars().take(160).collect())
            .collect()
    };
    format!(
        "it has {:?} in the place of {:?}",
        only(of, right),
        only(right, of)
    )
}
