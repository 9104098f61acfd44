//! What was gathered about one topic, and when it is to be told. Pure.

use super::{About, Telling, Tone};
use crate::api::names::ResourceVersion;
use std::{
    cmp::Ordering,
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// How long nothing more must come before what was gathered is told, and for how long it may come.
const QUIET: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);
/// Between two Warnings about the same.
const SILENCE: Duration = Duration::from_secs(600);
/// How many names an event lists.
const MOST_NAMES: usize = 5;

/// A target in a follower.
pub(in crate::telemetry) type Place = (Option<String>, String);

/// What was gathered about one topic.
pub(super) struct Story {
    about: About,
    tone: Tone,
    gathered: BTreeSet<Place>,
    /// How many notices found no room.
    uncounted: usize,
    detail: Option<String>,
    /// How many targets this version should reach.
    expected: Option<usize>,
    /// Of what is gathered.
    first: Option<Instant>,
    last: Option<Instant>,
    told_version: Option<(String, String)>,
    told_at: Option<Instant>,
    /// When it is to be told, and when it was last touched: its places in the budget's tables.
    pub(super) due: Option<Instant>,
    pub(super) touched: u64,
}

impl Story {
    pub(super) fn new(about: About, tone: Tone) -> Self {
        Self {
            about,
            tone,
            gathered: BTreeSet::new(),
            uncounted: 0,
            detail: None,
            expected: None,
            first: None,
            last: None,
            told_version: None,
            told_at: None,
            due: None,
            touched: 0,
        }
    }

    /// How many places are kept.
    pub(super) fn kept(&self) -> usize {
        self.gathered.len()
    }

    /// Turns to the version that a notice is about; `false` if nothing more is to be said about that.
    pub(super) fn renew(&mut self, about: &About) -> bool {
        let older = is_older(about.version(), self.about.version());
        if self.tone == Tone::Warning {
            if !older {
                self.about = about.clone();
            }
            return true;
        }
        if older || self.is_told(about) {
            return false;
        }
        if about.version() != self.about.version() {
            self.clear();
            self.about = about.clone();
        }
        true
    }

    fn is_told(&self, about: &About) -> bool {
        let told = self.told_version.as_ref().map(|(uid, version)| (uid.as_str(), version.as_str()));
        told.is_some() && told == about.version()
    }

    pub(super) fn expect(&mut self, copies: usize) {
        self.expected = Some(copies);
    }

    pub(super) fn gather(&mut self, place: Place, detail: Option<String>, room: bool, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.detail = detail.or(self.detail.take());
        if room {
            self.gathered.insert(place);
        } else if !self.gathered.contains(&place) {
            self.uncounted += 1;
        }
    }

    pub(super) fn warns_of(&self, place: &Place) -> bool {
        self.tone == Tone::Warning && self.gathered.contains(place)
    }

    pub(super) fn put_right(&mut self, place: &Place) {
        self.gathered.remove(place);
        if self.gathered.is_empty() && self.uncounted == 0 {
            self.clear();
        }
    }

    /// Sets when it is to be told.
    pub(super) fn schedule(&mut self) {
        self.due = self.first.zip(self.last).map(|(first, last)| {
            if self.expected.is_some_and(|expected| self.gathered.len() >= expected) {
                return last;
            }
            let quiet = (last + QUIET).min(first + LONGEST);
            self.silent_until().map_or(quiet, |until| quiet.max(until))
        });
    }

    fn silent_until(&self) -> Option<Instant> {
        let once_per_version = self.tone == Tone::Normal && self.about.version().is_some();
        self.told_at.filter(|_| !once_per_version).map(|told| told + SILENCE)
    }

    /// What is to be told now. Gathering starts anew.
    pub(super) fn tell(&mut self, reason: &'static str, now: Instant) -> Telling {
        let followers: BTreeSet<_> = self.gathered.iter().filter_map(|(follower, _)| follower.as_ref()).collect();
        let targets = self.gathered.iter().map(|(_, target)| target).filter(|target| !target.is_empty());
        let alone = if followers.len() > 1 { 0 } else { MOST_NAMES };
        let telling = Telling {
            about: self.about.clone(),
            reason,
            tone: self.tone,
            followers: followers.len(),
            follower_names: followers.iter().take(MOST_NAMES).map(|name| (*name).clone()).collect(),
            targets: targets.clone().count() + self.uncounted,
            target_names: targets.take(alone).cloned().collect(),
            at_least: self.uncounted > 0,
            detail: self.detail.clone(),
        };
        self.told_version = self.about.version().map(|(uid, version)| (uid.to_owned(), version.to_owned()));
        self.told_at = Some(now);
        self.clear();
        telling
    }

    fn clear(&mut self) {
        self.gathered.clear();
        (self.uncounted, self.detail, self.expected, self.first, self.last) = (0, None, None, None, None);
    }
}

type Version<'a> = Option<(&'a str, &'a str)>;

/// Of one object: a deleted and recreated one is newer, whatever its version.
fn is_older(one: Version<'_>, other: Version<'_>) -> bool {
    match (one, other) {
        (Some((uid, one)), Some((known, other))) => {
            uid == known && ResourceVersion::from(one).compare(&other.into()) == Some(Ordering::Less)
        }
        _ => false,
    }
}
