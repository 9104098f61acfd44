//! When an unwanted copy may go: classes, delays and the guard against mistakes (DESIGN: "Never destructive by mistake").
//! Pure: time is an argument.

use crate::api::{key::ObjectKey, names::Uid};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Duration, Instant},
};

/// Why a target is unwanted: fixed when it becomes so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// This process saw the source's own annotations, or the labels of a namespace, change, and the target was wanted before.
    Written,
    /// This process saw the source being deleted.
    Witnessed,
    /// Everything else: unwanted at start, missing in a relist, policy or follower labels or flags changed.
    Unwitnessed,
}

impl Class {
    /// As in rows and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "Written",
            Self::Witnessed => "Witnessed",
            Self::Unwitnessed => "Unwitnessed",
        }
    }
}

/// A `Written` deletion waits this long, so that a slip of the hand can be taken back.
pub const WRITTEN_DELAY: Duration = Duration::from_secs(3);
const SHORTEST_WINDOW: Duration = Duration::from_secs(60);
/// How soon a held batch is looked at again: it becomes smaller by itself, without an event.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// A renamed follower stays renamed until an event says otherwise.
const LOOK_SELDOM: Duration = Duration::from_secs(600);

/// The flags that shape deletions.
#[derive(Clone, Debug)]
pub struct Limits {
    /// `--deletion-delay`.
    pub delay: Duration,
    /// `--max-deletions`: sources that may lose copies by Written and Witnessed deletions in one batch.
    pub max_sources: usize,
    /// `--max-unwitnessed-deletions`: the same for Unwitnessed ones.
    pub max_unwitnessed: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { delay: Duration::from_secs(30), max_sources: 10, max_unwitnessed: 2 }
    }
}

/// A copy that is not wanted any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Why.
    pub class: Class,
    /// When it may go.
    pub due: Instant,
    /// The source that its mark names.
    pub source: ObjectKey,
    /// Its UID.
    pub uid: Uid,
    /// Why it is held, if it is.
    pub held: Option<Held>,
}

/// Why a copy is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// More than `--max-deletions` sources in the batch.
    ManySources,
    /// More than `--max-unwitnessed-deletions` sources in the batch.
    ManyUnwitnessed,
    /// The source would lose copies on more than `--max-unwitnessed-followers` followers.
    ManyFollowers,
    /// The mark names a follower name that this cluster no longer has.
    RenamedFollower,
}

impl Held {
    fn again(self) -> Duration {
        if self == Self::RenamedFollower { LOOK_SELDOM } else { LOOK_AGAIN }
    }

    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ManySources => "more sources than --max-deletions",
            Self::ManyUnwitnessed => "more sources than --max-unwitnessed-deletions",
            Self::ManyFollowers => "more followers than --max-unwitnessed-followers",
            Self::RenamedFollower => "its follower name is not this cluster's any more",
        }
    }
}

/// Whether a copy may go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Due,
    /// Not before.
    Later(Instant),
    /// Only when somebody approves it, or the batch becomes smaller; look again then.
    Held(Held, Instant),
}

/// What a copy's mark says about the follower name by which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// The name is this cluster's.
    Member,
    /// The name is not this cluster's any more.
    Gone,
}

/// The unwanted copies of one follower.
pub struct Deletions {
    limits: Limits,
    pending: BTreeMap<ObjectKey, Pending>,
    recent: VecDeque<(Instant, ObjectKey, Class)>,
    live: Tally,
    unwitnessed: Tally,
    approved: BTreeSet<String>,
}

/// How many copies each source loses: what is counted are the sources.
type Tally = BTreeMap<ObjectKey, usize>;

impl Deletions {
    /// None yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            pending: BTreeMap::new(),
            recent: VecDeque::new(),
            live: Tally::new(),
            unwitnessed: Tally::new(),
            approved: BTreeSet::new(),
        }
    }

    /// Replaces what somebody approved: `Kind/namespace/name/uid`.
    pub fn approve(&mut self, approved: BTreeSet<String>) {
        self.approved = approved;
    }

    /// A copy is unwanted. Class and due time stay as they were when it became so.
    pub fn unwanted(&mut self, key: &ObjectKey, pending: Pending) {
        if let Some(held) = self.pending.get_mut(key) {
            held.uid = pending.uid.clone();
            if held.source == pending.source {
                return;
            }
        }
        self.drop_pending(key);
        count(self.tally(pending.class), &pending.source);
        self.pending.insert(key.clone(), pending);
    }

    /// When a copy that becomes unwanted now may go.
    pub fn due(&self, class: Class, delay: Option<Duration>, now: Instant) -> Instant {
        now + if class == Class::Written { WRITTEN_DELAY } else { delay.unwrap_or(self.limits.delay) }
    }

    /// A copy is wanted again, or is not ours any more.
    pub fn wanted(&mut self, key: &ObjectKey) {
        self.drop_pending(key);
    }

    /// A copy was deleted or released by us.
    pub fn gone(&mut self, key: &ObjectKey, now: Instant) {
        if let Some(pending) = self.pending.remove(key) {
            self.recent.push_back((now, pending.source, pending.class));
        }
    }

    /// Whether a pending copy may go. `admit` is asked last: whether its source may lose a copy in this follower too.
    pub fn verdict(
        &mut self,
        key: &ObjectKey,
        via: Via,
        now: Instant,
        admit: impl FnOnce(&ObjectKey) -> bool,
    ) -> Verdict {
        self.forget_old(now);
        let Some(pending) = self.pending.get(key) else { return Verdict::Later(now + LOOK_AGAIN) };
        let held = if self.approved.contains(&format!("{key}/{}", pending.uid)) {
            None
        } else if now < pending.due {
            return Verdict::Later(pending.due);
        } else if via == Via::Gone {
            Some(Held::RenamedFollower)
        } else {
            self.too_many(pending.class).or_else(|| {
                (pending.class == Class::Unwitnessed && !admit(&pending.source)).then_some(Held::ManyFollowers)
            })
        };
        if let Some(pending) = self.pending.get_mut(key) {
            pending.held = held;
        }
        held.map_or(Verdict::Due, |held| Verdict::Held(held, now + held.again()))
    }

    /// What is unwanted, by target.
    pub fn pending(&self) -> &BTreeMap<ObjectKey, Pending> {
        &self.pending
    }

    fn too_many(&self, class: Class) -> Option<Held> {
        match class {
            Class::Written | Class::Witnessed => {
                (self.live.len() > self.limits.max_sources).then_some(Held::ManySources)
            }
            Class::Unwitnessed => {
                (self.unwitnessed.len() > self.limits.max_unwitnessed).then_some(Held::ManyUnwitnessed)
            }
        }
    }

    fn drop_pending(&mut self, key: &ObjectKey) {
        if let Some(pending) = self.pending.remove(key) {
            discount(self.tally(pending.class), &pending.source);
        }
    }

    /// What was deleted stays part of the batch for a while: a slow trickle of deletions is one mistake, too.
    fn forget_old(&mut self, now: Instant) {
        let window = self.limits.delay.max(SHORTEST_WINDOW);
        while self.recent.front().is_some_and(|(at, ..)| now.duration_since(*at) > window) {
            if let Some((_, source, class)) = self.recent.pop_front() {
                discount(self.tally(class), &source);
            }
        }
    }

    fn tally(&mut self, class: Class) -> &mut Tally {
        match class {
            Class::Written | Class::Witnessed => &mut self.live,
            Class::Unwitnessed => &mut self.unwitnessed,
        }
    }
}

fn count(tally: &mut Tally, source: &ObjectKey) {
    *tally.entry(source.clone()).or_default() += 1;
}

fn discount(tally: &mut Tally, source: &ObjectKey) {
    if let Some(copies) = tally.get_mut(source) {
        *copies = copies.saturating_sub(1);
        if *copies == 0 {
            tally.remove(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::key::Kind;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(Kind::Secret, "n", name)
    }

    struct Bench {
        deletions: Deletions,
        start: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self { deletions: Deletions::new(Limits::default()), start: Instant::now() }
        }

        fn at(&self, seconds: u64) -> Instant {
            self.start + Duration::from_secs(seconds)
        }

        fn lose(&mut self, target: &str, source: &str, class: Class, at: u64) {
            let due = self.deletions.due(class, None, self.at(at));
            let pending = Pending { class, due, source: key(source), uid: "u".into(), held: None };
            self.deletions.unwanted(&key(target), pending);
        }

        fn verdict(&mut self, target: &str, at: u64) -> Verdict {
            let now = self.at(at);
            self.deletions.verdict(&key(target), Via::Member, now, |_| true)
        }

        fn is_held(&mut self, target: &str, at: u64, held: Held) -> bool {
            matches!(self.verdict(target, at), Verdict::Held(why, _) if why == held)
        }
    }

    #[test]
    fn each_class_is_due_after_its_delay() {
        for (class, delay) in [(Class::Written, 3), (Class::Witnessed, 30), (Class::Unwitnessed, 30)] {
            let mut bench = Bench::new();
            bench.lose("a", "a", class, 0);
            assert_eq!(bench.verdict("a", delay - 1), Verdict::Later(bench.at(delay)), "{}", class.as_str());
            assert_eq!(bench.verdict("a", delay), Verdict::Due, "{}", class.as_str());
        }
    }

    #[test]
    fn class_and_due_time_stay_until_it_is_wanted_again() {
        let mut bench = Bench::new();
        bench.lose("a", "a", Class::Witnessed, 0);
        bench.lose("a", "a", Class::Written, 20);
        assert_eq!(bench.verdict("a", 25), Verdict::Later(bench.at(30)));
        bench.deletions.wanted(&key("a"));
        bench.lose("a", "a", Class::Written, 40);
        assert_eq!(bench.verdict("a", 40), Verdict::Later(bench.at(43)));
    }

    #[test]
    fn one_source_with_many_copies_goes() {
        let mut bench = Bench::new();
        for number in 0..200 {
            bench.lose(&number.to_string(), "a", Class::Witnessed, 0);
        }
        assert_eq!(bench.verdict("7", 30), Verdict::Due);
    }

    #[test]
    fn more_than_ten_sources_deleted_live_are_held_and_ten_go() {
        let mut bench = Bench::new();
        for number in 0..10 {
            bench.lose(&number.to_string(), &number.to_string(), Class::Witnessed, 0);
        }
        assert_eq!(bench.verdict("0", 30), Verdict::Due);
        bench.lose("10", "10", Class::Written, 20);
        assert!(bench.is_held("0", 30, Held::ManySources) && bench.is_held("10", 30, Held::ManySources));
    }

    #[test]
    fn what_was_just_deleted_counts_for_a_minute() {
        let mut bench = Bench::new();
        for number in 0..10 {
            bench.lose(&number.to_string(), &number.to_string(), Class::Written, 0);
        }
        for number in 0..10 {
            let at = bench.at(3);
            bench.deletions.gone(&key(&number.to_string()), at);
        }
        bench.lose("10", "10", Class::Written, 10);
        assert!(bench.is_held("10", 20, Held::ManySources));
        assert_eq!(bench.verdict("10", 64), Verdict::Due);
    }

    #[test]
    fn three_unwitnessed_sources_are_held_and_hold_nothing_else() {
        let mut bench = Bench::new();
        for name in ["a", "b", "c"] {
            bench.lose(name, name, Class::Unwitnessed, 0);
        }
        bench.lose("d", "d", Class::Witnessed, 0);
        assert!(bench.is_held("a", 30, Held::ManyUnwitnessed));
        assert_eq!(bench.verdict("d", 30), Verdict::Due);
        bench.deletions.wanted(&key("c"));
        assert_eq!(bench.verdict("a", 30), Verdict::Due);
    }

    #[test]
    fn approval_frees_the_copy_that_it_names_and_no_other() {
        let mut bench = Bench::new();
        for name in ["a", "b", "c"] {
            bench.lose(name, name, Class::Unwitnessed, 0);
        }
        bench.deletions.approve(["Secret/n/a/u".to_owned(), "Secret/n/b/another-uid".to_owned()].into());
        assert_eq!(bench.verdict("a", 1), Verdict::Due);
        assert!(bench.is_held("b", 30, Held::ManyUnwitnessed));
    }

    #[test]
    fn a_renamed_follower_holds_its_copies() {
        let mut bench = Bench::new();
        bench.lose("a", "a", Class::Witnessed, 0);
        let now = bench.at(30);
        let verdict = bench.deletions.verdict(&key("a"), Via::Gone, now, |_| true);
        assert!(matches!(verdict, Verdict::Held(Held::RenamedFollower, _)));
    }

    #[test]
    fn a_source_that_would_go_from_too_many_followers_is_held() {
        let mut bench = Bench::new();
        bench.lose("a", "a", Class::Unwitnessed, 0);
        let now = bench.at(30);
        let verdict = bench.deletions.verdict(&key("a"), Via::Member, now, |_| false);
        assert!(matches!(verdict, Verdict::Held(Held::ManyFollowers, _)));
    }
}
