//! The database: one redb file with every row.
//!
//! | to | read |
//! | --- | --- |
//! | open it, and notice failed writes | [`mod@file`] |
//! | check its pages without redb | [`pages`] |
//! | read the rows of one committed state | [`read_tables`] |
//! | check or write its format | [`mod@format`] |
//! | verify rows against each other | [`verify`] |
//! | copy it to a new file | [`copy`] |

pub(crate) mod copy;
pub(crate) mod file;
pub(crate) mod format;
pub(crate) mod pages;
pub(crate) mod read_tables;
pub(crate) mod verify;
