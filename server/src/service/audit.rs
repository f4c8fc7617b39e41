//! What a server records of calls: metrics, slow calls, and who changed what.
//!
//! Names of stores and ids of keys are recorded, never a question, a text or a secret. Events that anyone can cause are
//! logged at a limited rate: see [`AccessLogLimiter`].

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use loci_protocol::call::Role;
use loci_protocol::fault::{Code, Fault};
use parking_lot::Mutex;

use super::Caller;
use crate::access::connection_rate::ExceededLimit;

/// How long a key over HTTP is not logged again for the same address.
const ACCESS_LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Keys and addresses that are remembered at most.
const ACCESS_LOG_KEYS_MAX: usize = 4_096;
/// Wrong keys that are logged in a second at most.
const WRONG_KEYS_PER_SECOND_MAX: u32 = 20;

/// Microseconds from which a call is slow; 0 for none.
static SLOW_US: AtomicU64 = AtomicU64::new(0);

/// Logs calls as slow that take this long; `None` for none.
pub(crate) fn set_slow_threshold(time: Option<Duration>) {
    let us = time.map_or(0, |time| time.as_micros() as u64);
    SLOW_US.store(us, Ordering::Relaxed);
}

/// Records a call that was performed.
pub(crate) fn record_call(
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

/// Records a request over HTTP. `route`: the pattern of its path.
pub(crate) fn record_request(method: &'static str, route: &str, status: u16, took: Duration) {
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

/// Which accesses are told of: over HTTP, where a connection may be made for each request, a key from one address once in
/// [`TOLD_FOR`]; wrong keys always, but [`WRONG_MAX`] in a second.
#[derive(Debug, Default)]
struct AccessLogLimiter {
    /// Address, store and key, and when that was logged.
    logged_at: HashMap<(IpAddr, String, String), Instant>,
    /// When the second began in which wrong keys are counted, and how many were logged in it.
    wrong_keys: Option<(Instant, u32)>,
    /// Wrong keys that were not logged since the last that was.
    suppressed: u64,
}

static ACCESSES: LazyLock<Mutex<AccessLogLimiter>> = LazyLock::new(Mutex::default);

impl AccessLogLimiter {
    /// Whether a valid key is logged now.
    fn should_log(&mut self, peer: IpAddr, store: &str, key: &str, now: Instant) -> bool {
        let who = (peer, store.to_owned(), key.to_owned());
        let is_late = |at: &Instant| now.duration_since(*at) >= ACCESS_LOG_INTERVAL;
        if self.logged_at.get(&who).is_some_and(|at| !is_late(at)) {
            return false;
        }
        if self.logged_at.len() >= ACCESS_LOG_KEYS_MAX {
            self.logged_at.retain(|_, at| !is_late(at));
        }
        if self.logged_at.len() >= ACCESS_LOG_KEYS_MAX {
            // Better logged twice than not at all.
            self.logged_at.clear();
        }
        self.logged_at.insert(who, now);
        true
    }

    /// Whether a wrong key is logged now: then with how many before it were not.
    fn should_log_wrong_key(&mut self, now: Instant) -> Option<u64> {
        let (since, count) = self.wrong_keys.get_or_insert((now, 0));
        if now.duration_since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        if *count >= WRONG_KEYS_PER_SECOND_MAX {
            self.suppressed += 1;
            return None;
        }
        *count += 1;
        Some(std::mem::take(&mut self.suppressed))
    }
}

/// How often the log says that connections are refused.
const REFUSED_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Connections that were refused since the log said so.
#[derive(Debug, Default)]
struct RefusedConnections {
    logged: Option<Instant>,
    count: u64,
}

static REFUSED: LazyLock<Mutex<RefusedConnections>> = LazyLock::new(Mutex::default);

impl RefusedConnections {
    /// Counts one; where it is time for a line in the log, how many it is about.
    fn record(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        let is_late = |at: Instant| now.duration_since(at) >= REFUSED_LOG_INTERVAL;
        if !self.logged.is_none_or(is_late) {
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

/// Records a new connection over a limit: all in metrics, few in the log.
pub(crate) fn record_refused_connection(peer: IpAddr, port: &'static str, limit: ExceededLimit) {
    let limit = match limit {
        ExceededLimit::Network => "network",
        ExceededLimit::All => "all",
    };
    metrics::counter!("loci_connections_refused_total", "port" => port, "limit" => limit)
        .increment(1);
    let logged = REFUSED.lock().record(Instant::now());
    if let Some(count) = logged {
        tracing::warn!(%peer, port, limit, count, "new connections are refused: too many in a second");
    }
}

/// Records that a key was presented. `caller`: whose key it is, if it is valid.
pub(crate) fn record_access(peer: IpAddr, route: &'static str, caller: Option<&Caller>) {
    let code = caller.map_or("unauthorized", |_| "ok");
    metrics::counter!("loci_access_total", "route" => route, "code" => code).increment(1);
    let now = Instant::now();
    match caller {
        Some(caller) => {
            let (store, key) = (caller.store.name(), &caller.key[..]);
            if route != "http" || ACCESSES.lock().should_log(peer, store, key, now) {
                tracing::info!(target: "audit", %peer, route, store, key, "access");
            }
        }
        None => {
            let suppressed = ACCESSES.lock().should_log_wrong_key(now);
            if let Some(left_out) = suppressed {
                tracing::warn!(target: "audit", %peer, route, left_out, "no access: a wrong key, or no such store");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_connections_are_logged_once_in_ten_seconds_with_a_count() {
        let (mut refused, now) = (RefusedConnections::default(), Instant::now());
        assert_eq!(refused.record(now), Some(1));
        for _ in 0..1_000 {
            assert_eq!(refused.record(now + Duration::from_secs(9)), None);
        }
        assert_eq!(refused.record(now + REFUSED_LOG_INTERVAL), Some(1_001));
        assert_eq!(refused.record(now + REFUSED_LOG_INTERVAL), None);
    }

    #[test]
    fn key_access_is_logged_once_a_minute_per_address() {
        let (mut accesses, now) = (AccessLogLimiter::default(), Instant::now());
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for _ in 0..3 {
            let first = accesses.logged_at.is_empty();
            assert_eq!(accesses.should_log(one, "notes", "a", now), first);
        }
        assert!(accesses.should_log(other, "notes", "a", now));
        assert!(accesses.should_log(one, "notes", "b", now));
        assert!(accesses.should_log(one, "papers", "a", now));
        assert!(accesses.should_log(one, "notes", "a", now + ACCESS_LOG_INTERVAL));
        assert!(!accesses.should_log(one, "notes", "a", now + ACCESS_LOG_INTERVAL));
    }

    #[test]
    fn access_log_memory_is_bounded() {
        let (mut accesses, now) = (AccessLogLimiter::default(), Instant::now());
        for n in 0..3 * ACCESS_LOG_KEYS_MAX as u32 {
            assert!(accesses.should_log(IpAddr::V4(n.into()), "notes", "a", now));
        }
        assert!(accesses.logged_at.len() <= ACCESS_LOG_KEYS_MAX);
    }

    #[test]
    fn wrong_keys_are_logged_at_a_limited_rate_with_a_count_of_the_rest() {
        let (mut accesses, now) = (AccessLogLimiter::default(), Instant::now());
        let logged = (0..WRONG_KEYS_PER_SECOND_MAX + 30)
            .filter(|_| accesses.should_log_wrong_key(now) == Some(0));
        assert_eq!(logged.count() as u32, WRONG_KEYS_PER_SECOND_MAX);
        let later = now + Duration::from_secs(1);
        assert_eq!(accesses.should_log_wrong_key(later), Some(30));
        assert_eq!(accesses.should_log_wrong_key(later), Some(0));
    }
}
