//! Durations as users write them: Go's notation (`300ms`, `30s`, `1.5h`, `1h30m`, `0`) with the units ms, s, m and h,
//! from 0 to 30 days.

use std::time::Duration;

/// The longest duration that Towline takes: 30 days.
pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why a text is not a duration. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not numbers with units.
    #[error("a duration such as 300ms, 30s or 1h30m, from 0 to 30 days")]
    Syntax,
    /// Longer than [`LONGEST`].
    #[error("a duration of at most 30 days (720h)")]
    TooLong,
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Units and their nanoseconds. `ms` stands before `m`, else it would be read as minutes and a rest.
const UNITS: [(&str, u128); 4] =
    [("ms", 1_000_000), ("s", NANOS_PER_SECOND), ("m", 60 * NANOS_PER_SECOND), ("h", 3_600 * NANOS_PER_SECOND)];

/// Digits of a fraction that still count: the next one is less than a nanosecond even of an hour.
const FRACTION_DIGITS: usize = 15;

/// Reads a duration; fractions of a nanosecond are dropped.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos = 0_u128;
    loop {
        let (more, after) = term(rest).ok_or(DurationError::Syntax)?;
        nanos = nanos.saturating_add(more);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    if nanos > LONGEST.as_nanos() {
        return Err(DurationError::TooLong);
    }
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| DurationError::TooLong)
}

/// One number with its unit, in nanoseconds, and what follows it.
fn term(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (unit, rest) = UNITS.iter().find_map(|(name, nanos)| Some((*nanos, rest.strip_prefix(name)?)))?;
    let fraction = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
    let part = number(fraction).saturating_mul(unit) / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some((number(whole).saturating_mul(unit).saturating_add(part), rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Digits as a number; too many of them are the greatest number, which is too long in every unit.
fn number(digits: &str) -> u128 {
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u128::MAX) }
}

/// Writes a duration so that [`parse`] reads the same one: `0s`, `300ms`, `1.5s`, `1h30m`.
pub fn format(duration: Duration) -> String {
    let mut text = String::new();
    let seconds = duration.as_secs();
    for (amount, unit) in [(seconds / 3_600, "h"), (seconds / 60 % 60, "m")] {
        if amount > 0 {
            text.push_str(&amount.to_string());
            text.push_str(unit);
        }
    }
    let (seconds, nanos) = (seconds % 60, duration.subsec_nanos());
    if seconds == 0 && nanos > 0 {
        text.push_str(&decimal((nanos / 1_000_000).into(), &format!("{:06}", nanos % 1_000_000), "ms"));
    } else if seconds > 0 || text.is_empty() {
        text.push_str(&decimal(seconds, &format!("{nanos:09}"), "s"));
    }
    text
}

fn decimal(whole: u64, fraction: &str, unit: &str) -> String {
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}{unit}"),
        fraction => format!("{whole}.{fraction}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let table = [
            ("0", 0),
            ("0s", 0),
            ("300ms", 300),
            ("30s", 30_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("1.s", 1_000),
            ("1m1ms", 60_001),
            ("30m1h", 5_400_000),
            ("720h", 2_592_000_000),
            ("0.000000000000000000001h", 0),
        ];
        for (text, millis) in table {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not_a_duration() {
        for text in
            ["", " ", "1", "30", "s", ".s", "-1s", "+1s", "1d", "1us", "1 s", "1s ", "1h30", "1,5h", "é", "1é", "٣s"]
        {
            assert_eq!(parse(text), Err(DurationError::Syntax), "{text}");
        }
        for text in [
            "721h",
            "720h1ms",
            "99999999999999999999999999999999999999999999h",
            "340282366920938463463374607431768211455h",
        ] {
            assert_eq!(parse(text), Err(DurationError::TooLong), "{text}");
        }
    }

    #[test]
    fn durations_are_written_short() {
        let table = [
            (Duration::ZERO, "0s"),
            (Duration::from_millis(300), "300ms"),
            (Duration::from_millis(1_500), "1.5s"),
            (Duration::from_secs(30), "30s"),
            (Duration::from_secs(5_400), "1h30m"),
            (Duration::from_millis(3_600_300), "1h300ms"),
            (Duration::from_nanos(1), "0.000001ms"),
            (LONGEST, "720h"),
        ];
        for (duration, text) in table {
            assert_eq!(format(duration), text);
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(nanos in 0..=2_592_000_000_000_000_u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in "[0-9.hms ]{0,40}|\\PC{0,20}") {
            let _ = parse(&text);
        }
    }
}
