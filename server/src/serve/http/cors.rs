//! Pages of other origins: which may call, with what, and what they may read of the answer (the Fetch standard, CORS).
//!
//! Always true: a browser sends no credentials of its own; a page must have a key, as every caller must.

use std::time::Duration;

use axum::http::header::{
    AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LINK, RETRY_AFTER,
};
use axum::http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser need not ask again.
const MAX_AGE: Duration = Duration::from_secs(3_600);

/// Lets pages of these origins call, where there are any; `*` alone is all.
pub(super) fn layer(origins: &[String]) -> Option<CorsLayer> {
    let origin = match origins {
        [] => return None,
        [all] if all == "*" => AllowOrigin::any(),
        some => {
            let values = some.iter().map(|origin| HeaderValue::from_str(origin));
            AllowOrigin::list(values.filter_map(Result::ok))
        }
    };
    Some(
        CorsLayer::new()
            .allow_origin(origin)
            .allow_methods([
                Method::GET,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
            ])
            .allow_headers([
                AUTHORIZATION,
                CONTENT_TYPE,
                IF_MATCH,
                IF_NONE_MATCH,
                HeaderName::from_static("loci-store"),
                HeaderName::from_static("loci-timeout-ms"),
                HeaderName::from_static("mcp-protocol-version"),
                HeaderName::from_static("traceparent"),
            ])
            .expose_headers([ETAG, LINK, RETRY_AFTER])
            .max_age(MAX_AGE),
    )
}
