//! Documents as resources: `loci://document/KEY`, the key percent-encoded, is a document's text.

use loci_protocol::call;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::DocumentKey;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

use crate::{Dispatcher, fault_text};

/// What comes before a document's key.
const SCHEME: &str = "loci://document/";
/// Bytes of a text at most.
const TEXT_LEN_MAX: usize = 256 << 10;
/// Documents of a page.
const PAGE: u32 = 100;
/// What is encoded in a key.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Where the text of a document is.
pub(super) fn uri(document: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(document, ENCODED))
}

/// The document of a resource.
fn parse_uri(uri: &str) -> Result<DocumentKey, Fault> {
    let wrong = || Fault::new(Code::NotFound, format!("{uri:?} is not {SCHEME}KEY"));
    let coded = uri.strip_prefix(SCHEME).ok_or_else(wrong)?;
    let printed = percent_decode_str(coded).decode_utf8();
    printed.map_err(|_| wrong())?.parse().map_err(|_| wrong())
}

/// A page of the documents.
pub(super) async fn list(
    dispatcher: Dispatcher,
    after: Option<String>,
) -> Result<ListResourcesResult, Fault> {
    let call = call::ListDocuments {
        collection: None,
        user: None,
        after,
        limit: PAGE,
    };
    let page = dispatcher.call(call).await?;
    let resources = page.documents.into_iter().map(|of| {
        let resource = Resource::new(uri(&of.document), of.document).with_mime_type("text/plain");
        match of.title {
            Some(title) => resource.with_title(title),
            None => resource,
        }
    });
    let mut listed = ListResourcesResult::with_all_items(resources.collect());
    listed.next_cursor = page.next;
    Ok(listed)
}

/// The form of a document's resource.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(format!("{SCHEME}{{key}}"), "document")
        .with_title("Text of a document")
        .with_description("The text of a stored document by its key, which list_documents returns")
        .with_mime_type("text/plain");
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// The text of a document.
pub(super) async fn read(dispatcher: Dispatcher, uri: &str) -> Result<ReadResourceResult, Fault> {
    let key = parse_uri(uri)?;
    let text = call::GetText { key };
    let (read_bytes, is_cut) = dispatcher.0.read_file(text.into(), TEXT_LEN_MAX).await?;
    let mut text = match std::str::from_utf8(&read_bytes) {
        Ok(text) => text.to_owned(),
        // The last character was cut.
        Err(error) => String::from_utf8_lossy(&read_bytes[..error.valid_up_to()]).into_owned(),
    };
    if is_cut {
        text.push_str("\n[cut here: read_document and read_chunk return the rest]");
    }
    Ok(ReadResourceResult::new(vec![ResourceContents::text(
        text, uri,
    )]))
}

/// A fault as an error of the protocol.
pub(super) fn error(fault: Fault) -> ErrorData {
    let why = fault_text(&fault);
    match fault.code {
        Code::NotFound => ErrorData::resource_not_found(why, None),
        Code::Invalid => ErrorData::invalid_params(why, None),
        _ => ErrorData::internal_error(why, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_key_round_trips_through_its_resource_uri() {
        for printed in ["guide/heaps.md", "ann::notes::a b%2F#ö", "a?b"] {
            let uri = uri(printed);
            assert!(uri.is_ascii() && !uri[SCHEME.len()..].contains(['/', '#', '?']));
            assert_eq!(parse_uri(&uri).unwrap(), printed.parse().unwrap());
        }
        assert_eq!(
            parse_uri("loci://document/guide/heaps.md").unwrap(),
            "guide/heaps.md".parse().unwrap()
        );
        for wrong in [
            "",
            "loci://document/",
            "file:///etc/passwd",
            "loci://document/%FF",
        ] {
            assert_eq!(parse_uri(wrong).unwrap_err().code, Code::NotFound);
        }
    }
}
