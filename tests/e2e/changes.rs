//! What changes on a source changes on its copies, and nothing else does.

use super::{
    makers::{config_map, secret},
    towline::Towline,
    world::{World, path},
};
use serde_json::{Value, json};

const SOON: [&str; 2] = ["--deletion-delay", "1s"];

#[tokio::test]
async fn data_that_is_changed_added_and_taken_out_is_so_on_the_copy() {
    let world = World::new("changes-data").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &SOON);
    let source =
        |data: Value| json!({"metadata": {"annotations": {"kubed.appscode.com/sync-contexts": "a"}}, "data": data});
    world.apply(config_map(&world.name, "settings").data("kept", "1").data("dropped", "1").contexts("a").build()).await;
    world.copy(0, "ConfigMap", "settings", |copy| copy["data"] == json!({"kept": "1", "dropped": "1"})).await;
    world.amend("ConfigMap", "settings", source(json!({"kept": "2", "added": "2", "dropped": null}))).await;
    world.copy(0, "ConfigMap", "settings", |copy| copy["data"] == json!({"kept": "2", "added": "2"})).await;
    world.amend("ConfigMap", "settings", source(Value::Null)).await;
    world.copy(0, "ConfigMap", "settings", |copy| copy["data"].is_null()).await;
}

#[tokio::test]
async fn a_key_that_moves_from_data_to_binary_data_moves_on_the_copy() {
    let world = World::new("changes-moves").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &SOON);
    world
        .apply(config_map(&world.name, "store").data("key", "text").binary("other", "AAEC").contexts("a").build())
        .await;
    let first = world.copy(0, "ConfigMap", "store", |_| true).await;
    assert_eq!((&first["data"], &first["binaryData"]), (&json!({"key": "text"}), &json!({"other": "AAEC"})));
    world
        .apply(config_map(&world.name, "store").data("other", "text").binary("key", "AAEC").contexts("a").build())
        .await;
    let moved = world.copy(0, "ConfigMap", "store", |copy| copy["data"]["other"] == "text").await;
    assert_eq!((&moved["data"], &moved["binaryData"]), (&json!({"other": "text"}), &json!({"key": "AAEC"})));
    assert_eq!(moved["metadata"]["uid"], first["metadata"]["uid"]);
}

#[tokio::test]
async fn metadata_that_the_source_drops_is_dropped_and_foreign_metadata_stays() {
    let world = World::new("changes-metadata").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &SOON);
    let source = || secret(&world.name, "key").data("token", "one").contexts("a");
    world.apply(source().label("team", "x").label("tier", "1").annotation("note", "n").build()).await;
    world.copy(0, "Secret", "key", |copy| copy["metadata"]["labels"]["tier"] == "1").await;
    let foreign =
        json!({"labels": {"theirs": "yes"}, "annotations": {"kubed.appscode.com/sync": "app=x", "theirs": "yes"}});
    world.edit(0, "Secret", "key", json!({"metadata": foreign})).await;
    world.apply(source().label("team", "y").build()).await;
    let copy = world.copy(0, "Secret", "key", |copy| copy["metadata"]["labels"]["team"] == "y").await;
    let meta = &copy["metadata"];
    assert!(meta["labels"]["tier"].is_null() && meta["annotations"]["note"].is_null(), "{meta}");
    assert_eq!(meta["labels"]["theirs"], "yes");
    assert_eq!(meta["annotations"]["theirs"], "yes");
    assert_eq!(meta["annotations"]["kubed.appscode.com/sync"], "app=x");
}

#[tokio::test]
async fn a_changed_type_makes_the_copy_anew_with_its_foreign_metadata() {
    let world = World::new("changes-type").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &SOON);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").label("ours", "1").build()).await;
    let old = world.copy(0, "Secret", "key", |_| true).await;
    let foreign = json!({"labels": {"theirs": "yes"}, "annotations": {"kubed.appscode.com/sync": ""}});
    world.edit(0, "Secret", "key", json!({"metadata": foreign})).await;
    remade(&world, secret(&world.name, "key").data("token", "two").contexts("a").of_type("example.com/x").build())
        .await;
    let copy = world.copy(0, "Secret", "key", |copy| copy["type"] == "example.com/x").await;
    assert_ne!(copy["metadata"]["uid"], old["metadata"]["uid"]);
    assert_eq!(copy["data"]["token"], "dHdv");
    assert_eq!(copy["metadata"]["labels"]["theirs"], "yes");
    assert_eq!(copy["metadata"]["annotations"]["kubed.appscode.com/sync"], "");
    assert!(copy["metadata"]["labels"]["ours"].is_null());
}

#[tokio::test]
async fn an_immutable_source_that_is_made_anew_makes_its_copy_anew() {
    let world = World::new("changes-immutable").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &SOON);
    world.apply(config_map(&world.name, "fixed").data("x", "1").contexts("a").build()).await;
    let first = world.copy(0, "ConfigMap", "fixed", |_| true).await;
    world.amend("ConfigMap", "fixed", json!({"immutable": true})).await;
    let fixed = world.copy(0, "ConfigMap", "fixed", |copy| copy["immutable"] == true).await;
    assert_eq!(fixed["metadata"]["uid"], first["metadata"]["uid"], "becoming immutable needs no new object");
    remade(&world, config_map(&world.name, "fixed").data("x", "2").contexts("a").immutable().build()).await;
    let copy = world.copy(0, "ConfigMap", "fixed", |copy| copy["data"]["x"] == "2").await;
    assert_eq!(copy["immutable"], true);
    remade(&world, config_map(&world.name, "fixed").data("x", "2").contexts("a").build()).await;
    world.copy(0, "ConfigMap", "fixed", |copy| copy["immutable"].is_null()).await;
}

#[tokio::test]
async fn a_replacement_that_a_policy_refuses_leaves_the_old_copy() {
    let world = World::new("changes-refused").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &SOON);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    let old = world.copy(0, "Secret", "key", |_| true).await;
    super::policies::refuse(&world, 0, "!has(object.type) || object.type != 'example.com/x'").await;
    let mark = world.audit(0).mark();
    remade(&world, secret(&world.name, "key").data("token", "two").contexts("a").of_type("example.com/x").build())
        .await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "Refused").await;
    let kept = world.there(0, "Secret", "key").await.unwrap();
    assert_eq!(kept["metadata"]["uid"], old["metadata"]["uid"]);
    assert_eq!(kept["data"], old["data"]);
    let writes = world.writes(0, mark).await;
    assert!(writes.iter().all(|write| write.contains("dryRun=All")), "{writes:?}");
}

#[tokio::test]
async fn a_source_that_is_not_annotated_any_more_loses_its_copies() {
    let world = World::new("changes-unannotated").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0), ("b", 1)]), &SOON);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a, b").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.copy(1, "Secret", "key", |_| true).await;
    let none = json!({"metadata": {"annotations": {"kubed.appscode.com/sync-contexts": null}}});
    world.amend("Secret", "key", none).await;
    world.gone(0, "Secret", "key").await;
    world.gone(1, "Secret", "key").await;
    assert!(world.hub.get_opt(&path("Secret", &world.name, "key")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_context_taken_out_of_two_loses_its_copy_alone() {
    let world = World::new("changes-context").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0), ("b", 1)]), &SOON);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a, b").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    let kept = world.copy(1, "Secret", "key", |_| true).await;
    let one = json!({"metadata": {"annotations": {"kubed.appscode.com/sync-contexts": "b"}}});
    world.amend("Secret", "key", one).await;
    world.gone(0, "Secret", "key").await;
    let now = world.there(1, "Secret", "key").await.unwrap();
    assert_eq!(now["metadata"]["resourceVersion"], kept["metadata"]["resourceVersion"]);
}

/// Deletes a source and makes it anew.
async fn remade(world: &World, object: Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    world.delete(&text("/kind"), &text("/metadata/name")).await;
    world.apply(object).await;
}
