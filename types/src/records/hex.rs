//! A hash in JSON: 32 hexadecimal digits.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(hash: &[u8; 16], to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*hash)))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 16], D::Error> {
    let digits = String::deserialize(from)?;
    let number = u128::from_str_radix(&digits, 16).map_err(D::Error::custom)?;
    Ok(number.to_be_bytes())
}
