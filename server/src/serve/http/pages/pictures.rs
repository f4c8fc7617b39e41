//! `/picture/{document}/{name}`: a picture within a document, for the reader.
//!
//! Pictures of pixels are shown, told by their first bytes and not by their name. Everything else, drawings (SVG) and
//! HTML above all, is handed out as a file to be stored.

use std::io;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use loci_protocol::call::GetAsset;
use loci_protocol::fault::{Code, Fault};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::fields::percent_encode;
use super::layout;
use super::path_params::PagePathParams;
use super::principal::Principal;
use super::reader::document_key;
use crate::serve::http::guard::POLICY;
use crate::serve::http::{HttpState, PendingCall};
use crate::service::StreamItem;

/// Parts of a file that wait for the browser.
const PARTS_MAX: usize = 2;

/// Its route.
pub(super) fn router() -> Router<HttpState> {
    Router::new().route("/picture/{document}/{name}", get(picture))
}

async fn picture(
    principal: Principal,
    PagePathParams((document, name)): PagePathParams<(String, String)>,
) -> Response {
    match open_asset(&principal, &document, &name).await {
        Ok((first, rest)) => asset_response(&name, first, rest),
        Err(fault) => layout::error_page(Some(&principal), &fault),
    }
}

/// The first part of a file, and what brings the others.
async fn open_asset(
    principal: &Principal,
    document: &str,
    name: &str,
) -> Result<(Vec<u8>, PendingCall), Fault> {
    let key = document_key(document)?;
    let mut call = principal.auth().begin(GetAsset {
        key,
        name: name.to_owned(),
    })?;
    match call.next_item().await {
        Some(StreamItem::Bytes(first)) => Ok((first, call)),
        _ => {
            call.output().await?;
            Err(Fault::new(Code::NotFound, "the file is empty"))
        }
    }
}

fn asset_response(name: &str, first: Vec<u8>, rest: PendingCall) -> Response {
    let kind = image_type(&first);
    let disposition = match kind {
        Some(_) => "inline".to_owned(),
        None => {
            let plain = name.rsplit(['/', '\\']).next().unwrap_or_default();
            format!("attachment; filename*=UTF-8''{}", percent_encode(plain))
        }
    };
    let mut headers = HeaderMap::new();
    let kind = kind.unwrap_or("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    if let Ok(disposition) = HeaderValue::try_from(disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    (headers, stream_body(first, rest)).into_response()
}

/// The kind of a picture that a browser may show, by its first bytes.
fn image_type(first: &[u8]) -> Option<&'static str> {
    match first {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

/// The parts of a file as they come, no faster than the browser takes them.
fn stream_body(first: Vec<u8>, mut rest: PendingCall) -> Body {
    let (send, parts) = mpsc::channel::<io::Result<Vec<u8>>>(PARTS_MAX);
    tokio::spawn(async move {
        let mut part = first;
        loop {
            // The browser is gone: dropping `rest` cancels the call.
            if send.send(Ok(part)).await.is_err() {
                return;
            }
            match rest.next_item().await {
                Some(StreamItem::Bytes(next)) => part = next,
                _ => break,
            }
        }
        if rest.output().await.is_err() {
            let broken = io::Error::other("the file could not be read to its end");
            let _ = send.send(Err(broken)).await;
        }
    });
    Body::from_stream(ReceiverStream::new(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_raster_images_are_served_inline() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"\x89PNG\r\n\x1a\nrest", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBP", Some("image/webp")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
            (b"<script>", None),
            (b"", None),
        ];
        for (bytes, want) in cases {
            assert_eq!(image_type(bytes), want, "{bytes:?}");
        }
    }
}
