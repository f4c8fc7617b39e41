//! The primitives that [`super::published`] is written with. Tests put those of loom and shuttle in
//! their place and run the same file under every interleaving.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use parking_lot::Mutex;

/// The newest value, read without waiting.
pub(crate) type Newest<T> = arc_swap::ArcSwap<T>;
