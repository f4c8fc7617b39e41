//! Why a file did not become a document: its parser says so, or the process or thread that runs the parser failed.

use loci_documents::ParseError;
use serde::{Deserialize, Serialize};

/// Why a file did not become a document. Every variant tells its reader what to do next. It can be sent between
/// processes; a parser's own error is sent as that error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The parser panicked. The file is likely hostile or damaged; please report it if it is not.
    #[error(
        "the parser failed on this file: {message}; save it again from the program that wrote it, and please report it if it is sound"
    )]
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// The caller stopped it.
    #[error("it was stopped")]
    Stopped,
    /// The parser took too long and was stopped. Raise the time limit if the file is trusted.
    #[error("reading it was stopped after {seconds} s; split it into smaller files")]
    TimedOut {
        /// The time it had.
        seconds: u64,
    },
    /// The parser's process died, most likely for want of memory. Raise its limit if the file is
    /// trusted.
    #[error(
        "the parser's process died ({status}), most likely for want of memory; split the file into smaller ones"
    )]
    Crashed {
        /// How it ended.
        status: String,
    },
    /// The parser's process could not be started, or its answer not be read. Look at the reason.
    #[error("cannot run the parser's process: {reason}")]
    Runner {
        /// What failed.
        reason: String,
    },
    /// The parser refused the file.
    #[error(transparent)]
    #[serde(untagged)]
    Parse(#[from] ParseError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_documents::Kind;

    #[test]
    fn errors_are_sent_as_objects_of_one_level() {
        let reason = || "cut".to_owned();
        let kind = Kind::Pdf;
        for (error, json) in [
            (BuildError::Stopped, r#""Stopped""#),
            (
                BuildError::TimedOut { seconds: 3 },
                r#"{"TimedOut":{"seconds":3}}"#,
            ),
            (
                BuildError::Runner { reason: reason() },
                r#"{"Runner":{"reason":"cut"}}"#,
            ),
            (ParseError::Empty.into(), r#""Empty""#),
            (
                ParseError::Malformed {
                    kind,
                    reason: reason(),
                }
                .into(),
                r#"{"Malformed":{"kind":"Pdf","reason":"cut"}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&error).unwrap(), json);
            assert_eq!(serde_json::from_str::<BuildError>(json).unwrap(), error);
        }
    }
}
