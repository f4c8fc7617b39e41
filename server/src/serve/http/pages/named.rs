//! Names in the path of a page, without their percent signs; one that is wrong is told as the caller reads it.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use loci_protocol::fault::{Code, Fault};
use serde::de::DeserializeOwned;

use super::{frame, reader};
use crate::serve::http::{Http, Problem};

/// The names.
#[derive(Debug)]
pub(super) struct Named<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Http> for Named<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Response> {
        let wrong = match Path::<T>::from_request_parts(parts, http).await {
            Ok(Path(names)) => return Ok(Named(names)),
            Err(wrong) => wrong,
        };
        let why = format!("the path: {}", wrong.body_text());
        let fault = Fault::new(Code::Invalid, why);
        Err(if reader::is_browser(&parts.headers) {
            frame::failed(None, &fault)
        } else {
            Problem::from(fault).into_response()
        })
    }
}
