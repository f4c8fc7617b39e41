//! Why a section of the graph cannot be read. Every variant documents what to do next.

/// An error of a graph section. All of them mean: rebuild the section from rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Another release wrote it. Let this release rebuild it from rows.
    #[error("{section}: version {found}; this build reads version {known}")]
    Version {
        /// The section.
        section: &'static str,
        /// What the section says.
        found: u32,
        /// What this build knows.
        known: u32,
    },
    /// It is not as long as its counts say. Rebuild it from rows, and suspect the disk.
    #[error("{section}: {got} bytes where {need} are needed")]
    Length {
        /// The section.
        section: &'static str,
        /// Bytes that the counts ask for.
        need: u64,
        /// Bytes there.
        got: u64,
    },
    /// A field breaks the format. Rebuild it from rows, and suspect the disk.
    #[error("{section}: {why}")]
    Malformed {
        /// The section.
        section: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

/// An error where the check of a section found a fault.
pub(crate) fn check_fault(
    section: &'static str,
    fault: Option<&'static str>,
) -> Result<(), GraphError> {
    match fault {
        None => Ok(()),
        Some(why) => Err(GraphError::Malformed { section, why }),
    }
}
