//! The state of one follower and what changes it. Pure: the worker feeds it what it sees and executes what it decides.

use super::{
    claims::{Claims, Wants},
    deletion::{Class, Deletions, Limits},
    desired::{self, Desired, View},
    history::History,
    losses::Losses,
    namespaces::{NamespaceInfo, Namespaces, Visible},
    observed::{Observed, Observer, Standing},
    parcel::Sender,
    plan::State,
    queue::{Priority, Queue},
};
use crate::{
    api::{
        key::{Kind, ObjectKey},
        names::{FollowerName, Namespace, ResourceVersion, Uid},
        patterns::Patterns,
        policy,
    },
    follower::member::Member,
    source::{Farewell, Scope, Shipment, Snapshot},
};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
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
    pub(super) copies: BTreeMap<ObjectKey, Observed>,
    /// Objects that are not ours, where a copy is wanted: found by GET, not watched.
    pub(super) occupants: BTreeMap<ObjectKey, Observed>,
    pub(super) claims: Claims,
    /// Why targets that were wanted are not any more.
    pub(super) causes: HashMap<ObjectKey, Class>,
    pub(super) histories: HashMap<ObjectKey, History>,
    pub(super) deletions: Deletions,
    pub(super) states: BTreeMap<ObjectKey, State>,
    pub(super) queue: Queue,
    pub(super) notes: Vec<Note>,
    pub(super) namespaces_made: HashMap<Namespace, Instant>,
    pub(super) random: fastrand::Rng,
    strays: HashSet<Uid>,
    /// Keys that a running relist has shown, or that we wrote since it began.
    relists: BTreeMap<Scope, BTreeSet<ObjectKey>>,
    unread: BTreeSet<Scope>,
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
            causes: HashMap::new(),
            histories: HashMap::new(),
            states: BTreeMap::new(),
            queue: Queue::default(),
            notes: Vec::new(),
            namespaces_made: HashMap::new(),
            random: fastrand::Rng::with_seed(seed),
            strays: HashSet::new(),
            relists: BTreeMap::new(),
            unread: scopes.into_iter().collect(),
        }
    }

    /// Takes the sources as they are now.
    pub fn sources_changed(&mut self, snapshot: &Snapshot) {
        let changed = snapshot.changed_since(&self.sources);
        let first = self.sources.sources.is_empty() && self.copies.is_empty();
        let scopes_changed = snapshot.scopes != self.sources.scopes;
        self.sources = snapshot.clone();
        for key in changed {
            self.route(&key, Cause::Source, if first { Priority::Listed } else { Priority::Live });
        }
        if scopes_changed {
            self.push_unwanted();
        }
    }

    /// Takes the names that lead here, and what is known of others.
    pub fn roster_changed(&mut self, roster: Roster) {
        if roster == self.roster {
            return;
        }
        let members_changed = roster.members != self.roster.members;
        self.roster = roster;
        if members_changed {
            self.route_all(Cause::Policy);
        }
        let copies: Vec<ObjectKey> = self.copies.keys().cloned().collect();
        copies.into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
    }

    /// A namespace as its watch shows it.
    pub fn namespace_seen(&mut self, name: Namespace, info: NamespaceInfo) {
        if self.namespaces.set(name.clone(), info) {
            self.namespace_changed(&name);
        }
    }

    /// A namespace is gone.
    pub fn namespace_gone(&mut self, name: &Namespace) {
        if self.namespaces.remove(name) {
            self.namespace_changed(name);
        }
    }

    /// The names of all namespaces seen, to find those that a relist no longer shows.
    pub fn namespace_names(&self) -> BTreeSet<Namespace> {
        self.namespaces.iter().map(|(name, _)| name.clone()).collect()
    }

    /// What can be seen of the namespaces has changed (a right was given or taken).
    pub fn namespaces_visible(&mut self, visible: Visible) {
        if self.namespaces.set_visible(visible) {
            self.route_all(Cause::Policy);
            self.push_unwanted();
        }
    }

    /// A list of copies begins anew.
    pub fn relist_begun(&mut self, scope: &Scope) {
        self.relists.insert(scope.clone(), BTreeSet::new());
    }

    /// A list of copies is complete: what it did not show, and what we did not write since it began, is gone.
    pub fn relist_done(&mut self, scope: &Scope) {
        let shown = self.relists.remove(scope).unwrap_or_default();
        let covered = |key: &&ObjectKey| {
            key.kind == scope.kind && scope.namespace.as_ref().is_none_or(|name| *name == key.namespace)
        };
        let gone: Vec<ObjectKey> =
            self.copies.keys().filter(covered).filter(|key| !shown.contains(*key)).cloned().collect();
        for key in gone {
            self.copies.remove(&key);
            self.touched(&key);
        }
        if self.unread.remove(scope) && self.unread.is_empty() {
            let all: Vec<ObjectKey> = self.claims.targets().chain(self.copies.keys()).cloned().collect();
            all.into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
        }
    }

    /// A list of copies cannot be read: nothing is decided there any more.
    pub fn unreadable(&mut self, scope: Scope) {
        self.relists.remove(&scope);
        self.unread.insert(scope);
    }

    /// Whether every list of copies has been read.
    pub fn is_read(&self) -> bool {
        self.unread.is_empty()
    }

    /// An object with our label, as its watch or the answer to a write shows it.
    pub fn copy_seen(&mut self, key: ObjectKey, observed: Observed) {
        if let Some(shown) = self.relists.iter_mut().find_map(|(scope, shown)| covers(scope, &key).then_some(shown)) {
            shown.insert(key.clone());
        }
        match observed.standing {
            Standing::Stray => {
                self.strays.insert(observed.uid);
                if self.copies.remove(&key).is_some() {
                    self.touched(&key);
                }
            }
            Standing::Foreign(_) => self.copy_lost(&key),
            Standing::Ours(_) | Standing::Damaged if self.is_news(&key, &observed) => {
                self.occupants.remove(&key);
                self.copies.insert(key.clone(), observed);
                self.touched(&key);
            }
            Standing::Ours(_) | Standing::Damaged => {}
        }
    }

    /// The watch says that an object is gone, or has lost our label. Counts only for the object that is stored.
    pub fn copy_gone(&mut self, key: &ObjectKey, uid: &Uid) {
        self.strays.remove(uid);
        if self.copies.get(key).is_some_and(|observed| observed.uid == *uid) {
            self.copy_lost(key);
        }
    }

    /// Replaces what somebody approved for this follower.
    pub fn approve(&mut self, approved: BTreeSet<String>) {
        self.deletions.approve(approved);
        self.push_unwanted();
    }

    /// How many strays there are.
    pub fn strays(&self) -> usize {
        self.strays.len()
    }

    /// When the next target is due, if none is due now.
    pub fn next_wake(&self) -> Option<Instant> {
        self.queue.next_wake()
    }

    /// Whether nothing is due and nothing is running.
    pub fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    /// Takes what people should be told.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// The rights reach only some namespaces: everything about copies and namespaces is read anew.
    pub fn restart(&mut self, scopes: impl IntoIterator<Item = Scope>, visible: Visible) {
        self.relists.clear();
        self.unread = scopes.into_iter().collect();
        self.namespaces = Namespaces::new(visible);
        self.route_all(Cause::Policy);
    }

    fn copy_lost(&mut self, key: &ObjectKey) {
        if self.copies.remove(key).is_some() {
            self.touched(key);
        }
    }

    /// For one uid, state only moves to a higher version.
    fn is_news(&self, key: &ObjectKey, observed: &Observed) -> bool {
        self.copies
            .get(key)
            .is_none_or(|known| known.uid != observed.uid || is_newer(&observed.version, &known.version))
    }

    /// The slot changed: whatever failed may be tried again at once.
    pub(super) fn touched(&mut self, key: &ObjectKey) {
        if let Some(history) = self.histories.get_mut(key) {
            history.forgive();
        }
        self.queue.push(key.clone(), Priority::Live);
    }

    fn namespace_changed(&mut self, name: &Namespace) {
        for key in self.claims.by_namespaces() {
            self.route(&key, Cause::Namespace, Priority::Live);
        }
        for kind in Kind::ALL {
            let within = |key: &&ObjectKey| key.kind == kind && key.namespace == *name;
            let touched: BTreeSet<ObjectKey> =
                self.claims.targets().chain(self.copies.keys()).filter(within).cloned().collect();
            touched.iter().for_each(|key| self.touched(key));
        }
    }

    fn route_all(&mut self, cause: Cause) {
        let sources: Vec<ObjectKey> = self.sources.sources.keys().cloned().collect();
        sources.iter().for_each(|key| self.route(key, cause, Priority::Listed));
    }

    fn push_unwanted(&mut self) {
        let pending: Vec<ObjectKey> = self.deletions.pending().keys().cloned().collect();
        pending.into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
        let undecided = self.copies.keys().filter(|key| self.claims.on(key).is_empty()).cloned();
        undecided.collect::<Vec<_>>().into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
    }

    /// Reckons anew what a source wants here, and makes due whatever that touches.
    fn route(&mut self, key: &ObjectKey, cause: Cause, priority: Priority) {
        let source = self.sources.sources.get(key).cloned();
        let before = match source.as_ref().map(|source| (source, source.shipment())) {
            None => self.claims.remove(key),
            // What a frozen source wanted is remembered; nothing is done about it.
            Some((_, None)) => None,
            Some((_, Some(shipment))) => {
                self.settings.losses.forgive(key);
                let wants = Wants { desired: self.desired(key, shipment), shipment: shipment.clone() };
                self.note_refusals(key, &wants.desired);
                self.claims.set(key, wants)
            }
        };
        self.remember_causes(key, before.as_ref(), cause);
        let mut touched: BTreeSet<ObjectKey> =
            before.into_iter().flat_map(|wants| wants.desired.targets.into_keys()).collect();
        touched.extend(self.claims.of(key).into_iter().flat_map(|wants| wants.desired.targets.keys().cloned()));
        touched.extend(self.marked_with(key));
        for target in touched {
            self.queue.push(target, priority);
        }
    }

    fn desired(&self, key: &ObjectKey, shipment: &Shipment) -> Desired {
        let labels = self.sources.namespace_labels.get(&key.namespace).map(|labels| &**labels);
        let sender =
            policy::Sender { kind: key.kind, namespace: &key.namespace, namespace_labels: labels, name: &key.name };
        let view = View {
            local: self.settings.observer.hub == self.settings.observer.cluster,
            members: &self.roster.members,
            namespaces: &self.namespaces,
            protected: &self.settings.protected,
            target_namespaces: self.settings.target_namespaces.as_deref(),
        };
        desired::desired(&sender, &shipment.intent, view)
    }

    /// The copies whose mark names this source.
    fn marked_with(&self, source: &ObjectKey) -> Vec<ObjectKey> {
        let of_source =
            |observed: &Observed| matches!(&observed.standing, Standing::Ours(mark) if mark.source == *source);
        self.copies.iter().filter(|(_, observed)| of_source(observed)).map(|(key, _)| key.clone()).collect()
    }

    /// Why targets that this source wanted are not wanted any more: it decides how careful their deletion is.
    fn remember_causes(&mut self, source: &ObjectKey, before: Option<&Wants>, cause: Cause) {
        let Some(before) = before else { return };
        let after = self.claims.of(source);
        let class = match (after, self.sources.farewells.get(source)) {
            (Some(after), _) if cause == Cause::Source && after.shipment.intent == before.shipment.intent => {
                Class::Unwitnessed
            }
            (Some(_), _) if cause == Cause::Policy => Class::Unwitnessed,
            (Some(_), _) | (None, Some(Farewell::Unannotated)) => Class::Written,
            (None, Some(Farewell::Deleted)) => Class::Witnessed,
            (None, _) => Class::Unwitnessed,
        };
        for target in before.desired.targets.keys() {
            if after.is_some_and(|after| after.desired.targets.contains_key(target)) {
                self.causes.remove(target);
            } else {
                self.causes.insert(target.clone(), class);
            }
        }
    }

    fn note_refusals(&mut self, source: &ObjectKey, desired: &Desired) {
        for (key, rule) in &desired.not_granted {
            self.notes.push(Note {
                source: source.clone(),
                target: source.clone(),
                state: State::NotGranted,
                detail: Some(format!("annotation {key} is not granted here; the missing rule is\n{rule}")),
            });
        }
    }
}

/// What made the routes be reckoned anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The source itself changed, came or went.
    Source,
    /// A namespace of the follower changed.
    Namespace,
    /// Policy, flags, follower names or labels changed.
    Policy,
}

fn is_newer(one: &ResourceVersion, other: &ResourceVersion) -> bool {
    matches!(one.compare(other), None | Some(Ordering::Greater))
}

fn covers(scope: &Scope, key: &ObjectKey) -> bool {
    scope.kind == key.kind && scope.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
}
