//! Where a server is, and as whom to call it: `loci://KEY@HOST:PORT/STORE`.

use std::fmt;
use std::str::FromStr;

/// The port of `loci serve`, by default.
const PORT: u16 = 7625;

/// Where a server is. `loci://` speaks plainly, `locis://` over TLS; the key, the port (7625) and the store (the one that
/// the key is of) may be left out.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Name or number of the machine.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// The key, or empty.
    pub key: String,
    /// The store, or empty.
    pub store: String,
}

/// Everything but the key.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "locis" } else { "loci" };
        write!(f, "{scheme}://{}:{}/{}", self.host, self.port, self.store)
    }
}

/// Why text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is no address of a server ({0}): write loci://KEY@HOST:PORT/STORE, or locis:// for TLS"
)]
pub struct AddressError(&'static str);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let (tls, rest) = match (text.strip_prefix("loci://"), text.strip_prefix("locis://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(AddressError("it begins otherwise")),
        };
        let (key, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (authority, store) = rest.split_once('/').unwrap_or((rest, ""));
        // Brackets stand around numbers that have colons themselves.
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest
                    .split_once(']')
                    .ok_or(AddressError("a bracket is open"))?;
                (
                    host,
                    after.strip_prefix(':').or(after.is_empty().then_some("")),
                )
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, Some("")),
            },
        };
        let port = match port {
            Some("") => PORT,
            Some(port) => port
                .parse()
                .map_err(|_| AddressError("the port is no number"))?,
            None => return Err(AddressError("something follows the bracket")),
        };
        if host.is_empty() {
            return Err(AddressError("there is no host"));
        }
        Ok(Address {
            host: host.to_owned(),
            port,
            tls,
            key: key.to_owned(),
            store: store.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_address_parts_have_defaults() {
        let whole: Address = "locis://loci_1_a@db.example:99/notes".parse().unwrap();
        assert_eq!(
            (&whole.host[..], whole.port, whole.tls),
            ("db.example", 99, true)
        );
        assert_eq!((&whole.key[..], &whole.store[..]), ("loci_1_a", "notes"));
        let short: Address = "loci://localhost".parse().unwrap();
        assert_eq!((short.port, short.tls, &short.key[..]), (PORT, false, ""));
        let six: Address = "loci://k@[::1]:8/s".parse().unwrap();
        assert_eq!((&six.host[..], six.port), ("::1", 8));
        assert_eq!("loci://[::1]".parse::<Address>().unwrap().port, PORT);
        assert!(!format!("{whole:?}").contains("loci_1_a"));
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        for wrong in [
            "",
            "http://x",
            "loci://",
            "loci://:7",
            "loci://h:x",
            "loci://[::1",
            "loci://[::1]x",
            "loci://h:70000",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
