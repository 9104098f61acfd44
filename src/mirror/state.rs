//! The state of one follower and what changes it. Pure: the worker feeds it what it sees and executes what it decides.

use super::{
    claims::{Claims, Unclaimed},
    deletion::{Class, Deletions, Limits},
    history::History,
    lists::{ListState, Lists, covers},
    losses::Losses,
    namespaces::{Namespaces, Visible},
    observed::{Observed, Observer, Standing},
    parcel::Sender,
    plan::State,
    queue::{Priority, Queue},
    routes::Cause,
};
use crate::{
    api::{
        key::ObjectKey,
        names::{ClusterUid, FollowerName, Namespace, ResourceVersion, Uid},
        patterns::Patterns,
    },
    follower::member::Member,
    source::{Scope, Snapshot},
};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

/// The names that lead to this cluster, and what is known of all others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roster {
    /// The names that lead here, in byte order.
    pub members: Vec<Member>,
    /// Names that have not answered yet, so that nobody knows where they lead.
    pub unanswered: Arc<BTreeSet<FollowerName>>,
    /// Every name that a provider knows.
    pub known: Arc<BTreeSet<FollowerName>>,
}

/// What shapes a mirror and never changes while it lives.
#[derive(Clone)]
pub struct Settings {
    /// Who writes.
    pub sender: Sender,
    /// How objects are observed here.
    pub observer: Observer,
    /// Deletion flags.
    pub limits: Limits,
    /// The table that all workers share.
    pub losses: Losses,
    /// `--protected-namespaces`.
    pub protected: Arc<BTreeSet<Namespace>>,
    /// `--target-namespaces`.
    pub target_namespaces: Option<Arc<Patterns>>,
    /// `--adopt-kubed=by-name`.
    pub adoption: AdoptBy,
}

/// How kubed's copies are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptBy {
    /// The uid in kubed's annotation must be the source's.
    Uid,
    /// The labels are enough.
    Name,
}

/// The state of one follower.
pub struct Mirror {
    pub(super) settings: Settings,
    pub(super) roster: Roster,
    pub(super) sources: Snapshot,
    pub(super) namespaces: Namespaces,
    /// Objects with our label that are copies, or damaged ones.
    /// (Boxed: a map's nodes are half empty.)
    pub(super) copies: BTreeMap<ObjectKey, Box<Observed>>,
    /// Objects that are not ours, where a copy is wanted: found by GET, not watched.
    pub(super) occupants: BTreeMap<ObjectKey, Observed>,
    pub(super) claims: Claims,
    pub(super) unclaimed: Unclaimed,
    /// Sources whose routes are to be reckoned anew, and why.
    pub(super) stale_routes: BTreeMap<ObjectKey, Cause>,
    /// Why targets that this source wanted are not wanted any more.
    pub(super) causes: HashMap<ObjectKey, (ObjectKey, Class)>,
    /// Sources that want a target which another one has: who has it, and who was told.
    pub(super) rivals: BTreeMap<ObjectKey, (ObjectKey, BTreeSet<ObjectKey>)>,
    pub(super) histories: HashMap<ObjectKey, History>,
    pub(super) deletions: Deletions,
    pub(super) states: BTreeMap<ObjectKey, State>,
    pub(super) queue: Queue,
    /// Objects that went, by their watch, while a request about their target was under way: its answer may be older.
    pub(super) gone_meanwhile: HashMap<ObjectKey, Uid>,
    pub(super) notes: Vec<Note>,
    pub(super) namespaces_made: HashMap<Namespace, Instant>,
    pub(super) random: fastrand::Rng,
    pub(super) old_hubs: Arc<BTreeSet<ClusterUid>>,
    pub(super) lists: Lists,
    /// When stale histories were dropped last.
    pub(super) swept: Option<Instant>,
}

/// Something that people should be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The source that it is about.
    pub source: ObjectKey,
    /// The target.
    pub target: ObjectKey,
    /// The target's new state.
    pub state: State,
    /// More, in Towline's own words.
    pub detail: Option<String>,
}

impl Mirror {
    /// A mirror that knows nothing yet. `scopes` are the lists of copies that must be read before it acts.
    pub fn new(settings: Settings, scopes: impl IntoIterator<Item = Scope>, visible: Visible, seed: u64) -> Self {
        Self {
            deletions: Deletions::new(settings.limits.clone()),
            settings,
            roster: Roster::default(),
            sources: Snapshot::default(),
            namespaces: Namespaces::new(visible),
            copies: BTreeMap::new(),
            occupants: BTreeMap::new(),
            claims: Claims::default(),
            unclaimed: Unclaimed::default(),
            stale_routes: BTreeMap::new(),
            rivals: BTreeMap::new(),
            causes: HashMap::new(),
            histories: HashMap::new(),
            states: BTreeMap::new(),
            queue: Queue::default(),
            gone_meanwhile: HashMap::new(),
            notes: Vec::new(),
            namespaces_made: HashMap::new(),
            random: fastrand::Rng::with_seed(seed),
            old_hubs: Arc::default(),
            lists: Lists::new(scopes),
            swept: None,
        }
    }

    /// A list of copies begins anew.
    pub fn relist_begun(&mut self, scope: &Scope) {
        self.lists.begin(scope);
    }

    /// A list of copies is complete: what it did not show, and what we did not write since it began, is gone.
    pub fn relist_done(&mut self, scope: &Scope) {
        let (shown, before) = self.lists.done(scope);
        let here = |key: &&ObjectKey| covers(scope, key);
        let gone = self.copies.keys().filter(here).filter(|key| !shown.contains(*key));
        gone.cloned().collect::<Vec<_>>().iter().for_each(|key| self.copy_lost(key));
        if before != ListState::Read {
            let all: Vec<ObjectKey> = self.claims.targets().chain(self.copies.keys()).filter(here).cloned().collect();
            all.into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
            self.push_unwanted();
        }
    }

    /// A list of copies cannot be read: nothing is decided there any more.
    pub fn unreadable(&mut self, scope: Scope) {
        let waiting: Vec<ObjectKey> = self.claims.targets().filter(|key| covers(&scope, key)).cloned().collect();
        self.lists.denied(scope);
        waiting.into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
        self.push_unwanted();
    }

    /// Whether every list of copies has been read.
    pub fn is_read(&self) -> bool {
        self.lists.are_read()
    }

    /// An object with our label, as its watch or the answer to a write shows it.
    pub fn copy_seen(&mut self, key: ObjectKey, observed: Observed) {
        match observed.standing {
            Standing::Stray => self.stray_seen(&key, observed),
            Standing::Foreign(_) => self.copy_lost(&key),
            Standing::Ours(_) | Standing::Damaged => {
                self.lists.stray_gone(&key, &observed.uid);
                if self.lists.show(&key) || self.is_news(&key, &observed) {
                    self.put(key, observed);
                }
            }
        }
    }

    /// The watch says that an object is gone, or has lost our label. Counts only for the object that is stored.
    pub fn copy_gone(&mut self, key: &ObjectKey, uid: &Uid) {
        self.lists.stray_gone(key, uid);
        if self.queue.is_running(key) {
            self.gone_meanwhile.insert(key.clone(), uid.clone());
        }
        if self.copy(key).is_some_and(|observed| observed.uid == *uid) {
            self.copy_lost(key);
        }
        if self.occupants.get(key).is_some_and(|observed| observed.uid == *uid) {
            self.occupants.remove(key);
            self.touched(key);
        }
    }

    /// Replaces what somebody approved for this follower.
    pub fn approve(&mut self, approved: BTreeSet<String>) {
        self.deletions.approve(approved);
        self.push_unwanted();
    }

    /// `--adopt-origin`: hubs that this one replaces. Their copies are taken over where they are wanted, and never deleted.
    pub fn adopt_from(&mut self, hubs: Arc<BTreeSet<ClusterUid>>) {
        self.old_hubs = hubs;
    }

    /// How many strays there are.
    pub fn strays(&self) -> usize {
        self.lists.strays()
    }

    /// When the next target is due, if none is due now.
    pub fn next_wake(&self) -> Option<Instant> {
        self.queue.next_wake()
    }

    /// Whether nothing is due and nothing is running.
    pub fn is_idle(&self) -> bool {
        self.queue.is_idle() && self.stale_routes.is_empty()
    }

    /// Takes what people should be told.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The rights reach only some namespaces: everything about copies and namespaces is read anew.
    pub fn restart(&mut self, scopes: impl IntoIterator<Item = Scope>, visible: Visible) {
        self.lists = Lists::new(scopes);
        self.namespaces = Namespaces::new(visible);
        self.route_all(Cause::Policy);
    }

    /// Stores a copy, sharing the names that are already in memory.
    fn put(&mut self, key: ObjectKey, mut observed: Observed) {
        let key = self.claims.shared(&key).cloned().unwrap_or(key);
        if let Standing::Ours(mark) = &mut observed.standing {
            let member = self.roster.members.iter().find(|member| member.name == mark.follower);
            mark.follower = member.map_or_else(|| mark.follower.clone(), |member| member.name.clone());
            let known = self.sources.sources.get(&mark.source);
            mark.source = known.map_or_else(|| mark.source.clone(), |source| source.key.clone());
        }
        self.was_changed(&key);
        self.occupants.remove(&key);
        let before = self.copies.insert(key.clone(), Box::new(observed));
        self.reindex(&key, before.as_deref());
        self.touched(&key);
    }

    pub(super) fn copy(&self, key: &ObjectKey) -> Option<&Observed> {
        self.copies.get(key).map(|observed| &**observed)
    }

    /// A copy, or what is in the way.
    pub(super) fn there(&self, key: &ObjectKey) -> Option<&Observed> {
        self.copy(key).or_else(|| self.occupants.get(key))
    }

    /// A copy is gone, or is not ours any more.
    pub(super) fn copy_lost(&mut self, key: &ObjectKey) {
        self.was_changed(key);
        if let Some(before) = self.copies.remove(key) {
            self.reindex(key, Some(&before));
            self.touched(key);
        }
    }

    /// Somebody changed or deleted a copy that was in step: whatever follows is a repair.
    fn was_changed(&mut self, key: &ObjectKey) {
        if self.states.get(key) == Some(&State::InStep)
            && let Some(whole) = self.copy(key).map(|observed| observed.whole)
        {
            self.histories.entry(key.clone()).or_default().was_in_step(whole);
        }
    }

    fn reindex(&mut self, key: &ObjectKey, before: Option<&Observed>) {
        let source = |observed: Option<&Observed>| match observed.map(|observed| &observed.standing) {
            Some(Standing::Ours(mark)) => Some(mark.source.clone()),
            _ => None,
        };
        let sources = [source(before), source(self.copy(key))];
        sources.iter().flatten().for_each(|source| self.index(source, key));
    }

    /// A stray is counted; it is remembered only where it is in the way.
    fn stray_seen(&mut self, key: &ObjectKey, observed: Observed) {
        self.lists.stray_seen(key, &observed.uid);
        self.copy_lost(key);
        let known = self.occupants.get(key).is_some_and(|known| known.version == observed.version);
        if !known && !self.claims.on(key).is_empty() {
            self.occupants.insert(key.clone(), observed);
            self.touched(key);
        }
    }

    /// State only moves to a higher version, also from one uid to another: versions are the whole API server's.
    fn is_news(&self, key: &ObjectKey, observed: &Observed) -> bool {
        self.copy(key).is_none_or(|known| is_newer(&observed.version, &known.version))
    }

    /// The slot changed: whatever failed may be tried again at once.
    pub(super) fn touched(&mut self, key: &ObjectKey) {
        if let Some(history) = self.histories.get_mut(key) {
            history.forgive();
        }
        self.queue.push(key.clone(), Priority::Live);
    }
}

fn is_newer(one: &ResourceVersion, other: &ResourceVersion) -> bool {
    matches!(one.compare(other), None | Some(Ordering::Greater))
}
