//! How often a key may call, and how long who fails must wait.
//!
//! Start reading at [`Pace`] and [`BackOff`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

/// Milliseconds that the first failure costs.
const DELAY_MIN_MS: u64 = 100;
/// Milliseconds that a failure costs at most.
const DELAY_MAX_MS: u64 = 5_000;
/// How long an address is remembered after its last failure.
const FAILURE_TTL: Duration = Duration::from_secs(600);
/// Addresses that are remembered at most.
const ADDRESSES_MAX: usize = 4_096;

/// How often one key may call: so many calls a second in the long run, so many at once (generic cell rate algorithm).
#[derive(Debug)]
pub(crate) struct KeyRateLimiter {
    limiter: DefaultDirectRateLimiter,
}

impl KeyRateLimiter {
    /// `None` where calls are not limited.
    pub(crate) fn new(calls_per_second: Option<u32>, burst: Option<u32>) -> Option<KeyRateLimiter> {
        let rate = NonZeroU32::new(calls_per_second?)?;
        let burst = burst.and_then(NonZeroU32::new).unwrap_or(rate);
        let quota = Quota::per_second(rate).allow_burst(burst);
        Some(KeyRateLimiter {
            limiter: RateLimiter::direct(quota),
        })
    }

    /// Counts a call; or fails with the milliseconds until the next one is allowed.
    pub(crate) fn check(&self) -> Result<(), u32> {
        self.limiter.check().map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            u32::try_from(wait.as_millis()).unwrap_or(u32::MAX).max(1)
        })
    }
}

/// Addresses with wrong keys: each further failure of one doubles its delay.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
}

impl BackOff {
    /// Records a failure, and returns how long its answer is delayed.
    pub(crate) fn record_failure(&self, address: IpAddr, now: Instant) -> Duration {
        let mut failures = self.failures.lock();
        let address = client_network(address);
        if !failures.contains_key(&address) && failures.len() >= ADDRESSES_MAX {
            evict_failures(&mut failures, now);
        }
        let (count, last) = failures.entry(address).or_insert((0, now));
        if now.duration_since(*last) >= FAILURE_TTL {
            *count = 0;
        }
        *last = now;
        *count = count.saturating_add(1);
        let doubled = 1u64.checked_shl(*count - 1).unwrap_or(DELAY_MAX_MS);
        Duration::from_millis(DELAY_MIN_MS.saturating_mul(doubled).min(DELAY_MAX_MS))
    }

    /// Notes that somebody there has a key.
    pub(crate) fn record_success(&self, address: IpAddr) {
        self.failures.lock().remove(&client_network(address));
    }
}

/// Removes addresses whose time is over, or else the half that failed longest ago.
fn evict_failures(failures: &mut HashMap<IpAddr, (u32, Instant)>, now: Instant) {
    failures.retain(|_, (_, last)| now.duration_since(*last) < FAILURE_TTL);
    if failures.len() < ADDRESSES_MAX {
        return;
    }
    let mut times: Vec<Instant> = failures.values().map(|(_, last)| *last).collect();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let median = *median;
    failures.retain(|_, (_, last)| *last > median);
}

/// The address, or for IPv6 the network of 64 bits that one host is given.
fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_over_its_rate_limit_gets_a_retry_delay() {
        let pace = KeyRateLimiter::new(Some(2), Some(3)).unwrap();
        for _ in 0..3 {
            pace.check().unwrap();
        }
        let wait = pace.check().unwrap_err();
        assert!((1..=500).contains(&wait), "{wait}");
        assert!(KeyRateLimiter::new(None, Some(3)).is_none());
    }

    #[test]
    fn delay_doubles_with_each_failure_until_a_valid_key() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        let address = IpAddr::from([10, 0, 0, 1]);
        let waits = (0..9).map(|_| back_off.record_failure(address, now).as_millis());
        let waits: Vec<u128> = waits.collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(
            back_off
                .record_failure(IpAddr::from([10, 0, 0, 2]), now)
                .as_millis(),
            100
        );
        for _ in 0..100 {
            assert_eq!(back_off.record_failure(address, now).as_millis(), 5000);
        }
        back_off.record_success(address);
        assert_eq!(back_off.record_failure(address, now).as_millis(), 100);
        let later = now + FAILURE_TTL;
        assert_eq!(back_off.record_failure(address, later).as_millis(), 100);
    }

    #[test]
    fn hosts_of_one_ipv6_network_share_a_failure_count() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        let host = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, n]);
        back_off.record_failure(host(1), now);
        assert_eq!(back_off.record_failure(host(2), now).as_millis(), 200);
        let mapped: IpAddr = "::ffff:10.0.0.9".parse().unwrap();
        back_off.record_failure(mapped, now);
        assert_eq!(
            back_off
                .record_failure(IpAddr::from([10, 0, 0, 9]), now)
                .as_millis(),
            200
        );
    }

    #[test]
    fn remembered_addresses_are_bounded() {
        let (back_off, now) = (BackOff::default(), Instant::now());
        for n in 0..3 * ADDRESSES_MAX as u32 {
            let at = now + Duration::from_micros(u64::from(n));
            back_off.record_failure(IpAddr::V4(n.into()), at);
        }
        assert!(back_off.failures.lock().len() <= ADDRESSES_MAX);
    }
}
