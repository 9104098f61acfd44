//! Names of followers and objects.

use super::{
    makers::{config_map, secret},
    towline::Towline,
    world::{World, kubeconfig},
};
use serde_json::json;

#[tokio::test]
async fn an_unknown_context_is_told_and_holds_up_no_other() {
    let world = World::new("names-unknown").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0), ("b", 1)]), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a, nowhere, b").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    world.copy(1, "Secret", "key", |_| true).await;
    world.event("UnknownFollower", |event| event["note"].as_str().is_some_and(|note| note.contains("nowhere"))).await;
}

#[tokio::test]
async fn a_context_that_cannot_be_used_holds_up_no_other() {
    let world = World::new("names-unusable").await;
    let mut broken = world.context("broken", 1);
    broken["ca"] = json!("bm90IGEgY2VydGlmaWNhdGU=");
    let contexts = kubeconfig(&[broken, world.context("good", 0)]);
    let towline = Towline::start(&world, &contexts, &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("broken, good").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    let page = towline.json("/api/v1/followers?follower=broken").await;
    let report = &page["items"][0];
    assert_eq!(report["connected"], false, "{page}");
    assert!(report["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{page}");
}

#[tokio::test]
async fn a_context_may_be_named_by_an_arn() {
    let world = World::new("names-arn").await;
    let arns = ["arn:aws:eks:eu-west-1:111122223333:cluster/a", "arn:aws:eks:eu-west-1:111122223333:cluster/b"];
    // The world's namespace is Towline's own, too, which is protected otherwise.
    let flags = ["--protected-namespaces", "kube-system"];
    let _towline = Towline::start(&world, &world.contexts(&[(arns[0], 0), (arns[1], 1)]), &flags);
    world.apply(secret(&world.name, "kubeds").data("token", "one").contexts(&arns.join(",")).build()).await;
    world.copy(0, "Secret", "kubeds", |_| true).await;
    world.copy(1, "Secret", "kubeds", |_| true).await;
    let ours = secret(&world.name, "ours").data("token", "one").annotation("towline.dev/followers", "arn:*, !*/b");
    world.apply(ours.build()).await;
    world.copy(0, "Secret", "ours", |_| true).await;
    world.apply(secret(&world.name, "later").data("token", "one").contexts(arns[1]).build()).await;
    world.copy(1, "Secret", "later", |_| true).await;
    assert!(world.there(1, "Secret", "ours").await.is_none());
}

#[tokio::test]
async fn names_of_253_characters_are_copied_repaired_and_deleted() {
    let world = World::new("names-long").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "1s"]);
    let name = "n".repeat(253);
    world.apply(secret(&world.name, &name).data("token", "one").contexts("a").build()).await;
    world.apply(config_map(&world.name, &name).data("x", "1").contexts("a").build()).await;
    world.copy(0, "Secret", &name, |_| true).await;
    world.copy(0, "ConfigMap", &name, |_| true).await;
    world.edit(0, "ConfigMap", &name, json!({"data": {"x": "2"}})).await;
    world.copy(0, "ConfigMap", &name, |copy| copy["data"]["x"] == "1").await;
    towline.shows("a", &format!("ConfigMap/{}/{name}", world.name), "InStep").await;
    world.delete("Secret", &name).await;
    world.delete("ConfigMap", &name).await;
    world.gone(0, "Secret", &name).await;
    world.gone(0, "ConfigMap", &name).await;
}
