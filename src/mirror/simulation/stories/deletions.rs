//! Never destructive by mistake.

use super::*;

fn many(count: usize) -> Vec<Thing> {
    (0..count).map(|number| source(&format!("s{number:02}"))).collect()
}

#[test]
fn deleted_and_made_again_within_the_delay_was_never_absent() {
    let mut world = World::with([source("a")]);
    world.hub.delete(&at("a"));
    world.run(29);
    assert_eq!(world.state(&at("a")), Some(State::DeletionPending));
    world.put(source("a"));
    world.run(3600);
    assert_eq!(world.take_writes(), []);
    world.hub.delete(&at("a"));
    world.run(29);
    assert_eq!(world.names(), ["n/a"], "the delay starts anew");
    world.run(2);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn each_class_has_its_delay() {
    let mut world = World::with([source("written"), source("witnessed"), source("unwitnessed")]);
    world.hub.put(secret("n", "written"), world.now);
    world.hub.delete(&at("witnessed"));
    world.hub.lose(&at("unwitnessed"));
    world.hub.relist(world.now);
    world.run(4);
    assert_eq!(world.names(), ["n/unwitnessed", "n/witnessed"]);
    world.run(30);
    assert_eq!(world.names().len(), 0);
    let class = |name: &str| world.log.iter().find(|done| done.key == at(name)).unwrap().class;
    assert_eq!(class("written"), Some(Class::Written));
    assert_eq!(class("witnessed"), Some(Class::Witnessed));
    assert_eq!(class("unwitnessed"), Some(Class::Unwitnessed));
}

#[test]
fn a_source_that_says_how_long_is_taken_at_its_word_even_when_it_is_gone() {
    let mut world = World::with([source("a").annotation("towline.dev/deletion-delay", "1h")]);
    world.hub.delete(&at("a"));
    world.run(3590);
    assert_eq!(world.names(), ["n/a"]);
    world.run(20);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn orphan_releases_by_the_mark_when_the_source_is_gone() {
    let mut world = World::with([source("a").annotation("towline.dev/deletion-policy", "Orphan")]);
    world.hub.delete(&at("a"));
    world.run(60);
    assert_eq!(world.take_writes(), [(Write::Release, "Secret/n/a".to_owned())]);
    assert!(!world.api.get(&at("a")).unwrap().to_string().contains("towline"));
    assert_eq!(world.state(&at("a")), None);
}

#[test]
fn three_sources_missing_at_the_start_are_held_and_two_go() {
    for (missing, left) in [(2, 2), (3, 4)] {
        let mut world = World::with(many(4));
        (0..missing).for_each(|number| world.hub.lose(&at(&format!("s{number:02}"))));
        world.restart();
        world.run(3600);
        assert_eq!(world.names().len(), left, "{missing} missing");
        if missing == 3 {
            assert_eq!(world.state(&at("s00")), Some(State::DeletionHeld));
            assert_eq!(world.told(State::DeletionHeld).len(), 3);
            world.approve_all();
            world.run(1);
            assert_eq!(world.names(), ["n/s03"]);
        }
    }
}

#[test]
fn eleven_sources_deleted_live_are_held_and_ten_go() {
    for (deleted, left) in [(10, 2), (11, 12)] {
        let mut world = World::with(many(12));
        (0..deleted).for_each(|number| world.hub.delete(&at(&format!("s{number:02}"))));
        world.run(3600);
        assert_eq!(world.names().len(), left, "{deleted} deleted");
    }
}

#[test]
fn a_held_batch_that_becomes_smaller_goes() {
    let mut world = World::with(many(11));
    (0..11).for_each(|number| world.hub.delete(&at(&format!("s{number:02}"))));
    world.run(60);
    world.put(source("s00"));
    world.run(60);
    assert_eq!(world.names(), ["n/s00"]);
}

#[test]
fn one_source_takes_its_two_hundred_copies_with_it() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    (0..200).for_each(|number| world.api.namespace(&format!("x{number}"), &[], true));
    world.put(source("a").annotation("towline.dev/target-namespaces", "x*"));
    assert_eq!(world.names().len(), 200);
    world.hub.delete(&at("a"));
    world.run(60);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn copies_of_a_renamed_context_are_held() {
    let mut world = World::with([secret("n", "a").annotation("towline.dev/followers", FOLLOWER)]);
    let mut renamed = roster(vec![member("renamed")]);
    renamed.known = Arc::new(["renamed".into()].into());
    world.set_roster(renamed);
    world.run(3600);
    assert_eq!((world.names().len(), world.state(&at("a"))), (1, Some(State::DeletionHeld)));
    world.set_roster(roster(vec![member(FOLLOWER)]));
    world.run(60);
    assert_eq!(world.state(&at("a")), Some(State::InStep));
}

#[test]
fn a_copy_whose_follower_name_has_not_answered_waits() {
    let mut world = World::with([secret("n", "a").annotation("towline.dev/followers", FOLLOWER)]);
    let mut waiting = roster(vec![member("renamed")]);
    waiting.known = Arc::new([FOLLOWER.into(), "renamed".into()].into());
    waiting.unanswered = Arc::new([FOLLOWER.into()].into());
    world.set_roster(waiting.clone());
    world.run(3600);
    assert_eq!((world.names().len(), world.state(&at("a"))), (1, Some(State::Waiting)));
    waiting.unanswered = Arc::default();
    world.set_roster(waiting);
    world.run(60);
    assert_eq!(world.state(&at("a")), Some(State::DeletionHeld), "it leads elsewhere");
}

#[test]
fn a_source_that_leaves_ten_followers_stays_on_the_eleventh() {
    let losses = Losses::new(1);
    let mut worlds: Vec<World> = (0..2).map(|_| World::with([source("a")])).collect();
    for (number, world) in worlds.iter_mut().enumerate() {
        world.hub.lose(&at("a"));
        world.restart();
        let mut settings = settings(&format!("cluster-{number}"));
        settings.losses = losses.clone();
        settings.observer.cluster = super::super::super::makers::CLUSTER.into();
        world.settings = settings;
        world.mirror.settings.losses = losses.clone();
        world.mirror.settings.observer.cluster = format!("cluster-{number}").into();
        world.run(60);
    }
    assert_eq!(worlds.iter().map(|world| world.names().len()).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(worlds[1].state(&at("a")), Some(State::DeletionHeld));
}

#[test]
fn a_copy_from_outside_the_scope_is_ignored() {
    let mut world = World::with([source("a")]);
    world.hub.lose(&at("a"));
    world.hub.store = crate::source::Store::new(super::super::super::makers::packing(), []);
    world.run(3600);
    assert_eq!((world.take_writes(), world.state(&at("a"))), (vec![], None));
}

#[test]
fn an_incomplete_list_deletes_nothing() {
    let mut world = World::with([source("a")]);
    world.hub.store.denied(&scope());
    world.hub.delete(&at("a"));
    world.run(3600);
    assert_eq!((world.names().len(), world.state(&at("a"))), (1, Some(State::Waiting)));
    world.hub.relist(world.now);
    world.run(60);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn nothing_is_deleted_by_a_glob_while_the_namespaces_are_not_known() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.api.namespace("m", &[("team", "x")], true);
    world.put(source("a").annotation("towline.dev/target-namespace-selector", "team=x"));
    assert_eq!(world.names(), ["m/a"]);
    world.mirror.namespaces_visible(Visible::None);
    world.mirror.namespace_gone(&"m".into());
    world.run(3600);
    assert_eq!(world.names(), ["m/a"]);
    world.api.namespace("m", &[], true);
    world.mirror.namespaces_visible(Visible::All);
    world.run(60);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn a_namespace_that_stops_matching_loses_its_copy_soon() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.api.namespace("m", &[("team", "x")], true);
    world.put(source("a").annotation("towline.dev/target-namespace-selector", "team=x"));
    world.api.namespace("m", &[], true);
    world.run(4);
    assert_eq!(world.names().len(), 0);
    assert_eq!(world.log.last().unwrap().class, Some(Class::Written));
}

#[test]
fn a_change_of_policy_is_unwitnessed() {
    let mut world = World::with(many(3));
    world.set_roster(roster(vec![granted(FOLLOWER, "{baseRoutes: false}")]));
    world.run(3600);
    assert_eq!((world.names().len(), world.state(&at("s00"))), (3, Some(State::DeletionHeld)));
}

#[test]
fn the_first_of_two_sources_holds_the_target_and_hands_it_over_when_it_leaves() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    let to_t = |namespace: &str, data: &str| {
        let thing = secret(namespace, "a").annotation("towline.dev/followers", "*").with("data", json!({"k": data}));
        thing.annotation("towline.dev/target-namespaces", "t").meta("creationTimestamp", "2026-01-02T00:00:00Z")
    };
    let copy = key("t", "a");
    world.put(to_t("m", "bQ=="));
    world.put(to_t("n", "bg==").meta("creationTimestamp", "2026-01-01T00:00:00Z"));
    world.run(60);
    assert_eq!(world.data(&copy), Some("bQ=="), "the holder stays, though the other is older");
    let losers: Vec<&Note> = world.notes.iter().filter(|note| note.state == State::Conflict).collect();
    assert_eq!(losers.len(), 1, "told once: {losers:?}");
    assert_eq!((losers[0].source.to_string(), losers[0].target.clone()), ("Secret/n/a".to_owned(), copy.clone()));
    assert!(losers[0].detail.as_ref().unwrap().contains("Secret/m/a"));

    world.hub.delete(&key("m", "a"));
    world.run(29);
    assert_eq!(world.data(&copy), Some("bQ=="), "a source that is gone holds it until its deletion is due");
    world.take_writes();
    world.run(2);
    assert_eq!(world.take_writes(), [(Write::Update, "Secret/t/a".to_owned())]);
    assert_eq!(world.data(&copy), Some("bg=="));

    world.put(to_t("m", "bQ=="));
    world.put(secret("n", "a"));
    world.run(1);
    assert_eq!(world.data(&copy), Some("bg=="), "withdrawn, but not due");
    world.run(3);
    assert_eq!(world.data(&copy), Some("bQ=="));
}

#[test]
fn nobody_holds_it_then_the_same_named_namespace_then_the_older_source_wins() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    let to_t = |namespace: &str, created: &str| {
        let thing = secret(namespace, "a").annotation("towline.dev/followers", "*").meta("creationTimestamp", created);
        thing.annotation("towline.dev/target-namespaces", "t").with("data", json!({"k": namespace}))
    };
    world.hub.put(to_t("m", "2026-01-02T00:00:00Z"), world.now);
    world.hub.put(to_t("n", "2026-01-01T00:00:00Z"), world.now);
    world.settle();
    assert_eq!(world.data(&key("t", "a")), Some("n"));
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.hub.put(to_t("m", "2026-01-01T00:00:00Z"), world.now);
    world.hub.put(to_t("t", "2026-01-02T00:00:00Z"), world.now);
    world.settle();
    assert_eq!(world.data(&key("t", "a")), Some("t"));
}

#[test]
fn a_renamed_copy_stays_under_its_old_name_until_the_new_one_is_in_step() {
    let mut world = World::new();
    world.set_roster(roster(vec![granted(FOLLOWER, EVERYTHING)]));
    world.put(source("a"));
    world.api.put(secret("n", "b").0);
    world.put(source("a").annotation("towline.dev/target-name", "b"));
    world.run(3600);
    assert_eq!(world.names(), ["n/a", "n/b"]);
    assert_eq!(world.state(&at("b")), Some(State::Conflict));
    world.api.remove(&at("b"));
    world.run(900);
    assert_eq!(world.names(), ["n/b"]);
    assert_eq!(world.state(&at("b")), Some(State::InStep));
}

#[test]
fn a_copy_on_hold_is_not_deleted_until_the_hold_ends() {
    let mut world = World::with([source("a")]);
    world.api.edit(&at("a"), |copy| copy["metadata"]["annotations"][mark::HOLD] = json!("true"));
    world.hub.delete(&at("a"));
    world.run(3600);
    assert_eq!((world.names().len(), world.state(&at("a"))), (1, Some(State::Held)));
    world.api.edit(&at("a"), |copy| copy["metadata"]["annotations"][mark::HOLD] = json!("false"));
    world.run(60);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn an_edit_of_a_live_source_does_not_make_the_table_of_losses_forget() {
    let losses = Losses::new(1);
    let source_key = at("a");
    assert!(losses.admit(&source_key, &"another-cluster".into()));
    let mut world = World::with([source("a")]);
    world.mirror.settings.losses = losses;
    world.set_roster(roster(vec![granted(FOLLOWER, "{baseRoutes: false}")]));
    world.run(10);
    world.put(source("a").with("data", json!({"k": "bmV3"})));
    world.run(60);
    assert_eq!(world.state(&at("a")), Some(State::DeletionHeld));
}
