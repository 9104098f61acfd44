//! From the queue to the next task: who owns the target, what is to be done about it, and what that takes. Pure.

use super::{
    deletion::{Class, Pending, Verdict, Via},
    observed::{CopyMark, Observed, Standing},
    parcel::{Parcel, copy_mark},
    plan::{Action, Adoption, Claim, Situation, State, Unwanted, Wanted, Write, plan},
    state::{AdoptBy, Mirror, Note},
};
use crate::{
    api::{annotations::DeletionPolicy, key::ObjectKey, names::Namespace},
    source::{Farewell, Reading, Shipment, Source},
};
use std::time::{Duration, Instant};

/// One thing to be done at one target: everything that the requests need.
#[derive(Clone, Debug)]
pub struct Task {
    /// The target.
    pub key: ObjectKey,
    /// What.
    pub write: Write,
    /// The source that it is done for.
    pub source: ObjectKey,
    /// What is to be written, if anything.
    pub parcel: Option<Parcel>,
    /// What was observed: the write is conditional on it.
    pub observed: Option<Observed>,
    /// The class of a deletion.
    pub class: Option<Class>,
    /// Whether the type or immutable data must change, so that the object has to be made anew.
    pub anew: bool,
    /// Whether the source was granted to overwrite what is there.
    pub overwrite: bool,
    /// Whether a copy in step with this source was here before.
    pub repair: bool,
    /// When this process first saw the source's version.
    pub since: Option<Instant>,
}

/// An object in the way is looked at again this soon, doubling to ten minutes.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(15);
pub(super) const SLOWEST: Duration = Duration::from_secs(600);
const NAMESPACE_AGAIN: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_secs(1);

impl Mirror {
    /// The next thing to do, if anything is due. It counts as running until [`Mirror::finished`].
    pub fn next(&mut self, now: Instant) -> Option<Task> {
        if !self.is_read() {
            return None;
        }
        while let Some(key) = self.queue.pop(now) {
            match self.decide(&key, now) {
                Some(task) => return Some(task),
                None => self.queue.done(&key),
            }
        }
        None
    }

    fn decide(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        let claim = self.claim(key, now);
        let owner = self.owner(key, &claim);
        let history = self.histories.get(key).cloned().unwrap_or_default();
        let observed = self.copies.get(key).or_else(|| self.occupants.get(key));
        let situation = Situation {
            claim: &claim,
            observed,
            presence: self.namespaces.presence(&key.namespace),
            history: &history,
            now,
        };
        let action = plan(&situation);
        let contested = matches!(&claim, Claim::Wanted(wanted) if history.is_contested(wanted.whole, now));
        match action {
            Action::Rest(state) => self.rest(key, &claim, owner, state, now),
            Action::Wait(state, when) => {
                self.enter(key, owner, state);
                self.queue.push_at(key.clone(), when);
            }
            Action::Write(write) => {
                self.enter(key, owner.clone(), if contested { State::Contested } else { shown_while(write) });
                return self.task(key, write, &claim, owner?);
            }
        }
        None
    }

    /// Nothing to do; an object that has just been found in the way is to be looked at again.
    fn rest(&mut self, key: &ObjectKey, claim: &Claim, owner: Option<ObjectKey>, state: State, now: Instant) {
        if matches!(claim, Claim::Nobody) || (matches!(claim, Claim::Unwanted(_)) && state == State::InStep) {
            self.forget(key);
            return;
        }
        if matches!(state, State::Conflict | State::TakenOver) && matches!(claim, Claim::Wanted(_)) {
            let random = self.random.f64();
            let history = self.histories.entry(key.clone()).or_default();
            let when = history.failed(LOOK_AGAIN, SLOWEST, now, random);
            history.trouble = Some(state);
            self.queue.push_at(key.clone(), when);
        }
        self.enter(key, owner, state);
    }

    /// A target that is nobody's business any more.
    fn forget(&mut self, key: &ObjectKey) {
        self.states.remove(key);
        self.occupants.remove(key);
        self.deletions.wanted(key);
        if self.histories.get(key).is_some_and(|history| history.failures > 0) {
            self.histories.remove(key);
        }
    }

    /// Takes note of a state, and tells it if it is new.
    pub(super) fn enter(&mut self, key: &ObjectKey, source: Option<ObjectKey>, state: State) {
        let before = self.states.insert(key.clone(), state);
        if let (Some(source), true) = (source, before != Some(state)) {
            let detail = match state {
                State::Contested => self.last_manager(key).map(|manager| format!("last written by {manager}")),
                State::DeletionHeld => self
                    .deletions
                    .pending()
                    .get(key)
                    .and_then(|pending| pending.held)
                    .map(|held| held.as_str().to_owned()),
                _ => None,
            };
            self.notes.push(Note { source, target: key.clone(), state, detail });
        }
    }

    fn last_manager(&self, key: &ObjectKey) -> Option<String> {
        self.copies.get(key)?.last_manager.as_deref().map(str::to_owned)
    }

    /// Who wants what at a target.
    fn claim(&mut self, key: &ObjectKey, now: Instant) -> Claim {
        let mark = match self.copies.get(key).map(|observed| &observed.standing) {
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
        if self.roster.unanswered.contains(&mark.follower) {
            return Claim::Undecided(State::Waiting);
        }
        let Some(uid) = self.copies.get(key).map(|observed| observed.uid.clone()) else { return Claim::Nobody };
        let class = self.class(key, &mark.source);
        let due = self.deletions.due(class, mark.delay, now);
        self.deletions.unwanted(key, Pending { class, due, source: mark.source.clone(), uid, held: None });
        if self.successor_is_late(key, &mark.source) {
            return Claim::Unwanted(Unwanted { verdict: Verdict::Later(now + SOON), policy });
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
            _ => self.causes.get(key).copied().unwrap_or(Class::Unwitnessed),
        }
    }

    /// After a rename, the old copy stays until the new one is in step.
    fn successor_is_late(&self, key: &ObjectKey, source: &ObjectKey) -> bool {
        let beside = |other: &&ObjectKey| other.kind == key.kind && other.namespace == key.namespace;
        let wants = self.claims.of(source);
        wants.is_some_and(|wants| {
            wants.desired.targets.keys().filter(beside).any(|other| self.states.get(other) != Some(&State::InStep))
        })
    }

    /// Whether a source that shows no wish for a target can be taken at its word.
    fn may_conclude(&self, source: &ObjectKey) -> bool {
        let needs_namespaces = self.claims.of(source).is_some_and(|wants| wants.desired.by_namespaces);
        self.sources.reading(source) == Reading::Complete && (!needs_namespaces || self.namespaces.are_known())
    }

    fn winner(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.claims.winner(key, &self.sources).cloned()
    }

    fn wanted(&self, key: &ObjectKey, source: &ObjectKey, now: Instant) -> Option<Claim> {
        let wish = self.claims.wish(source, key)?;
        let source = self.sources.sources.get(source)?;
        let shipment: &Shipment = source.shipment()?;
        let payload = &shipment.payload;
        let observer = &self.settings.observer;
        let known_name = |mark: &CopyMark| self.roster.known.contains(&mark.follower);
        Some(Claim::Wanted(Wanted {
            whole: observer.in_step(payload.digest, shipment.carried, key, &copy_mark(&source.key, shipment, wish)),
            content: payload.digest,
            type_: payload.type_.clone(),
            tls: payload.tls.filter(|_| shipment.intent.validate),
            overwrite: wish.overwrite,
            create_namespace: wish.create_namespace && self.may_make(&key.namespace, now),
            renamed: self.copies.get(key).is_some_and(|observed| match &observed.standing {
                Standing::Ours(mark) => !known_name(mark),
                _ => false,
            }),
            kubed: Adoption {
                source: source.key.clone(),
                uid: (self.settings.adoption == AdoptBy::Uid).then(|| source.uid.clone()),
                cluster: self.settings.sender.cluster_name.clone(),
            },
        }))
    }

    /// A missing namespace is created at most once an hour: somebody who deletes it means it.
    fn may_make(&self, namespace: &Namespace, now: Instant) -> bool {
        self.namespaces_made.get(namespace).is_none_or(|made| now.duration_since(*made) >= NAMESPACE_AGAIN)
    }

    /// The source that a claim is about.
    fn owner(&self, key: &ObjectKey, claim: &Claim) -> Option<ObjectKey> {
        let marked = || match &self.copies.get(key)?.standing {
            Standing::Ours(mark) => Some(mark.source.clone()),
            _ => None,
        };
        match claim {
            Claim::Wanted(wanted) => Some(wanted.kubed.source.clone()),
            Claim::Unwanted(_) | Claim::Undecided(_) => marked(),
            Claim::Nobody => None,
        }
    }

    fn task(&mut self, key: &ObjectKey, write: Write, claim: &Claim, owner: ObjectKey) -> Option<Task> {
        let observed = self.copies.get(key).or_else(|| self.occupants.get(key)).cloned();
        let source = self.sources.sources.get(&owner);
        let shipment = source.and_then(|source| source.shipment());
        let parcel = source.zip(shipment).zip(self.claims.wish(&owner, key)).map(|((source, shipment), wish)| {
            Parcel::new(&self.settings.sender, &self.settings.observer.cluster, source, shipment, (key, wish))
        });
        let wanted = if let Claim::Wanted(wanted) = claim { Some(wanted) } else { None };
        Some(Task {
            key: key.clone(),
            write,
            class: self.deletions.pending().get(key).map(|pending| pending.class),
            anew: wanted
                .zip(observed.as_ref())
                .is_some_and(|(wanted, observed)| super::plan::must_replace(wanted, observed)),
            overwrite: wanted.is_some_and(|wanted| wanted.overwrite),
            repair: wanted
                .is_some_and(|wanted| self.histories.get(key).is_some_and(|history| history.has_written(wanted.whole))),
            since: source.map(|source| source.since),
            source: owner,
            parcel,
            observed,
        })
    }
}

fn shown_while(write: Write) -> State {
    match write {
        Write::Delete | Write::Release => State::DeletionPending,
        Write::CreateNamespace => State::Waiting,
        Write::Look => State::Conflict,
        _ => State::Pending,
    }
}
