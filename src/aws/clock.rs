//! The time as AWS sees it. STS refuses a token that is signed a quarter of an hour off, and says only 401: so the `Date` of
//! every answer of AWS tells how far our clock is off.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime},
};

/// A `Date` has whole seconds and was some time under way: less than this is no skew.
const NOISE: i64 = 5;

/// Our clock, corrected. Clones share what they learn.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// The time as AWS sees it.
    pub fn now(&self) -> SystemTime {
        shift(SystemTime::now(), self.skew())
    }

    /// Seconds that AWS is ahead of our clock; negative if it is behind.
    pub fn skew(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Learns from the `Date` header of an answer that came just now.
    pub fn learn(&self, date: &str) {
        if let Some(theirs) = parse(date) {
            self.0.store(skew(theirs, SystemTime::now()), Ordering::Relaxed);
        }
    }
}

fn skew(theirs: SystemTime, ours: SystemTime) -> i64 {
    let seconds = match theirs.duration_since(ours) {
        Ok(ahead) => i64::try_from(ahead.as_secs()).unwrap_or(i64::MAX),
        Err(behind) => i64::try_from(behind.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    };
    if seconds.abs() <= NOISE { 0 } else { seconds }
}

fn shift(time: SystemTime, seconds: i64) -> SystemTime {
    let by = Duration::from_secs(seconds.unsigned_abs());
    let shifted = if seconds < 0 { time.checked_sub(by) } else { time.checked_add(by) };
    shifted.unwrap_or(time)
}

/// `Sat, 21 Nov 2026 10:26:39 GMT`.
fn parse(date: &str) -> Option<SystemTime> {
    let date = aws_smithy_types::DateTime::from_str(date, aws_smithy_types::date_time::Format::HttpDate).ok()?;
    date.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_corrected_by_what_aws_says() {
        let (ours, clock) = (parse("Sat, 21 Nov 2026 10:26:39 GMT").unwrap(), Clock::default());
        for (theirs, expected) in [
            ("Sat, 21 Nov 2026 10:46:39 GMT", 1200),
            ("Sat, 21 Nov 2026 10:06:39 GMT", -1200),
            ("Sat, 21 Nov 2026 10:26:43 GMT", 0),
        ] {
            assert_eq!(skew(parse(theirs).unwrap(), ours), expected, "{theirs}");
        }
        clock.learn("Fri, 01 Jan 2100 00:00:00 GMT");
        assert!(clock.skew() > 0);
        let off = skew(parse("Fri, 01 Jan 2100 00:00:00 GMT").unwrap(), clock.now());
        assert!(off.abs() < 60, "{off}");
        let learnt = clock.skew();
        clock.learn("tomorrow");
        assert_eq!(clock.skew(), learnt);
    }
}
