//! The tables. Their numbers are part of the format: they seed the checksum of every value.

use redb::TableDefinition;

/// Definition that every table shares: byte strings to byte strings.
pub(crate) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

macro_rules! tables {
    ($($number:literal $variant:ident $name:literal $doc:literal;)*) => {
        /// One of the store's tables; `docs/format.md` says what its keys and values are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Table { $(#[doc = $doc] $variant = $number,)* }

        impl Table {
            /// All tables, by number.
            pub const ALL: [Table; [$($number),*].len()] = [$(Table::$variant),*];

            /// The table with this name.
            pub fn from_name(name: &str) -> Option<Table> {
                Table::ALL.into_iter().find(|table| table.name() == name)
            }

            /// The table's name in redb.
            pub const fn name(self) -> &'static str {
                match self { $(Table::$variant => $name,)* }
            }
        }
    };
}

tables! {
    1 Meta "meta" "Format number and manifest.";
    2 Documents "documents" "Documents by id.";
    3 DocumentKeys "document_keys" "Document ids by public key.";
    4 Originals "originals" "The files as they came.";
    5 Texts "texts" "Texts that differ from the original.";
    6 Chunks "chunks" "Chunks by document and place.";
    7 ChunkSuffixes "chunk_suffixes" "Places by document and suffix.";
    8 Contents "contents" "How many chunks have a content.";
    9 Vectors "vectors" "Vectors by space and content.";
    10 Concepts "concepts" "Merged concepts by id.";
    11 ConceptNames "concept_names" "Concept ids by normalised name.";
    12 ConceptContributions "concept_contributions" "What a document says of a concept.";
    13 ConceptDocuments "concept_documents" "Which documents speak of a concept.";
    14 Relations "relations" "Merged relations.";
    15 RelationContributions "relation_contributions" "What a document says of a relation.";
    16 RelationDocuments "relation_documents" "Which documents state a relation.";
    17 Spaces "spaces" "Vector spaces by id.";
    18 Parts "parts" "Parts small enough to lie in a row.";
    19 Tombstones "tombstones" "Dead chunks by segment.";
    20 Settings "settings" "Settings by name.";
    21 Items "items" "Learning items by id.";
    22 ChunkItems "chunk_items" "Which items are about a chunk.";
    23 ConceptItems "concept_items" "Which items are about a concept.";
    24 ConceptMoves "concept_moves" "What a concept counts as, by document.";
    25 ConceptSources "concept_sources" "What counts as a concept, by document.";
    26 ConceptEdits "concept_edits" "Merges and splits of concepts by id.";
    27 Digests "digests" "Digests of communities by key.";
    28 References "references" "The works that a document lists.";
    29 Citations "citations" "Where a document cites them.";
    30 Claims "claims" "What chunks of a document say of other chunks.";
    31 ClaimsOn "claims_on" "Which claims are about a chunk.";
    32 Works "works" "Cited works by id.";
    33 WorkIdentities "work_identities" "Works by what identifies them.";
    34 WorkReferences "work_references" "Which references are of a work.";
    35 DocumentIdentities "document_identities" "Documents by what identifies them.";
    36 DocumentWorks "document_works" "Which cited works a document is.";
    37 Retrievals "retrievals" "Recorded questions with their hits, by response id.";
    38 Assets "assets" "Pictures and other files within documents, by document and name.";
}

impl Table {
    /// The table's number in the format.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its place in [`Table::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize - 1
    }

    pub(crate) const fn definition(self) -> Definition {
        TableDefinition::new(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_indexes_follow_their_numbers() {
        for (slot, table) in Table::ALL.into_iter().enumerate() {
            assert_eq!(
                (table.index(), usize::from(table.number())),
                (slot, slot + 1)
            );
        }
    }
}
