//! Contents of rows: documents, chunks, contributions, citations, learning items, recorded answers.
//!
//! Records are archived by rkyv (little-endian, unaligned) and read in place. A field is added at
//! the end of its record and with a new format version only: `docs/format.md` lists them.
//!
//! Character positions count Unicode scalar values from the start of the document's *text*: the
//! file itself for text, Markdown and code; the text that the parser extracts from HTML and PDF, which
//! is then stored beside the original bytes. `text[chars]` is always exactly the chunk's text.
//!
//! Start reading at [`DocumentRecord`] and [`ChunkRecord`].

/// A struct stored in rows: archived, and as JSON for people. Only for this workspace.
#[doc(hidden)]
#[macro_export]
macro_rules! record {
    ($record:item) => {
        #[derive(
            rkyv::Archive,
            rkyv::Serialize,
            rkyv::Deserialize,
            serde::Serialize,
            serde::Deserialize,
            Clone,
            Debug,
            PartialEq,
        )]
        $record
    };
}

/// An enum stored in rows: `Variant = number in the format, "name in filters and JSON";`. Numbers
/// count from 0 in the order of the variants.
macro_rules! stored_enum {
    (
        $(#[$of_enum:meta])*
        pub enum $Enum:ident {
            $($(#[$of_variant:meta])* $Variant:ident = $number:literal, $name:literal;)*
        }
    ) => {
        $(#[$of_enum])*
        #[derive(
            rkyv::Archive,
            rkyv::Serialize,
            rkyv::Deserialize,
            serde::Serialize,
            serde::Deserialize,
            Clone,
            Copy,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
        )]
        #[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
        #[repr(u8)]
        pub enum $Enum {
            $($(#[$of_variant])* #[serde(rename = $name)] $Variant = $number,)*
        }

        impl $Enum {
            /// All values, by number.
            pub const ALL: &'static [$Enum] = &[$($Enum::$Variant),*];

            /// The names of all values, by number.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The value with this number in the format.
            pub fn from_number(number: u8) -> Option<$Enum> {
                Self::ALL.get(usize::from(number)).copied()
            }

            /// The name that filters and JSON use.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Enum::$Variant => $name,)*
                }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<$Enum> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

mod chunk;
mod citation;
mod document;
mod graph;
mod hex;
mod item;
mod retrieval;

pub use chunk::*;
pub use citation::*;
pub use document::*;
pub use graph::*;
pub use item::*;
pub use retrieval::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_give_back_their_value() {
        macro_rules! check {
            ($($Enum:ident)*) => {$(
                for (number, &value) in (0u8..).zip($Enum::ALL) {
                    assert_eq!(value as u8, number);
                    assert_eq!($Enum::from_number(number), Some(value));
                    assert_eq!($Enum::from_name(value.name()), Some(value));
                    assert_eq!($Enum::NAMES[usize::from(number)], value.name());
                    let json = serde_json::to_string(&value).unwrap();
                    assert_eq!(json, format!("{:?}", value.name()));
                }
                assert_eq!($Enum::from_number($Enum::ALL.len() as u8), None);
            )*};
        }
        check! {
            Level ContentType ChunkType SectionType SentenceType PropositionType FileType
            RetrievalMode EmbedLevels Intent ItemType Difficulty Feedback
        }
    }
}
