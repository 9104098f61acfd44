//! The work queue: client-go's semantics. A key is never worked on twice at once, a burst collapses into one, no change is
//! lost, and live changes go before the start-up list. Keys travel, never payloads. Pure: time is an argument.

use crate::api::key::ObjectKey;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    time::Instant,
};

/// How soon a key is due among those that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Something has just changed.
    Live,
    /// Part of a list: the start, a relist.
    Listed,
}

/// Keys that are due, running or due later.
#[derive(Default)]
pub struct Queue {
    live: VecDeque<ObjectKey>,
    listed: VecDeque<ObjectKey>,
    queued: BTreeMap<ObjectKey, Priority>,
    running: HashSet<ObjectKey>,
    again: BTreeMap<ObjectKey, Priority>,
    later: BTreeSet<(Instant, ObjectKey)>,
    due: BTreeMap<ObjectKey, Instant>,
}

/// Room that an empty lane keeps.
const SHORT: usize = 32;

impl Queue {
    /// Makes a key due now. One that is running becomes due again when it is done.
    pub fn push(&mut self, key: ObjectKey, priority: Priority) {
        if self.running.contains(&key) {
            let held = self.again.entry(key).or_insert(priority);
            *held = priority.min(*held);
            return;
        }
        match self.queued.get(&key) {
            Some(held) if *held <= priority => return,
            _ => self.queued.insert(key.clone(), priority),
        };
        match priority {
            Priority::Live => self.live.push_back(key),
            Priority::Listed => self.listed.push_back(key),
        }
    }

    /// Makes a key due at `when`, or earlier if it already was to be.
    pub fn push_at(&mut self, key: ObjectKey, when: Instant) {
        if self.due.get(&key).is_some_and(|held| *held <= when) {
            return;
        }
        if let Some(held) = self.due.insert(key.clone(), when) {
            self.later.remove(&(held, key.clone()));
        }
        self.later.insert((when, key));
    }

    /// Takes the next key that is due; it is running until [`Queue::done`].
    pub fn pop(&mut self, now: Instant) -> Option<ObjectKey> {
        self.wake(now);
        let key = self.next(Priority::Live).or_else(|| self.next(Priority::Listed))?;
        self.running.insert(key.clone());
        Some(key)
    }

    /// Ends the work on a key.
    pub fn done(&mut self, key: &ObjectKey) {
        self.running.remove(key);
        if let Some(priority) = self.again.remove(key) {
            self.push(key.clone(), priority);
        }
    }

    /// When the next key becomes due, if none is due now.
    pub fn next_wake(&self) -> Option<Instant> {
        self.later.first().map(|(when, _)| *when)
    }

    /// Whether a key is being worked on.
    pub fn is_running(&self, key: &ObjectKey) -> bool {
        self.running.contains(key)
    }

    /// Whether nothing is due and nothing is running.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }

    fn wake(&mut self, now: Instant) {
        while let Some((when, key)) = self.later.first().cloned().filter(|(when, _)| *when <= now) {
            self.later.remove(&(when, key.clone()));
            self.due.remove(&key);
            self.push(key, Priority::Live);
        }
    }

    fn next(&mut self, priority: Priority) -> Option<ObjectKey> {
        let lane = match priority {
            Priority::Live => &mut self.live,
            Priority::Listed => &mut self.listed,
        };
        // A key that moved to the live lane left a copy of itself in the other.
        while let Some(key) = lane.pop_front() {
            if self.queued.get(&key) == Some(&priority) {
                self.queued.remove(&key);
                return Some(key);
            }
        }
        // The start-up list was long; what follows is not.
        lane.shrink_to(SHORT);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::key::Kind;
    use std::time::Duration;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(Kind::Secret, "n", name)
    }

    #[test]
    fn a_burst_collapses_into_one() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for _ in 0..5 {
            queue.push(key("a"), Priority::Live);
        }
        assert_eq!(queue.pop(now), Some(key("a")));
        assert_eq!(queue.pop(now), None);
    }

    #[test]
    fn a_key_is_not_worked_on_twice_at_once_and_no_change_is_lost() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.push(key("a"), Priority::Live);
        assert_eq!(queue.pop(now), Some(key("a")));
        queue.push(key("a"), Priority::Live);
        assert_eq!(queue.pop(now), None);
        queue.done(&key("a"));
        assert_eq!(queue.pop(now), Some(key("a")));
        queue.done(&key("a"));
        assert!(queue.is_idle());
    }

    #[test]
    fn live_changes_go_before_the_list_and_overtake_it() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for name in ["a", "b", "c"] {
            queue.push(key(name), Priority::Listed);
        }
        queue.push(key("c"), Priority::Live);
        queue.push(key("d"), Priority::Live);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).map(|key| key.name.to_string()).collect();
        assert_eq!(order, ["c", "d", "a", "b"]);
    }

    #[test]
    fn a_later_key_wakes_at_its_time_and_the_earlier_time_counts() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        queue.push_at(key("a"), at(5));
        queue.push_at(key("a"), at(2));
        queue.push_at(key("a"), at(9));
        assert_eq!(queue.next_wake(), Some(at(2)));
        assert_eq!(queue.pop(at(1)), None);
        assert_eq!(queue.pop(at(2)), Some(key("a")));
        assert_eq!(queue.next_wake(), None);
    }
}
