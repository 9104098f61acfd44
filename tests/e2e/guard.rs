//! Deletions that look like a mistake: held until somebody approves exactly them.

use super::{
    cli::{self, Answer},
    makers::{Maker, config_map, secret},
    towline::Towline,
    world::{World, collection},
};
use controlplane::Behaviour;
use serde_json::{Value, json};

pub const QUICK: [&str; 2] = ["--deletion-delay", "1s"];
const FOUR: [&str; 4] = ["one", "two", "three", "four"];

pub fn source(world: &World, name: &str) -> Maker {
    config_map(&world.name, name).data("x", name).label("test", "leaving").contexts("a, b")
}

/// Sources of these names, with their copies on these followers.
pub async fn copied(world: &World, names: &[&str], followers: &[usize]) {
    for name in names {
        world.apply(source(world, name).build()).await;
    }
    all_there(world, names, followers).await;
}

pub async fn all_there(world: &World, names: &[&str], followers: &[usize]) {
    for follower in followers {
        for name in names {
            world.copy(*follower, "ConfigMap", name, |_| true).await;
        }
    }
}

pub async fn none_is_gone(world: &World, names: &[&str], follower: usize) {
    for name in names {
        assert!(world.there(follower, "ConfigMap", name).await.is_some(), "{name}");
    }
}

pub async fn all_gone(world: &World, names: &[&str], follower: usize) {
    for name in names {
        world.gone(follower, "ConfigMap", name).await;
    }
}

/// Deletes all sources in one request.
async fn delete_all(world: &World) {
    let path = format!("{}?labelSelector=test%3Dleaving", collection("ConfigMap", &world.name));
    world.hub.delete(&path).await.unwrap();
}

/// What came before this source has been dealt with when its copy is there.
pub async fn one_more(world: &World, follower: usize) {
    world.apply(secret(&world.name, "one-more").contexts("a, b, renamed").build()).await;
    world.copy(follower, "Secret", "one-more", |_| true).await;
}

async fn list(towline: &Towline, flags: &[&str]) -> Answer {
    let address = format!("http://{}", towline.address().await);
    let mut words = vec!["deletions", "list", "--address", &address];
    words.extend(flags);
    cli::towline(&words).await
}

async fn approve(world: &World, towline: &Towline, digest: &str) -> Answer {
    let address = format!("http://{}", towline.address().await);
    cli::with_hub(world, &["deletions", "approve", digest, "--address", &address]).await
}

/// Four sources with copies on these followers were deleted while Towline was down, and it runs again.
async fn four_missing_at_start(world: &World, contexts: &[(&str, usize)]) -> Towline {
    let mut towline = Towline::start(world, &world.contexts(contexts), &QUICK);
    let followers: Vec<usize> = contexts.iter().map(|(_, follower)| *follower).collect();
    copied(world, &FOUR, &followers).await;
    towline.stop().await;
    delete_all(world).await;
    Towline::start(world, &world.contexts(contexts), &QUICK)
}

#[tokio::test]
async fn four_sources_missing_at_start_are_held_and_listed() {
    let world = World::new("guard-listed").await;
    let towline = four_missing_at_start(&world, &[("a", 0)]).await;
    let batch = towline.held("a", 4).await;
    one_more(&world, 0).await;
    none_is_gone(&world, &FOUR, 0).await;
    assert_eq!(towline.row("a", "one", "DeletionHeld").await["class"], "Unwitnessed");
    towline.counts(r#"towline_deletions_held{follower="a"}"#, |held| held == 4.0).await;

    let table = list(&towline, &[]).await;
    assert_eq!(table.code, 0, "{}", table.complaints);
    let wanted = [batch["digest"].as_str().unwrap(), "--max-unwitnessed-deletions", "towline deletions approve DIGEST"];
    assert!(wanted.iter().all(|text| table.out.contains(text)), "{}", table.out);
    assert!(FOUR.iter().all(|name| table.out.contains(&format!("ConfigMap/{}/{name}\n", world.name))), "{}", table.out);
    let answer = list(&towline, &["--output", "json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&answer.out).unwrap(), json!([batch]), "{}", answer.complaints);
}

#[tokio::test]
async fn held_deletions_are_told_by_an_event_in_towlines_own_namespace() {
    let world = World::new("guard-event").await;
    let towline = four_missing_at_start(&world, &[("a", 0)]).await;
    towline.held("a", 4).await;
    let note = world.note("DeletionsHeld", "towline-approvals").await;
    assert!(note.contains("on a") && note.contains("--max-unwitnessed-deletions"), "{note}");
}

#[tokio::test]
async fn an_approval_lets_exactly_the_listed_copies_go() {
    let world = World::new("guard-approved").await;
    let towline = four_missing_at_start(&world, &[("a", 0), ("b", 1)]).await;
    let batch = towline.held("a", 4).await;
    towline.held("b", 4).await;
    let answer = approve(&world, &towline, batch["digest"].as_str().unwrap()).await;
    assert_eq!(answer.code, 0, "{}", answer.complaints);
    assert!(answer.out.contains("4 copies"), "{}", answer.out);
    all_gone(&world, &FOUR, 0).await;
    one_more(&world, 1).await;
    towline.held("b", 4).await;
    none_is_gone(&world, &FOUR, 1).await;
}

#[tokio::test]
async fn an_approval_holds_after_a_restart() {
    let world = World::new("guard-restart").await;
    let mut towline = four_missing_at_start(&world, &[("a", 0)]).await;
    let batch = towline.held("a", 4).await;
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    let answer = approve(&world, &towline, batch["digest"].as_str().unwrap()).await;
    assert_eq!(answer.code, 0, "{}", answer.complaints);
    towline.kill();
    none_is_gone(&world, &FOUR, 0).await;
    world.proxies[0].retarget(world.followers[0].address()).await.unwrap();
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "600s"]);
    all_gone(&world, &FOUR, 0).await;
}

#[tokio::test]
async fn an_approved_copy_that_is_wanted_again_stays() {
    let world = World::new("guard-wanted").await;
    let mut towline = four_missing_at_start(&world, &[("a", 0)]).await;
    let batch = towline.held("a", 4).await;
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    approve(&world, &towline, batch["digest"].as_str().unwrap()).await;
    towline.kill();
    world.apply(source(&world, "one").build()).await;
    world.proxies[0].retarget(world.followers[0].address()).await.unwrap();
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    all_gone(&world, &["two", "three", "four"], 0).await;
    one_more(&world, 0).await;
    none_is_gone(&world, &["one"], 0).await;
}

#[tokio::test]
async fn a_digest_that_nothing_has_is_refused() {
    let world = World::new("guard-digest").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    assert!(list(&towline, &[]).await.out.contains("No deletion is held"));
    let answer = approve(&world, &towline, "0123456789abcdef").await;
    assert_eq!(answer.code, 1);
    assert!(answer.complaints.contains("no batch has the digest 0123456789abcdef"), "{}", answer.complaints);
}

#[tokio::test]
async fn two_sources_missing_at_start_go_by_themselves() {
    let world = World::new("guard-two").await;
    let mut towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    copied(&world, &["one", "two"], &[0]).await;
    towline.stop().await;
    delete_all(&world).await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &QUICK);
    all_gone(&world, &["one", "two"], 0).await;
}

#[tokio::test]
async fn eleven_sources_deleted_at_once_are_held_and_ten_are_not() {
    let world = World::new("guard-eleven").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--deletion-delay", "3s"]);
    let names: Vec<String> = (1..=11).map(|number| format!("source-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    copied(&world, &names, &[0]).await;
    delete_all(&world).await;
    let batch = towline.held("a", 11).await;
    assert_eq!(batch["reasons"], json!(["more sources than --max-deletions"]));
    one_more(&world, 0).await;
    none_is_gone(&world, &names, 0).await;
    // One comes back: the others are few enough.
    world.apply(source(&world, names[10]).build()).await;
    all_gone(&world, &names[..10], 0).await;
    none_is_gone(&world, &names[10..], 0).await;
}

#[tokio::test]
async fn one_source_with_200_copies_goes() {
    let world = World::new("guard-200").await;
    for number in 0..200 {
        world.namespace(world.followers[2], &number.to_string(), json!({"world": world.name})).await;
    }
    let rule = format!(
        "accept:\n- from: {{namespaces: [{0}]}}\n  to: {{selector: {{matchLabels: {{world: {0}}}}}}}\n",
        world.name
    );
    let policy = world.file("policy.yaml", &rule);
    let flags = ["--deletion-delay", "1s", "--policy-file", policy.to_str().unwrap()];
    let _towline = Towline::start(&world, &world.contexts(&[("a", 2)]), &flags);
    let object = config_map(&world.name, "wide").label("test", "leaving").annotation("towline.dev/followers", "a");
    let selector = format!("world={}", world.name);
    world.apply(object.annotation("towline.dev/target-namespace-selector", &selector).build()).await;
    let label = "/api/v1/configmaps?fieldSelector=metadata.name%3Dwide&labelSelector=test%3Dleaving";
    let copies = async |wanted: usize| {
        let look = async || Ok((world.followers[2].list(label).await?.len() == wanted).then_some(()));
        controlplane::eventually(&format!("{wanted} copies"), super::world::CAP, look).await.unwrap();
    };
    copies(200).await;
    world.delete("ConfigMap", "wide").await;
    copies(0).await;
}
