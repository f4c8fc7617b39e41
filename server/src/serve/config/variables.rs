//! The environment variables of loci, and hints for misspelt ones.

use std::ffi::OsString;
use std::fmt;

use locidb::storage::permissions::UMASK_ENV;

use super::CONFIG_ENV;
use super::settings::{PREFIX, SETTINGS, env_name};

/// Variables that are not settings of a server.
const OTHER_VARIABLES: [&str; 7] = [
    CONFIG_ENV,
    UMASK_ENV,
    "LOCI_FAILPOINT",
    "LOCI_IMAGE_NAME",
    "LOCI_IMAGE_TYPE",
    "LOCI_PARSE_CPU_MAX",
    "LOCI_PARSE_MEMORY_MAX",
];
/// Kubernetes sets variables with these prefixes for a service with the name `loci`.
const SERVICE_PREFIXES: [&str; 2] = ["LOCI_SERVICE_", "LOCI_PORT"];
/// Edits between a misspelt name and a suggestion, at most.
const EDITS_MAX: usize = 2;

/// An environment variable that starts with `LOCI_` and has no meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariable {
    /// Its name.
    pub name: String,
    /// The most similar known variable.
    pub suggestion: Option<String>,
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a variable that loci knows", self.name)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean {suggestion}?"),
            None => Ok(()),
        }
    }
}

/// The variables among `names` that start with `LOCI_` and have no meaning, sorted.
pub fn unknown_variables(names: impl IntoIterator<Item = OsString>) -> Vec<UnknownVariable> {
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let is_service = |name: &str| SERVICE_PREFIXES.iter().any(|of| name.starts_with(of));
    let mut unknown: Vec<UnknownVariable> = names
        .filter(|name| name.starts_with(PREFIX) && !is_known(name) && !is_service(name))
        .map(|name| UnknownVariable {
            suggestion: most_similar(&name),
            name,
        })
        .collect();
    unknown.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    unknown
}

/// Whether loci reads or sets a variable.
pub(super) fn is_known(name: &str) -> bool {
    known_variables().any(|known| known == name)
}

fn known_variables() -> impl Iterator<Item = String> {
    let settings = SETTINGS.iter().map(|setting| env_name(setting.name));
    settings.chain(OTHER_VARIABLES.map(str::to_owned))
}

/// The known variable with the fewest edits; underscores and case do not count.
fn most_similar(name: &str) -> Option<String> {
    let plain = |name: &str| name.replace('_', "").to_uppercase().into_bytes();
    let wanted = plain(name);
    let candidates = known_variables().map(|known| (edits(&wanted, &plain(&known)), known));
    let near = candidates.filter(|(edits, _)| *edits <= EDITS_MAX);
    near.min().map(|(_, known)| known)
}

/// The Levenshtein distance.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_variables_are_listed_with_the_most_similar_known_one() {
        let cases = [
            ("LOCI_DB", None),
            ("LOCI_LIMITS__CALLS_MAX", None),
            ("LOCI_UMASK", None),
            ("LOCI_SERVICE_HOST", None),
            ("LOCI_PORT_7625_TCP", None),
            ("PATH", None),
            ("LOCI_SLOWMS", Some("; did you mean LOCI_SLOW_MS?")),
            ("LOCI_DBS", Some("; did you mean LOCI_DB?")),
            (
                "LOCI_LIMITS__CALS_MAX",
                Some("; did you mean LOCI_LIMITS__CALLS_MAX?"),
            ),
            ("LOCI_EVERYTHING", Some("")),
        ];
        for (name, hint) in cases {
            let found = unknown_variables([name.into()]);
            let printed: Vec<String> = found.iter().map(ToString::to_string).collect();
            let expected =
                hint.map(|hint| format!("{name} is not a variable that loci knows{hint}"));
            assert_eq!(printed, Vec::from_iter(expected), "{name}");
        }
    }
}
