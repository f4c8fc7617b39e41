//! Whether the citation of a hit is correct: checked against the rows of the store, not against the hit's own parts.

use locidb::query::answer::Hit;
use locidb::storage::{ChunkKey, DocumentId, DocumentKey, Rows};
use locidb::{DatabaseSnapshot, Error};

use crate::BenchError;

/// What is true of a hit's citation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Its document's text has just the hit's text at the cited characters.
    pub is_exact: bool,
    /// Its link names a chunk of its document that has just the hit's text.
    pub resolves: bool,
}

/// Checks the citation of a hit of `view`. Costs a read of the document's text.
pub fn check(view: &DatabaseSnapshot, hit: &Hit) -> Result<Checked, BenchError> {
    let rows = view.snapshot().rows();
    Ok(Checked {
        is_exact: is_exact(rows, hit).map_err(Error::from)?,
        resolves: resolves(rows, hit).map_err(Error::from)?,
    })
}

fn is_exact(rows: &dyn Rows, hit: &Hit) -> Result<bool, locidb::storage::StoreError> {
    let Some(id) = document(rows, &hit.document)? else {
        return Ok(false);
    };
    let text = match rows.text(id)? {
        Some(text) => text,
        None => String::from_utf8_lossy(&rows.original(id)?.unwrap_or_default()).into_owned(),
    };
    Ok(at(&text, hit.citation.chars) == Some(&hit.text))
}

fn resolves(rows: &dyn Rows, hit: &Hit) -> Result<bool, locidb::storage::StoreError> {
    let Some((document, chunk)) = keys_of(&hit.citation.link) else {
        return Ok(false);
    };
    let Ok(key) = chunk.parse::<ChunkKey>() else {
        return Ok(false);
    };
    if document != hit.document || chunk != hit.chunk || key.document.to_string() != document {
        return Ok(false);
    }
    let Some((id, place)) = rows.find_chunk(&key)? else {
        return Ok(false);
    };
    let chunk = rows.chunk(id, place)?;
    Ok(chunk.is_some_and(|chunk| chunk.text == hit.text))
}

fn document(rows: &dyn Rows, key: &str) -> Result<Option<DocumentId>, locidb::storage::StoreError> {
    match key.parse::<DocumentKey>() {
        Ok(key) => rows.document_id(&key),
        Err(_) => Ok(None),
    }
}

/// Characters `from..to` of a text; `None` where it is shorter.
fn at(text: &str, (from, to): (u64, u64)) -> Option<&str> {
    let ends = text.char_indices().map(|(byte, _)| byte);
    let mut ends = ends.chain([text.len()]);
    let start = ends.nth(from.try_into().ok()?)?;
    let len = usize::try_from(to.checked_sub(from)?).ok()?;
    let end = match len {
        0 => start,
        len => ends.nth(len - 1)?,
    };
    text.get(start..end)
}

/// The keys of document and chunk in a link `/note/DOCUMENT/chunk/CHUNK`.
fn keys_of(link: &str) -> Option<(String, String)> {
    let (document, chunk) = link.strip_prefix("/note/")?.split_once("/chunk/")?;
    Some((decoded(document)?, decoded(chunk)?))
}

/// What is percent-encoded; `None` for what is not UTF-8 or cut off.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use locidb::query::cite::link;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_link_gives_back_its_keys(user in "[a-z]{0,2}", key in "\\PC{1,8}", suffix: u32) {
            let document = DocumentKey::new(user, "", key).unwrap();
            let chunk = ChunkKey { document, suffix };
            let read = keys_of(&link(&chunk)).unwrap();
            prop_assert_eq!(read, (chunk.document.to_string(), chunk.to_string()));
        }

        #[test]
        fn characters_are_cut_as_a_list_of_them_is(text in "\\PC{0,12}", from in 0u64..14, len in 0u64..14) {
            let chars: Vec<char> = text.chars().collect();
            let to = from + len;
            let want = chars.get(from as usize..to as usize);
            let want = want.map(|chars| chars.iter().collect::<String>());
            prop_assert_eq!(at(&text, (from, to)), want.as_deref());
        }
    }

    #[test]
    fn what_is_no_link_has_no_keys() {
        for wrong in [
            "/note/a",
            "/notes/a/chunk/a%230",
            "/note/a/chunk/a%2",
            "/note/%ff/chunk/a%230",
        ] {
            assert_eq!(keys_of(wrong), None, "{wrong}");
        }
        assert_eq!(at("abc", (2, 1)), None);
    }
}
