//! Killed, stopped, started again: nothing is lost, nothing is written twice, and at rest nothing is written at all.

use super::{
    makers::{config_map, secret},
    towline::Towline,
    world::{CAP, World, apply, collection},
};
use controlplane::{Mark, Requests, eventually};
use futures::{StreamExt, stream};
use serde_json::Value;
use std::time::Duration;

const ALL: [(&str, usize); 3] = [("a", 0), ("b", 1), ("c", 2)];
const SOURCES: usize = 200;
/// So many requests of a worker are under way at once.
const AT_ONCE: usize = 32;

/// Sources for all followers, made side by side.
async fn sources(world: &World, number: usize) {
    let source = |number: usize| secret(&world.name, &format!("source-{number}")).data("n", &number.to_string());
    let objects = (0..number).map(|number| source(number).contexts("a, b, c").build());
    let made = stream::iter(objects).map(async |object| apply(world.hub, &object).await.map(drop)).buffer_unordered(16);
    made.collect::<Vec<_>>().await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
}

async fn copies(world: &World, follower: usize) -> Vec<Value> {
    let path = format!("{}?labelSelector=towline.dev/origin", collection("Secret", &world.name));
    world.somebody(follower).list(&path).await.unwrap()
}

/// Waits until a follower has at least so many copies.
async fn at_least(world: &World, follower: usize, number: usize) {
    let look = async || Ok((copies(world, follower).await.len() >= number).then_some(()));
    eventually(&format!("{number} copies on follower {follower}"), CAP, look).await.unwrap();
}

/// Waits until Towline knows that so many copies are in step everywhere, and that nothing else is to be done.
async fn in_step(towline: &Towline, number: usize) {
    for (name, _) in ALL {
        let count = async |state: &str| {
            towline.metric(&format!("towline_copies{{follower=\"{name}\",state=\"{state}\"}}")).await
        };
        let look = async || {
            let settled = count("InStep").await == Some(number as f64) && count("Pending").await == Some(0.0);
            Ok(settled.then_some(()))
        };
        eventually(&format!("{number} copies in step on {name}"), CAP, look).await.unwrap();
    }
}

async fn requests(world: &World, follower: usize, since: Mark) -> Requests {
    world.audit(follower).since(since).await.unwrap().by(&world.user())
}

fn marks(world: &World) -> [Mark; 3] {
    [0, 1, 2].map(|follower| world.audit(follower).mark())
}

#[tokio::test]
async fn killed_in_the_middle_it_goes_on_and_writes_nothing_twice() {
    let world = World::new("restart-killed").await;
    sources(&world, SOURCES).await;
    let since = marks(&world);
    let mut towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    at_least(&world, 0, 20).await;
    towline.kill();
    let killed = [0, 1, 2].map(|follower| world.audit(follower).mark());
    let towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    in_step(&towline, SOURCES).await;
    let mut went_on = 0;
    for follower in 0..3 {
        assert_eq!(copies(&world, follower).await.len(), SOURCES);
        let writes = requests(&world, follower, since[follower]).await.writes();
        let creates = writes.verb("create");
        assert_eq!(creates.len(), writes.len(), "a copy was written after it was made: {writes}");
        // An object can be made once: more than one success for a copy would need a delete between them. Requests that
        // were under way at the kill may have been carried out without an answer, or be found done by the new process.
        let made = creates.matching(|request| request.code == 201).len();
        assert!(made <= SOURCES, "{creates}");
        assert!(creates.len() <= SOURCES + AT_ONCE, "more than was under way was sent again: {creates}");
        went_on += requests(&world, follower, killed[follower]).await.verb("create").len();
    }
    assert!(went_on > 0, "it was killed after its work, not in the middle of it");
}

#[tokio::test]
async fn at_rest_and_after_a_restart_nothing_is_written_and_few_requests_are_sent() {
    let world = World::alone("restart-at-rest").await;
    sources(&world, 20).await;
    let mut towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    in_step(&towline, 20).await;
    let since = marks(&world);
    // The one place where time itself is the promise: nothing wakes up to write.
    tokio::time::sleep(Duration::from_secs(30)).await;
    for follower in 0..3 {
        let seen = requests(&world, follower, since[follower]).await;
        let asked = seen.matching(|request| request.verb != "watch");
        assert!(asked.is_empty(), "at rest: {asked}");
    }
    assert_eq!(towline.stop().await.code(), Some(0));
    let since = marks(&world);
    let towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    in_step(&towline, 20).await;
    world.apply(secret(&world.name, "last").data("key", "one").contexts("a, b, c").build()).await;
    in_step(&towline, 21).await;
    for follower in 0..3 {
        let seen = requests(&world, follower, since[follower]).await;
        let (writes, others) = (seen.writes(), seen.matching(|request| !request.is_write()));
        assert_eq!(writes.verb("create").len(), 1, "{writes}");
        assert_eq!(writes.len(), 1, "only the copy that is new: {writes}");
        assert!(others.len() <= 8, "a restart in step: {others}");
    }
}

#[tokio::test]
async fn objects_that_are_not_sources_cost_followers_nothing() {
    let world = World::new("restart-others").await;
    let towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    sources(&world, 1).await;
    in_step(&towline, 1).await;
    let since = marks(&world);
    for value in ["one", "two"] {
        for number in 0..20 {
            let (name, other) = (format!("secret-{number}"), format!("settings-{number}"));
            world.apply(secret(&world.name, &name).data("key", value).annotation("note", value).build()).await;
            world.apply(config_map(&world.name, &other).data("key", value).label("team", "x").build()).await;
        }
    }
    world.delete("Secret", "secret-0").await;
    world.apply(secret(&world.name, "last").data("key", "one").contexts("a, b, c").build()).await;
    in_step(&towline, 2).await;
    for follower in 0..3 {
        let seen = requests(&world, follower, since[follower]).await;
        assert_eq!(seen.len(), 1, "{seen}");
    }
}

#[tokio::test]
async fn told_to_stop_it_finishes_what_is_under_way_and_no_more() {
    let world = World::new("restart-stopped").await;
    sources(&world, SOURCES).await;
    let since = marks(&world);
    // Held back, so that there is a middle to be stopped in.
    let mut towline = Towline::start(&world, &world.contexts(&ALL), &["--qps", "5", "--burst", "5"]);
    at_least(&world, 0, 20).await;
    assert_eq!(towline.stop().await.code(), Some(0));
    towline.logs(" stopped").await;
    let mut made = [0; 3];
    for follower in 0..3 {
        let creates = requests(&world, follower, since[follower]).await.writes();
        made[follower] = copies(&world, follower).await.len();
        assert!(creates.iter().all(|request| request.verb == "create" && request.code == 201), "{creates}");
        assert_eq!(creates.len(), made[follower], "each was carried out and answered");
        assert!(made[follower] < SOURCES, "it went on until everything was done");
    }
    let towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    in_step(&towline, SOURCES).await;
    for follower in 0..3 {
        let writes = requests(&world, follower, since[follower]).await.writes();
        assert_eq!(writes.len(), SOURCES, "{writes}");
    }
}
