//! What the tests of several parsers share.

use crate::parse::parse;
use loci_parsing::kind::Kind;
use loci_parsing::limits::ParseError;
use loci_parsing::tree::{BlockKind, ParsedDocument};

/// Kinds and texts of all blocks.
pub(super) fn blocks(document: &ParsedDocument) -> Vec<(BlockKind, &str)> {
    let blocks = document.blocks.iter();
    blocks
        .map(|block| (block.kind.clone(), &document.text[block.range.clone()]))
        .collect()
}

/// Every start of a file is a document or an error of its own, as is the file with each byte changed.
pub(super) fn check_cut_and_corrupted(kind: Kind, whole: &[u8]) {
    let check = |bytes: &[u8]| {
        let result = parse(kind, bytes, Some("a-b.c"));
        assert!(
            !matches!(result, Err(ParseError::Invalid { .. })),
            "{result:?}"
        );
    };
    for end in 0..=whole.len() {
        check(&whole[..end]);
    }
    for at in 0..whole.len() {
        for change in [0x01, 0x20, 0x80, 0xff] {
            let mut bytes = whole.to_vec();
            bytes[at] ^= change;
            check(&bytes);
        }
    }
}
