//! What is wanted, and what changes it: sources, the follower's names, its namespaces. Pure.

use super::{
    claims::{Wants, within},
    deletion::Class,
    desired::{self, Desired, View},
    history::History,
    namespaces::{NamespaceInfo, Visible},
    observed::{Observed, Standing},
    plan::State,
    queue::Priority,
    state::{Mirror, Note, Roster},
};
use crate::{
    api::{
        key::{Kind, ObjectKey},
        names::{FollowerName, Namespace},
        policy,
    },
    source::{Farewell, Scope, Shipment, Snapshot},
};
use std::{collections::BTreeSet, sync::Arc};

/// What made the routes be reckoned anew. The later, the more careful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The source itself changed, came or went.
    Source,
    /// A namespace of the follower changed.
    Namespace,
    /// Policy, flags, follower names or labels changed.
    Policy,
}

impl Mirror {
    /// Takes the sources as they are now.
    pub fn sources_changed(&mut self, snapshot: &Snapshot) {
        let first = self.sources.sources.is_empty() && self.copies.is_empty();
        let before = std::mem::replace(&mut self.sources, snapshot.clone());
        for key in snapshot.changed_since(&before) {
            self.route(&key, Cause::Source, if first { Priority::Listed } else { Priority::Live });
        }
        if !snapshot.namespace_labels.ptr_eq(&before.namespace_labels) {
            let labels = |snapshot: &Snapshot, key: &ObjectKey| snapshot.namespace_labels.get(&key.namespace).cloned();
            let changed = snapshot.sources.keys().filter(|key| labels(snapshot, key) != labels(&before, key));
            changed.for_each(|key| self.reroute(key, Cause::Policy));
        }
        if concludable(snapshot) != concludable(&before) {
            self.push_unwanted();
        }
    }

    /// Takes the names that lead here, and what is known of others.
    pub fn roster_changed(&mut self, roster: Roster) {
        if roster == self.roster {
            return;
        }
        let before = std::mem::replace(&mut self.roster, roster);
        let members_changed = self.roster.members != before.members;
        if members_changed {
            self.route_all(Cause::Policy);
        }
        let is_member = |name: &FollowerName| self.roster.members.iter().any(|member| member.name == *name);
        let is_news = |name: &FollowerName| {
            before.known.contains(name) != self.roster.known.contains(name)
                || before.unanswered.contains(name) != self.roster.unanswered.contains(name)
        };
        let is_touched = |observed: &Observed| match &observed.standing {
            Standing::Ours(mark) => members_changed || (!is_member(&mark.follower) && is_news(&mark.follower)),
            _ => members_changed,
        };
        let touched = self.copies.iter().filter(|(_, observed)| is_touched(observed)).map(|(key, _)| key.clone());
        touched.collect::<Vec<_>>().into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
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
            let targets: Vec<ObjectKey> = self.claims.targets().cloned().collect();
            targets.into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
            self.push_unwanted();
        }
    }

    fn namespace_changed(&mut self, name: &Namespace) {
        let sources: Vec<ObjectKey> = self.claims.by_namespaces().iter().cloned().collect();
        sources.iter().for_each(|key| self.reroute(key, Cause::Namespace));
        for kind in Kind::ALL {
            let touched: BTreeSet<ObjectKey> =
                self.claims.targets_in(kind, name).chain(within(&self.copies, kind, name)).cloned().collect();
            touched.iter().for_each(|key| self.touched(key));
        }
    }

    pub(super) fn route_all(&mut self, cause: Cause) {
        let sources: Vec<ObjectKey> = self.sources.sources.keys().cloned().collect();
        sources.iter().for_each(|key| self.route(key, cause, Priority::Listed));
    }

    /// Everything that is unwanted, or may be.
    pub(super) fn push_unwanted(&mut self) {
        let pending = self.deletions.pending().keys().chain(self.unclaimed.iter());
        pending.cloned().collect::<Vec<_>>().into_iter().for_each(|key| self.queue.push(key, Priority::Listed));
    }

    /// Has a source's routes reckoned before the next decision: a burst of namespaces costs one reckoning.
    fn reroute(&mut self, key: &ObjectKey, cause: Cause) {
        let held = self.stale_routes.entry(key.clone()).or_insert(cause);
        *held = cause.max(*held);
    }

    pub(super) fn reckon_routes(&mut self) {
        for (key, cause) in std::mem::take(&mut self.stale_routes) {
            self.route(&key, cause, Priority::Live);
        }
    }

    /// Reckons anew what a source wants here, and makes due whatever that touches.
    fn route(&mut self, key: &ObjectKey, cause: Cause, priority: Priority) {
        let source = self.sources.sources.get(key).cloned();
        let mut touched: BTreeSet<ObjectKey> = self.targets_of(key).cloned().collect();
        match source.as_ref().map(|source| source.shipment()) {
            None => {
                if let Some(before) = self.claims.remove(key) {
                    self.remember_causes(key, &before, cause);
                }
            }
            // What a frozen source wanted is remembered; nothing is done about it.
            Some(None) => {}
            Some(Some(shipment)) => self.claim_anew(key, shipment, cause),
        }
        touched.extend(self.targets_of(key).cloned());
        for target in &touched {
            self.index(key, target);
        }
        touched.extend(self.unclaimed.of(key).cloned());
        touched.into_iter().for_each(|target| self.queue.push(target, priority));
    }

    fn claim_anew(&mut self, key: &ObjectKey, shipment: &Arc<Shipment>, cause: Cause) {
        let wants = Wants { desired: self.desired(key, shipment), shipment: shipment.clone() };
        if !wants.desired.targets.is_empty() {
            self.settings.losses.forgive(key, &self.settings.observer.cluster);
        }
        let before = self.claims.set(key, wants);
        self.note_refusals(key, before.as_ref());
        let Some(before) = before else { return };
        self.remember_causes(key, &before, cause);
        self.forget_occupants(key, &before);
        if !Arc::ptr_eq(&before.shipment, shipment) {
            let targets: Vec<ObjectKey> = self.targets_of(key).cloned().collect();
            for target in targets {
                self.histories.get_mut(&target).into_iter().for_each(History::forgive);
            }
        }
    }

    /// Of what may not be written over, only the metadata was read: with a new grant it is looked at anew.
    fn forget_occupants(&mut self, key: &ObjectKey, before: &Wants) {
        let Some(after) = self.claims.of(key) else { return };
        let was_granted = |target| before.desired.targets.get(target).is_some_and(|wish| wish.overwrite);
        for (target, _) in after.desired.targets.iter().filter(|(key, wish)| wish.overwrite && !was_granted(key)) {
            self.occupants.remove(target);
        }
    }

    fn targets_of(&self, source: &ObjectKey) -> impl Iterator<Item = &ObjectKey> + use<'_> {
        self.claims.of(source).into_iter().flat_map(|wants| wants.desired.targets.keys())
    }

    /// Keeps the index of unclaimed copies true for one copy.
    pub(super) fn index(&mut self, source: &ObjectKey, key: &ObjectKey) {
        let is_copy =
            |observed: &Observed| matches!(&observed.standing, Standing::Ours(mark) if mark.source == *source);
        if self.copy(key).is_some_and(is_copy) && self.claims.wish(source, key).is_none() {
            self.unclaimed.add(source, key);
        } else {
            self.unclaimed.remove(source, key);
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

    /// Why targets that this source wanted are not wanted any more: it decides how careful their deletion is.
    fn remember_causes(&mut self, source: &ObjectKey, before: &Wants, cause: Cause) {
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
            if after.is_some_and(|after| after.desired.targets.get(target).is_some()) {
                self.causes.remove(target);
            } else {
                self.causes.insert(target.clone(), (source.clone(), class));
            }
        }
    }

    /// What was not granted is told when it is new.
    fn note_refusals(&mut self, source: &ObjectKey, before: Option<&Wants>) {
        let Some(after) = self.claims.of(source) else { return };
        let is_new = |key: &&'static str| before.is_none_or(|before| !before.desired.not_granted.contains_key(*key));
        for (key, rule) in after.desired.not_granted.iter().filter(|(key, _)| is_new(key)) {
            self.notes.push(Note {
                source: source.clone(),
                target: source.clone(),
                state: State::NotGranted,
                detail: Some(format!("annotation {key} is not granted here; the missing rule is\n{rule}")),
            });
        }
    }
}

/// On whose word copies may be deleted: the lists that were read, and the places of which not all is known.
fn concludable(snapshot: &Snapshot) -> (BTreeSet<&Scope>, BTreeSet<&(Kind, Namespace)>) {
    let listed = snapshot.scopes.iter().filter(|(_, progress)| progress.listed).map(|(scope, _)| scope);
    (listed.collect(), snapshot.unread.keys().collect())
}
