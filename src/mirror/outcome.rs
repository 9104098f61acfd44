//! What became of a task, and what follows from it. Pure.

use super::{
    decide::{LOOK_AGAIN, SLOWEST, Task},
    observed::Observed,
    plan::{State, Write},
    state::Mirror,
};
use crate::api::key::ObjectKey;
use std::time::{Duration, Instant};

/// What the requests of a task came to.
#[derive(Debug)]
pub enum Outcome {
    /// The follower answered with the object as it now is.
    Wrote(Observed),
    /// The object is deleted, or its marks are gone.
    Gone,
    /// Something else was there than what was observed, or nothing: this.
    Raced(Option<Observed>),
    /// An object that is not ours was looked at: this is there now.
    Found(Option<Observed>),
    /// The namespace was created, or is there already.
    NamespaceMade,
    /// The follower refused, or did not answer.
    Failed(Failure),
    /// Nothing was sent: a dry run.
    Planned,
}

/// Why a task failed, as far as it decides when it is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Forbidden, invalid, over quota: slowly again.
    Refused,
    /// The namespace is missing or being deleted: its watch will say, else slowly again.
    NoNamespace,
    /// Busy or unwell: soon again.
    Transient,
    /// Too many requests: not before this.
    Throttled(Duration),
    /// The connection is lost: the worker starts over.
    Lost,
}

impl Failure {
    /// As in metrics and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "Refused",
            Self::NoNamespace => "NoNamespace",
            Self::Transient => "Transient",
            Self::Throttled(_) => "Throttled",
            Self::Lost => "Disconnected",
        }
    }
}

const RACES_AT_ONCE: u32 = 3;
const SOON: Duration = Duration::from_secs(1);
/// A follower cannot ask for more, by mistake or malice.
const LONGEST_THROTTLE: Duration = Duration::from_secs(300);
const LOST_AGAIN: Duration = Duration::from_millis(200);
const REFUSED_AGAIN: Duration = Duration::from_secs(10);

impl Mirror {
    /// Takes what became of a task. `sent` is the digest that the copy was to have.
    pub fn finished(&mut self, task: &Task, outcome: Outcome, now: Instant) {
        let key = &task.key;
        match outcome {
            Outcome::Wrote(observed) => self.wrote(task, observed, now),
            Outcome::Gone => self.gone(key, now),
            Outcome::Raced(there) => {
                self.take(key, there);
                self.raced(key, now);
            }
            Outcome::Found(there) => {
                self.take(key, there);
                self.queue.push(key.clone(), super::queue::Priority::Live);
            }
            Outcome::NamespaceMade => {
                self.namespaces_made.insert(key.namespace.clone(), now);
                self.queue.push_at(key.clone(), now + SOON);
            }
            Outcome::Failed(failure) => self.failed(task, failure, now),
            Outcome::Planned => {}
        }
        self.gone_meanwhile.remove(key);
        self.queue.done(key);
    }

    /// Own writes are observed from their answer.
    fn wrote(&mut self, task: &Task, observed: Observed, now: Instant) {
        let sent = task.parcel.as_ref().map(|parcel| {
            let mark = super::observed::CopyMark {
                source: task.source.clone(),
                follower: parcel.mark.target.follower.clone(),
                policy: parcel.mark.deletion_policy,
                delay: parcel.mark.deletion_delay,
            };
            let shipment = &parcel.shipment;
            self.settings.observer.in_step(shipment.payload.digest, shipment.carried, &task.key, &mark)
        });
        if let Some(sent) = sent {
            self.histories.entry(task.key.clone()).or_default().wrote(sent, observed.whole, now);
        }
        self.take(&task.key, Some(observed));
        self.queue.push(task.key.clone(), super::queue::Priority::Live);
    }

    fn gone(&mut self, key: &ObjectKey, now: Instant) {
        self.deletions.gone(key, now);
        self.states.remove(key);
        self.copy_lost(key);
        self.causes.remove(key);
        self.histories.remove(key);
        self.queue.push(key.clone(), super::queue::Priority::Live);
    }

    /// Takes what a GET found at a target.
    fn take(&mut self, key: &ObjectKey, there: Option<Observed>) {
        match there {
            None => {
                self.copy_lost(key);
                self.occupants.remove(key);
                self.settle(key);
            }
            // It would stay for ever: no other event would say that it is gone.
            Some(observed) if self.gone_meanwhile.get(key) == Some(&observed.uid) => self.settle(key),
            Some(observed) if observed.is_copy() => {
                self.occupants.remove(key);
                self.settle(key);
                self.copy_seen(key.clone(), observed);
            }
            Some(observed) => {
                self.copy_lost(key);
                let same = self.occupants.get(key).is_some_and(|known| known.version == observed.version);
                if !same {
                    self.settle(key);
                }
                // The next look waits longer only if nothing has changed.
                if let Some(history) = self.histories.get_mut(key) {
                    history.not_before = None;
                }
                self.occupants.insert(key.clone(), observed);
            }
        }
    }

    fn settle(&mut self, key: &ObjectKey) {
        if let Some(history) = self.histories.get_mut(key) {
            history.forgive();
        }
    }

    /// Plan again at once, but not for ever.
    fn raced(&mut self, key: &ObjectKey, now: Instant) {
        let random = self.random.f64();
        let history = self.histories.entry(key.clone()).or_default();
        history.races = history.races.saturating_add(1);
        if let Some(beyond) = history.races.checked_sub(RACES_AT_ONCE + 1) {
            history.failures = history.failures.max(beyond);
            let when = history.failed(SOON, SLOWEST, now, random);
            self.queue.push_at(key.clone(), when);
        } else {
            self.queue.push(key.clone(), super::queue::Priority::Live);
        }
    }

    fn failed(&mut self, task: &Task, failure: Failure, now: Instant) {
        let (key, random) = (&task.key, self.random.f64());
        let history = self.histories.entry(key.clone()).or_default();
        let (state, when) = match failure {
            // Not at once: until the worker notices, every attempt would fail at once, too.
            Failure::Lost => return self.queue.push_at(key.clone(), now + LOST_AGAIN),
            Failure::Refused => (State::Refused, history.failed(REFUSED_AGAIN, SLOWEST, now, random)),
            Failure::NoNamespace => (State::Waiting, history.failed(LOOK_AGAIN, SLOWEST, now, random)),
            Failure::Transient => (meanwhile(task.write), history.failed(SOON, SLOWEST, now, random)),
            Failure::Throttled(after) => {
                let when = history.failed(SOON, SLOWEST, now, random).max(now + after.min(LONGEST_THROTTLE));
                history.throttled(when);
                (meanwhile(task.write), when)
            }
        };
        history.trouble = Some(state);
        self.queue.push_at(key.clone(), when);
        // Whether an object that is in the way can be looked at does not change that it is in the way.
        if task.write != Write::Look {
            self.enter(key, Some(task.source.clone()), state);
        }
    }
}

fn meanwhile(write: Write) -> State {
    match write {
        Write::Delete | Write::Release => State::DeletionPending,
        _ => State::Pending,
    }
}

impl Write {
    /// Whether the action changes an object of the follower.
    pub fn is_write(self) -> bool {
        self != Self::Look
    }
}
