//! What happened to a target, as far as it decides what may happen next: altered answers, repairs, failures. Pure.

use crate::object::digest::Digest;
use std::time::{Duration, Instant};

/// Repairs of one content that are made at once; the further ones wait.
pub const REPAIRS_AT_ONCE: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// Without a repair for this long, the count starts anew.
pub const FORGET_AFTER: Duration = Duration::from_secs(600);

/// The history of one target.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The desired content that the counts are about.
    about: Option<Digest>,
    /// How often that content was written here, the first time included.
    writes: u32,
    /// When it was written last.
    last_write: Option<Instant>,
    /// What was answered instead of what was sent.
    altered: Option<Digest>,
    /// Consecutive failures.
    pub failures: u32,
    /// Consecutive writes that met something else than was observed.
    pub races: u32,
    /// No attempt before.
    pub not_before: Option<Instant>,
    /// What the last failure means.
    pub trouble: Option<super::plan::State>,
    /// The follower asked to be left alone until then, whatever changes.
    throttled: Option<Instant>,
}

impl History {
    /// Takes note that `sent` was written and `answered` came back.
    pub fn wrote(&mut self, sent: Digest, answered: Digest, now: Instant) {
        if self.about != Some(sent) || self.is_forgotten(now) {
            self.about = Some(sent);
            self.writes = 0;
        }
        self.writes = self.writes.saturating_add(1);
        self.last_write = Some(now);
        self.altered = (sent != answered).then_some(answered);
        self.races = 0;
        self.throttled = None;
        self.forgive();
    }

    /// Takes note that this content was here, whoever wrote it: writing it again is a repair.
    pub fn was_in_step(&mut self, whole: Digest) {
        if self.about != Some(whole) {
            *self = Self { about: Some(whole), writes: 1, throttled: self.throttled, ..Self::default() };
        }
    }

    /// Whether the follower answered just this, when this was sent to it.
    pub fn is_altered(&self, desired: Digest, observed: Digest) -> bool {
        self.about == Some(desired) && self.altered == Some(observed)
    }

    /// Whether this content was repaired so often that further repairs wait.
    pub fn is_contested(&self, desired: Digest, now: Instant) -> bool {
        self.repairs(desired, now) >= REPAIRS_AT_ONCE
    }

    /// When this content may be written again.
    pub fn next_repair(&self, desired: Digest, now: Instant) -> Option<Instant> {
        let wait = wait(self.repairs(desired, now))?;
        self.last_write.map(|last| last + wait)
    }

    /// How often this content was repaired, that is, written again.
    pub fn repairs(&self, desired: Digest, now: Instant) -> u32 {
        let counts = self.about == Some(desired) && self.last_write.is_some() && !self.is_forgotten(now);
        if counts { self.writes.saturating_sub(1) } else { 0 }
    }

    /// Ten minutes without a repair; not those that the repair had to wait, else the longest wait would end every count.
    fn is_forgotten(&self, now: Instant) -> bool {
        let waited = wait(self.writes.saturating_sub(1)).unwrap_or_default();
        self.last_write.is_some_and(|last| now.duration_since(last) > FORGET_AFTER.max(waited * 2))
    }

    /// Whether this content was written here before: then writing it again is a repair.
    pub fn has_written(&self, desired: Digest) -> bool {
        self.about == Some(desired)
    }

    /// Whether nothing in it matters any more.
    pub fn is_stale(&self, now: Instant) -> bool {
        let quiet = self.last_write.is_none() || self.is_forgotten(now);
        quiet && self.altered.is_none() && self.failures == 0 && self.throttled.is_none_or(|when| when <= now)
    }

    /// Takes note of a failure; the next attempt waits, doubling from `first` to `most`, jittered by `random` (0 to 1).
    pub fn failed(&mut self, first: Duration, most: Duration, now: Instant, random: f64) -> Instant {
        let doubled = first.saturating_mul(1 << self.failures.min(16)).min(most);
        self.failures = self.failures.saturating_add(1);
        let when = now + doubled.mul_f64(0.75 + random.clamp(0.0, 1.0) / 2.0);
        self.not_before = Some(when);
        when
    }

    /// The follower asks for no attempt before `until`.
    pub fn throttled(&mut self, until: Instant) {
        self.throttled = Some(until);
        self.not_before = Some(until);
    }

    /// New circumstances: what failed may be tried at once.
    pub fn forgive(&mut self) {
        self.failures = 0;
        if self.throttled.is_none() {
            self.trouble = None;
        }
        self.not_before = self.throttled;
    }
}

/// How long the next repair waits after this many; the first ones do not.
fn wait(repairs: u32) -> Option<Duration> {
    let beyond = repairs.checked_sub(REPAIRS_AT_ONCE)?;
    Some(FIRST_WAIT.saturating_mul(1 << beyond.min(16)).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{decode::Content, digest::DigestKey};

    fn digests() -> (Digest, Digest) {
        let key = DigestKey::generate().unwrap();
        (key.content(&Content::default()), key.content(&Content { immutable: true, ..Content::default() }))
    }

    #[test]
    fn five_repairs_at_once_then_ten_seconds_doubling_to_ten_minutes() {
        let ((wanted, _), mut history, start) = (digests(), History::default(), Instant::now());
        for _ in 0..5 {
            history.wrote(wanted, wanted, start);
            assert_eq!(history.next_repair(wanted, start), None);
        }
        history.wrote(wanted, wanted, start);
        assert!(history.is_contested(wanted, start));
        assert_eq!(history.next_repair(wanted, start), Some(start + Duration::from_secs(10)));
        history.wrote(wanted, wanted, start);
        assert_eq!(history.next_repair(wanted, start), Some(start + Duration::from_secs(20)));
        for _ in 0..20 {
            history.wrote(wanted, wanted, start);
        }
        assert_eq!(history.next_repair(wanted, start), Some(start + Duration::from_secs(600)));
    }

    #[test]
    fn new_content_is_never_held_up() {
        let ((old, new), mut history, now) = (digests(), History::default(), Instant::now());
        for _ in 0..9 {
            history.wrote(old, old, now);
        }
        assert_eq!(history.next_repair(new, now), None);
        history.wrote(new, new, now);
        assert!(!history.is_contested(new, now));
    }

    #[test]
    fn ten_quiet_minutes_start_the_count_anew() {
        let ((wanted, _), mut history, now) = (digests(), History::default(), Instant::now());
        for _ in 0..9 {
            history.wrote(wanted, wanted, now);
        }
        let later = now + FORGET_AFTER + Duration::from_secs(1);
        assert_eq!(history.next_repair(wanted, later), None);
        assert!(history.is_stale(later));
    }

    #[test]
    fn an_altered_answer_is_remembered_until_either_side_changes() {
        let ((sent, answered), mut history, now) = (digests(), History::default(), Instant::now());
        history.wrote(sent, answered, now);
        assert!(history.is_altered(sent, answered));
        assert!(!history.is_altered(answered, answered) && !history.is_altered(sent, sent));
        history.wrote(sent, sent, now);
        assert!(!history.is_altered(sent, answered));
    }

    #[test]
    fn failures_wait_ever_longer_until_forgiven() {
        let (mut history, now) = (History::default(), Instant::now());
        let (first, most) = (Duration::from_secs(1), Duration::from_secs(600));
        assert_eq!(history.failed(first, most, now, 0.5), now + Duration::from_secs(1));
        assert_eq!(history.failed(first, most, now, 0.5), now + Duration::from_secs(2));
        for _ in 0..40 {
            history.failed(first, most, now, 0.5);
        }
        assert_eq!(history.failed(first, most, now, 0.5), now + most);
        history.forgive();
        assert_eq!(history.failed(first, most, now, 0.5), now + first);
    }
}
