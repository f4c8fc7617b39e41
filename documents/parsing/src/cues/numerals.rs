//! Numbers as lists write them.

/// `n` as letters: a, b, …, z, aa, bb, as word processors do. Empty below 1.
pub fn letters(n: i64) -> String {
    let Some(zero_based) = n.checked_sub(1).and_then(|n| u64::try_from(n).ok()) else {
        return String::new();
    };
    let letter = char::from(b'a' + (zero_based % 26) as u8);
    // No honest list is so long that its letters fill a line.
    let count = (zero_based / 26 + 1).min(30) as usize;
    letter.to_string().repeat(count)
}

/// `n` in Roman numerals, in lower case; in digits where the Romans had none.
pub fn roman(n: i64) -> String {
    const VALUES: [(i64, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    if !(1..4000).contains(&n) {
        return n.to_string();
    }
    let mut rest = n;
    let mut numeral = String::new();
    for (value, letters) in VALUES {
        while rest >= value {
            numeral.push_str(letters);
            rest -= value;
        }
    }
    numeral
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_lists_do() {
        let cases: &[(i64, &str, &str)] = &[
            (1, "a", "i"),
            (26, "z", "xxvi"),
            (27, "aa", "xxvii"),
            (54, "bbb", "liv"),
            (1994, &"r".repeat(30), "mcmxciv"),
            (0, "", "0"),
            (-3, "", "-3"),
            (i64::MIN, "", &i64::MIN.to_string()),
        ];
        for (n, in_letters, in_roman) in cases {
            assert_eq!(
                (letters(*n), roman(*n)),
                ((*in_letters).into(), (*in_roman).into())
            );
        }
    }
}
