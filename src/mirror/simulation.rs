//! A whole follower in memory, for tests: a [`Mirror`], an API server that executes its tasks by the bodies of
//! [`request`](super::request), and the management cluster. Time is moved by hand.

mod api;
mod hub;
mod model;
mod random;
mod stories;

use super::{
    decide::Task,
    deletion::{Class, Limits},
    losses::Losses,
    makers::{FOLLOWER, member, observer_of, sender},
    namespaces::Visible,
    observed::Observed,
    outcome::{Failure, Outcome},
    plan::{State, Write},
    request::{self, Dropped, Keepsakes, KubedMarks},
    state::{AdoptBy, Mirror, Note, Roster, Settings},
};
use crate::{
    api::{key::ObjectKey, metadata::MetadataFilter},
    follower::member::Member,
    object::decode::Object,
};
use api::{Api, Event, Refusal, is_labelled, key_of};
use hub::{Hub, scope};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

/// A task that was executed.
#[derive(Clone, Debug)]
pub struct Done {
    pub write: Write,
    pub key: ObjectKey,
    pub class: Option<Class>,
    pub changed: bool,
}

pub struct World {
    pub now: Instant,
    pub hub: Hub,
    pub api: Api,
    pub mirror: Mirror,
    pub roster: Roster,
    pub settings: Settings,
    pub log: Vec<Done>,
    pub notes: Vec<Note>,
    pub approved: BTreeSet<String>,
}

pub fn roster(members: Vec<Member>) -> Roster {
    let known = members.iter().map(|member| member.name.clone()).collect();
    Roster { members, unanswered: Arc::default(), known: Arc::new(known) }
}

fn settings(cluster: &str) -> Settings {
    Settings {
        sender: sender(),
        observer: observer_of(cluster),
        limits: Limits::default(),
        losses: Losses::new(10),
        protected: Arc::new(["kube-system".into()].into()),
        target_namespaces: None,
        adoption: AdoptBy::Uid,
    }
}

impl World {
    /// One follower with the namespaces `n`, `m` and `t`, and no source.
    pub fn new() -> Self {
        Self::of(settings(super::makers::CLUSTER), roster(vec![member(FOLLOWER)]))
    }

    pub fn of(settings: Settings, roster: Roster) -> Self {
        let now = Instant::now() + Duration::from_secs(100_000);
        let mut world = Self {
            now,
            hub: Hub::new(now),
            api: Api::default(),
            mirror: Mirror::new(settings.clone(), [scope()], Visible::None, 1),
            roster,
            settings,
            log: Vec::new(),
            notes: Vec::new(),
            approved: BTreeSet::new(),
        };
        ["n", "m", "t"].into_iter().for_each(|name| world.api.namespace(name, &[], true));
        world.restart();
        world
    }

    /// Another process starts: it knows nothing but what it reads.
    pub fn restart(&mut self) {
        self.settings.losses = Losses::new(10);
        self.hub.restart(self.now);
        self.mirror = Mirror::new(self.settings.clone(), [scope()], Visible::None, 1);
        self.mirror.roster_changed(self.roster.clone());
        self.mirror.sources_changed(self.hub.store.snapshot());
        self.mirror.approve(self.approved.clone());
        for (name, info) in &self.api.namespaces {
            self.mirror.namespace_seen(name.as_str().into(), info.clone());
        }
        self.mirror.namespaces_visible(Visible::All);
        self.relist();
    }

    /// The worker lists the copies anew: what the watch had to say is in the list.
    pub fn relist(&mut self) {
        self.mirror.relist_begun(&scope());
        self.api.events.retain(|event| matches!(event, Event::Namespace(..) | Event::NamespaceGone(_)));
        for object in self.api.objects.values().filter(|object| is_labelled(object)).cloned().collect::<Vec<_>>() {
            let (key, observed) = self.observe(&object);
            self.mirror.copy_seen(key, observed);
        }
        self.mirror.relist_done(&scope());
    }

    pub fn set_roster(&mut self, roster: Roster) {
        self.roster = roster.clone();
        self.mirror.roster_changed(roster);
    }

    fn observe(&self, object: &Value) -> (ObjectKey, Observed) {
        let key = key_of(object);
        let object: Object = serde_json::from_value(object.clone()).unwrap();
        let observed = self.settings.observer.observe(key.kind, &object);
        (key, observed)
    }

    /// The mirror learns of one thing that happened in the follower; false if there is none.
    pub fn deliver(&mut self) -> bool {
        match self.api.events.pop_front() {
            None => return false,
            Some(Event::Seen(object)) => {
                let (key, observed) = self.observe(&object);
                self.mirror.copy_seen(key, observed);
            }
            Some(Event::Gone(object)) => {
                self.mirror.copy_gone(&key_of(&object), &object["metadata"]["uid"].as_str().unwrap().into());
            }
            Some(Event::Namespace(name, info)) => self.mirror.namespace_seen(name.into(), info),
            Some(Event::NamespaceGone(name)) => self.mirror.namespace_gone(&name.as_str().into()),
        }
        true
    }

    /// Executes the next task; false if none is due.
    pub fn step(&mut self) -> bool {
        let Some(task) = self.mirror.next(self.now) else { return false };
        self.land(task);
        true
    }

    /// Executes a task, and tells the mirror what became of it.
    pub fn land(&mut self, task: Task) {
        let version = self.api.version;
        let outcome = self.execute(&task);
        self.log.push(Done {
            write: task.write,
            key: task.key.clone(),
            class: task.class,
            changed: self.api.version != version,
        });
        self.mirror.finished(&task, outcome, self.now);
        self.notes.extend(self.mirror.take_notes());
    }

    /// Everything that is due now.
    pub fn settle(&mut self) {
        self.mirror.sources_changed(self.hub.store.snapshot());
        for _ in 0..20_000 {
            let (delivered, stepped) = (self.deliver(), self.step());
            if !delivered && !stepped {
                self.notes.extend(self.mirror.take_notes());
                assert!(self.mirror.is_idle(), "something is due, and nothing is done");
                return;
            }
        }
        panic!("never settles: {:#?}", &self.log[self.log.len() - 10..]);
    }

    /// Lets time pass.
    pub fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        self.settle();
        while let Some(wake) = self.mirror.next_wake().filter(|wake| *wake <= end) {
            self.now = wake.max(self.now);
            self.settle();
        }
        self.now = end;
    }

    pub fn state(&self, key: &ObjectKey) -> Option<State> {
        self.mirror.states.get(key).copied()
    }

    /// What has changed the follower since the last call.
    pub fn take_writes(&mut self) -> Vec<(Write, String)> {
        let done = std::mem::take(&mut self.log);
        done.into_iter().filter(|done| done.changed).map(|done| (done.write, done.key.to_string())).collect()
    }

    /// Somebody approves whatever is held.
    pub fn approve_all(&mut self) {
        let pending = self.mirror.deletions.pending().iter();
        let held = pending.filter(|(_, pending)| pending.held.is_some());
        self.approved.extend(held.map(|(key, pending)| format!("{key}/{}", pending.uid)));
        self.mirror.approve(self.approved.clone());
    }

    pub fn execute(&mut self, task: &Task) -> Outcome {
        let key = &task.key;
        match task.write {
            Write::Look => Outcome::Found(self.seen(key)),
            Write::CreateNamespace => {
                self.api.namespace(key.namespace.as_str(), &[], true);
                Outcome::NamespaceMade
            }
            Write::Create => {
                let body = request::create(task.parcel.as_ref().unwrap(), &Keepsakes::default());
                let answer = self.api.post(&body);
                self.outcome(key, answer)
            }
            Write::Release => {
                let answer = self.api.patch(key, &request::release(task.observed.as_ref().unwrap()));
                self.outcome(key, answer.map(|_| Value::Null))
            }
            Write::Delete => {
                let answer = self.api.delete(key, &request::delete(task.observed.as_ref().unwrap()));
                if answer == Err(Refusal::Missing) {
                    return Outcome::Gone;
                }
                self.outcome(key, answer.map(|()| Value::Null))
            }
            Write::Update | Write::Adopt | Write::Overwrite | Write::Replace => self.bring_in_step(task),
        }
    }

    fn bring_in_step(&mut self, task: &Task) -> Outcome {
        let (key, parcel, observed) = (&task.key, task.parcel.as_ref().unwrap(), task.observed.as_ref().unwrap());
        let dropped = match task.write {
            Write::Adopt => Dropped::on_adoption(observed, &MetadataFilter::default(), KubedMarks::Remove),
            _ => Dropped::default(),
        };
        assert_eq!(task.write == Write::Replace, task.anew && !matches!(task.write, Write::Adopt | Write::Overwrite));
        let answer = if task.anew {
            let Some(there) = self.api.get(key).cloned() else { return Outcome::Raced(None) };
            let meta = serde_json::from_value::<Object>(there).unwrap().metadata;
            if meta.resource_version != observed.version {
                return Outcome::Raced(self.seen(key));
            }
            let body = request::create(parcel, &Keepsakes::of(meta, observed, &dropped));
            self.api.delete(key, &request::delete(observed)).and_then(|()| self.api.post(&body))
        } else {
            self.api.patch(key, &request::update(parcel, observed, &dropped))
        };
        self.outcome(key, answer)
    }

    fn seen(&self, key: &ObjectKey) -> Option<Observed> {
        self.api.get(key).map(|object| self.observe(object).1)
    }

    fn outcome(&self, key: &ObjectKey, answer: Result<Value, Refusal>) -> Outcome {
        match answer {
            Ok(Value::Null) => Outcome::Gone,
            Ok(object) => Outcome::Wrote(self.observe(&object).1),
            Err(Refusal::Missing | Refusal::Exists | Refusal::Stale) => Outcome::Raced(self.seen(key)),
            Err(Refusal::Invalid) => Outcome::Failed(Failure::Refused),
            Err(Refusal::NoNamespace) => Outcome::Failed(Failure::NoNamespace),
        }
    }
}
