//! Days and moments in UTC, and seconds, as they are written in a filter.

/// Milliseconds in a day.
const DAY_MS: i64 = 86_400_000;

/// The first and last millisecond since 1970 of what `text` names: a year `2026`, a month
/// `2026-01`, a day `2026-01-31`, a minute, second or millisecond `2026-01-31T09:30:00.125Z` (the
/// `Z` may be left out, `T` may be a space), or, as a number of five digits or more, a millisecond.
pub(super) fn parse(text: &str) -> Option<(i64, i64)> {
    if text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let moment = text.parse().ok()?;
        return (moment <= LAST_MS).then_some((moment, moment));
    }
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4)?;
    let month = parts
        .next()
        .map_or(Some(None), |part| number(part, 2).map(Some))?;
    let day = parts
        .next()
        .map_or(Some(None), |part| number(part, 2).map(Some))?;
    if parts.next().is_some() || !(1..=12).contains(&month.unwrap_or(1)) {
        return None;
    }
    let start = days(year, month.unwrap_or(1), 1);
    let end = match month {
        Some(12) | None => days(year + 1, 1, 1),
        Some(month) => days(year, month + 1, 1),
    };
    let Some(day) = day else {
        return time.is_none().then_some((start * DAY_MS, end * DAY_MS - 1));
    };
    if day < 1 || start + day > end {
        return None;
    }
    let start = (start + day - 1) * DAY_MS;
    match time {
        None => Some((start, start + DAY_MS - 1)),
        Some(time) => clock(time).map(|(first, last)| (start + first, start + last)),
    }
}

/// The last millisecond of the year 9999.
const LAST_MS: i64 = 253_402_300_799_999;

/// The first and last millisecond of a day that `09:30`, `09:30:05` or `09:30:05.125` names.
fn clock(text: &str) -> Option<(i64, i64)> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let mut parts = text.split(':');
    let hour = number(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = number(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let start = (hour * 60 + minute) * 60_000;
    let Some(seconds) = parts.next() else {
        return Some((start, start + 59_999));
    };
    let (whole, fraction) = match seconds.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (seconds, None),
    };
    let whole = number(whole, 2).filter(|second| *second < 60)?;
    let start = start + whole * 1000;
    match (fraction, parts.next()) {
        (_, Some(_)) => None,
        (None, None) => Some((start, start + 999)),
        (Some(fraction), None) => {
            let moment = start + number(fraction, 3)?;
            Some((moment, moment))
        }
    }
}

/// The number that exactly `digits` digits write.
fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
///
/// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`, 2013.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A moment as [`parse`] reads it.
///
/// Source: as [`days`], `civil_from_days`.
pub(super) fn shown(moment_ms: i64) -> String {
    let (days, ms) = (moment_ms.div_euclid(DAY_MS), moment_ms.rem_euclid(DAY_MS));
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Milliseconds of `90`, `90.5`, `1:30` or `0:01:30.5`, to the nearest.
pub(super) fn seconds_ms(text: &str) -> Option<i64> {
    let mut parts = text.rsplitn(3, ':');
    let seconds: f64 = parts.next()?.parse().ok()?;
    let minutes: u32 = parts.next().map_or(Some(0), |part| part.parse().ok())?;
    let hours: u32 = parts.next().map_or(Some(0), |part| part.parse().ok())?;
    let of_minute = !text.contains(':') || (minutes < 60 || hours == 0) && seconds < 60.0;
    let ms = (seconds * 1000.0).round() + f64::from(minutes) * 6e4 + f64::from(hours) * 36e5;
    // Beyond 2^53 a number would not be one exact millisecond.
    (of_minute && seconds >= 0.0 && ms < 9e15).then_some(ms as i64)
}

/// A time of milliseconds as [`seconds_ms`] reads it.
pub(super) fn seconds_shown(ms: i64) -> String {
    match ms % 1000 {
        0 => (ms / 1000).to_string(),
        rest => format!("{}.{rest:03}", ms / 1000),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn timestamps_are_parsed() {
        const SECOND: i64 = 1000;
        let cases: &[(&str, Option<(i64, i64)>)] = &[
            ("1970", Some((0, 365 * DAY_MS - 1))),
            ("1970-02", Some((31 * DAY_MS, 59 * DAY_MS - 1))),
            ("1970-01-02", Some((DAY_MS, 2 * DAY_MS - 1))),
            ("1969-12-31", Some((-DAY_MS, -1))),
            ("2024-02-29", Some((1_709_164_800_000, 1_709_251_199_999))),
            ("1970-01-01T00:01", Some((60 * SECOND, 120 * SECOND - 1))),
            ("1970-01-01 00:01:02Z", Some((62 * SECOND, 63 * SECOND - 1))),
            ("1970-01-01t00:01:02.500z", Some((62_500, 62_500))),
            (
                "1767225600000",
                Some((1_767_225_600_000, 1_767_225_600_000)),
            ),
            ("2023-02-29", None),
            ("2026-13", None),
            ("2026-00-01", None),
            ("2026-01-00", None),
            ("2026-1-1", None),
            ("2026-01-01-01", None),
            ("2026-01T10:00", None),
            ("2026-01-01T24:00", None),
            ("2026-01-01T10:00:00:00", None),
            ("99999999999999999999", None),
            ("253402300800000", None),
            ("yesterday", None),
            ("", None),
        ];
        for &(text, want) in cases {
            assert_eq!(parse(text), want, "{text}");
        }
    }

    #[test]
    fn seconds_are_parsed() {
        let cases: &[(&str, Option<i64>)] = &[
            ("90", Some(90_000)),
            ("90.5", Some(90_500)),
            ("0.0004", Some(0)),
            ("0.0005", Some(1)),
            ("1:30", Some(90_000)),
            ("90:00", Some(5_400_000)),
            ("1:01:30.25", Some(3_690_250)),
            ("1:60", None),
            ("1:60:00", None),
            ("-1", None),
            ("inf", None),
            ("1:1:1:1", None),
            ("soon", None),
        ];
        for &(text, want) in cases {
            assert_eq!(seconds_ms(text), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(moment in -62_167_219_200_000i64..=LAST_MS, ms in 0i64..9_000_000_000_000_000) {
            prop_assert_eq!(parse(&shown(moment)), Some((moment, moment)));
            // A fraction is read through a float, exact as far as times of recordings go.
            let ms = ms % 1_000_000_000_000;
            prop_assert_eq!(seconds_ms(&seconds_shown(ms)), Some(ms));
        }
    }
}
