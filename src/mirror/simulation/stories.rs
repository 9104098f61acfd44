//! One story each: what was promised, end to end through the mirror.

use super::*;
use crate::{
    api::{mark, policy::Policy},
    mirror::makers::{Thing, key, secret},
};
use serde_json::json;

mod beginnings;
mod deletions;

/// A source `Secret/n/NAME` for all followers.
fn source(name: &str) -> Thing {
    secret("n", name).annotation("towline.dev/followers", "*")
}

fn at(name: &str) -> ObjectKey {
    key("n", name)
}

impl World {
    fn put(&mut self, thing: Thing) {
        self.hub.put(thing, self.now);
        self.settle();
    }

    fn with(things: impl IntoIterator<Item = Thing>) -> Self {
        let mut world = Self::new();
        things.into_iter().for_each(|thing| world.hub.put(thing, world.now));
        world.run(1);
        world.take_writes();
        world.notes.clear();
        world
    }

    fn data(&self, key: &ObjectKey) -> Option<&str> {
        self.api.get(key)?["data"]["k"].as_str()
    }

    fn names(&self) -> Vec<String> {
        self.api.objects.keys().map(|key| format!("{}/{}", key.namespace, key.name)).collect()
    }

    fn told(&self, state: State) -> Vec<String> {
        self.notes.iter().filter(|note| note.state == state).map(|note| note.source.name.to_string()).collect()
    }
}

fn granted(name: &str, rules: &str) -> Member {
    Member { policy: Arc::new(Policy::parse(rules).unwrap()), ..member(name) }
}

const EVERYTHING: &str =
    r#"{accept: [{to: {namespaces: ["*", t, m, n]}, allow: [Rename, CreateNamespace, Overwrite]}]}"#;

#[test]
fn a_source_is_copied_updated_and_then_left_in_peace() {
    let mut world = World::new();
    world.put(source("a"));
    assert_eq!(world.take_writes(), [(Write::Create, "Secret/n/a".to_owned())]);
    world.put(source("a").with("data", json!({"k": "bmV3"})));
    assert_eq!(world.take_writes(), [(Write::Update, "Secret/n/a".to_owned())]);
    assert_eq!(world.data(&at("a")), Some("bmV3"));
    world.run(7200);
    world.restart();
    world.run(7200);
    assert_eq!(world.take_writes(), []);
    assert_eq!(world.state(&at("a")), Some(State::InStep));
}

#[test]
fn an_edited_or_deleted_copy_is_repaired_and_what_others_put_on_it_stays() {
    let mut world = World::with([source("a")]);
    world.api.edit(&at("a"), |copy| {
        copy["data"]["k"] = json!("ZWRpdA==");
        copy["metadata"]["annotations"]["kubed.appscode.com/sync"] = json!("");
    });
    world.settle();
    assert_eq!(world.data(&at("a")), Some("dg=="));
    assert_eq!(world.api.get(&at("a")).unwrap()["metadata"]["annotations"]["kubed.appscode.com/sync"], "");
    world.api.remove(&at("a"));
    world.settle();
    assert_eq!(world.data(&at("a")), Some("dg=="));
    assert!(world.log.iter().all(|done| done.write != Write::Look), "{:?}", world.log);
}

#[test]
fn a_type_change_makes_the_copy_anew_with_what_others_put_on_it() {
    let mut world = World::with([source("a")]);
    world.api.edit(&at("a"), |copy| copy["metadata"]["labels"]["theirs"] = json!("x"));
    world.put(source("a").with("type", json!("example.com/b")));
    assert_eq!(world.log.len(), 1, "the end of the old one is no news: {:?}", world.log);
    assert_eq!(world.take_writes(), [(Write::Replace, "Secret/n/a".to_owned())]);
    let copy = world.api.get(&at("a")).unwrap();
    assert_eq!((&copy["type"], &copy["metadata"]["labels"]["theirs"]), (&json!("example.com/b"), &json!("x")));
    world.run(60);
    assert_eq!(world.take_writes(), []);
}

#[test]
fn a_frozen_source_changes_nothing_not_even_after_a_restart() {
    let mut world = World::with([source("a")]);
    let invalid = source("a").annotation("towline.dev/on-conflict", "Perhaps").with("data", json!({"k": "bmV3"}));
    world.put(invalid);
    world.api.edit(&at("a"), |copy| copy["data"]["k"] = json!("ZWRpdA=="));
    world.run(3600);
    world.restart();
    world.run(3600);
    assert_eq!(world.take_writes(), []);
    assert_eq!((world.data(&at("a")), world.state(&at("a"))), (Some("ZWRpdA=="), Some(State::Frozen)));
    assert_eq!(world.told(State::Frozen), ["a", "a"], "once in each process");
}

#[test]
fn what_is_not_granted_freezes_and_is_told_once_per_change() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.put(source("a").annotation("towline.dev/target-namespaces", "t"));
    assert_eq!(world.names(), ["t/a"]);
    world.set_roster(roster(vec![member(FOLLOWER)]));
    for data in ["bmV3", "bmV4", "bmV5"] {
        world.put(source("a").annotation("towline.dev/target-namespaces", "t").with("data", json!({"k": data})));
        world.run(600);
    }
    assert_eq!((world.data(&key("t", "a")), world.state(&key("t", "a"))), (Some("dg=="), Some(State::NotGranted)));
    let rules = world.notes.iter().filter(|note| note.detail.as_ref().is_some_and(|text| text.contains("accept:")));
    assert_eq!(rules.count(), 1);
}

#[test]
fn a_missing_namespace_is_waited_for_and_created_only_where_granted_and_once_an_hour() {
    let mut world = World::with([secret("gone", "a").annotation("towline.dev/followers", "*")]);
    let copy = key("gone", "a");
    assert_eq!((world.state(&copy), world.names().len()), (Some(State::Waiting), 0));
    world.api.namespace("gone", &[], true);
    world.settle();
    assert_eq!(world.names(), ["gone/a"]);

    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.put(
        secret("new", "a").annotation("towline.dev/followers", "*").annotation("towline.dev/create-namespace", "true"),
    );
    world.run(5);
    assert_eq!(world.names(), ["gone/a", "new/a"]);
    world.api.remove_namespace("new");
    world.run(600);
    assert_eq!(world.names(), ["gone/a"], "somebody who deletes it means it");
    world.run(3600);
    assert_eq!(world.names(), ["gone/a", "new/a"]);
}

#[test]
fn a_namespace_that_accepts_nothing_gets_nothing_but_deletions() {
    let mut world = World::with([source("a"), source("b")]);
    world.api.namespace("n", &[], false);
    world.settle();
    world.put(source("a").with("data", json!({"k": "bmV3"})));
    world.put(source("c"));
    world.hub.delete(&at("b"));
    world.run(60);
    assert_eq!((world.names(), world.data(&at("a"))), (vec!["n/a".to_owned()], Some("dg==")));
    assert_eq!((world.state(&at("a")), world.state(&at("c"))), (Some(State::Held), Some(State::Held)));
    world.api.namespace("n", &[], true);
    world.settle();
    assert_eq!((world.names().len(), world.data(&at("a"))), (2, Some("bmV3")));
}

#[test]
fn somebody_elses_object_is_a_conflict_until_it_leaves() {
    let mut world = World::new();
    world.api.put(secret("n", "a").with("data", json!({"k": "dGhlaXJz"})).0);
    world.put(source("a"));
    world.run(7200);
    assert_eq!((world.data(&at("a")), world.state(&at("a"))), (Some("dGhlaXJz"), Some(State::Conflict)));
    assert_eq!(world.told(State::Conflict), ["a"]);
    let looks = world.log.iter().filter(|done| done.write == Write::Look).count();
    assert!((5..40).contains(&looks), "slowly: {looks}");
    world.api.remove(&at("a"));
    world.run(900);
    assert_eq!(world.data(&at("a")), Some("dg=="));
}

#[test]
fn a_stray_is_counted_and_never_touched_and_on_a_wanted_place_it_is_a_conflict() {
    let mut world = World::with([source("a")]);
    let mut clone = world.api.get(&at("a")).unwrap().clone();
    clone["metadata"]["name"] = json!("b");
    world.api.put(clone.clone());
    clone["metadata"]["namespace"] = json!("m");
    world.api.put(clone);
    world.settle();
    assert_eq!(world.mirror.strays(), 2);
    world.put(source("b"));
    assert_eq!(world.state(&at("b")), Some(State::Conflict));
    world.hub.delete(&at("a"));
    world.run(3600);
    assert_eq!(world.take_writes(), [(Write::Delete, "Secret/n/a".to_owned())]);
    world.api.remove(&key("m", "a"));
    world.api.remove(&key("m", "b"));
    world.relist();
    world.settle();
    assert_eq!(world.mirror.strays(), 1);
    world.api.remove(&at("b"));
    world.settle();
    assert_eq!((world.mirror.strays(), world.data(&at("b"))), (0, Some("dg==")), "at once: the watch shows strays");
}

#[test]
fn who_takes_the_label_off_takes_the_copy_over_even_under_overwrite() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.put(source("a").annotation("towline.dev/on-conflict", "Overwrite"));
    world.api.edit(&at("a"), |copy| copy["metadata"]["labels"] = json!({}));
    world.take_writes();
    world.run(3600);
    world.hub.delete(&at("a"));
    world.run(3600);
    assert_eq!(world.take_writes(), []);
    assert_eq!(world.told(State::TakenOver), ["a"]);
}

#[test]
fn overwrite_takes_somebody_elses_object_and_its_type_too() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.api.put(secret("n", "a").label("theirs", "x").with("type", json!("example.com/b")).0);
    world.put(source("a").annotation("towline.dev/on-conflict", "Overwrite"));
    let copy = world.api.get(&at("a")).unwrap();
    assert_eq!((&copy["type"], &copy["metadata"]["labels"]["theirs"]), (&json!("Opaque"), &json!("x")));
    assert_eq!(world.state(&at("a")), Some(State::InStep));
}

#[test]
fn an_answer_that_is_not_what_was_sent_is_altered_and_not_written_again() {
    let mut world = World::new();
    world.api.webhook = Some(|object| object["data"]["added"] = json!("eA=="));
    world.put(source("a"));
    world.run(7200);
    assert_eq!((world.state(&at("a")), world.take_writes().len()), (Some(State::Altered), 1));
    world.put(source("a").with("data", json!({"k": "bmV3"})));
    assert_eq!((world.state(&at("a")), world.take_writes().len()), (Some(State::Altered), 1));
}

#[test]
fn a_follower_that_strips_our_label_is_not_fought() {
    for overwrite in ["Refuse", "Overwrite"] {
        let mut world = World::new();
        world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
        world.api.webhook = Some(|object| object["metadata"]["labels"] = json!({}));
        world.put(source("a").annotation("towline.dev/on-conflict", overwrite));
        world.run(7200);
        assert_eq!((world.state(&at("a")), world.take_writes().len()), (Some(State::TakenOver), 1), "{overwrite}");
    }
}

#[test]
fn who_keeps_changing_a_copy_is_contested_and_told_and_a_new_version_is_not_held_up() {
    let mut world = World::with([source("a")]);
    for _ in 0..2400 {
        if world.data(&at("a")) != Some("ZWRpdA==") {
            world.api.edit(&at("a"), |copy| {
                copy["data"]["k"] = json!("ZWRpdA==");
                copy["metadata"]["managedFields"] = json!([{"manager": "vim", "time": "2026-01-01T00:00:00Z"}]);
            });
        }
        world.run(3);
    }
    let repairs = world.take_writes().len();
    assert!((6..=23).contains(&repairs), "{repairs} in two hours");
    assert_eq!(world.state(&at("a")), Some(State::Contested));
    let detail = world.notes.iter().find(|note| note.state == State::Contested).unwrap().detail.clone();
    assert_eq!(detail.as_deref(), Some("last written by vim"));
    world.put(source("a").with("data", json!({"k": "bmV3"})));
    assert_eq!(world.data(&at("a")), Some("bmV3"));
}

#[test]
fn an_unsound_pair_never_replaces_a_sound_one() {
    let pair = rcgen::generate_simple_self_signed(vec!["example.org".to_owned()]).unwrap();
    let tls = |crt: &str, key: &str| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let data = json!({"tls.crt": STANDARD.encode(crt), "tls.key": STANDARD.encode(key)});
        source("a").with("type", json!("kubernetes.io/tls")).with("data", data)
    };
    let sound = tls(&pair.cert.pem(), &pair.signing_key.serialize_pem());
    let mut world = World::with([sound.clone()]);
    world.put(tls("", ""));
    world.run(60);
    assert_eq!((world.state(&at("a")), world.take_writes().len()), (Some(State::InvalidPayload), 0));
    assert_eq!(world.told(State::InvalidPayload), ["a"]);
    world.put(tls("", "").annotation("towline.dev/validate", "false"));
    assert_eq!(world.state(&at("a")), Some(State::InStep));
    world.put(tls("", "x"));
    assert_eq!(world.state(&at("a")), Some(State::InStep), "where no sound copy is, it is copied");
    assert_eq!(world.told(State::InvalidPayload), ["a", "a"], "and told");
}

#[test]
fn kubeds_copy_of_the_same_source_is_adopted_and_its_marks_go() {
    let mut world = World::new();
    let mut copy = secret("n", "a").label("kubed.appscode.com/origin.name", "a").label("helm.sh/chart", "x");
    copy = copy.label("kubed.appscode.com/origin.namespace", "n").label("kubed.appscode.com/origin.cluster", "mgmt");
    copy = copy.annotation("kubed.appscode.com/sync", "").annotation(mark::KUBED_ORIGIN, r#"{"uid":"source-1"}"#);
    world.api.put(copy.0);
    world.put(source("a"));
    assert_eq!(world.take_writes(), [(Write::Adopt, "Secret/n/a".to_owned())]);
    let metadata = &world.api.get(&at("a")).unwrap()["metadata"];
    let labels: Vec<_> = metadata["labels"].as_object().unwrap().keys().collect();
    assert_eq!(labels, [mark::MANAGED_BY, mark::ORIGIN]);
    let annotations: Vec<_> = metadata["annotations"].as_object().unwrap().keys().collect();
    assert_eq!(annotations, ["kubed.appscode.com/sync", mark::SOURCE]);
    world.run(60);
    assert_eq!(world.state(&at("a")), Some(State::InStep));
}

#[test]
fn local_sync_copies_into_other_namespaces_and_followers_never_lead_there() {
    let local = roster(vec![member("@local")]);
    let mut world = World::of(settings(super::super::makers::HUB), local);
    world.put(secret("n", "a").annotation("kubed.appscode.com/sync", ""));
    world.put(source("b"));
    world.put(secret("n", "c").annotation("kubed.appscode.com/sync-contexts", "@local"));
    assert_eq!(world.names(), ["m/a", "t/a"]);
    world.api.namespace("later", &[], true);
    world.settle();
    assert_eq!(world.names(), ["later/a", "m/a", "t/a"]);
}

#[test]
fn a_copy_made_by_a_name_that_is_not_known_any_more_is_marked_anew() {
    let mut world = World::with([source("a")]);
    world.set_roster(roster(vec![member("renamed")]));
    world.settle();
    assert_eq!(world.take_writes(), [(Write::Update, "Secret/n/a".to_owned())]);
    world.run(60);
    assert_eq!(world.take_writes(), []);
}

#[test]
fn a_late_watch_event_never_takes_back_what_is_newer() {
    let mut world = World::with([source("a")]);
    world.api.edit(&at("a"), |copy| copy["metadata"]["labels"]["theirs"] = json!("x"));
    let late = world.api.events.clone();
    world.settle();
    world.put(source("a").with("type", json!("example.com/b")));
    world.take_writes();
    world.api.events = late;
    world.settle();
    assert_eq!(world.take_writes(), []);
    assert_eq!(world.log.len(), 0);
}

#[test]
fn a_follower_restored_from_a_backup_is_read_as_it_is() {
    let mut world = World::with([source("a")]);
    let backup = world.api.objects.clone();
    world.put(source("a").with("data", json!({"k": "bmV3"})));
    world.take_writes();
    // The same uid, a lower version.
    world.api.objects = backup;
    world.relist();
    world.settle();
    assert_eq!(world.take_writes(), [(Write::Update, "Secret/n/a".to_owned())]);
}

#[test]
fn a_refused_write_is_tried_again_at_once_when_the_source_changes() {
    let mut world = World::with([source("a")]);
    world.api.edit(&at("a"), |copy| copy["immutable"] = json!(true));
    world.settle();
    world.take_writes();
    let mut tried = 0;
    for version in 0..3 {
        world.hub.put(source("b").with("data", json!({"k": format!("{version}")})), world.now);
        world.mirror.sources_changed(world.hub.store.snapshot());
        while let Some(task) = world.mirror.next(world.now) {
            tried += 1;
            world.mirror.finished(&task, Outcome::Failed(Failure::Refused), world.now);
        }
    }
    assert_eq!((tried, world.state(&at("b"))), (3, Some(State::Refused)));
}

#[test]
fn a_copy_whose_deletion_is_seen_before_the_answer_to_its_update_comes_back() {
    let mut world = World::with([source("a")]);
    world.hub.put(source("a").with("data", json!({"k": "bmV3"})), world.now);
    world.mirror.sources_changed(world.hub.store.snapshot());
    let update = world.mirror.next(world.now).unwrap();
    let answer = world.execute(&update);
    world.api.remove(&at("a"));
    while world.deliver() {}
    world.mirror.finished(&update, answer, world.now);
    world.settle();
    assert_eq!(world.data(&at("a")), Some("bmV3"));
    assert_eq!(world.state(&at("a")), Some(State::InStep));
}
