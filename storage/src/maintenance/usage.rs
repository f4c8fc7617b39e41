//! Disk usage: rows by table, indexes by section.
//!
//! Start reading at [`Snapshot::usage`].

use std::collections::BTreeMap;

use redb::ReadableTableMetadata;
use serde::Serialize;

use crate::error::StoreError;
use crate::rows::catch_redb_panic;
use crate::rows::tables::Table;
use crate::section::SectionId;
use crate::snapshot::Snapshot;

/// The disk usage of one committed state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Rows, by table; tables without rows are left out.
    pub tables: Vec<TableUsage>,
    /// Indexes, by section, in rows and files together.
    pub sections: Vec<SectionUsage>,
}

/// The rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableUsage {
    /// Its name.
    pub table: &'static str,
    /// Its rows.
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Bytes of the tree over them.
    pub tree_bytes: u64,
    /// Bytes of its pages that hold nothing.
    pub free_bytes: u64,
}

/// All sections of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionUsage {
    /// What they hold.
    pub section: &'static str,
    /// How many there are.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Snapshot {
    /// Measures the disk usage.
    ///
    /// # Cost
    /// A pass over the pages of all tables.
    pub fn usage(&self) -> Result<Usage, StoreError> {
        let mut tables = Vec::new();
        for table in Table::ALL {
            let of = self.tables().table(table);
            let (rows, stats) = catch_redb_panic(table, || Ok((of.len()?, of.stats()?)))?;
            if rows > 0 {
                tables.push(TableUsage {
                    table: table.name(),
                    rows,
                    bytes: stats.stored_bytes(),
                    tree_bytes: stats.metadata_bytes(),
                    free_bytes: stats.fragmented_bytes(),
                });
            }
        }
        let mut sections: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let segments = self.segments().iter();
        let of_segments = segments.flat_map(|segment| {
            let vectors = [&segment.vectors, &segment.pending_vectors]
                .into_iter()
                .flatten();
            [&segment.part]
                .into_iter()
                .chain(vectors.map(|(_, part)| part))
        });
        let spaces = [self.active_space(), self.pending_space()]
            .into_iter()
            .flatten();
        let projections = spaces.filter_map(|space| space.projection.as_ref());
        for part in of_segments.chain(self.analysis()).chain(projections) {
            for (id, _, len) in part.sections() {
                let (count, bytes) = sections.entry(id).or_default();
                (*count, *bytes) = (*count + 1, *bytes + len as u64);
            }
        }
        let named = sections.into_iter().map(|(id, (count, bytes))| {
            let section = SectionId::from_number(id).map_or("unknown", SectionId::name);
            SectionUsage {
                section,
                count,
                bytes,
            }
        });
        Ok(Usage {
            tables,
            sections: named.collect(),
        })
    }
}
