//! Faults in HTTP: a status, and `application/problem+json` (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use loci_protocol::fault::{Code, Fault};
use serde_json::{Value, json};

/// When to try again if a busy server gives no time.
const RETRY_AFTER_MS: u32 = 1_000;

/// A request that was not performed.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    /// The fault's name, which programs go by.
    code: &'static str,
    detail: String,
    after_ms: Option<u32>,
}

impl Problem {
    /// A path that leads nowhere.
    pub(crate) fn no_such_route() -> Problem {
        Problem {
            detail: "there is no such path: /openapi.json lists the paths".into(),
            ..Problem::from_status(StatusCode::NOT_FOUND)
        }
    }

    /// A problem of a status alone.
    pub(crate) fn from_status(status: StatusCode) -> Problem {
        let (code, detail) = match status {
            StatusCode::NOT_FOUND => (Code::NotFound, "there is no such thing"),
            StatusCode::METHOD_NOT_ALLOWED => (Code::Invalid, "the path has no such method"),
            StatusCode::PRECONDITION_FAILED => (
                Code::Conflict,
                "what is there is not as If-Match or If-None-Match asks",
            ),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                let why = "the body is of a kind that is not read here: send JSON, and say Content-Type: application/json";
                (Code::Invalid, why)
            }
            _ => (Code::Invalid, "the request is invalid"),
        };
        Problem {
            status,
            code: code.name(),
            detail: detail.into(),
            after_ms: None,
        }
    }

    /// An invalid request.
    pub(crate) fn invalid(why: impl Into<String>) -> Problem {
        Fault::new(Code::Invalid, why).into()
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(why: &str) -> Problem {
        Problem {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            ..Problem::invalid(why)
        }
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether another request may be performed all the same.
    pub(crate) fn is_request_error(&self) -> bool {
        matches!(
            self.status,
            StatusCode::BAD_REQUEST
                | StatusCode::FORBIDDEN
                | StatusCode::NOT_FOUND
                | StatusCode::PAYLOAD_TOO_LARGE
                | StatusCode::UNPROCESSABLE_ENTITY
        )
    }

    /// What is wrong, in words.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// The body for programs.
    pub(crate) fn to_json(&self) -> Value {
        let mut body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        if let Some(after_ms) = self.after_ms {
            body["retry_after_ms"] = after_ms.into();
        }
        body
    }
}

/// The status of a fault.
fn status(code: Code) -> StatusCode {
    match code {
        Code::Malformed | Code::Version | Code::Invalid => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Conflict | Code::ReadOnly => StatusCode::CONFLICT,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooMany => StatusCode::TOO_MANY_REQUESTS,
        Code::Overloaded | Code::Cancelled | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Deadline => StatusCode::GATEWAY_TIMEOUT,
        Code::Model => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Problem {
        let is_busy = status(fault.code) == StatusCode::SERVICE_UNAVAILABLE;
        Problem {
            status: status(fault.code),
            code: fault.code.name(),
            detail: fault.message,
            after_ms: fault.retry_after_ms.or(is_busy.then_some(RETRY_AFTER_MS)),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = (header::CONTENT_TYPE, "application/problem+json");
        let mut response = (self.status, [kind], self.to_json().to_string()).into_response();
        let headers = response.headers_mut();
        if let Some(after_ms) = self.after_ms {
            headers.insert(header::RETRY_AFTER, after_ms.div_ceil(1_000).into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
