//! Consolidating the types of concepts: few in place of the many that documents write.
//!
//! Contributions stay as they are: the map is applied where a type is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use loci_graph::types::{TypeCounts, TypeOptions, TypeSelection, consolidate};
use loci_storage::records::ConceptContribution;
use loci_storage::rows::decode;
use loci_storage::{ConceptId, DocumentId, Rows, StoreError, Table, keys};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::settings;
use crate::state::snapshot::DatabaseSnapshot;

/// The row of settings that holds the map.
pub(crate) const TYPE_MAP_KEY: &str = "type_map";

/// The consolidated types of concepts, by those that documents write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TypeMap {
    /// How: `global` or `stratified`.
    pub method: String,
    /// The type that each one became, by how it is written.
    pub map: BTreeMap<String, String>,
}

impl TypeMap {
    /// The consolidated type; the type itself where it is newer than the map.
    pub fn resolve<'t>(&'t self, kind: &'t str) -> &'t str {
        self.map.get(kind).map_or(kind, String::as_str)
    }

    /// The types that are left.
    pub fn types(&self) -> BTreeSet<&str> {
        self.map.values().map(String::as_str).collect()
    }
}

/// The map that makes few types of the many that the documents of `view` write.
pub(crate) fn consolidate_types(
    view: &DatabaseSnapshot,
    selection: TypeSelection,
) -> Result<TypeMap, Error> {
    let settings = settings::read(view.rows())?;
    let options = TypeOptions {
        selection,
        types: settings.types_per_corpus as usize,
        share_min: settings.type_share_min.into(),
    };
    let method = match selection {
        TypeSelection::Global => "global",
        TypeSelection::Stratified => "stratified",
    };
    Ok(TypeMap {
        method: method.into(),
        map: consolidate(&count_types(view.rows())?, options),
    })
}

impl DatabaseSnapshot {
    /// The consolidated types of concepts, where there are any.
    pub fn type_map(&self) -> Result<Option<TypeMap>, Error> {
        let json = self.rows().setting(TYPE_MAP_KEY)?;
        // One that cannot be read counts as none: it can be computed again.
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
    }
}

fn count_types(rows: &dyn Rows) -> Result<TypeCounts, StoreError> {
    let mut counts = TypeCounts::default();
    let mut kinds: BTreeMap<ConceptId, BTreeSet<String>> = BTreeMap::new();
    let mut collection: Option<(DocumentId, String)> = None;
    let table = Table::ConceptContributions;
    rows.scan_all(table, &mut |key, payload| {
        let Some((document, concept)) = keys::u64_at(key, 0).zip(keys::u32_at(key, 8)) else {
            return Ok(ControlFlow::Continue(()));
        };
        let contribution: ConceptContribution = decode(table, key, payload)?;
        let document = DocumentId(document);
        if collection.as_ref().is_none_or(|known| known.0 != document) {
            let record = rows.document(document)?;
            collection = Some((
                document,
                record.map_or_else(String::new, |of| of.collection),
            ));
        }
        if let Some((_, corpus)) = &collection {
            counts.add(corpus, &contribution.kind);
        }
        let counted = rows.resolve(ConceptId(concept), Some(document))?.concept;
        kinds.entry(counted).or_default().insert(contribution.kind);
        Ok(ControlFlow::Continue(()))
    })?;
    for kinds in kinds.values() {
        counts.add_co_occurring(kinds.iter().map(String::as_str));
    }
    Ok(counts)
}
