//! Looking after a store: checking and repairing it ([`check`]), compaction ([`compact`]), copies
//! ([`backup`], [`export`]) and upgrades of the format ([`upgrade`]).

mod backup;
mod check;
pub(crate) mod compact;
mod export;
mod upgrade;
