//! What somebody does to a copy in a follower, and what Towline does about it.

use super::{
    makers::{config_map, secret},
    policies,
    towline::Towline,
    world::{CAP, World, path},
};
use controlplane::eventually;
use serde_json::{Value, json};

#[tokio::test]
async fn a_copy_that_somebody_deletes_comes_back() {
    let world = World::new("repairs-deleted").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    world.somebody(0).delete(&path("Secret", &world.name, "key")).await.unwrap();
    let again = world.copy(0, "Secret", "key", |copy| copy["metadata"]["uid"] != first["metadata"]["uid"]).await;
    assert_eq!(again["data"], first["data"]);
}

#[tokio::test]
async fn a_copy_that_somebody_edits_is_repaired() {
    let world = World::new("repairs-edited").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    let source = config_map(&world.name, "settings").data("x", "1").data("y", "1").binary("b", "AAEC");
    world.apply(source.contexts("a").label("team", "x").build()).await;
    let first = world.copy(0, "ConfigMap", "settings", |_| true).await;
    let edits = [
        json!({"data": {"x": "2"}}),
        json!({"data": {"y": null, "z": "2"}}),
        json!({"binaryData": {"b": "AAED", "c": "AAEC"}}),
        json!({"metadata": {"labels": {"team": "y"}}}),
    ];
    for edit in edits {
        let edited = world.edit(0, "ConfigMap", "settings", edit).await;
        let newer = |copy: &Value| copy["metadata"]["resourceVersion"] != edited["metadata"]["resourceVersion"];
        let copy = world.copy(0, "ConfigMap", "settings", newer).await;
        assert_eq!((&copy["data"], &copy["binaryData"]), (&first["data"], &first["binaryData"]));
        assert_eq!(copy["metadata"]["labels"], first["metadata"]["labels"]);
    }
}

#[tokio::test]
async fn a_copy_whose_mark_somebody_spoils_is_repaired() {
    let world = World::new("repairs-mark").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    for mark in [Value::Null, json!("nonsense")] {
        world.edit(0, "Secret", "key", json!({"metadata": {"annotations": {"towline.dev/source": mark}}})).await;
        let same = |copy: &Value| copy["metadata"]["annotations"] == first["metadata"]["annotations"];
        world.copy(0, "Secret", "key", same).await;
    }
}

#[tokio::test]
async fn a_copy_that_a_policy_changes_is_told_and_not_fought_over() {
    let world = World::new("repairs-altered").await;
    policies::label(&world, 0, "team", "policy").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    let mark = world.audit(0).mark();
    world.apply(secret(&world.name, "key").data("token", "one").label("team", "source").contexts("a").build()).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "Altered").await;
    world.apply(secret(&world.name, "key").data("token", "two").label("team", "source").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
    // A later copy shows that everything before it has been dealt with.
    world.apply(secret(&world.name, "later").data("token", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "later", |_| true).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "Altered").await;
    let writes: Vec<_> = world.writes(0, mark).await;
    assert_eq!(writes.len(), 3, "created, updated, and the later one: {writes:#?}");
}

#[tokio::test]
async fn a_copy_that_somebody_edits_for_ever_is_contested_and_still_gets_a_new_version() {
    let world = World::new("repairs-contested").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    let first = world.copy(0, "Secret", "key", |_| true).await;
    let mark = world.audit(0).mark();
    for round in 0..6 {
        world.copy(0, "Secret", "key", |copy| copy["data"] == first["data"]).await;
        world.edit(0, "Secret", "key", json!({"stringData": {"token": format!("edit {round}")}})).await;
    }
    towline.shows("a", &format!("Secret/{}/key", world.name), "Contested").await;
    let writes = world.writes(0, mark).await;
    assert_eq!(writes.len(), 5, "five repairs at once, then none: {writes:#?}");
    world.apply(secret(&world.name, "key").data("token", "two").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "InStep").await;
}

#[tokio::test]
async fn a_copy_on_hold_is_neither_updated_nor_deleted() {
    let world = World::new("repairs-hold").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "0s"]);
    for name in ["updated", "deleted"] {
        world.apply(secret(&world.name, name).data("token", "one").contexts("a").build()).await;
        world.copy(0, "Secret", name, |_| true).await;
        world.edit(0, "Secret", name, json!({"metadata": {"annotations": {"towline.dev/hold": "true"}}})).await;
    }
    world.apply(secret(&world.name, "updated").data("token", "two").contexts("a").build()).await;
    world.delete("Secret", "deleted").await;
    towline.shows("a", &format!("Secret/{}/updated", world.name), "Held").await;
    towline.shows("a", &format!("Secret/{}/deleted", world.name), "Held").await;
    let held = world.there(0, "Secret", "updated").await.unwrap();
    assert_eq!(held["data"]["token"], "b25l");
    for name in ["updated", "deleted"] {
        world.edit(0, "Secret", name, json!({"metadata": {"annotations": {"towline.dev/hold": null}}})).await;
    }
    world.copy(0, "Secret", "updated", |copy| copy["data"]["token"] == "dHdv").await;
    world.gone(0, "Secret", "deleted").await;
}

#[tokio::test]
async fn a_namespace_that_accepts_nothing_gets_nothing_but_loses_what_must_go() {
    let world = World::new("repairs-accept").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "0s"]);
    for name in ["stays", "goes"] {
        world.apply(secret(&world.name, name).data("token", "one").contexts("a").build()).await;
        world.copy(0, "Secret", name, |_| true).await;
    }
    accept(&world, json!("false")).await;
    world.apply(secret(&world.name, "new").data("token", "one").contexts("a").build()).await;
    towline.shows("a", &format!("Secret/{}/new", world.name), "Held").await;
    world.apply(secret(&world.name, "stays").data("token", "two").contexts("a").build()).await;
    towline.shows("a", &format!("Secret/{}/stays", world.name), "Held").await;
    world.delete("Secret", "goes").await;
    world.gone(0, "Secret", "goes").await;
    assert!(world.there(0, "Secret", "new").await.is_none());
    assert_eq!(world.there(0, "Secret", "stays").await.unwrap()["data"]["token"], "b25l");
    accept(&world, Value::Null).await;
    world.copy(0, "Secret", "new", |_| true).await;
    world.copy(0, "Secret", "stays", |copy| copy["data"]["token"] == "dHdv").await;
}

#[tokio::test]
async fn a_copy_without_our_label_is_never_touched_again() {
    let world = World::new("repairs-taken").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "0s"]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    let mark = world.audit(0).mark();
    let theirs = world.edit(0, "Secret", "key", json!({"metadata": {"labels": {"towline.dev/origin": null}}})).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "TakenOver").await;
    world.apply(secret(&world.name, "key").data("token", "two").contexts("a").build()).await;
    let looked = async || {
        let requests = world.audit(0).since(mark).await?.by(&world.user());
        let looks = requests.verb("get").matching(|request| request.name == "key");
        Ok((looks.len() > 1).then_some(()))
    };
    eventually("another look at the object in the way", CAP, looked).await.unwrap();
    world.delete("Secret", "key").await;
    world.apply(secret(&world.name, "later").data("token", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "later", |_| true).await;
    let now = world.there(0, "Secret", "key").await.unwrap();
    assert_eq!(now["metadata"]["resourceVersion"], theirs["metadata"]["resourceVersion"]);
}

async fn accept(world: &World, value: Value) {
    let patch = json!({"metadata": {"annotations": {"towline.dev/accept": value}}});
    world.somebody(0).patch(&format!("/api/v1/namespaces/{}", world.name), &patch).await.unwrap();
}
