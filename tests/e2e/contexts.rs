//! Contexts of a kubeconfig: several that lead to one cluster, one that leads home, and a file that changes.

use super::{
    makers::secret,
    towline::Towline,
    world::{CAP, World, kubeconfig},
};
use controlplane::{Behaviour, Mark, Proxy, Requests, eventually};
use serde_json::json;

async fn writes(world: &World, follower: usize, since: Mark) -> Requests {
    world.audit(follower).since(since).await.unwrap().by(&world.user()).writes()
}

/// Waits until Towline knows these names of one follower.
async fn known(towline: &Towline, names: &[&str]) {
    let look = async || {
        let followers = towline.json("/api/v1/followers").await;
        let of = |follower: &serde_json::Value| follower["names"] == json!(names) && follower["connected"] == true;
        Ok(followers["items"].as_array().unwrap().iter().any(of).then_some(()))
    };
    eventually(&format!("one follower with the names {names:?}"), CAP, look).await.unwrap();
}

/// One cluster is known by one name; then by another, too.
async fn second_name_joins(world: &World, first: &str, second: &str) {
    let other = Proxy::start(world.followers[0].address()).unwrap();
    let context = |name: &str| match name == first {
        true => world.context(name, 0),
        false => world.context_by(name, 0, &other),
    };
    let mark = world.audit(0).mark();
    let towline = Towline::start(world, &kubeconfig(&[context(first)]), &["--deletion-delay", "0s"]);
    for (name, contexts) in [("by-first", first), ("by-second", second), ("by-both", "a, b")] {
        world.apply(secret(&world.name, name).data("key", "one").contexts(contexts).build()).await;
    }
    world.copy(0, "Secret", "by-both", |_| true).await;
    assert!(world.there(0, "Secret", "by-second").await.is_none());
    world.file("followers.kubeconfig", &kubeconfig(&[context(first), context(second)]));
    known(&towline, &["a", "b"]).await;
    for name in ["by-first", "by-second", "by-both"] {
        world.copy(0, "Secret", name, |_| true).await;
    }
    // Whatever the second name would undo is undone by now.
    world.apply(secret(&world.name, "last").data("key", "one").contexts("a, b").build()).await;
    world.copy(0, "Secret", "last", |_| true).await;
    let writes = writes(world, 0, mark).await;
    assert_eq!((writes.len(), writes.verb("create").len()), (4, 4), "{writes}");
}

#[tokio::test]
async fn a_cluster_that_gets_a_later_name_keeps_its_copies_and_gets_those_of_both() {
    let world = World::new("contexts-later").await;
    second_name_joins(&world, "a", "b").await;
}

#[tokio::test]
async fn a_cluster_that_gets_an_earlier_name_keeps_its_copies_and_gets_those_of_both() {
    let world = World::new("contexts-earlier").await;
    second_name_joins(&world, "b", "a").await;
}

#[tokio::test]
async fn while_the_first_name_is_down_its_copies_wait_and_the_second_serves_its_own() {
    let world = World::new("contexts-first-down").await;
    let other = Proxy::start(world.followers[0].address()).unwrap();
    let file = kubeconfig(&[world.context("a", 0), world.context_by("b", 0, &other)]);
    let mut towline = Towline::start(&world, &file, &["--deletion-delay", "0s"]);
    for name in ["a", "b"] {
        world.apply(secret(&world.name, &format!("by-{name}")).data("key", "one").contexts(name).build()).await;
        world.copy(0, "Secret", &format!("by-{name}"), |_| true).await;
    }
    towline.stop().await;
    let mark = world.audit(0).mark();
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    // Nobody knows where `a` leads: its copies are neither wanted nor unwanted.
    let towline = Towline::start(&world, &file, &["--deletion-delay", "0s"]);
    world.apply(secret(&world.name, "new-a").data("key", "one").contexts("a").build()).await;
    world.apply(secret(&world.name, "new-b").data("key", "one").contexts("b").build()).await;
    world.copy(0, "Secret", "new-b", |_| true).await;
    assert!(world.there(0, "Secret", "by-a").await.is_some());
    assert!(world.there(0, "Secret", "new-a").await.is_none());
    world.proxies[0].set(Behaviour::Forward(world.followers[0].address())).await.unwrap();
    known(&towline, &["a", "b"]).await;
    world.copy(0, "Secret", "new-a", |_| true).await;
    let writes = writes(&world, 0, mark).await;
    assert_eq!((writes.len(), writes.verb("create").len()), (2, 2), "{writes}");
}

#[tokio::test]
async fn a_cluster_is_reached_by_its_other_name_when_the_one_in_use_goes_down() {
    let world = World::new("contexts-other-way").await;
    let other = Proxy::start(world.followers[0].address()).unwrap();
    let file = kubeconfig(&[world.context("a", 0), world.context_by("b", 0, &other)]);
    let towline = Towline::start(&world, &file, &[]);
    known(&towline, &["a", "b"]).await;
    world.apply(secret(&world.name, "key").data("key", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    world.apply(secret(&world.name, "key").data("key", "two").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |copy| copy["data"]["key"] == "dHdv").await;
}

#[tokio::test]
async fn the_management_cluster_among_the_contexts_is_skipped_and_told_once() {
    let world = World::new("contexts-hub").await;
    let mut hub = world.context("hub", 0);
    let made: serde_json::Value =
        serde_json::from_str(&world.hub.kubeconfig(&world.hub.url(), &world.hub_token)).unwrap();
    hub["server"] = made["clusters"][0]["cluster"]["server"].clone();
    hub["ca"] = made["clusters"][0]["cluster"]["certificate-authority-data"].clone();
    hub["token"] = json!(world.hub_token);
    hub["namespace"] = json!("default");
    let mark = world.hub.audit().mark();
    let towline = Towline::start(&world, &kubeconfig(&[hub.clone(), world.context("a", 0)]), &[]);
    towline.logs("leads to the management cluster itself: skipped").await;
    world.apply(secret(&world.name, "key").data("key", "one").contexts("hub, a").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.file("followers.kubeconfig", &kubeconfig(&[hub, world.context("a", 0), world.context("b", 1)]));
    world.apply(secret(&world.name, "key").data("key", "two").contexts("hub, a, b").build()).await;
    world.copy(1, "Secret", "key", |_| true).await;
    towline.logs("kubed.appscode.com/sync").await;
    assert_eq!(towline.logged().matches("leads to the management cluster itself").count(), 1);
    let writes = world.hub.audit().since(mark).await.unwrap().by(&world.user()).writes();
    assert!(writes.is_empty(), "{writes}");
}

#[tokio::test]
async fn a_context_that_is_added_gets_its_copies_and_one_that_is_removed_keeps_them() {
    let world = World::new("contexts-reread").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "0s"]);
    let source = |value: &str| secret(&world.name, "key").data("key", value).contexts("a, b").build();
    world.apply(source("one")).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.file("followers.kubeconfig", &world.contexts(&[("a", 0), ("b", 1)]));
    world.copy(1, "Secret", "key", |_| true).await;
    world.file("followers.kubeconfig", &world.contexts(&[("b", 1)]));
    towline.logs("follower is no longer configured; its copies stay as they are").await;
    let mark = world.audit(0).mark();
    world.apply(source("two")).await;
    world.copy(1, "Secret", "key", |copy| copy["data"]["key"] == "dHdv").await;
    let left = world.there(0, "Secret", "key").await.unwrap();
    assert_eq!(left["data"]["key"], "b25l");
    let seen = world.audit(0).since(mark).await.unwrap().by(&world.user());
    assert!(seen.is_empty(), "{seen}");
}

#[tokio::test]
async fn a_truncated_kubeconfig_leaves_the_last_good_one_in_force() {
    let world = World::new("contexts-truncated").await;
    let good = world.contexts(&[("a", 0), ("b", 1)]);
    let towline = Towline::start(&world, &good, &["--deletion-delay", "0s"]);
    let source = |value: &str| secret(&world.name, "key").data("key", value).contexts("a, b").build();
    world.apply(source("one")).await;
    for follower in [0, 1] {
        world.copy(follower, "Secret", "key", |_| true).await;
    }
    let mut cut: serde_json::Value = serde_json::from_str(&good).unwrap();
    cut["users"] = json!([]);
    let (half, cut) = (&good[..good.len() / 2], cut.to_string());
    for (text, why) in [(half, "is not a kubeconfig"), ("", "it holds no context"), (&cut, "there is no user b")] {
        world.file("followers.kubeconfig", text);
        towline.logs(why).await;
    }
    assert_eq!(towline.logged().matches("the last good one stays in force").count(), 3);
    world.apply(source("two")).await;
    for follower in [0, 1] {
        world.copy(follower, "Secret", "key", |copy| copy["data"]["key"] == "dHdv").await;
    }
}

#[tokio::test]
async fn a_context_that_cannot_be_used_is_told_and_harms_no_other() {
    let world = World::new("contexts-unusable").await;
    let broken = |name: &str, field: &str, value: serde_json::Value| {
        let mut context = world.context(name, 0);
        context[field] = value;
        context
    };
    let contexts = [
        broken("a-no-base64", "ca", json!("?")),
        broken("b-no-url", "server", json!("not a url")),
        broken("c-no-server", "server", json!("https://127.0.0.1:1")),
        broken("d-no-file", "user", json!({"client-certificate": "/nowhere", "client-key": "/nowhere"})),
        broken("e-no-token", "user", json!({"tokenFile": "/nowhere/token"})),
        broken("f-other-ca", "ca", world.context("b", 1)["ca"].clone()),
        broken("g-bad-token", "token", json!("wrong")),
        broken("h,comma", "namespace", json!(null)),
        broken(
            "i-no-plugin",
            "user",
            json!({"exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "/nowhere/plugin", "interactiveMode": "Never",
            }}),
        ),
        world.context("good", 1),
    ];
    let towline = Towline::start(&world, &kubeconfig(&contexts), &[]);
    world.apply(secret(&world.name, "key").data("key", "one").contexts("a-no-base64, c-no-server, good").build()).await;
    world.copy(1, "Secret", "key", |_| true).await;
    for said in [
        "a-no-base64: cluster.certificate-authority-data: is not base64",
        "b-no-url: server: is not a URL",
        "connect to https://127.0.0.1:1: connection refused",
        "/nowhere: entity not found",
        "token file /nowhere/token: entity not found",
        "invalid peer certificate",
        "401 Unauthorized",
        "a follower's name holds no comma",
        "plugin",
    ] {
        towline.logs(said).await;
    }
    let page = towline.json("/api/v1/followers").await;
    for follower in page["items"].as_array().unwrap() {
        assert_eq!(follower["problem"].is_null(), follower["follower"] == "good", "{follower}");
    }
}
