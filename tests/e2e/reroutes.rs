//! Contexts, policies, flags and annotations that change under copies: nothing goes by mistake.

use super::{
    guard::{QUICK, all_gone, all_there, copied, none_is_gone, one_more, source},
    makers::secret,
    towline::Towline,
    world::World,
};
use serde_json::json;

const THREE: [&str; 3] = ["one", "two", "three"];

#[tokio::test]
async fn a_context_renamed_while_towline_is_down_holds_its_copies() {
    let world = World::new("reroutes-renamed").await;
    let mut towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    copied(&world, &["one"], &[0]).await;
    towline.stop().await;
    let towline = Towline::start(&world, &world.contexts(&[("renamed", 0)]), &QUICK);
    let batch = towline.held("renamed", 1).await;
    assert_eq!(batch["reasons"], json!(["its follower name is not this cluster's any more"]));
    one_more(&world, 0).await;
    none_is_gone(&world, &["one"], 0).await;
}

#[tokio::test]
async fn a_context_renamed_while_towline_runs_holds_its_copies_until_it_is_renamed_back() {
    let world = World::new("reroutes-renamed-live").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    copied(&world, &["one"], &[0]).await;
    world.file("followers.kubeconfig", &world.contexts(&[("renamed", 0)]));
    towline.held("renamed", 1).await;
    one_more(&world, 0).await;
    none_is_gone(&world, &["one"], 0).await;
    world.file("followers.kubeconfig", &world.contexts(&[("a", 0)]));
    towline.shows("a", &format!("ConfigMap/{}/one", world.name), "InStep").await;
}

/// Three sources are copied; Towline starts again with these flags, under which they would not be.
async fn three_held_under(world: &World, flags: &[&str]) -> Towline {
    let mut towline = Towline::start(world, &world.contexts(&[("a", 0)]), &QUICK);
    copied(world, &THREE, &[0]).await;
    towline.stop().await;
    let towline = Towline::start(world, &world.contexts(&[("a", 0)]), &[&QUICK, flags].concat());
    towline.held("a", 3).await;
    towline
}

#[tokio::test]
async fn a_policy_that_closes_base_routes_under_three_sources_holds_their_copies() {
    let world = World::new("reroutes-policy").await;
    let policy = world.file("policy.yaml", "baseRoutes: false\n");
    let _towline = three_held_under(&world, &["--policy-file", policy.to_str().unwrap()]).await;
    none_is_gone(&world, &THREE, 0).await;
}

#[tokio::test]
async fn other_target_namespaces_under_three_sources_hold_their_copies() {
    let world = World::new("reroutes-targets").await;
    let _towline = three_held_under(&world, &["--target-namespaces", "elsewhere"]).await;
    none_is_gone(&world, &THREE, 0).await;
}

#[tokio::test]
async fn a_rule_that_is_taken_away_deletes_nothing() {
    let world = World::new("reroutes-rule").await;
    let rule = format!("accept:\n- from: {{namespaces: [{}]}}\n  allow: [Rename]\n", world.name);
    let policy = world.file("policy.yaml", &rule);
    let flags = [&QUICK[..], &["--policy-file", policy.to_str().unwrap()]].concat();
    let mut towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    world.apply(source(&world, "one").annotation("towline.dev/target-name", "renamed").build()).await;
    all_there(&world, &["renamed"], &[0]).await;
    towline.stop().await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    towline.row("a", "renamed", "NotGranted").await;
    copied(&world, &["two"], &[0]).await;
    world.delete("ConfigMap", "two").await;
    all_gone(&world, &["two"], 0).await;
    none_is_gone(&world, &["renamed"], 0).await;
}

#[tokio::test]
async fn an_annotation_that_no_rule_grants_deletes_nothing_and_is_told() {
    let world = World::new("reroutes-ungranted").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    world.apply(source(&world, "one").annotation("towline.dev/followers", "a").build()).await;
    all_there(&world, &["one"], &[0]).await;
    let elsewhere = json!({"metadata": {"annotations": {"towline.dev/target-namespaces": "elsewhere"}}});
    world.amend("ConfigMap", "one", elsewhere).await;
    towline.row("a", "one", "NotGranted").await;
    let note = world.note("NotGranted", "one").await;
    assert!(note.contains("towline.dev/target-namespaces") && note.contains(r#"namespaces: ["elsewhere"]"#), "{note}");
    // Longer than a written change would wait: another source's copies, withdrawn later, are gone.
    one_more(&world, 0).await;
    world.apply(secret(&world.name, "one-more").build()).await;
    world.gone(0, "Secret", "one-more").await;
    none_is_gone(&world, &["one"], 0).await;
}
