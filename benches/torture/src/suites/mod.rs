//! The suites. Each has a `run` that returns a report of violations.
//!
//! | suite | what must hold |
//! | --- | --- |
//! | [`crash`] | after a power failure at any instant everything acknowledged is stored, and every other write is complete or absent, in rows and in every search |
//! | [`damage`] | damage in one place never gives a wrong answer, export or backup without an error |
//! | [`faults`] | a failed file operation gives a typed error; searches continue, writes are refused, and nothing acknowledged is lost |
//! | [`oracle`] | over long histories with restarts, the store equals a plain model |
//! | [`kill`] | the real binary killed at any moment: nothing acknowledged is lost, nothing is half stored |
//! | [`killed_copies`] | a backup, restore, import, analysis, compaction or upgrade that is killed leaves its source and earlier results intact, and succeeds when it runs again |
//! | [`rates`] | the cost of durable writes compared with plain redb; concurrent writers share syncs |
//! | [`mixed`] | searches, writes and compaction together; memory and disk usage do not grow over time |
//! | [`disk`] | deleted data frees disk space |
//! | [`opening`] | a large store answers soon after a kill |

pub mod crash;
pub mod damage;
pub mod disk;
pub mod faults;
pub mod kill;
pub mod killed_copies;
pub mod killed_process;
pub mod mixed;
pub mod opening;
pub mod oracle;
pub mod rates;
