//! Names in the path of a page, without their percent signs; an invalid one is shown as the caller wrote it.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use loci_protocol::fault::{Code, Fault};
use serde::de::DeserializeOwned;

use super::{layout, reader};
use crate::serve::http::{HttpState, Problem};

/// The names.
#[derive(Debug)]
pub(super) struct PagePathParams<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<HttpState> for PagePathParams<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Response> {
        let wrong = match Path::<T>::from_request_parts(parts, http).await {
            Ok(Path(names)) => return Ok(PagePathParams(names)),
            Err(wrong) => wrong,
        };
        let why = format!("the path: {}", wrong.body_text());
        let fault = Fault::new(Code::Invalid, why);
        Err(if reader::is_browser(&parts.headers) {
            layout::error_page(None, &fault)
        } else {
            Problem::from(fault).into_response()
        })
    }
}
