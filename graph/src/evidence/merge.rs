//! Contributions of documents merged into the record of a concept or relation.
//!
//! The contribution of a document is the truth and the record is derived, so everything in a record
//! must follow from the *set* of contributions, not from their order:
//!
//! | field | value |
//! | --- | --- |
//! | name, first document | of the contribution with the lowest document id |
//! | description | the longest in bytes; of equally long ones the first in byte order |
//! | kind | the first in byte order of those that are not empty |
//! | synonyms | all of them, sorted, without the concept's own name |
//! | mention count, weight, document count | sums; weights are millionths, so sums are exact |
//!
//! Law: any order of folds, and of withdrawals that are recounted where [`WithdrawOutcome::Recount`] says
//! so, gives the record that recounting the remaining contributions gives.
//!
//! A sum that reaches `u64::MAX` stays there and is recounted at every withdrawal.
//!
//! Start reading at [`fold`].

use loci_storage::DocumentId;
use loci_storage::records::{
    ConceptContribution, ConceptRecord, RelationContribution, RelationRecord,
};

/// Whether a record is right after a withdrawal.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawOutcome {
    /// It is.
    Exact,
    /// It is not: the contribution may have supplied what the record shows. Recount the rest.
    Recount,
}

/// Adds what `document` says to the record of a concept. `record.normalised` must be set; the
/// document must not have contributed before (withdraw its former contribution first).
pub fn fold(record: &mut ConceptRecord, document: DocumentId, contribution: &ConceptContribution) {
    if record.first_document.is_none_or(|first| document.0 < first) {
        record.first_document = Some(document.0);
        record.name.clone_from(&contribution.name);
    }
    keep_longest(&mut record.description, &contribution.description);
    if record.kind.is_empty() || (!contribution.kind.is_empty() && contribution.kind < record.kind)
    {
        record.kind.clone_from(&contribution.kind);
    }
    for synonym in synonyms(&record.normalised, contribution) {
        if let Err(at) = record.synonyms.binary_search(synonym) {
            record.synonyms.insert(at, synonym.clone());
        }
    }
    record.mention_count = record
        .mention_count
        .saturating_add(mention_count(contribution));
    record.document_count += 1;
}

/// Takes what `document` said out of the record of a concept.
///
/// `contribution`: exactly what was folded. On [`WithdrawOutcome::Recount`] the record is in between and
/// the caller replaces it by [`recount`] of the other contributions.
pub fn withdraw(
    record: &mut ConceptRecord,
    document: DocumentId,
    contribution: &ConceptContribution,
) -> WithdrawOutcome {
    if record.document_count <= 1 {
        *record = recount(&record.normalised, []);
        return WithdrawOutcome::Exact;
    }
    let supplied = record.first_document == Some(document.0)
        || is_supplied_by(&record.description, &contribution.description)
        || is_supplied_by(&record.kind, &contribution.kind)
        || synonyms(&record.normalised, contribution).next().is_some();
    record.document_count -= 1;
    let exact = subtract(&mut record.mention_count, mention_count(contribution));
    if supplied || !exact {
        WithdrawOutcome::Recount
    } else {
        WithdrawOutcome::Exact
    }
}

/// The record of the concept `normalised` from all its contributions, in any order.
pub fn recount(
    normalised: &str,
    contributions: impl IntoIterator<Item = (DocumentId, ConceptContribution)>,
) -> ConceptRecord {
    let mut record = ConceptRecord {
        normalised: normalised.to_owned(),
        ..ConceptRecord::default()
    };
    for (document, contribution) in contributions {
        fold(&mut record, document, &contribution);
    }
    record
}

/// Adds what one document says to the record of a relation.
pub fn fold_relation(record: &mut RelationRecord, contribution: &RelationContribution) {
    keep_longest(&mut record.description, &contribution.description);
    record.weight_micro = record
        .weight_micro
        .saturating_add(contribution.weight_micro);
    record.document_count += 1;
}

/// Takes what one document said out of the record of a relation; see [`withdraw`].
pub fn withdraw_relation(
    record: &mut RelationRecord,
    contribution: &RelationContribution,
) -> WithdrawOutcome {
    if record.document_count <= 1 {
        *record = RelationRecord::default();
        return WithdrawOutcome::Exact;
    }
    record.document_count -= 1;
    let exact = subtract(&mut record.weight_micro, contribution.weight_micro);
    if is_supplied_by(&record.description, &contribution.description) || !exact {
        WithdrawOutcome::Recount
    } else {
        WithdrawOutcome::Exact
    }
}

/// The record of a relation from all its contributions, in any order.
pub fn recount_relation(
    contributions: impl IntoIterator<Item = RelationContribution>,
) -> RelationRecord {
    let mut record = RelationRecord::default();
    for contribution in contributions {
        fold_relation(&mut record, &contribution);
    }
    record
}

/// Keeps the longer in bytes; of equally long ones the first in byte order.
pub fn keep_longest(longest: &mut String, other: &String) {
    let longer = other.len() > longest.len();
    if longer || (other.len() == longest.len() && other < longest) {
        longest.clone_from(other);
    }
}

fn is_supplied_by(shown: &str, contributed: &str) -> bool {
    !contributed.is_empty() && shown == contributed
}

fn synonyms<'c>(
    normalised: &str,
    contribution: &'c ConceptContribution,
) -> impl Iterator<Item = &'c String> {
    let is_other = move |synonym: &&String| !synonym.is_empty() && *synonym != normalised;
    contribution.synonyms.iter().filter(is_other)
}

fn mention_count(contribution: &ConceptContribution) -> u64 {
    contribution
        .mentions
        .iter()
        .map(|&(_, count)| u64::from(count))
        .sum()
}

/// Subtracts, and says whether the difference is exact.
fn subtract(sum: &mut u64, part: u64) -> bool {
    let exact = *sum < u64::MAX && *sum >= part;
    *sum = sum.saturating_sub(part);
    exact
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Contributions = BTreeMap<u64, ConceptContribution>;

    fn any_contribution() -> impl Strategy<Value = ConceptContribution> {
        let synonyms = prop::collection::vec("[a-c]{0,2}", 0..3);
        let mentions = prop::collection::vec((0u32..9, 1u32..4), 0..3);
        ("[A-C]{1,2}", "[a-c]{0,1}", "[a-c]{0,3}", synonyms, mentions).prop_map(
            |(name, kind, description, synonyms, mentions)| ConceptContribution {
                name,
                kind,
                description,
                synonyms,
                mentions,
            },
        )
    }

    fn any_relation() -> impl Strategy<Value = RelationContribution> {
        let weight = prop_oneof![0u64..9, Just(u64::MAX), Just(u64::MAX - 3)];
        ("[a-c]{0,3}", weight).prop_map(|(description, weight_micro)| RelationContribution {
            description,
            weight_micro,
            chunks: vec![0],
        })
    }

    /// Plainly right: looks at the whole set for every field.
    fn reference(contributions: &Contributions) -> ConceptRecord {
        let all = || contributions.values();
        let kinds = all()
            .map(|c| c.kind.clone())
            .filter(|kind| !kind.is_empty());
        let mut synonyms: Vec<String> = all().flat_map(|c| c.synonyms.clone()).collect();
        synonyms.sort();
        synonyms.dedup();
        synonyms.retain(|synonym| !synonym.is_empty() && synonym != "b");
        let mut descriptions: Vec<String> = all().map(|c| c.description.clone()).collect();
        descriptions.sort_by_key(|text| (std::cmp::Reverse(text.len()), text.clone()));
        let first = contributions.iter().next();
        ConceptRecord {
            name: first.map(|(_, c)| c.name.clone()).unwrap_or_default(),
            normalised: "b".into(),
            kind: kinds.min().unwrap_or_default(),
            description: descriptions.first().cloned().unwrap_or_default(),
            synonyms,
            mention_count: all()
                .flat_map(|c| &c.mentions)
                .map(|m| u64::from(m.1))
                .sum(),
            document_count: contributions.len() as u64,
            first_document: first.map(|(&document, _)| document),
        }
    }

    proptest! {
        #[test]
        fn any_history_gives_the_record_of_what_remains(
            history in prop::collection::vec((0u64..6, any_contribution()), 0..24),
        ) {
            let mut live = Contributions::new();
            let mut record = recount("b", []);
            for (document, contribution) in history {
                // A document that contributed is withdrawn; one that did not contributes.
                if let Some(former) = live.remove(&document) {
                    if withdraw(&mut record, DocumentId(document), &former) == WithdrawOutcome::Recount {
                        // Latest first, so that the order differs from the history's.
                        let rest = live.iter().rev().map(|(&d, c)| (DocumentId(d), c.clone()));
                        record = recount("b", rest);
                    }
                } else {
                    fold(&mut record, DocumentId(document), &contribution);
                    live.insert(document, contribution);
                }
                prop_assert_eq!(&record, &reference(&live));
            }
        }

        #[test]
        fn any_history_gives_the_relation_of_what_remains(
            history in prop::collection::vec((0u64..5, any_relation()), 0..24),
        ) {
            let mut live = BTreeMap::new();
            let mut record = RelationRecord::default();
            for (document, contribution) in history {
                if let Some(former) = live.remove(&document) {
                    if withdraw_relation(&mut record, &former) == WithdrawOutcome::Recount {
                        record = recount_relation(live.values().rev().cloned());
                    }
                } else {
                    fold_relation(&mut record, &contribution);
                    live.insert(document, contribution);
                }
                prop_assert_eq!(&record, &recount_relation(live.values().cloned()));
            }
        }
    }

    #[test]
    fn a_withdrawal_that_supplied_nothing_needs_no_recount() {
        let plain = |description: &str| ConceptContribution {
            name: "B".into(),
            description: description.into(),
            mentions: vec![(0, 2)],
            ..ConceptContribution::default()
        };
        let mut record = recount(
            "b",
            [(DocumentId(1), plain("long")), (DocumentId(2), plain("s"))],
        );
        assert_eq!(
            withdraw(&mut record, DocumentId(2), &plain("s")),
            WithdrawOutcome::Exact
        );
        assert_eq!(record, recount("b", [(DocumentId(1), plain("long"))]));
        let mut record = recount(
            "b",
            [(DocumentId(1), plain("s")), (DocumentId(2), plain("long"))],
        );
        assert_eq!(
            withdraw(&mut record, DocumentId(2), &plain("long")),
            WithdrawOutcome::Recount
        );
    }
}
