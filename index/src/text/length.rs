//! Lengths in one byte: exact up to 40, then with four significant bits.
//!
//! The code of Apache Lucene's norms, `SmallFloat.intToByte4` (Lucene 7, LUCENE-7730): monotonic,
//! never above the true length, less than 1/8 below it.

/// Lengths below this are their own code.
const EXACT_CODES: u32 = 255 - float4(i32::MAX as u32);

/// The code of `length`; lengths over `i32::MAX` are taken for it.
pub const fn encode(length: u32) -> u8 {
    let length = if length > i32::MAX as u32 {
        i32::MAX as u32
    } else {
        length
    };
    if length < EXACT_CODES {
        length as u8
    } else {
        (EXACT_CODES + float4(length - EXACT_CODES)) as u8
    }
}

/// The least length with this code.
pub const fn decode(code: u8) -> u32 {
    let code = code as u32;
    if code < EXACT_CODES {
        code
    } else {
        EXACT_CODES + unfloat4(code - EXACT_CODES)
    }
}

/// Four significant bits (the highest implied) and their shift.
const fn float4(value: u32) -> u32 {
    let bits = u32::BITS - value.leading_zeros();
    if bits < 4 {
        return value;
    }
    let shift = bits - 4;
    ((value >> shift) & 0x07) | ((shift + 1) << 3)
}

const fn unfloat4(code: u32) -> u32 {
    let bits = code & 0x07;
    match code >> 3 {
        0 => bits,
        shift => (bits | 0x08) << (shift - 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn length_codes_match_lucene() {
        for length in 0..=40 {
            assert_eq!(decode(encode(length)), length);
        }
        let cases = [
            (41, 40),
            (42, 42),
            (100, 96),
            (1000, 984),
            (1_000_000, 983_064),
        ];
        for (length, decoded) in cases {
            assert_eq!(decode(encode(length)), decoded, "{length}");
        }
        assert_eq!(
            (EXACT_CODES, encode(i32::MAX as u32), encode(u32::MAX)),
            (24, 255, 255)
        );
    }

    #[test]
    fn every_length_code_round_trips() {
        for code in 0..=u8::MAX {
            assert_eq!(encode(decode(code)), code);
        }
    }

    proptest! {
        #[test]
        fn a_longer_chunk_never_has_a_lower_code(a in 0..i32::MAX as u32, b in 0..i32::MAX as u32) {
            prop_assert!((encode(a) <= encode(b)) || a > b);
            let decoded = decode(encode(a));
            prop_assert!(decoded <= a && f64::from(a - decoded) <= f64::from(a) / 8.0);
        }
    }
}
