//! The year in a line that states a date.

/// The first group of exactly four digits that can be a year: 1400 to 2199.
pub fn year(text: &str) -> Option<i32> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| digits.len() == 4)
        .filter_map(|digits| digits.parse().ok())
        .find(|year| (1400..2200).contains(year))
}
