//! What requests say, checked, and how answers are told: parameters, keys, bodies; marks of states.

use std::str::FromStr;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::keys::KeyError;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::task::block_in_place;

use crate::serve::http::access::AuthenticatedRequest;
use crate::serve::http::body::JSON_LEN_MAX;
use crate::serve::http::{HttpState, Problem};
use crate::service::fault_of;

/// How much more memory a body takes once it is parsed.
const PARSED_FACTOR: usize = 32;
/// Bytes that are parsed or hashed at once, at most.
const INLINE_LEN_MAX: usize = 64 << 10;
/// Bytes of a hash in an entity tag.
const ETAG_LEN: usize = 16;
/// Bytes of an answer that gets a mark, at most.
const ETAG_BODY_LEN_MAX: usize = 16 << 20;
/// How answers are encoded.
const ENCODINGS: [&str; 1] = ["gzip"];

/// The parameters of a query.
#[derive(Debug)]
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<HttpState> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Problem> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        let wrong = |error: axum::extract::rejection::QueryRejection| {
            Problem::invalid(format!("the query: {}", error.body_text()))
        };
        query
            .map(|Query(params)| QueryParams(params))
            .map_err(wrong)
    }
}

/// The parts of a path, without their percent signs.
#[derive(Debug)]
pub(super) struct PathParams<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<HttpState> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let path = Path::<T>::from_request_parts(parts, http).await;
        let wrong = |error: axum::extract::rejection::PathRejection| {
            Problem::invalid(format!("the path: {}", error.body_text()))
        };
        path.map(|Path(names)| PathParams(names)).map_err(wrong)
    }
}

/// A key of a document or chunk as a path or query has it.
pub(super) fn parse_key<K: FromStr<Err = KeyError>>(text: &str) -> Result<K, Problem> {
    text.parse()
        .map_err(|error: KeyError| fault_of(error.into()).into())
}

/// What a request carries behind its head.
#[derive(Debug)]
pub(super) struct RequestBody {
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

impl<S: Sync> FromRequest<S> for RequestBody {
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, _: &S) -> Result<RequestBody, Self::Rejection> {
        let (parts, body) = request.into_parts();
        Ok(RequestBody {
            headers: parts.headers,
            body,
        })
    }
}

impl RequestBody {
    /// The kind of the body, without parameters.
    pub(super) fn content_type(&self) -> &str {
        let kind = self.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim()
    }

    /// Whether the body is a form with files.
    pub(super) fn is_form(&self) -> bool {
        self.content_type()
            .eq_ignore_ascii_case("multipart/form-data")
    }

    /// The body as JSON of this shape.
    pub(super) async fn json<T: DeserializeOwned>(
        self,
        auth: &AuthenticatedRequest,
    ) -> Result<T, Problem> {
        let kind = self.content_type();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Problem::from_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let most = auth.body_len_max(JSON_LEN_MAX);
        let mut read = auth.http.read(self.body, most).await?;
        // Values of small parts take many times the bytes that they are written in.
        auth.http.grow_permit(&mut read, PARSED_FACTOR)?;
        let parse = |bytes: &[u8]| {
            let parsed = serde_json::from_slice(bytes);
            parsed.map_err(|error| Problem::invalid(format!("the body: {error}")))
        };
        if read.bytes.len() <= INLINE_LEN_MAX {
            return parse(&read.bytes);
        }
        // Long ones do not hold up those that the same thread serves.
        block_in_place(|| parse(&read.bytes))
    }
}

/// The entity tag of an answer: its hash.
pub(super) fn etag(content: &[u8]) -> String {
    let hash = if content.len() > INLINE_LEN_MAX {
        // Long ones do not hold up those that the same thread serves.
        block_in_place(|| Sha256::digest(content))
    } else {
        Sha256::digest(content)
    };
    let hash = hash.get(..ETAG_LEN).unwrap_or_default();
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(hash))
}

/// How marks are compared (RFC 9110, 8.8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EtagComparison {
    /// For `If-Match`: a weak mark is no state's.
    Strong,
    /// For `If-None-Match`.
    Weak,
}

/// The mark that is this state's among those of a field (RFC 9110, 13.1), as it stands there: whole, or of the answer as it
/// was encoded.
pub(super) fn find_etag<'l>(
    headers: &'l HeaderMap,
    field: HeaderName,
    mark: &'l str,
    compared: EtagComparison,
) -> Option<&'l str> {
    let lines = headers.get_all(field).into_iter();
    let mut marks = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(',').map(str::trim));
    let found = marks.find(|of| {
        let strong = match compared {
            EtagComparison::Strong => of,
            EtagComparison::Weak => of.strip_prefix("W/").unwrap_or(of),
        };
        let is_encoded = |encoding: &&str| strong == encoded_etag(mark, encoding);
        *of == "*" || strong == mark || ENCODINGS.iter().any(is_encoded)
    })?;
    Some(if found == "*" { mark } else { found })
}

/// The mark of an answer whose bytes are encoded.
fn encoded_etag(mark: &str, encoding: &str) -> String {
    format!("{}-{encoding}\"", mark.trim_end_matches('"'))
}

/// Gives an answer that is encoded a mark of its own: other bytes have another mark.
pub(crate) async fn add_encoding_to_etag(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers();
    let (mark, encoding) = (headers.get(ETAG), headers.get(CONTENT_ENCODING));
    if let (Some(mark), Some(encoding)) = (mark, encoding)
        && let (Ok(mark), Ok(encoding)) = (mark.to_str(), encoding.to_str())
        && let Ok(mark) = HeaderValue::from_str(&encoded_etag(mark, encoding))
    {
        response.headers_mut().insert(ETAG, mark);
    }
    response
}

/// Marks what is looked at, and leaves out what the other side has already.
pub(super) async fn conditional(request: Request, next: Next) -> Response {
    let is_look = request.method() == Method::GET || request.method() == Method::HEAD;
    let request_headers = request.headers().clone();
    let response = next.run(request).await;
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json");
    if !is_look || !is_json || response.status() != StatusCode::OK {
        return response;
    }
    let len = response.body().size_hint().exact();
    if len.is_none_or(|len| len > ETAG_BODY_LEN_MAX as u64) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, ETAG_BODY_LEN_MAX).await else {
        let why = "the answer broke off";
        return Problem::from(Fault::new(Code::Internal, why)).into_response();
    };
    let mark = etag(&bytes);
    if let Ok(value) = HeaderValue::from_str(&mark) {
        parts.headers.insert(ETAG, value);
    }
    let cached = HeaderValue::from_static("private, no-cache");
    parts.headers.insert(header::CACHE_CONTROL, cached);
    if let Some(known) = find_etag(&request_headers, IF_NONE_MATCH, &mark, EtagComparison::Weak) {
        let known = known.strip_prefix("W/").unwrap_or(known);
        if let Ok(known) = HeaderValue::from_str(known) {
            parts.headers.insert(ETAG, known);
        }
        // As the whole answer has it.
        let by = HeaderValue::from_static("accept-encoding");
        parts.headers.insert(header::VARY, by);
        parts.headers.remove(CONTENT_TYPE);
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.status = StatusCode::NOT_MODIFIED;
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

#[cfg(test)]
mod tests {
    use axum::http::header::IF_MATCH;

    use super::*;

    #[test]
    fn etag_is_found_in_a_header_list() {
        let mark = etag(b"state");
        let gzipped = encoded_etag(&mark, "gzip");
        for (list, weakly, strongly) in [
            (mark.clone(), true, true),
            (format!("\"x\", {mark}"), true, true),
            (format!("\"x\", W/{mark}"), true, false),
            (gzipped.clone(), true, true),
            (format!("W/{gzipped}"), true, false),
            ("*".into(), true, true),
            ("W/*".into(), false, false),
            (encoded_etag(&mark, "x"), false, false),
            ("\"x\"".into(), false, false),
            (String::new(), false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(IF_MATCH, HeaderValue::from_static("\"other\""));
            headers.append(IF_MATCH, HeaderValue::from_str(&list).unwrap());
            let found = |compared| find_etag(&headers, IF_MATCH, &mark, compared).is_some();
            assert_eq!(found(EtagComparison::Weak), weakly, "{list:?}");
            assert_eq!(found(EtagComparison::Strong), strongly, "{list:?}");
        }
    }
}
