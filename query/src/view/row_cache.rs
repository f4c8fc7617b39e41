//! Rows of hits, cached while their view is in use: what is found again is not read, checked and decoded again.
//!
//! Always true: a row is of this view, so it never changes; the cached rows take [`CACHE_BYTES_MAX`] at most, and a
//! shard that is full starts anew.
//!
//! Start reading at [`RowCache::get_or_read`].

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::FixedState;
use parking_lot::Mutex;

/// Bytes of rows of one kind that a view caches.
pub(crate) const CACHE_BYTES_MAX: usize = 8 << 20;

/// Shards, each with a lock of its own.
const SHARDS: usize = 16;

/// Bytes that a row takes beside its text.
const ROW_OVERHEAD_BYTES: usize = 512;

/// Rows by key.
pub(crate) struct RowCache<K, V> {
    shards: [Mutex<Shard<K, V>>; SHARDS],
}

struct Shard<K, V> {
    rows: HashMap<K, Arc<V>, FixedState>,
    bytes: usize,
}

impl<K: Copy + Eq + Hash, V> Default for RowCache<K, V> {
    fn default() -> Self {
        RowCache {
            shards: std::array::from_fn(|_| {
                Mutex::new(Shard {
                    rows: HashMap::default(),
                    bytes: 0,
                })
            }),
        }
    }
}

impl<K: Copy + Eq + Hash, V> RowCache<K, V> {
    /// The row of `key`, read by `read` where it is not cached; `len` is the length of its text. Nothing is locked
    /// while it is read.
    pub(crate) fn get_or_read<E>(
        &self,
        key: K,
        read: impl FnOnce() -> Result<V, E>,
        len: impl FnOnce(&V) -> usize,
    ) -> Result<Arc<V>, E> {
        // Other bits than those that the map uses.
        let shard = &self.shards[(FixedState::default().hash_one(key) >> 32) as usize % SHARDS];
        if let Some(row) = shard.lock().rows.get(&key) {
            return Ok(Arc::clone(row));
        }
        let row = Arc::new(read()?);
        let len = len(&row) + ROW_OVERHEAD_BYTES;
        if len > CACHE_BYTES_MAX / SHARDS {
            return Ok(row);
        }
        let mut shard = shard.lock();
        if shard.bytes + len > CACHE_BYTES_MAX / SHARDS {
            shard.rows.clear();
            shard.bytes = 0;
        }
        if shard.rows.insert(key, Arc::clone(&row)).is_none() {
            shard.bytes += len;
        }
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_read_once_and_cache_size_is_bounded() {
        let hot: RowCache<u32, String> = RowCache::default();
        let mut reads = 0;
        for _ in 0..3 {
            let row = hot.get_or_read(
                7,
                || {
                    Ok::<_, ()>({
                        reads += 1;
                        "seven".to_owned()
                    })
                },
                String::len,
            );
            assert_eq!(*row.unwrap(), "seven");
        }
        assert_eq!(reads, 1);
        for key in 0..10_000 {
            let long = || Ok::<_, ()>("x".repeat(10_000));
            hot.get_or_read(key, long, String::len).unwrap();
        }
        let cached_bytes: usize = hot.shards.iter().map(|shard| shard.lock().bytes).sum();
        assert!(cached_bytes <= CACHE_BYTES_MAX);
        let huge = hot.get_or_read(
            20_000,
            || Ok::<_, ()>("x".repeat(CACHE_BYTES_MAX)),
            String::len,
        );
        assert_eq!(huge.unwrap().len(), CACHE_BYTES_MAX);
        assert_eq!(
            hot.get_or_read(1, || Err("gone"), String::len)
                .err()
                .is_some(),
            !hot.shards.iter().any(|s| s.lock().rows.contains_key(&1))
        );
    }
}
