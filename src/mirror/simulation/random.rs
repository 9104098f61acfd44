//! Whatever happens, in whatever order: at rest, the world is what the naive judge says; then nothing is written, not even by
//! another process; and on the way nothing is touched that is not ours.

use super::{
    api::key_of,
    model::{Names, Wants, is_held, mark, wants},
    *,
};
use crate::{
    api::policy::Policy,
    mirror::makers::{Thing, key, secret},
};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Op {
    Put { source: usize, variant: usize, data: usize },
    Delete { source: usize },
    Lose { source: usize },
    ReadHub,
    Roster(usize),
    Edit(usize),
    Remove(usize),
    Unlabel(usize),
    Damage(usize),
    Hold(usize, bool),
    Clone(usize, usize),
    Foreign(usize),
    Namespace(usize, usize),
    Sync,
    Deliver(usize),
    Start,
    Land(usize),
    Step(usize),
    Relist,
    Restart,
    Wait(u64),
}

const PLACES: [(&str, &str); 6] = [("n", "a"), ("n", "b"), ("m", "a"), ("m", "b"), ("t", "a"), ("t", "b")];

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..4_usize, 0..14_usize, 0..3_usize).prop_map(|(source, variant, data)| Op::Put { source, variant, data }),
        2 => (0..4_usize).prop_map(|source| Op::Delete { source }),
        1 => (0..4_usize).prop_map(|source| Op::Lose { source }),
        1 => Just(Op::ReadHub),
        2 => (0..6_usize).prop_map(Op::Roster),
        2 => (0..6_usize).prop_map(Op::Edit),
        2 => (0..6_usize).prop_map(Op::Remove),
        1 => (0..6_usize).prop_map(Op::Unlabel),
        1 => (0..6_usize).prop_map(Op::Damage),
        2 => (0..6_usize, any::<bool>()).prop_map(|(place, hold)| Op::Hold(place, hold)),
        1 => (0..6_usize, 0..6_usize).prop_map(|(from, to)| Op::Clone(from, to)),
        1 => (0..6_usize).prop_map(Op::Foreign),
        3 => (0..3_usize, 0..4_usize).prop_map(|(name, what)| Op::Namespace(name, what)),
        6 => Just(Op::Sync),
        6 => (1..4_usize).prop_map(Op::Deliver),
        3 => Just(Op::Start),
        3 => (0..3_usize).prop_map(Op::Land),
        8 => (1..8_usize).prop_map(Op::Step),
        1 => Just(Op::Relist),
        1 => Just(Op::Restart),
        5 => prop_oneof![Just(1), Just(4), Just(35), Just(700)].prop_map(Op::Wait),
    ]
}

fn variant(source: usize, variant: usize, data: usize) -> Thing {
    let (namespace, name) = PLACES[source];
    let thing = secret(namespace, name).with("data", json!({"k": format!("ZA{data}=")}));
    let thing = thing.meta("creationTimestamp", &format!("2026-01-0{}T00:00:00Z", 9 - source));
    let everywhere = thing.clone().annotation("towline.dev/followers", "*");
    match variant {
        0 => everywhere,
        1 => thing.annotation("towline.dev/followers", "prod"),
        2 => thing.annotation("kubed.appscode.com/sync-contexts", "prod"),
        3 | 4 => everywhere.annotation("towline.dev/target-namespaces", "t"),
        5 => everywhere.annotation("towline.dev/target-namespace-selector", "team=x"),
        6 => everywhere.annotation("towline.dev/target-name", if name == "a" { "b" } else { "a" }),
        7 => everywhere.annotation("towline.dev/on-conflict", "Overwrite"),
        8 => thing,
        9 => everywhere.annotation("towline.dev/suspend", "true"),
        10 => everywhere.annotation("towline.dev/validate", "perhaps"),
        11 => everywhere.annotation("towline.dev/deletion-policy", "Orphan"),
        12 => thing.annotation("towline.dev/followers", "alias"),
        _ => everywhere.with("type", json!("example.com/other")),
    }
}

fn names(number: usize) -> Names {
    match number {
        0 => vec![("prod", false)],
        1 => vec![("alias", true), ("prod", false)],
        2 => vec![("renamed", true)],
        3 => vec![("alias", false), ("prod", true)],
        _ => vec![("prod", true)],
    }
}

fn members(names: &Names) -> Vec<Member> {
    const RULES: &str = "{accept: [{to: {namespaces: ['*', t, m, n]}, allow: [Rename, CreateNamespace, Overwrite]}]}";
    let policy = |rules: &bool| if *rules { Policy::parse(RULES).unwrap() } else { Policy::default() };
    names.iter().map(|(name, rules)| Member { policy: Arc::new(policy(rules)), ..member(name) }).collect()
}

/// The world, and what the judge must remember.
struct Court {
    world: World,
    names: Names,
    /// What others made: it must not change.
    foreign: BTreeMap<ObjectKey, Value>,
    flying: Vec<Task>,
    gone: Vec<(Instant, ObjectKey, Class)>,
}

fn place(number: usize) -> ObjectKey {
    let (namespace, name) = PLACES[number];
    key(namespace, name)
}

impl Court {
    fn new() -> Self {
        let names = names(4);
        let mut world = World::new();
        world.set_roster(roster(members(&names)));
        Self { world, names, foreign: BTreeMap::new(), flying: Vec::new(), gone: Vec::new() }
    }

    fn ours(&self, number: usize) -> Option<ObjectKey> {
        let key = place(number);
        self.world.api.get(&key).is_some_and(|object| mark(&key, object).is_some()).then_some(key)
    }

    fn act(&mut self, op: &Op) {
        let now = self.world.now;
        match *op {
            Op::Put { source, variant: which, data } => self.world.hub.put(variant(source, which, data), now),
            Op::Delete { source } => self.world.hub.delete(&place(source)),
            Op::Lose { source } => self.world.hub.lose(&place(source)),
            Op::ReadHub => self.world.hub.relist(now),
            Op::Roster(number) => {
                self.names = names(number);
                let mut roster = roster(members(&self.names));
                if number == 5 {
                    roster.known = Arc::new(["prod".into(), "alias".into()].into());
                    roster.unanswered = Arc::new(["alias".into()].into());
                }
                self.world.set_roster(roster);
            }
            Op::Edit(_) | Op::Remove(_) | Op::Unlabel(_) | Op::Damage(_) | Op::Hold(..) => self.meddle(op),
            Op::Clone(from, to) => self.clone(from, to),
            Op::Foreign(number) => self.make(secret(PLACES[number].0, PLACES[number].1).label("theirs", "x").0),
            Op::Namespace(number, what) => self.namespace(["n", "m", "t"][number], what),
            Op::Sync => self.world.mirror.sources_changed(self.world.hub.store.snapshot()),
            Op::Deliver(count) => (0..count).for_each(|_| _ = self.world.deliver()),
            Op::Start => {
                let task = self.next();
                self.flying.extend(task);
            }
            Op::Land(number) if number < self.flying.len() => {
                let task = self.flying.remove(number);
                self.land(task);
            }
            Op::Land(_) => {}
            Op::Step(count) => (0..count).for_each(|_| _ = self.step()),
            Op::Relist => self.world.relist(),
            Op::Restart => self.restart(),
            Op::Wait(seconds) => self.world.now += Duration::from_secs(seconds),
        }
    }

    /// Somebody does something to an object of the follower.
    fn meddle(&mut self, op: &Op) {
        match *op {
            Op::Edit(number) => {
                if let Some(key) = self.ours(number) {
                    self.world.api.edit(&key, |object| object["data"]["k"] = json!("ZWRpdA=="));
                }
            }
            Op::Remove(number) => {
                self.foreign.remove(&place(number));
                self.world.api.remove(&place(number));
            }
            Op::Unlabel(number) => {
                if let Some(key) = self.ours(number) {
                    self.world.api.edit(&key, |object| object["metadata"]["labels"] = json!({}));
                    self.foreign.insert(key.clone(), self.world.api.get(&key).unwrap().clone());
                }
            }
            Op::Damage(number) => {
                if let Some(key) = self.ours(number) {
                    self.world
                        .api
                        .edit(&key, |object| object["metadata"]["annotations"]["towline.dev/source"] = json!("{"));
                    self.foreign.insert(key.clone(), self.world.api.get(&key).unwrap().clone());
                }
            }
            Op::Hold(number, hold) => {
                if let Some(key) = self.ours(number) {
                    let value = json!(hold.to_string());
                    self.world.api.edit(&key, |object| object["metadata"]["annotations"]["towline.dev/hold"] = value);
                }
            }
            _ => {}
        }
    }

    fn clone(&mut self, from: usize, to: usize) {
        if let Some(mut object) = self.ours(from).and_then(|key| self.world.api.get(&key).cloned()) {
            object["metadata"]["namespace"] = json!(PLACES[to].0);
            object["metadata"]["name"] = json!(PLACES[to].1);
            self.make(object);
        }
    }

    fn make(&mut self, object: Value) {
        let key = key_of(&object);
        if self.world.api.get(&key).is_none() && self.world.api.namespaces.contains_key(key.namespace.as_str()) {
            self.foreign.insert(key, self.world.api.put(object));
        }
    }

    fn namespace(&mut self, name: &str, what: usize) {
        match what {
            0 => self.world.api.remove_namespace(name),
            1 => self.world.api.namespace(name, &[], true),
            2 => self.world.api.namespace(name, &[], false),
            _ => self.world.api.namespace(name, &[("team", "x")], true),
        }
    }

    /// Killed while requests are under way: they arrive, and nobody hears the answer.
    fn restart(&mut self) {
        for task in std::mem::take(&mut self.flying) {
            self.watched(&task, |world, task| _ = world.execute(task));
        }
        self.world.restart();
        self.gone.clear();
    }

    fn next(&mut self) -> Option<Task> {
        let task = self.world.mirror.next(self.world.now)?;
        if matches!(task.write, Write::Delete | Write::Release) {
            self.check_deletion(&task);
        }
        Some(task)
    }

    /// Nothing goes that its source, as the mirror knows it, wants or has frozen; and never too much at once.
    fn check_deletion(&mut self, task: &Task) {
        let source = self.world.mirror.sources.sources.get(&task.source);
        if let (Some(source), Some(object)) = (source, self.world.hub.shown.get(&task.source)) {
            let is_current = object["metadata"]["resourceVersion"] == source.version.as_str();
            let selects = object.to_string().contains("namespace-selector");
            match wants(&task.source, object, &self.names, &self.world.selected()) {
                Wants::Targets { targets, kept } if is_current && !selects => {
                    assert!(!kept && !targets.contains(&task.key), "{task:?} is wanted");
                }
                Wants::Frozen if is_current => panic!("{task:?} is frozen"),
                _ => {}
            }
        }
        let class = task.class.unwrap();
        self.gone.push((self.world.now, task.source.clone(), class));
        let approved = format!("{}/{}", task.key, task.observed.as_ref().unwrap().uid);
        let recent = |(at, ..): &&(Instant, ObjectKey, Class)| self.world.now - *at < Duration::from_secs(60);
        let unwitnessed = self.gone.iter().filter(recent).filter(|(.., class)| *class == Class::Unwitnessed);
        let sources: BTreeSet<&ObjectKey> = unwitnessed.map(|(_, source, _)| source).collect();
        assert!(
            class != Class::Unwitnessed || sources.len() <= 2 || self.world.approved.contains(&approved),
            "more than two sources at once: {sources:?}"
        );
    }

    fn step(&mut self) -> bool {
        let Some(task) = self.next() else { return false };
        self.land(task);
        true
    }

    fn land(&mut self, task: Task) {
        self.watched(&task, |world, task| world.land(task.clone()));
    }

    /// Nothing is changed but what is ours, damaged and wanted, or granted.
    fn watched(&mut self, task: &Task, act: impl FnOnce(&mut World, &Task)) {
        let before = self.world.api.get(&task.key).cloned();
        act(&mut self.world, task);
        let Some(before) = before.filter(|before| self.world.api.get(&task.key) != Some(before)) else { return };
        let damaged = before["metadata"]["annotations"]["towline.dev/source"] == "{" && api::is_labelled(&before);
        let granted = task.write == Write::Overwrite && task.overwrite;
        assert!(!is_held(&before), "{task:?} is on hold");
        assert!(
            mark(&task.key, &before).is_some() || (damaged && task.parcel.is_some()) || granted,
            "{task:?}: {before}"
        );
        self.foreign.remove(&task.key);
        if let (Write::Release, Some(left)) = (task.write, self.world.api.get(&task.key)) {
            self.foreign.insert(task.key.clone(), left.clone());
        }
    }

    fn rest(&mut self, seconds: u64) {
        let end = self.world.now + Duration::from_secs(seconds);
        loop {
            self.world.mirror.sources_changed(self.world.hub.store.snapshot());
            let mut steps = 0;
            loop {
                let (delivered, stepped) = (self.world.deliver(), self.step());
                if !delivered && !stepped {
                    break;
                }
                steps += 1;
                assert!(steps < 5_000, "never settles");
            }
            assert!(self.world.mirror.is_idle());
            match self.world.mirror.next_wake().filter(|wake| *wake <= end) {
                Some(wake) => self.world.now = wake.max(self.world.now),
                None => break,
            }
        }
        self.world.now = end;
    }

    fn come_to_rest(&mut self) {
        std::mem::take(&mut self.flying).into_iter().for_each(|task| self.land(task));
        self.world.hub.relist(self.world.now);
        self.world.set_roster(roster(members(&self.names)));
        for _ in 0..3 {
            self.rest(7_200);
            self.world.approve_all();
        }
        self.rest(7_200);
    }

    fn check(mut self) {
        self.come_to_rest();
        self.foreign.retain(|key, _| self.world.api.get(key).is_some());
        self.world.judge(&self.names, &self.foreign);
        let version = self.world.api.version;
        self.world.take_writes();
        self.rest(7_200);
        self.world.restart();
        self.rest(7_200);
        assert_eq!((self.world.api.version, self.world.take_writes()), (version, vec![]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn at_rest_the_world_is_what_the_judge_says_and_then_nothing_is_written(ops in prop::collection::vec(op(), 1..100)) {
        let mut court = Court::new();
        ops.iter().for_each(|op| court.act(op));
        court.check();
    }
}
