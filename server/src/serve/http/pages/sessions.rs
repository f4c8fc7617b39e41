//! Who signed in: what a browser keeps in place of a key, which other programs of the same machine may be sent as well.
//!
//! Always true: a token is random, and known here by its hash alone; it counts for pages, while its key does, until it is
//! given up, for [`KEPT`] at most. Keys are kept in memory alone, as long as their tokens. There are [`TOKENS_MAX`] at most, of a key [`TOKENS_OF_KEY_MAX`]. They end with the
//! process.
//!
//! Start reading at [`Sessions::begin`].

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use loci_protocol::fault::Fault;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::service::internal;

/// How long a token counts: 30 days.
pub(super) const SESSION_TTL: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Tokens at most; then the oldest is forgotten.
const TOKENS_MAX: usize = 16_384;
/// Tokens of one key at most; then its oldest is forgotten.
const TOKENS_OF_KEY_MAX: usize = 64;
/// Random bytes of a token.
const TOKEN_LEN: usize = 32;

type Hash = [u8; 32];

/// The tokens of a server.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<Hash, Session>>);

struct Session {
    key: String,
    since: Instant,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Sessions {
    /// A token for this key, which was checked.
    ///
    /// # Errors
    /// When the system gives nothing random.
    pub(super) fn begin(&self, key: &str) -> Result<String, Fault> {
        let mut bytes = [0; TOKEN_LEN];
        getrandom::fill(&mut bytes).map_err(|error| internal(&error))?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let mut sessions = self.0.lock();
        sessions.retain(|_, session| session.since.elapsed() < SESSION_TTL);
        if sessions.values().filter(|of| of.key == key).count() >= TOKENS_OF_KEY_MAX {
            forget_oldest(&mut sessions, |session| session.key == key);
        }
        if sessions.len() >= TOKENS_MAX {
            forget_oldest(&mut sessions, |_| true);
        }
        let session = Session {
            key: key.to_owned(),
            since: Instant::now(),
        };
        sessions.insert(hash(&token), session);
        Ok(token)
    }

    /// The key of a token that counts.
    pub(super) fn key(&self, token: &str) -> Option<String> {
        let sessions = self.0.lock();
        let session = sessions.get(&hash(token))?;
        (session.since.elapsed() < SESSION_TTL).then(|| session.key.clone())
    }

    /// Lets a token count no more.
    pub(super) fn end(&self, token: &str) {
        self.0.lock().remove(&hash(token));
    }
}

fn hash(token: &str) -> Hash {
    Sha256::digest(token).into()
}

fn forget_oldest(sessions: &mut HashMap<Hash, Session>, of: impl Fn(&Session) -> bool) {
    let among = sessions.iter().filter(|(_, session)| of(session));
    let oldest = among.min_by_key(|(_, session)| session.since);
    let oldest = oldest.map(|(hash, _)| *hash);
    oldest.and_then(|oldest| sessions.remove(&oldest));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_token_is_valid_until_sign_out() {
        let sessions = Sessions::default();
        let (one, other) = (sessions.begin("k").unwrap(), sessions.begin("k").unwrap());
        assert_ne!(one, other);
        assert_eq!(sessions.key(&one).as_deref(), Some("k"));
        assert_eq!(sessions.key("k"), None);
        sessions.end(&one);
        assert_eq!(sessions.key(&one), None);
        assert_eq!(sessions.key(&other).as_deref(), Some("k"));
    }

    #[test]
    fn repeated_sign_ins_evict_only_tokens_of_the_same_key() {
        let sessions = Sessions::default();
        let other = sessions.begin("other").unwrap();
        let first = sessions.begin("k").unwrap();
        let last = (0..TOKENS_OF_KEY_MAX).map(|_| sessions.begin("k").unwrap());
        let last = last.last().unwrap();
        assert_eq!(sessions.key(&first), None);
        assert!(sessions.key(&last).is_some());
        assert!(sessions.key(&other).is_some());
        assert_eq!(sessions.0.lock().len(), TOKENS_OF_KEY_MAX + 1);
    }
}
