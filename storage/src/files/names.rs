//! The names of the files and folders of a store.

/// The database: every row.
pub(crate) const DATABASE: &str = "loci.redb";
/// A database that is being written: it gets the name of the database once it is whole.
pub(crate) const DATABASE_COPY: &str = "loci.redb.new";
/// The folder of segment files.
pub(crate) const SEGMENTS: &str = "segments";
/// The file whose lock keeps other processes out.
pub(crate) const LOCK: &str = "LOCK";
/// The marker of a folder that is being filled.
pub(crate) const MARKER: &str = "UNFINISHED";
/// The folder in which an import builds its store.
pub(crate) const IMPORT_FOLDER: &str = "importing";
