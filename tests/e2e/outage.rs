//! A follower that is away: nobody else notices, and it is in step again when it is back.

use super::{
    makers::{Maker, secret},
    towline::Towline,
    world::{CAP, World, kubeconfig},
};
use controlplane::{Behaviour, Mark, Requests, eventually};
use serde_json::{Value, json};

const ALL: [(&str, usize); 3] = [("a", 0), ("b", 1), ("c", 2)];

fn source(world: &World, name: &str, value: &str) -> Maker {
    secret(&world.name, name).data("key", value).contexts("a, b, c")
}

async fn requests(world: &World, follower: usize, since: Mark) -> Requests {
    world.audit(follower).since(since).await.unwrap().by(&world.user())
}

fn verbs(requests: &Requests) -> Vec<&str> {
    let mut verbs: Vec<&str> = requests.iter().map(|request| request.verb.as_str()).collect();
    verbs.sort_unstable();
    verbs
}

async fn arrived(world: &World, follower: usize, name: &str, value: &str) {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let encoded = STANDARD.encode(value);
    world.copy(follower, "Secret", name, |copy| copy["data"]["key"] == encoded.as_str()).await;
}

#[tokio::test]
async fn a_follower_that_was_down_catches_up_and_holds_up_nobody_meanwhile() {
    let world = World::new("outage-down").await;
    let _towline = Towline::start(&world, &world.contexts(&ALL), &["--deletion-delay", "1s"]);
    for name in ["goes", "changes"] {
        world.apply(source(&world, name, "one").build()).await;
    }
    for follower in 0..3 {
        arrived(&world, follower, "goes", "one").await;
        arrived(&world, follower, "changes", "one").await;
    }
    let marks = [0, 1, 2].map(|follower| world.audit(follower).mark());
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    world.apply(source(&world, "comes", "one").build()).await;
    world.apply(source(&world, "changes", "two").build()).await;
    world.delete("Secret", "goes").await;
    for follower in [1, 2] {
        arrived(&world, follower, "comes", "one").await;
        arrived(&world, follower, "changes", "two").await;
        world.gone(follower, "Secret", "goes").await;
        let seen = requests(&world, follower, marks[follower]).await;
        assert_eq!(verbs(&seen), ["create", "delete", "patch"], "{seen}");
    }
    let seen = requests(&world, 0, marks[0]).await;
    assert!(seen.is_empty(), "a follower that is down cannot have been asked: {seen}");

    world.proxies[0].set(Behaviour::Forward(world.followers[0].address())).await.unwrap();
    arrived(&world, 0, "comes", "one").await;
    arrived(&world, 0, "changes", "two").await;
    world.gone(0, "Secret", "goes").await;
    let writes = requests(&world, 0, marks[0]).await.writes();
    assert_eq!(verbs(&writes), ["create", "delete", "patch"], "{writes}");
    for follower in [1, 2] {
        let seen = requests(&world, follower, marks[follower]).await;
        assert_eq!(seen.len(), 3, "the return of another caused requests: {seen}");
    }
}

#[tokio::test]
async fn a_follower_that_swallows_everything_is_noticed_and_comes_back_by_itself() {
    let world = World::new("outage-black-hole").await;
    let towline = Towline::start(&world, &world.contexts(&ALL), &[]);
    world.apply(source(&world, "before", "one").build()).await;
    for follower in 0..3 {
        arrived(&world, follower, "before", "one").await;
    }
    let is_up = async |value: f64| {
        let up =
            async || Ok((towline.metric("towline_follower_up{follower=\"a\"}").await == Some(value)).then_some(()));
        eventually(&format!("towline_follower_up to be {value}"), CAP, up).await.unwrap();
    };
    is_up(1.0).await;
    world.proxies[0].set(Behaviour::BlackHole).await.unwrap();
    // This one is under way when nobody knows yet: whether it got there, only the follower can say.
    world.apply(source(&world, "meanwhile", "one").build()).await;
    for follower in [1, 2] {
        arrived(&world, follower, "meanwhile", "one").await;
    }
    assert_eq!(
        towline.metric("towline_follower_up{follower=\"a\"}").await,
        Some(1.0),
        "others waited for the black hole"
    );
    is_up(0.0).await;
    world.apply(source(&world, "before", "two").build()).await;
    for follower in [1, 2] {
        arrived(&world, follower, "before", "two").await;
    }
    assert!(world.there(0, "Secret", "meanwhile").await.is_none());

    world.proxies[0].set(Behaviour::Forward(world.followers[0].address())).await.unwrap();
    arrived(&world, 0, "meanwhile", "one").await;
    arrived(&world, 0, "before", "two").await;
    is_up(1.0).await;
}

/// A context that trusts both clusters, and reads its token from a file, so that another cluster can let it in.
fn turncoat(world: &World) -> Value {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut context = world.context("a", 0);
    let both = format!("{}{}", world.followers[0].ca_pem(), world.followers[2].ca_pem());
    context["ca"] = json!(STANDARD.encode(both));
    context["user"] = json!({"tokenFile": world.file("token", &world.tokens[0])});
    context
}

#[tokio::test]
async fn another_cluster_behind_the_same_address_is_asked_who_it_is_before_anything_is_written() {
    let world = World::new("outage-another").await;
    let towline = Towline::start(&world, &kubeconfig(&[turncoat(&world), world.context("b", 1)]), &[]);
    let source = |name: &str, value: &str| secret(&world.name, name).data("key", value).contexts("a, b").build();
    world.apply(source("key", "one")).await;
    arrived(&world, 0, "key", "one").await;
    let (old, new) = (world.audit(0).mark(), world.audit(2).mark());
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    // Writes that only wait for a connection.
    world.apply(source("key", "two")).await;
    world.apply(source("other", "one")).await;
    arrived(&world, 1, "key", "two").await;
    arrived(&world, 1, "other", "one").await;
    world.file("token", &world.tokens[2]);
    world.proxies[0].retarget(world.followers[2].address()).await.unwrap();
    arrived(&world, 2, "key", "two").await;
    arrived(&world, 2, "other", "one").await;
    towline.logs("ClusterChanged").await;

    let mut seen: Vec<_> = requests(&world, 2, new).await.into_iter().collect();
    seen.sort_by(|one, other| one.received.cmp(&other.received));
    let asked = |verb: &str| seen.iter().position(|request| request.verb == verb);
    let identity = |request: &controlplane::Request| request.verb == "get" && request.name == "kube-system";
    assert!(seen.first().is_some_and(identity), "{seen:#?}");
    assert!(asked("list") < asked("create"), "written to without a look: {seen:#?}");
    let patched = asked("patch").map(|at| &seen[at]);
    assert!(patched.is_none(), "it was taken for the old one: {patched:?}");
    let writes = requests(&world, 0, old).await.writes();
    assert!(writes.is_empty(), "{writes}");
    arrived(&world, 0, "key", "one").await;
}
