//! How much of the vectors a search compares.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How much a search compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effort {
    /// Follows the links of so many candidates on average (efSearch), of more where hits are hard to
    /// tell from the rest and of fewer where they are far apart; at least of `k`.
    Ef(usize),
    /// As many candidates as gave this mean recall@10 when the graph was measured; the most that
    /// was measured where none did.
    Recall(f32),
    /// As much as graph searches complete in this time, shared between segments by their size; it is checked every few
    /// steps. If there is time to compare all codes, they are compared. Scans (of small segments, under
    /// narrow filters) are not cut short, and fewer than `k` hits may be found.
    Within(Duration),
}

/// Candidates that a request may name.
const EF_ASKED_MAX: usize = 100_000;

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effort::Ef(ef) => write!(f, "ef={ef}"),
            Effort::Recall(recall) => write!(f, "recall={recall}"),
            Effort::Within(time) => write!(f, "within={}us", time.as_micros()),
        }
    }
}

impl FromStr for Effort {
    type Err = String;

    /// Reads `ef=64`, `recall=0.98`, `within=500us` or `within=2ms`; an error lists what is allowed.
    fn from_str(text: &str) -> Result<Effort, String> {
        let wrong = || "give ef=64, recall=0.98 or within=500us".to_string();
        let (kind, value) = text.split_once('=').ok_or_else(wrong)?;
        match kind {
            "ef" => {
                let ef = value
                    .parse()
                    .ok()
                    .filter(|ef| (1..=EF_ASKED_MAX).contains(ef));
                ef.map(Effort::Ef)
                    .ok_or_else(|| format!("an ef is 1 to {EF_ASKED_MAX}"))
            }
            "recall" => {
                let recall = value.parse().ok().filter(|r| (0.0..=1.0).contains(r));
                recall
                    .map(Effort::Recall)
                    .ok_or_else(|| "a recall is 0 to 1".into())
            }
            "within" => {
                let (number, unit_us) = match value.strip_suffix("ms") {
                    Some(number) => (number, 1000),
                    None => (value.strip_suffix("us").unwrap_or(value), 1),
                };
                let time = number.parse().ok();
                let time = time.and_then(|number: u64| number.checked_mul(unit_us));
                time.map(|us| Effort::Within(Duration::from_micros(us)))
                    .ok_or_else(|| "a time is a number with its unit: within=500us".into())
            }
            _ => Err(wrong()),
        }
    }
}

impl Default for Effort {
    fn default() -> Self {
        Effort::Ef(64)
    }
}
