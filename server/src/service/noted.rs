//! What a server notes of calls: figures for its operator, slow calls, and who changed what.
//!
//! Names of stores and keys' ids are noted, never a question, a text or a secret.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use loci_protocol::call::Role;
use loci_protocol::fault::{Code, Fault};

use super::Caller;

/// Microseconds from which a call is slow; 0 for none.
static SLOW_US: AtomicU64 = AtomicU64::new(0);

/// Notes calls as slow that take this long; `None` for none.
pub(crate) fn slow_from(time: Option<Duration>) {
    let us = time.map_or(0, |time| time.as_micros() as u64);
    SLOW_US.store(us, Ordering::Relaxed);
}

/// Notes a call that was carried out.
pub(super) fn call(
    caller: &Caller,
    name: &'static str,
    role: Role,
    took: Duration,
    fault: Option<&Fault>,
) {
    let code = fault.map_or("ok", |fault| fault.code.name());
    metrics::counter!("loci_calls_total", "call" => name, "code" => code).increment(1);
    metrics::histogram!("loci_call_seconds", "call" => name).record(took.as_secs_f64());
    let (store, key) = (caller.store.name(), &caller.key[..]);
    let took_us = took.as_micros() as u64;
    let slow_us = SLOW_US.load(Ordering::Relaxed);
    if slow_us > 0 && took_us >= slow_us {
        tracing::warn!(target: "slow", store, key, call = name, took_us, code, "a slow call");
    }
    let is_refused = fault.is_some_and(|fault| fault.code == Code::Forbidden);
    if role >= Role::Write || is_refused {
        tracing::info!(target: "audit", store, key, call = name, code, "call");
    }
}

/// Notes a request over HTTP. `route`: the pattern of its path.
pub(crate) fn request(method: &'static str, route: &str, status: u16, took: Duration) {
    let (route, status) = (route.to_owned(), status.to_string());
    metrics::histogram!("loci_http_request_seconds", "route" => route.clone())
        .record(took.as_secs_f64());
    let labels = [
        ("method", method.to_owned()),
        ("route", route),
        ("status", status),
    ];
    metrics::counter!("loci_http_requests_total", &labels).increment(1);
}

/// Notes that somebody showed a key. `key`: its id, where it was right.
pub(crate) fn access(peer: std::net::IpAddr, route: &'static str, caller: Option<&Caller>) {
    match caller {
        Some(caller) => {
            metrics::counter!("loci_access_total", "route" => route, "code" => "ok").increment(1);
            let (store, key) = (caller.store.name(), &caller.key[..]);
            tracing::info!(target: "audit", %peer, route, store, key, "access");
        }
        None => {
            metrics::counter!("loci_access_total", "route" => route, "code" => "unauthorized")
                .increment(1);
            tracing::warn!(target: "audit", %peer, route, "no access: a wrong key, or no such store");
        }
    }
}
