//! How many new connections the server takes, before anything is read from them.
//!
//! Two limits: one for each network (IPv4 /24, IPv6 /48), one for all networks together. The second counts only networks
//! that showed no right key lately, so that strangers who use it up do not shut out clients. Both are rates with a burst
//! (generic cell rate algorithm): a limit is one moment in time, which each connection moves on by the time that it costs.
//!
//! Always true: memory is bounded ([`NETWORKS_MAX`], [`CLIENTS_MAX`]), and a decision takes one lock and a few look-ups.
//!
//! Start reading at [`Arrivals::admit`].

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Networks whose connections are counted at most. Those beyond count in the limit of all alone.
const NETWORKS_MAX: usize = 16_384;
/// Networks that are remembered to have a client, at most.
const CLIENTS_MAX: usize = 4_096;
/// How long a network is remembered to have a client after its last right key.
const CLIENT_TTL: Duration = Duration::from_secs(600);
/// How often a full table is searched for networks that need no entry any more.
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);
/// Bits of an address that name its network.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 48;

/// So many new connections a second in the long run, so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// A second; 0 for no limit.
    pub(crate) per_second: u32,
    /// At once; 1 at least.
    pub(crate) burst: u32,
}

/// How many new connections are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionRateLimits {
    /// From one network.
    pub(crate) network: Rate,
    /// From all networks that showed no right key lately.
    pub(crate) all: Rate,
    /// Networks whose connections are not counted.
    pub(crate) unlimited: Vec<Network>,
}

impl Default for ConnectionRateLimits {
    fn default() -> Self {
        ConnectionRateLimits {
            network: Rate {
                per_second: 500,
                burst: 2_000,
            },
            all: Rate {
                per_second: 1_000,
                burst: 4_000,
            },
            unlimited: vec![
                Network::new(Ipv4Addr::LOCALHOST.into(), 8),
                Network::new(Ipv6Addr::LOCALHOST.into(), 128),
            ],
        }
    }
}

/// A range of addresses that begin with the same bits: `10.1.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Network {
    first: IpAddr,
    prefix: u8,
}

impl Network {
    /// That of an address, by its first `prefix` bits; all bits where it has fewer.
    pub(crate) fn new(address: IpAddr, prefix: u8) -> Network {
        let masked = |bits: u128, len: u8| {
            let kept_bits = u32::from(prefix.min(len));
            let zeros = u32::from(len) - kept_bits;
            let mask = u128::MAX.checked_shl(zeros).unwrap_or(0);
            (bits & mask, kept_bits as u8)
        };
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let (bits, prefix) = masked(address.to_bits().into(), 32);
                let first = Ipv4Addr::from_bits(bits as u32).into();
                Network { first, prefix }
            }
            IpAddr::V6(address) => {
                let (bits, prefix) = masked(address.to_bits(), 128);
                let first = Ipv6Addr::from_bits(bits).into();
                Network { first, prefix }
            }
        }
    }

    /// That which a connection counts for.
    fn from_peer(address: IpAddr) -> Network {
        let address = address.to_canonical();
        let prefix = if address.is_ipv4() {
            PREFIX_V4
        } else {
            PREFIX_V6
        };
        Network::new(address, prefix)
    }

    fn contains(&self, address: IpAddr) -> bool {
        Network::new(address, self.prefix) == *self
    }
}

/// `ADDRESS/BITS`, or an address alone.
impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Network, ()> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(drop)?;
        let len = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u8 = prefix.map_or(Ok(len), str::parse).map_err(drop)?;
        // An IPv4 address in the form of an IPv6 one has other bits than it is compared by.
        let is_plain = address == address.to_canonical();
        if prefix <= len && is_plain {
            Ok(Network::new(address, prefix))
        } else {
            Err(())
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Which limit a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExceededLimit {
    /// That of its network.
    Network,
    /// That of all networks.
    All,
}

/// What counts new connections.
#[derive(Debug)]
pub(crate) struct ConnectionRateLimiter {
    limits: ConnectionRateLimits,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the burst of each network is whole again. A network whose is has no need of an entry.
    networks: HashMap<Network, Instant>,
    /// The same of all networks.
    all: Instant,
    /// Networks that showed a right key, and when they did last.
    clients: HashMap<Network, Instant>,
    /// When `networks` was swept last.
    swept: Instant,
}

impl ConnectionRateLimiter {
    pub(crate) fn new(limits: ConnectionRateLimits) -> ConnectionRateLimiter {
        let now = Instant::now();
        let state = State {
            networks: HashMap::new(),
            all: now,
            clients: HashMap::new(),
            swept: now,
        };
        ConnectionRateLimiter {
            limits,
            state: Mutex::new(state),
        }
    }

    /// Counts a new connection.
    ///
    /// # Errors
    /// [`Refusal`] for one that is too many; it is not counted.
    pub(crate) fn admit(&self, from: IpAddr, now: Instant) -> Result<(), ExceededLimit> {
        if self.limits.unlimited.iter().any(|of| of.contains(from)) {
            return Ok(());
        }
        let network = Network::from_peer(from);
        let mut state = self.state.lock();
        let since = state.networks.get(&network).copied();
        let of_network = next_full_at(self.limits.network, since.unwrap_or(now), now);
        let of_network = of_network.ok_or(ExceededLimit::Network)?;
        if !state.is_client(&network, now) {
            state.all = next_full_at(self.limits.all, state.all, now).ok_or(ExceededLimit::All)?;
        }
        if since.is_some() || state.has_capacity(now) {
            state.networks.insert(network, of_network);
        }
        Ok(())
    }

    /// Remembers that somebody there showed a right key.
    pub(crate) fn record_valid_key(&self, from: IpAddr, now: Instant) {
        let network = Network::from_peer(from);
        let mut state = self.state.lock();
        if !state.clients.contains_key(&network) && state.clients.len() >= CLIENTS_MAX {
            let oldest = state.clients.iter().min_by_key(|(_, since)| **since);
            if let Some(oldest) = oldest.map(|(network, _)| *network) {
                state.clients.remove(&oldest);
            }
        }
        state.clients.insert(network, now);
    }
}

impl State {
    fn is_client(&self, network: &Network, now: Instant) -> bool {
        let since = self.clients.get(network);
        since.is_some_and(|since| now.saturating_duration_since(*since) < CLIENT_TTL)
    }

    /// Whether another network can be tracked.
    fn has_capacity(&mut self, now: Instant) -> bool {
        let is_full = self.networks.len() >= NETWORKS_MAX;
        if is_full && now.saturating_duration_since(self.swept) >= SWEEP_INTERVAL {
            self.swept = now;
            self.networks.retain(|_, until| *until > now);
        }
        self.networks.len() < NETWORKS_MAX
    }
}

/// When a burst is whole again after a connection at `now`, if it was to be at `whole_at` before; `None` where there is
/// nothing left of the burst.
fn next_full_at(rate: Rate, whole_at: Instant, now: Instant) -> Option<Instant> {
    if rate.per_second == 0 {
        return Some(now);
    }
    let cost = Duration::from_secs(1) / rate.per_second;
    let next = whole_at.max(now) + cost;
    (next.duration_since(now) <= cost * rate.burst.max(1)).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(network: (u32, u32), all: (u32, u32)) -> ConnectionRateLimits {
        let rate = |(per_second, burst)| Rate { per_second, burst };
        ConnectionRateLimits {
            network: rate(network),
            all: rate(all),
            unlimited: vec!["10.9.0.0/16".parse().unwrap()],
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// How many of so many connections at once are admitted.
    fn admitted(limiter: &ConnectionRateLimiter, from: &str, count: usize, now: Instant) -> usize {
        let admit = |_: &usize| limiter.admit(address(from), now).is_ok();
        (0..count).filter(admit).count()
    }

    #[test]
    fn network_is_limited_to_its_rate_after_its_burst() {
        let arrivals = ConnectionRateLimiter::new(limits((10, 5), (0, 1)));
        let now = Instant::now();
        assert_eq!(admitted(&arrivals, "192.0.2.1", 100, now), 5);
        assert_eq!(
            arrivals.admit(address("192.0.2.200"), now),
            Err(ExceededLimit::Network),
            "hosts of one network count together"
        );
        assert_eq!(admitted(&arrivals, "::ffff:192.0.2.9", 1, now), 0);
        assert_eq!(admitted(&arrivals, "192.0.3.1", 100, now), 5);
        assert_eq!(admitted(&arrivals, "2001:db8:1::1", 3, now), 3);
        assert_eq!(admitted(&arrivals, "2001:db8:1:ff::1", 100, now), 2);
        assert_eq!(admitted(&arrivals, "2001:db8:2::1", 100, now), 5);
        let later = now + Duration::from_millis(200);
        assert_eq!(admitted(&arrivals, "192.0.2.1", 100, later), 2);
        let much_later = now + Duration::from_secs(60);
        assert_eq!(admitted(&arrivals, "192.0.2.1", 100, much_later), 5);
    }

    #[test]
    fn unlimited_networks_are_not_counted() {
        let arrivals = ConnectionRateLimiter::new(limits((1, 1), (1, 1)));
        let now = Instant::now();
        assert_eq!(admitted(&arrivals, "10.9.200.1", 1_000, now), 1_000);
        assert_eq!(admitted(&arrivals, "10.8.200.1", 1_000, now), 1);
        let by_default = ConnectionRateLimiter::new(ConnectionRateLimits::default());
        for local in ["127.0.0.1", "127.200.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(admitted(&by_default, local, 10_000, now), 10_000);
        }
    }

    #[test]
    fn network_with_a_client_is_admitted_when_the_global_limit_is_exhausted() {
        let arrivals = ConnectionRateLimiter::new(limits((10, 5), (10, 8)));
        let now = Instant::now();
        arrivals.record_valid_key(address("192.0.2.7"), now);
        let strangers = (0..100).map(|n| format!("198.51.{n}.1"));
        let strangers: usize = strangers
            .map(|from| admitted(&arrivals, &from, 5, now))
            .sum();
        assert_eq!(strangers, 8);
        assert_eq!(
            arrivals.admit(address("203.0.113.1"), now),
            Err(ExceededLimit::All)
        );
        assert_eq!(admitted(&arrivals, "192.0.2.1", 100, now), 5);
        let later = now + CLIENT_TTL;
        assert_eq!(
            admitted(&arrivals, "198.51.0.1", 100, later),
            5,
            "time went by"
        );
        assert_eq!(admitted(&arrivals, "198.51.1.1", 100, later), 3);
        assert_eq!(
            arrivals.admit(address("192.0.2.1"), later),
            Err(ExceededLimit::All)
        );
    }

    #[test]
    fn rate_of_zero_means_unlimited() {
        let arrivals = ConnectionRateLimiter::new(limits((0, 1), (0, 1)));
        let now = Instant::now();
        assert_eq!(admitted(&arrivals, "192.0.2.1", 10_000, now), 10_000);
    }

    #[test]
    fn memory_is_bounded_however_many_networks_connect() {
        let arrivals = ConnectionRateLimiter::new(limits((1, 2), (0, 1)));
        let now = Instant::now();
        for n in 0..3 * NETWORKS_MAX as u32 {
            let from = IpAddr::V4(Ipv4Addr::from_bits(n << 8));
            assert!(arrivals.admit(from, now).is_ok());
            arrivals.record_valid_key(from, now);
        }
        let state = arrivals.state.lock();
        assert_eq!(state.networks.len(), NETWORKS_MAX);
        assert_eq!(state.clients.len(), CLIENTS_MAX);
        drop(state);
        // Once those are over, others find room.
        let later = now + Duration::from_secs(5);
        assert!(arrivals.admit(address("203.0.113.1"), later).is_ok());
        assert_eq!(arrivals.state.lock().networks.len(), 1);
    }

    #[test]
    fn networks_display_as_address_and_prefix_length() {
        for (text, expected) in [
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("::1", Some("::1/128")),
            ("2001:db8:1:2::/48", Some("2001:db8:1::/48")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("::/0", Some("::/0")),
            ("10.0.0.0/33", None),
            ("::ffff:10.0.0.1", None),
            ("10.0.0.0/-1", None),
            ("10.0.0.0/8/8", None),
            ("example.org", None),
            ("", None),
        ] {
            let network = text.parse::<Network>().ok().map(|of| of.to_string());
            assert_eq!(network.as_deref(), expected, "{text}");
        }
    }
}
