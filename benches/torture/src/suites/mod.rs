//! The suites. Each has a `run` that gives a report; a violation in it is a broken promise.
//!
//! | suite | what must hold |
//! | --- | --- |
//! | [`crash`] | after a power failure at any instant all that was acknowledged is there, and every other write is whole or absent, in rows and in every search |
//! | [`damage`] | a store that is damaged in one place is silently wrong in no answer, export or backup |
//! | [`faults`] | a file operation that fails gives a typed error; searches go on, writes are refused, and nothing acknowledged is lost |
//! | [`oracle`] | over long histories with restarts the store says exactly what a plain model says |
//! | [`kill`] | the real binary killed at any moment: nothing acknowledged is lost, nothing is there by half |
//! | [`killed_copies`] | a backup, restore, import, analysis, compaction or upgrade that is killed leaves what was there before, and is run again |
//! | [`rates`] | what durable writes cost beside redb alone; many writers share syncs |
//! | [`mixed`] | searches, writes and compaction together; memory and disk do not grow with time |
//! | [`disk`] | what is deleted is given back |
//! | [`opening`] | a large store answers soon after a kill |

pub mod crash;
pub mod damage;
pub mod disk;
pub mod faults;
pub mod kill;
pub mod killed_copies;
pub mod mixed;
pub mod opening;
pub mod oracle;
pub mod rates;
