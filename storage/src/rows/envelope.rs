//! What every value in redb is wrapped in: a checksum over its table, key and payload.
//!
//! redb itself notices a flipped bit only in `check_integrity`; a read may silently return a wrong
//! row. So every value carries its own checksum, and every read verifies it.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// Bytes before the payload.
pub(crate) const LEN: usize = 8;

/// `payload` in its envelope, for `key` of the table with this number.
pub(crate) fn seal(table: u8, key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(LEN + payload.len());
    value.extend(checksum(table, key, payload).to_le_bytes());
    value.extend(payload);
    value
}

/// The payload of `value`, or what is wrong with it.
pub(crate) fn open<'v>(table: u8, key: &[u8], value: &'v [u8]) -> Result<&'v [u8], String> {
    let Some((written, payload)) = value.split_first_chunk::<LEN>() else {
        return Err(format!("{} bytes are too few for a checksum", value.len()));
    };
    let (written, got) = (u64::from_le_bytes(*written), checksum(table, key, payload));
    if written != got {
        return Err(format!(
            "checksum is {got:#018x}, written as {written:#018x}"
        ));
    }
    Ok(payload)
}

/// Bytes up to which it is cheaper to copy them to one place than to hash them piece by piece.
const SHORT_ROW_LEN_MAX: usize = 240;

fn checksum(table: u8, key: &[u8], payload: &[u8]) -> u64 {
    let (seed, key_len) = (u64::from(table), (key.len() as u64).to_le_bytes());
    let len = key_len.len() + key.len() + payload.len();
    if len <= SHORT_ROW_LEN_MAX {
        let mut whole = [0; SHORT_ROW_LEN_MAX];
        whole[..8].copy_from_slice(&key_len);
        whole[8..8 + key.len()].copy_from_slice(key);
        whole[8 + key.len()..len].copy_from_slice(payload);
        return xxh3_64_with_seed(&whole[..len], seed);
    }
    let mut hash = Xxh3::with_seed(seed);
    hash.update(&key_len);
    hash.update(key);
    hash.update(payload);
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes_of_an_envelope() {
        // A change here is a new format, not a new expectation.
        assert_eq!(
            seal(2, b"key", b"value"),
            [133, 205, 253, 140, 135, 13, 73, 243, 118, 97, 108, 117, 101]
        );
    }

    proptest! {
        #[test]
        fn a_sealed_payload_comes_back(table: u8, key: Vec<u8>, payload: Vec<u8>) {
            let value = seal(table, &key, &payload);
            prop_assert_eq!(open(table, &key, &value).unwrap(), &payload[..]);
        }

        #[test]
        fn short_and_long_rows_are_hashed_alike(
            table: u8,
            key in prop::collection::vec(any::<u8>(), 0..300),
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let whole = [&(key.len() as u64).to_le_bytes()[..], &key, &payload].concat();
            let want = xxh3_64_with_seed(&whole, u64::from(table));
            prop_assert_eq!(checksum(table, &key, &payload), want);
        }

        #[test]
        fn any_flipped_bit_is_noticed(payload in prop::collection::vec(any::<u8>(), 0..40), bit: prop::sample::Index) {
            let mut value = seal(3, b"k", &payload);
            let bit = bit.index(value.len() * 8);
            value[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(open(3, b"k", &value).is_err());
        }

        #[test]
        fn a_value_under_another_key_or_table_is_noticed(payload: Vec<u8>) {
            let value = seal(3, b"k", &payload);
            prop_assert!(open(3, b"l", &value).is_err());
            prop_assert!(open(4, b"k", &value).is_err());
        }
    }
}
