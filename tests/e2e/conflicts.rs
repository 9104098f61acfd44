//! Objects that Towline did not make: never touched, told, and taken only where a policy says so.

use super::{
    makers::{Maker, secret},
    towline::Towline,
    world::{World, apply, path},
};
use serde_json::{Value, json};

/// A policy file that lets this world's sources overwrite in their same-named namespace.
fn overwriting(world: &World) -> String {
    let rule = format!("accept:\n- from: {{namespaces: [{}]}}\n  allow: [Overwrite]\n", world.name);
    world.file("policy.yaml", &rule).to_str().unwrap().to_owned()
}

fn key(world: &World, token: &str) -> Maker {
    secret(&world.name, "key").data("token", token)
}

/// Puts somebody's object called `key` into follower 0.
async fn standing(world: &World, object: Maker) -> Value {
    world.put(0, object.build()).await;
    world.there(0, "Secret", "key").await.unwrap()
}

/// Everything that came before this source has been dealt with when its copy is there.
async fn one_more(world: &World, follower: usize, name: &str) {
    world.apply(secret(&world.name, name).contexts("a, b, c").build()).await;
    world.copy(follower, "Secret", name, |_| true).await;
}

#[tokio::test]
async fn an_unmanaged_object_is_left_alone_and_told_and_copied_over_once_it_is_gone() {
    let world = World::new("conflicts-unmanaged").await;
    let theirs = standing(&world, key(&world, "theirs")).await;
    let mark = world.audit(0).mark();
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    world.apply(key(&world, "one").contexts("a").build()).await;
    towline.row("a", "key", "Conflict").await;
    let note = world.note("Conflict", "key").await;
    assert!(note.contains("Conflict on a"), "{note}");
    let sources = towline.json("/api/v1/sources").await;
    assert_eq!(sources["items"][0]["copies"], json!({"Conflict": 1}), "{sources}");

    world.apply(key(&world, "two").contexts("a").build()).await;
    one_more(&world, 0, "later").await;
    assert_eq!(world.there(0, "Secret", "key").await.unwrap(), theirs);
    // The one attempt to create it was refused by the API server.
    let writes = world.audit(0).since(mark).await.unwrap().by(&world.user()).writes();
    let of_key = writes.matching(|write| write.name == "key");
    assert!(of_key.iter().all(|write| write.verb == "create" && write.code == 409), "{of_key}");

    world.somebody(0).delete(&path("Secret", &world.name, "key")).await.unwrap();
    world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
}

#[tokio::test]
async fn overwrite_without_a_rule_is_ignored_and_the_missing_rule_told() {
    let world = World::new("conflicts-ungranted").await;
    let theirs = standing(&world, key(&world, "theirs")).await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    world.apply(key(&world, "ours").contexts("a").annotation("towline.dev/on-conflict", "Overwrite").build()).await;
    towline.row("a", "key", "Conflict").await;
    let note = world.note("NotGranted", "key").await;
    assert!(note.contains("towline.dev/on-conflict") && note.contains("allow: [Overwrite]"), "{note}");
    one_more(&world, 0, "later").await;
    assert_eq!(world.there(0, "Secret", "key").await.unwrap(), theirs);
}

#[tokio::test]
async fn overwrite_with_a_rule_takes_the_object_and_keeps_its_foreign_labels() {
    let world = World::new("conflicts-granted").await;
    let theirs = standing(&world, key(&world, "theirs").data("more", "x").label("team", "web")).await;
    let flags = ["--policy-file", &overwriting(&world)];
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    let source = key(&world, "one").contexts("a").annotation("towline.dev/on-conflict", "Overwrite");
    world.apply(source.build()).await;
    let copy = world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "b25l").await;
    assert_eq!(copy["data"], json!({"token": "b25l"}));
    assert_eq!(copy["metadata"]["labels"]["team"], "web");
    assert_eq!(copy["metadata"]["uid"], theirs["metadata"]["uid"]);
}

#[tokio::test]
async fn a_rule_alone_overwrites_nothing_unless_the_source_asks_for_it() {
    let world = World::new("conflicts-unasked").await;
    let theirs = standing(&world, key(&world, "theirs")).await;
    let flags = ["--policy-file", &overwriting(&world)];
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    world.apply(key(&world, "ours").contexts("a").build()).await;
    towline.row("a", "key", "Conflict").await;
    one_more(&world, 0, "later").await;
    assert_eq!(world.there(0, "Secret", "key").await.unwrap(), theirs);
}

#[tokio::test]
async fn another_hubs_copy_is_not_overwritten_even_with_a_rule() {
    let world = World::new("conflicts-other-hub").await;
    let target = json!({
        "cluster": world.followers[0].uid().await.unwrap(), "follower": "x", "namespace": world.name, "name": "key",
    });
    let source = json!({"kind": "Secret", "namespace": world.name, "name": "key"});
    let mark = json!({"v": 1, "instance": "x", "source": source, "target": target, "deletionPolicy": "Delete"});
    let theirs = key(&world, "theirs").label("towline.dev/origin", "00000000-0000-0000-0000-000000000001");
    let theirs = standing(&world, theirs.annotation("towline.dev/source", &mark.to_string())).await;
    let flags = ["--policy-file", &overwriting(&world), "--deletion-delay", "1s"];
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    let source = key(&world, "ours").contexts("a").annotation("towline.dev/on-conflict", "Overwrite");
    world.apply(source.build()).await;
    towline.row("a", "key", "Conflict").await;
    one_more(&world, 0, "later").await;
    world.delete("Secret", "key").await;
    world.delete("Secret", "later").await;
    world.gone(0, "Secret", "later").await;
    assert_eq!(world.there(0, "Secret", "key").await.unwrap(), theirs);
}

/// The same object, with all its labels and annotations, in another namespace: what kubed in a follower makes of a copy.
fn cloned(copy: &Value, namespace: &str) -> Value {
    let mut clone = copy.clone();
    let metadata = &copy["metadata"];
    clone["metadata"] = json!({
        "namespace": namespace, "name": metadata["name"],
        "labels": metadata["labels"], "annotations": metadata["annotations"],
    });
    clone
}

#[tokio::test]
async fn a_clone_of_a_copy_is_a_stray_counted_and_never_touched() {
    let world = World::new("conflicts-clone").await;
    let elsewhere = format!("{}-clone", world.name);
    world.followers[0].ensure_namespace(&elsewhere).await.unwrap();
    let flags = ["--deletion-delay", "1s"];
    let mut towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    world.apply(key(&world, "one").label("team", "web").contexts("a").build()).await;
    let copy = world.copy(0, "Secret", "key", |_| true).await;
    let clone = world.put(0, cloned(&copy, &elsewhere)).await;
    let there = async || world.followers[0].get(&path("Secret", &elsewhere, "key")).await.unwrap();

    world.apply(key(&world, "two").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
    // Clones that other tests made in the meantime count, too.
    towline.counts(r#"towline_strays{follower="a"}"#, |strays| strays >= 1.0).await;
    assert_eq!(there().await, clone);

    towline.stop().await;
    world.delete("Secret", "key").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    world.gone(0, "Secret", "key").await;
    one_more(&world, 0, "later").await;
    assert_eq!(there().await, clone);
}

#[tokio::test]
async fn a_clone_where_a_copy_is_wanted_is_a_conflict() {
    let world = World::new("conflicts-stray").await;
    let elsewhere = format!("{}-clone", world.name);
    world.followers[0].ensure_namespace(&elsewhere).await.unwrap();
    world.hub.ensure_namespace(&elsewhere).await.unwrap();
    let towline = {
        let (file, namespaces) = (world.contexts(&[("a", 0)]), format!("{},{elsewhere}", world.name));
        let file = world.file("two.kubeconfig", &file);
        Towline::run(&world, &["--kubeconfig-file", file.to_str().unwrap(), "--source-namespaces", &namespaces])
    };
    world.apply(key(&world, "one").contexts("a").build()).await;
    let copy = world.copy(0, "Secret", "key", |_| true).await;
    let clone = world.put(0, cloned(&copy, &elsewhere)).await;
    apply(world.hub, &secret(&elsewhere, "key").data("token", "other").contexts("a").build()).await.unwrap();
    towline.row("a", "key", "Conflict").await;
    one_more(&world, 0, "later").await;
    assert_eq!(world.followers[0].get(&path("Secret", &elsewhere, "key")).await.unwrap(), clone);
}
