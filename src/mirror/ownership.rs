//! Who wants what at a target: the source that its copy's mark names, another one, or nobody. Pure.

use super::{
    deletion::{Class, Pending, Verdict, Via},
    observed::{CopyMark, Observed, Standing},
    parcel::copy_mark,
    plan::{Adoption, Claim, State, Unwanted, Wanted},
    state::{AdoptBy, Mirror},
};
use crate::{
    api::{annotations::DeletionPolicy, key::ObjectKey, names::Namespace},
    source::{Farewell, Reading, Shipment, Source},
};
use std::time::{Duration, Instant};

const NAMESPACE_AGAIN: Duration = Duration::from_secs(3600);
/// A renamed copy's old name is looked at when the new one is in step; this is only in case nobody says so.
const LATE_SUCCESSOR: Duration = Duration::from_secs(60);

impl Mirror {
    /// Who wants what at a target.
    pub(super) fn claim(&mut self, key: &ObjectKey, now: Instant) -> Claim {
        let mark = match self.copy(key).map(|observed| &observed.standing) {
            Some(Standing::Ours(mark)) => mark.clone(),
            _ => {
                self.deletions.wanted(key);
                return self.winner(key).and_then(|source| self.wanted(key, &source, now)).unwrap_or(Claim::Nobody);
            }
        };
        match self.sources.sources.get(&mark.source).cloned() {
            Some(source) => self.held_by(key, &mark, &source, now),
            None => self.left_by(key, &mark, now),
        }
    }

    /// The copy's source is there.
    fn held_by(&mut self, key: &ObjectKey, mark: &CopyMark, source: &Source, now: Instant) -> Claim {
        let Some(shipment) = source.shipment() else {
            self.deletions.wanted(key);
            return Claim::Undecided(State::Frozen);
        };
        if let Some(claim) = self.wanted(key, &source.key, now) {
            self.deletions.wanted(key);
            return claim;
        }
        if self.claims.of(&source.key).is_some_and(|wants| wants.desired.kept.keeps(&key.namespace)) {
            self.deletions.wanted(key);
            return Claim::Undecided(State::NotGranted);
        }
        if !self.may_conclude(&mark.source) {
            return Claim::Undecided(State::Waiting);
        }
        if let Some(claim) = self.winner(key).and_then(|other| self.wanted(key, &other, now)) {
            self.deletions.wanted(key);
            return claim;
        }
        let policy = shipment.intent.deletion_policy.unwrap_or(mark.policy);
        self.unwanted(key, mark, policy, now)
    }

    /// The copy's source is gone, or was never seen.
    fn left_by(&mut self, key: &ObjectKey, mark: &CopyMark, now: Instant) -> Claim {
        match self.sources.reading(&mark.source) {
            Reading::OutOfScope if self.claims.on(key).is_empty() => return Claim::Nobody,
            Reading::OutOfScope => return Claim::Undecided(State::Conflict),
            Reading::Incomplete => return Claim::Undecided(State::Waiting),
            Reading::Complete => {}
        }
        let claim = self.unwanted(key, mark, mark.policy, now);
        match (&claim, self.winner(key)) {
            (Claim::Unwanted(Unwanted { verdict: Verdict::Due, .. }), Some(heir)) => {
                self.wanted(key, &heir, now).unwrap_or(claim)
            }
            _ => claim,
        }
    }

    fn unwanted(&mut self, key: &ObjectKey, mark: &CopyMark, policy: DeletionPolicy, now: Instant) -> Claim {
        if self.roster.unanswered.contains(&mark.follower) || !self.lists.are_settled() {
            return Claim::Undecided(State::Waiting);
        }
        let Some(uid) = self.copy(key).map(|observed| observed.uid.clone()) else { return Claim::Nobody };
        let class = self.class(key, &mark.source);
        let due = self.deletions.due(class, mark.delay, now);
        self.deletions.unwanted(key, Pending { class, due, source: mark.source.clone(), uid, held: None });
        if self.successor_is_late(key, &mark.source) {
            return Claim::Unwanted(Unwanted { verdict: Verdict::Later(now + LATE_SUCCESSOR), policy });
        }
        let via =
            if self.roster.members.iter().any(|member| member.name == mark.follower) { Via::Member } else { Via::Gone };
        let (losses, cluster) = (&self.settings.losses, &self.settings.observer.cluster);
        let verdict = self.deletions.verdict(key, via, now, |source| losses.admit(source, cluster));
        Claim::Unwanted(Unwanted { verdict, policy })
    }

    fn class(&self, key: &ObjectKey, source: &ObjectKey) -> Class {
        match self.sources.farewells.get(source) {
            Some(Farewell::Deleted) => Class::Witnessed,
            _ => match self.causes.get(key) {
                Some((of, class)) if of == source => *class,
                _ => Class::Unwitnessed,
            },
        }
    }

    /// After a rename, the old copy stays until the new one is in step.
    fn successor_is_late(&self, key: &ObjectKey, source: &ObjectKey) -> bool {
        let beside = |other: &&ObjectKey| other.kind == key.kind && other.namespace == key.namespace;
        let wants = self.claims.of(source);
        wants.is_some_and(|wants| {
            wants.desired.targets.keys().filter(beside).any(|other| !self.has_arrived(source, other))
        })
    }

    fn has_arrived(&self, source: &ObjectKey, target: &ObjectKey) -> bool {
        let is_its = |observed: &Observed| matches!(&observed.standing, Standing::Ours(mark) if mark.source == *source);
        self.states.get(target) == Some(&State::InStep) && self.copy(target).is_some_and(is_its)
    }

    /// Whether a source that shows no wish for a target can be taken at its word.
    fn may_conclude(&self, source: &ObjectKey) -> bool {
        let needs_namespaces = self.claims.of(source).is_some_and(|wants| wants.desired.by_namespaces);
        self.sources.reading(source) == Reading::Complete && (!needs_namespaces || self.namespaces.are_known())
    }

    pub(super) fn winner(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.claims.winner(key, &self.sources).cloned()
    }

    fn wanted(&self, key: &ObjectKey, source: &ObjectKey, now: Instant) -> Option<Claim> {
        let wish = self.claims.wish(source, key)?;
        let source = self.sources.sources.get(source)?;
        let shipment: &Shipment = source.shipment()?;
        let payload = &shipment.payload;
        let observer = &self.settings.observer;
        let is_renamed = |mark: &CopyMark| mark.follower != wish.via && !self.roster.known.contains(&mark.follower);
        Some(Claim::Wanted(Wanted {
            whole: observer.in_step(payload.digest, shipment.carried, key, &copy_mark(&source.key, shipment, wish)),
            content: payload.digest,
            type_: payload.type_.clone(),
            tls: payload.tls.filter(|_| shipment.intent.validate),
            overwrite: wish.overwrite,
            create_namespace: wish.create_namespace && self.may_make_at(&key.namespace).is_none_or(|when| when <= now),
            renamed: self.copy(key).is_some_and(|observed| match &observed.standing {
                Standing::Ours(mark) => is_renamed(mark),
                _ => false,
            }),
            kubed: Adoption {
                source: source.key.clone(),
                uid: (self.settings.adoption == AdoptBy::Uid).then(|| source.uid.clone()),
                cluster: self.settings.sender.cluster_name.clone(),
            },
            old_hubs: self.old_hubs.clone(),
        }))
    }

    /// A missing namespace is created at most once an hour: somebody who deletes it means it.
    pub(super) fn may_make_at(&self, namespace: &Namespace) -> Option<Instant> {
        self.namespaces_made.get(namespace).map(|made| *made + NAMESPACE_AGAIN)
    }
}
