//! From the queue to the next task: who owns the target, what is to be done about it, and what that takes. Pure.

use super::{
    claims::within,
    deletion::Class,
    history::FORGET_AFTER,
    lists::ListState,
    observed::{Observed, Standing},
    parcel::Parcel,
    plan::{Action, Claim, Situation, State, Wanted, Write, plan},
    queue::Priority,
    state::{Mirror, Note},
};
use crate::api::key::ObjectKey;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

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
    /// Whether what is there may be written over, so that it has to be read whole.
    pub overwrite: bool,
    /// Whether a copy in step with this source was here before.
    pub repair: bool,
    /// When this process first saw the source's version.
    pub since: Option<Instant>,
}

/// An object in the way is looked at again this soon, doubling to ten minutes.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(15);
pub(super) const SLOWEST: Duration = Duration::from_secs(600);

impl Mirror {
    /// The next thing to do, if anything is due. It counts as running until [`Mirror::finished`].
    pub fn next(&mut self, now: Instant) -> Option<Task> {
        self.reckon_routes();
        self.sweep(now);
        while let Some(key) = self.queue.pop(now) {
            let task = match self.lists.state(&key) {
                ListState::Read => self.decide(&key, now),
                ListState::Denied => self.leave_unseen(&key),
                // Everything becomes due once the list is read.
                ListState::Unread => None,
            };
            match task {
                Some(task) => return Some(task),
                None => self.queue.done(&key),
            }
        }
        None
    }

    fn decide(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        let claim = self.claim(key, now);
        let owner = self.owner(key, &claim);
        self.tell_rivals(key, owner.as_ref());
        let history = self.histories.get(key).cloned().unwrap_or_default();
        let observed = self.there(key);
        let situation = Situation {
            claim: &claim,
            observed,
            presence: self.namespaces.presence(&key.namespace),
            history: &history,
            now,
        };
        let action = plan(&situation);
        match action {
            Action::Rest(state) => self.rest(key, (&claim, owner), state, now),
            Action::Wait(state, when) => {
                self.enter(key, owner, state);
                self.queue.push_at(key.clone(), when);
            }
            Action::Write(write) => {
                let contested = matches!(&claim, Claim::Wanted(wanted) if history.is_contested(wanted.whole, now));
                let shown = if contested { Some(State::Contested) } else { shown_while(write) };
                if let Some(state) = shown {
                    self.enter(key, owner.clone(), state);
                }
                self.tell_of_payload(key, &claim);
                return self.task(key, write, &claim, owner?);
            }
        }
        None
    }

    /// Nobody sees what is there: nothing is written blindly.
    fn leave_unseen(&mut self, key: &ObjectKey) -> Option<Task> {
        match self.winner(key) {
            Some(owner) => self.enter(key, Some(owner), State::Waiting),
            None => _ = self.states.remove(key),
        }
        None
    }

    /// Nothing to do; an object that is in the way, which nobody watches, is to be looked at again.
    fn rest(&mut self, key: &ObjectKey, (claim, owner): (&Claim, Option<ObjectKey>), state: State, now: Instant) {
        if matches!(claim, Claim::Nobody) || (matches!(claim, Claim::Unwanted(_)) && state == State::InStep) {
            self.forget(key);
            return;
        }
        if self.occupants.contains_key(key) && matches!(claim, Claim::Wanted(_)) {
            let random = self.random.f64();
            let history = self.histories.entry(key.clone()).or_default();
            let when = history.failed(LOOK_AGAIN, SLOWEST, now, random);
            history.trouble = Some(state);
            self.queue.push_at(key.clone(), when);
        }
        if let Some(when) = self.may_make_at(&key.namespace).filter(|when| state == State::Waiting && *when > now) {
            self.queue.push_at(key.clone(), when);
        }
        self.enter(key, owner, state);
    }

    /// A target that is nobody's business any more.
    fn forget(&mut self, key: &ObjectKey) {
        self.states.remove(key);
        self.occupants.remove(key);
        self.rivals.remove(key);
        self.deletions.wanted(key);
        if !self.copies.contains_key(key) {
            self.causes.remove(key);
            self.histories.remove(key);
        }
    }

    /// Drops histories that decide nothing any more.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_none_or(|swept| now.duration_since(swept) > FORGET_AFTER) {
            self.swept = Some(now);
            self.histories.retain(|_, history| !history.is_stale(now));
        }
    }

    /// Tells the sources that want a target which another one has: each once, until somebody else has it.
    fn tell_rivals(&mut self, key: &ObjectKey, holder: Option<&ObjectKey>) {
        let is_ready = |other: &&ObjectKey| self.sources.sources.get(*other).is_some_and(|it| it.shipment().is_some());
        let others = |holder: &ObjectKey| -> BTreeSet<ObjectKey> {
            self.claims.on(key).iter().filter(|other| *other != holder).filter(is_ready).cloned().collect()
        };
        let now = holder.map(|holder| (holder.clone(), others(holder))).filter(|(_, rivals)| !rivals.is_empty());
        let Some((holder, rivals)) = now else {
            self.rivals.remove(key);
            return;
        };
        let (of, told) = self.rivals.entry(key.clone()).or_insert_with(|| (holder.clone(), BTreeSet::new()));
        if *of != holder {
            (*of, *told) = (holder.clone(), BTreeSet::new());
        }
        for source in rivals.difference(told) {
            self.notes.push(Note {
                source: source.clone(),
                target: key.clone(),
                state: State::Conflict,
                detail: Some(format!("{holder} holds this target")),
            });
        }
        *told = rivals;
    }

    /// A TLS payload that is worse than it should be is copied where nothing better is, and told.
    fn tell_of_payload(&mut self, key: &ObjectKey, claim: &Claim) {
        let Claim::Wanted(Wanted { tls: Some(tls), kubed, .. }) = claim else { return };
        let there = self.there(key).and_then(|observed| observed.tls);
        let detail = match (tls, there) {
            (Err(unsound), _) => format!("copied where no sound pair is: {unsound}"),
            (Ok(sound), Some(there)) if sound.not_after < there.not_after => {
                "this certificate ends before the one that it replaces".to_owned()
            }
            _ => return,
        };
        let source = kubed.source.clone();
        self.notes.push(Note { source, target: key.clone(), state: State::InvalidPayload, detail: Some(detail) });
    }

    /// Takes note of a state, and tells it if it is new.
    pub(super) fn enter(&mut self, key: &ObjectKey, source: Option<ObjectKey>, state: State) {
        let before = self.states.insert(key.clone(), state);
        if state == State::InStep && before != Some(state) {
            // An old name may be waiting for this one.
            let pending = within(self.deletions.pending(), key.kind, &key.namespace);
            pending.for_each(|other| self.queue.push(other.clone(), Priority::Live));
        }
        // What is found in step at the start is no news.
        let is_news = before != Some(state) && (state != State::InStep || before.is_some());
        if let (Some(source), true) = (source, is_news) {
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
        self.copy(key)?.last_manager.as_deref().map(str::to_owned)
    }

    /// The source that a claim is about.
    fn owner(&self, key: &ObjectKey, claim: &Claim) -> Option<ObjectKey> {
        let marked = || match &self.copy(key)?.standing {
            Standing::Ours(mark) => Some(mark.source.clone()),
            _ => None,
        };
        match claim {
            Claim::Wanted(wanted) => Some(wanted.kubed.source.clone()),
            // A copy from outside the scope is in the way: who wants the target is to be told.
            Claim::Undecided(State::Conflict) => self.winner(key),
            Claim::Unwanted(_) | Claim::Undecided(_) => marked(),
            Claim::Nobody => None,
        }
    }

    fn task(&mut self, key: &ObjectKey, write: Write, claim: &Claim, owner: ObjectKey) -> Option<Task> {
        let observed = self.there(key).cloned();
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
            overwrite: wanted.is_some_and(|wanted| wanted.overwrite || !wanted.old_hubs.is_empty()),
            repair: wanted
                .is_some_and(|wanted| self.histories.get(key).is_some_and(|history| history.has_written(wanted.whole))),
            since: source.map(|source| source.since),
            source: owner,
            parcel,
            observed,
        })
    }
}

/// The state while a task runs; a look changes nothing.
fn shown_while(write: Write) -> Option<State> {
    match write {
        Write::Delete | Write::Release => Some(State::DeletionPending),
        Write::CreateNamespace => Some(State::Waiting),
        Write::Look => None,
        _ => Some(State::Pending),
    }
}
