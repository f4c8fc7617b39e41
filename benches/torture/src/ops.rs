//! What is done to a store: a list of operations, drawn from a [`Source`].
//!
//! Operations name documents by small numbers and carry the seeds of what they write, so any part
//! of a list is a valid list: that is what shrinking rests on. They are written and read as JSON.
//!
//! Start reading at [`Op::draw`].

use locidb::storage::records::DocumentRecord;
use locidb::{NewConcept, NewDocument, NewRelation};
use serde::{Deserialize, Serialize};

use crate::documents::{self, DOCUMENTS, NAMES, TAGS};
use crate::faulty::{Failure, Fault};
use crate::source::Source;

/// One change that a writer makes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Stores a document whole.
    Put {
        /// Which.
        document: u8,
        /// What it holds.
        seed: u32,
        /// Whether its segment is large enough for a file.
        large: bool,
    },
    /// Deletes a document, where it is there.
    Delete {
        /// Which.
        document: u8,
    },
    /// Changes metadata of a document, where it is there.
    Patch {
        /// Which.
        document: u8,
        /// What to.
        seed: u32,
    },
    /// Replaces the concepts and relations of a document, if it exists.
    Graph {
        /// Which.
        document: u8,
        /// By what.
        seed: u32,
    },
    /// Has a concept count as another one, where both are two.
    Move {
        /// Which, of [`NAMES`](documents::NAMES).
        from: u8,
        /// As which.
        to: u8,
        /// Those of the documents that speak of it whose number modulo 8 is a bit here; 0: all.
        documents: u8,
    },
    /// Undoes a merge or split, where there is one.
    Undo {
        /// Which of them.
        edit: u8,
    },
}

/// One operation on a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// A write, durable when it returns.
    Write(Vec<Change>),
    /// A write that is durable later.
    Eventual(Vec<Change>),
    /// Makes all that was written durable.
    Flush,
    /// A write whose closure fails after its changes.
    Failing(Vec<Change>),
    /// Writers of different documents, all at once.
    Writers(Vec<Change>),
    /// Compares some searches with the model.
    Search {
        /// Which.
        seed: u32,
    },
    /// Compares everything with the model.
    CheckAll,
    /// Merges what is due.
    Settle,
    /// Compacts segments and file.
    Compact,
    /// Ranks concepts.
    Finish,
    /// Switches to a vector space, or to none.
    Space(Option<u8>),
    /// Takes a snapshot and holds it.
    HoldView,
    /// Compares the views that are held with the models of their time.
    CheckViews,
    /// Lets go of the oldest view that is held.
    DropView,
    /// Cuts the power and opens what is left.
    PowerFailure {
        /// What of the unsynced survives.
        seed: u32,
    },
    /// Kills the process and opens what it wrote.
    Kill,
    /// Closes and opens.
    Reopen,
    /// From now on an operation of the disk fails.
    Fault(Failure),
}

impl Change {
    /// The document that it concerns, where it is one.
    pub fn number(&self) -> Option<u8> {
        match *self {
            Change::Put { document, .. }
            | Change::Delete { document }
            | Change::Patch { document, .. }
            | Change::Graph { document, .. } => Some(document),
            Change::Move { .. } | Change::Undo { .. } => None,
        }
    }

    /// The document that a put stores. It brings vectors where there is a space for them.
    pub fn document(&self, space: Option<u8>) -> NewDocument {
        match *self {
            Change::Put {
                document,
                seed,
                large,
            } => documents::document(document, seed, large, space.is_some()),
            _ => NewDocument::default(),
        }
    }

    /// What a patch does.
    pub fn patch(&self, record: &mut DocumentRecord) {
        if let Change::Patch { seed, .. } = *self {
            let mut source = Source::seeded(u64::from(seed));
            record.year = Some(1990 + source.below(20) as i32);
            record.metadata = vec![("tag".into(), source.pick(&TAGS).to_string())];
        }
    }

    /// The concepts and relations of a document of `count` chunks, in a [`Change::Graph`].
    pub fn graph(&self, count: u32) -> (Vec<NewConcept>, Vec<NewRelation>) {
        match *self {
            Change::Graph { seed, .. } => {
                documents::graph(&mut Source::seeded(u64::from(seed)), count)
            }
            _ => Default::default(),
        }
    }

    /// Any change.
    fn draw(source: &mut Source<'_>, profile: &Profile) -> Change {
        let name = NAMES.len() as u32;
        match source.below(12) {
            0 => Change::Move {
                from: source.below(name) as u8,
                to: source.below(name) as u8,
                documents: if source.one_in(2) {
                    0
                } else {
                    source.below(256) as u8
                },
            },
            1 => Change::Undo {
                edit: source.below(256) as u8,
            },
            _ => {
                let document = source.below(DOCUMENTS.into()) as u8;
                Change::draw_for(document, source, profile)
            }
        }
    }

    /// Any change of a document.
    fn draw_for(document: u8, source: &mut Source<'_>, profile: &Profile) -> Change {
        let seed = source.below(1 << 24);
        match source.below(10) {
            0 | 1 => Change::Delete { document },
            2 => Change::Patch { document, seed },
            3 => Change::Graph { document, seed },
            _ => Change::Put {
                document,
                seed,
                large: profile.large > 0 && source.one_in(profile.large),
            },
        }
    }
}

/// Which operations are drawn, and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// One document in so many is large; 0: none is.
    pub large: u32,
    /// One operation in so many is a crash, a kill or a reopening; 0: none is.
    pub restart: u32,
    /// One operation in so many arms a fault; 0: none does.
    pub fault: u32,
}

impl Op {
    /// Any operation.
    pub fn draw(source: &mut Source<'_>, profile: &Profile) -> Op {
        if profile.restart > 0 && source.one_in(profile.restart) {
            return restart(source);
        }
        if profile.fault > 0 && source.one_in(profile.fault) {
            return Op::Fault(failure(source));
        }
        let seed = source.below(1 << 24);
        match source.below(40) {
            0..=15 => Op::Write(changes(source, profile)),
            16..=19 => Op::Eventual(changes(source, profile)),
            20 => Op::Flush,
            21 => Op::Failing(changes(source, profile)),
            22 | 23 => Op::Writers(apart(source, profile)),
            24..=30 => Op::Search { seed },
            31 => Op::Settle,
            32 => Op::Compact,
            33 => Op::Finish,
            34 => Op::Space(source.pick(&[None, Some(0), Some(0), Some(1)])),
            35 => Op::HoldView,
            36 | 37 => Op::CheckViews,
            38 => Op::DropView,
            _ => Op::CheckAll,
        }
    }

    /// A list of `count` operations, which begins by switching to a vector space.
    pub fn draw_list(source: &mut Source<'_>, profile: &Profile, count: usize) -> Vec<Op> {
        let mut list = vec![Op::Space(Some(0))];
        list.extend((1..count).map(|_| Op::draw(source, profile)));
        list
    }
}

fn restart(source: &mut Source<'_>) -> Op {
    match source.below(3) {
        0 => Op::PowerFailure {
            seed: source.below(1 << 24),
        },
        1 => Op::Kill,
        _ => Op::Reopen,
    }
}

fn failure(source: &mut Source<'_>) -> Failure {
    Failure {
        at: u64::from(source.below(60)),
        fault: source.pick(&Fault::ALL),
        forever: source.one_in(2),
    }
}

/// The changes of one writer, most often one.
fn changes(source: &mut Source<'_>, profile: &Profile) -> Vec<Change> {
    let more = if source.one_in(3) { source.below(4) } else { 0 };
    (0..=more).map(|_| Change::draw(source, profile)).collect()
}

/// Changes of two or three different documents.
fn apart(source: &mut Source<'_>, profile: &Profile) -> Vec<Change> {
    let first = source.below(DOCUMENTS.into()) as u8;
    let count = 2 + source.below(2) as u8;
    let numbers = (0..count).map(|place| (first + 5 * place) % DOCUMENTS);
    let changes = numbers.map(|number| Change::draw_for(number, source, profile));
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_back_as_it_was_written() {
        let profile = Profile {
            large: 5,
            restart: 9,
            fault: 9,
        };
        let list = Op::draw_list(&mut Source::seeded(1), &profile, 400);
        let json = serde_json::to_string(&list).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Op>>(&json).unwrap(), list);
    }

    #[test]
    fn any_bytes_make_a_list() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut source = Source::bytes(&bytes);
        let profile = Profile {
            large: 0,
            restart: 9,
            fault: 9,
        };
        while !source.is_empty() {
            Op::draw(&mut source, &profile);
        }
    }
}
