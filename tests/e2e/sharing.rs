//! Sources that meet in one place, and copies that are not what their source is.

use super::{
    makers::{Maker, secret},
    towline::Towline,
    world::World,
};
use serde_json::{Value, json};

#[tokio::test]
async fn of_two_sources_for_one_target_the_other_takes_over_in_place() {
    let world = World::new("sharing-two").await;
    let towline = renaming(&world, &["--deletion-delay", "1s"]);
    world.apply(renamed(&world, "first", "shared").data("token", "one").build()).await;
    let held = world.copy(0, "Secret", "shared", |_| true).await;
    world.apply(renamed(&world, "second", "shared").data("token", "two").build()).await;
    world.event("Conflict", |event| event["regarding"]["name"] == "second").await;
    let mark = world.audit(0).mark();
    world.apply(renamed(&world, "first", "shared").data("token", "three").build()).await;
    world.copy(0, "Secret", "shared", |copy| copy["data"]["token"] == "dGhyZWU=").await;
    world.delete("Secret", "first").await;
    let taken = world.copy(0, "Secret", "shared", |copy| copy["data"]["token"] == "dHdv").await;
    assert_eq!(taken["metadata"]["uid"], held["metadata"]["uid"], "updated in place");
    towline.shows("a", &format!("Secret/{}/shared", world.name), "InStep").await;
    let writes = world.writes(0, mark).await;
    assert_eq!(writes.len(), 2, "{writes:#?}");
}

#[tokio::test]
async fn after_a_rename_the_old_copy_stays_until_the_new_one_is_there() {
    let world = World::new("sharing-rename").await;
    let _towline = renaming(&world, &[]);
    world.apply(renamed(&world, "key", "old").data("token", "one").build()).await;
    world.copy(0, "Secret", "old", |_| true).await;
    assert!(world.there(0, "Secret", "key").await.is_none());
    let mark = world.audit(0).mark();
    world.apply(renamed(&world, "key", "new").data("token", "one").build()).await;
    world.copy(0, "Secret", "new", |_| true).await;
    world.gone(0, "Secret", "old").await;
    let requests = world.audit(0).since(mark).await.unwrap().by(&world.user()).writes();
    let verbs: Vec<_> = requests.iter().map(|request| request.verb.as_str()).collect();
    assert_eq!(verbs, ["create", "delete"]);
}

#[tokio::test]
async fn a_certificate_without_its_key_is_copied_as_another_type() {
    let world = World::new("sharing-keys").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    let source = || {
        let tls = secret(&world.name, "tls").of_type("kubernetes.io/tls").data("tls.crt", "c").data("tls.key", "k");
        tls.data("ca.crt", "ca").annotation("towline.dev/keys", "ca.*").contexts("a")
    };
    world.apply(source().build()).await;
    let state = |page: &Value| page["items"][0]["state"].clone();
    let invalid = async || {
        let page = towline.json("/api/v1/sources").await;
        Ok((state(&page) == "Invalid").then_some(()))
    };
    controlplane::eventually("the source to be invalid", super::world::CAP, invalid).await.unwrap();
    world.apply(source().annotation("towline.dev/target-type", "Opaque").build()).await;
    let copy = world.copy(0, "Secret", "tls", |_| true).await;
    assert_eq!((&copy["type"], &copy["data"]), (&json!("Opaque"), &json!({"ca.crt": "Y2E="})));
}

#[tokio::test]
async fn a_copy_that_a_finalizer_keeps_is_waited_for() {
    let world = World::new("sharing-finalizer").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "0s"]);
    let source = || secret(&world.name, "key").data("token", "one").contexts("a").build();
    world.apply(source()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    world.edit(0, "Secret", "key", json!({"metadata": {"finalizers": ["example.com/theirs"]}})).await;
    let mark = world.audit(0).mark();
    world.delete("Secret", "key").await;
    let ending = world.copy(0, "Secret", "key", |copy| copy["metadata"]["deletionTimestamp"].is_string()).await;
    assert_eq!(ending["metadata"]["finalizers"], json!(["example.com/theirs"]));
    world.apply(source()).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "Waiting").await;
    world.edit(0, "Secret", "key", json!({"metadata": {"finalizers": null}})).await;
    let again = world.copy(0, "Secret", "key", |copy| copy["metadata"]["uid"] != first["metadata"]["uid"]).await;
    assert!(again["metadata"]["finalizers"].is_null());
    towline.shows("a", &format!("Secret/{}/key", world.name), "InStep").await;
    // A delete of the version before the finalizer is refused, and sent again.
    let requests = world.audit(0).since(mark).await.unwrap().by(&world.user()).writes();
    let done: Vec<_> = requests.iter().filter(|request| request.code < 300).map(|request| &*request.verb).collect();
    assert_eq!(done, ["delete", "create"]);
}

/// A daemon whose policy lets the world's sources be renamed.
fn renaming(world: &World, flags: &[&str]) -> Towline {
    let policy = format!("accept: [{{from: {{namespaces: [{}]}}, allow: [Rename]}}]", world.name);
    let policy = world.file("policy.yaml", &policy);
    let all = [&["--policy-file", policy.to_str().unwrap()], flags].concat();
    Towline::start(world, &world.contexts(&[("a", 0)]), &all)
}

fn renamed(world: &World, name: &str, target: &str) -> Maker {
    secret(&world.name, name).annotation("towline.dev/followers", "a").annotation("towline.dev/target-name", target)
}
