//! Starts, lists, lost connections, another hub.

use super::*;

#[test]
fn a_lost_connection_is_not_tried_again_at_once() {
    let mut world = World::new();
    world.hub.put(source("a"), world.now);
    world.mirror.sources_changed(world.hub.store.snapshot());
    let task = world.mirror.next(world.now).unwrap();
    world.mirror.finished(&task, Outcome::Failed(Failure::Lost), world.now);
    assert!(world.mirror.next(world.now).is_none());
    world.run(1);
    assert_eq!(world.state(&at("a")), Some(State::InStep));
}

#[test]
fn a_hub_that_was_rebuilt_takes_over_what_it_wants_and_deletes_nothing_else() {
    let mut world = World::with([source("a"), source("b")]);
    for name in ["a", "b"] {
        world.api.edit(&at(name), |copy| copy["metadata"]["labels"][mark::ORIGIN] = json!("old-hub"));
    }
    world.hub.lose(&at("b"));
    world.restart();
    world.run(60);
    assert_eq!((world.take_writes(), world.state(&at("a"))), (vec![], Some(State::Conflict)));
    world.restart();
    world.mirror.adopt_from(Arc::new(["old-hub".into()].into()));
    world.run(3600);
    assert_eq!(world.take_writes(), [(Write::Adopt, "Secret/n/a".to_owned())]);
    assert_eq!((world.names().len(), world.state(&at("a"))), (2, Some(State::InStep)));
}

#[test]
fn a_forbidden_namespace_stops_nothing_elsewhere() {
    let lists = ["n", "m"].map(|name| crate::source::Scope { namespace: Some(name.into()), ..scope() });
    let mut world = World::new();
    world.mirror.restart(lists.clone(), Visible::Only(["n".into(), "m".into()].into()));
    for name in ["n", "m"] {
        world.hub.put(secret(name, "a").annotation("towline.dev/followers", "*"), world.now);
    }
    world.settle();
    assert_eq!(world.names().len(), 0, "nothing is read yet");
    world.mirror.relist_begun(&lists[0]);
    world.mirror.relist_done(&lists[0]);
    world.mirror.unreadable(lists[1].clone());
    world.settle();
    assert_eq!(world.names(), ["n/a"]);
    assert_eq!(world.state(&key("m", "a")), Some(State::Waiting));
    world.hub.delete(&at("a"));
    world.run(60);
    assert_eq!(world.names().len(), 0);
}

#[test]
fn a_start_with_many_copies_looks_at_each_a_few_times_and_writes_nothing() {
    let mut world = World::with((0..1_000).map(|number| source(&format!("s{number}"))));
    let start = Instant::now();
    world.restart();
    world.run(60);
    assert_eq!(world.take_writes(), []);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}: not a step per copy", start.elapsed());
}
