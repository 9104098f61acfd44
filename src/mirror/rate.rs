//! `--qps` and `--burst`: a token bucket for writes. Pure: time is an argument.

use std::time::{Duration, Instant};

/// How many writes a second, and how many at once after a quiet time.
#[derive(Clone, Debug)]
pub struct Rate {
    per_second: f64,
    burst: f64,
    tokens: f64,
    since: Option<Instant>,
}

impl Rate {
    /// A full bucket. `per_second` above 0, `burst` at least 1.
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self { per_second: per_second.max(f64::MIN_POSITIVE), burst, tokens: burst, since: None }
    }

    /// When the next write may go; `None`: now.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let missing = 1.0 - self.tokens_at(now);
        (missing > 1e-9)
            .then(|| now + Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::MAX / 2))
    }

    /// A write goes.
    pub fn take(&mut self, now: Instant) {
        self.tokens = self.tokens_at(now) - 1.0;
        self.since = Some(now);
    }

    fn tokens_at(&self, now: Instant) -> f64 {
        let gained =
            self.since.map_or(0.0, |since| now.saturating_duration_since(since).as_secs_f64() * self.per_second);
        (self.tokens + gained).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_in_its_time() {
        let (mut rate, start) = (Rate::new(10.0, 2), Instant::now());
        for _ in 0..2 {
            assert_eq!(rate.next(start), None);
            rate.take(start);
        }
        let wait = rate.next(start).unwrap() - start;
        assert!((wait.as_secs_f64() - 0.1).abs() < 1e-3);
        assert_eq!(rate.next(start + Duration::from_millis(101)), None);
    }

    #[test]
    fn a_quiet_hour_saves_up_no_more_than_a_burst() {
        let (mut rate, start) = (Rate::new(1.0, 3), Instant::now());
        rate.take(start);
        let later = start + Duration::from_secs(3600);
        for _ in 0..3 {
            assert_eq!(rate.next(later), None);
            rate.take(later);
        }
        assert!(rate.next(later).is_some());
    }
}
