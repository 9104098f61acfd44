//! How long to wait before trying again. Pure: chance is an argument.

use std::time::Duration;

/// Doubles from `first` to `last`.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    last: Duration,
    next: Duration,
}

impl Backoff {
    /// Starts with `first` and ends at `last`.
    pub fn new(first: Duration, last: Duration) -> Self {
        Self { first, last, next: first }
    }

    /// The next wait, between half and all of its nominal length; `chance` is in 0..1.
    pub fn wait(&mut self, chance: f64) -> Duration {
        let nominal = self.next;
        self.next = nominal.saturating_mul(2).min(self.last);
        nominal.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// Starts anew.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_last() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        let waits: Vec<_> = (0..8).map(|_| backoff.wait(1.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.reset();
        assert_eq!(backoff.wait(0.0), Duration::from_millis(500));
    }
}
