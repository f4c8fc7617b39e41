//! Administration of a store: methods of [`Database`](crate::Database) that an operator calls.
//!
//! | to | read |
//! | --- | --- |
//! | check and repair | [`check`] |
//! | merge everything and free disk space | [`compact`] |
//! | back up and restore | [`backup`] |
//! | export and import | [`export`] |
//! | convert an earlier format | [`upgrade`] |
//!
//! Always true: searches continue while one of these runs on an open store.

mod backup;
mod check;
pub(crate) mod compact;
mod export;
mod upgrade;
