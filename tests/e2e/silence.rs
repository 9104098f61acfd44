//! Values of objects are nowhere in what Towline says, whoever quotes them to it. Its log and pages are searched in every test
//! (see `canary`); here are the ways by which a value could get there.

use super::{
    canary::{MARK, shown, silent},
    makers::{config_map, secret},
    policies,
    towline::Towline,
    world::{World, apply, collection, path},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

const PAGES: [&str; 6] =
    ["/metrics", "/api/v1/followers", "/api/v1/sources", "/api/v1/deletions", "/readyz", "/nowhere"];

/// Everything that Towline tells: pages and events (the log is searched when it ends).
async fn nothing_is_told(world: &World, towline: &Towline) {
    for page in PAGES {
        silent(page, &towline.page(page).await);
    }
    for group in ["/api/v1", "/apis/events.k8s.io/v1"] {
        let events = world.hub.list(&format!("{group}/namespaces/{}/events", world.name)).await.unwrap();
        assert!(!events.is_empty(), "nothing was told at all");
        silent("an event", &Value::from(events).to_string());
    }
}

#[tokio::test]
async fn a_follower_that_quotes_values_in_its_refusals_is_not_repeated() {
    let world = World::new("silence-quotes").await;
    policies::refuse_and_quote(&world, 0, "token").await;
    for object in [secret(&world.name, "probed"), config_map(&world.name, "probed")] {
        let refusal = apply(world.followers[0], &object.data("token", "one").build()).await.unwrap_err();
        assert!(shown(&format!("{refusal:#}")).is_some(), "the policy is to quote the value: {refusal:#}");
    }
    let audit = world.scratch.path().join("audit.log");
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &["--audit-log", audit.to_str().unwrap()]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    world.apply(config_map(&world.name, "settings").data("token", "one").contexts("a").build()).await;
    towline.shows("a", &format!("Secret/{}/key", world.name), "Refused").await;
    towline.shows("a", &format!("ConfigMap/{}/settings", world.name), "Refused").await;
    world.event("Refused", |event| event["regarding"]["name"] == "settings").await;
    nothing_is_told(&world, &towline).await;
    silent("the audit log", &std::fs::read_to_string(audit).unwrap());
}

#[tokio::test]
async fn what_kubectl_keeps_of_a_secret_is_neither_read_nor_copied_nor_told() {
    let world = World::new("silence-kubectl").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    let source = secret(&world.name, "key").data("token", "one").annotation("example.com/note", MARK).contexts("a");
    let file = world.file("secret.json", &source.build().to_string());
    world.hub.kubectl(&["apply", "-f", file.to_str().unwrap()]).await.unwrap();
    let kept = "kubectl.kubernetes.io/last-applied-configuration";
    let made = world.hub.get(&path("Secret", &world.name, "key")).await.unwrap();
    assert!(made["metadata"]["annotations"][kept].as_str().unwrap().contains(MARK));
    let copy = world.copy(0, "Secret", "key", |_| true).await;
    assert!(copy["metadata"]["annotations"][kept].is_null());
    assert_eq!(copy["metadata"]["annotations"]["example.com/note"], MARK);
    world.event("Synced", |event| event["regarding"]["name"] == "key").await;
    nothing_is_told(&world, &towline).await;
}

#[tokio::test]
async fn a_source_with_a_mistake_is_told_without_its_data() {
    let world = World::new("silence-mistakes").await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    let broken = |name: &str| secret(&world.name, name).data("token", "one").contexts("a");
    world.apply(broken("invalid").annotation("towline.dev/deletion-policy", "Never").build()).await;
    let pair = [("tls.crt", "no certificate"), ("tls.key", "no key")];
    let pair = pair.iter().fold(broken("tls"), |source, (key, value)| source.data(key, value));
    world.apply(pair.of_type("kubernetes.io/tls").build()).await;
    world.event("Invalid", |event| event["regarding"]["name"] == "invalid").await;
    world.event("InvalidPayload", |event| event["regarding"]["name"] == "tls").await;
    // An object in the way, and an edited copy: both are read.
    let occupant = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": world.name, "name": "taken"},
        "data": {"token": STANDARD.encode(format!("theirs {MARK}"))},
    });
    world.put(0, occupant).await;
    world.apply(broken("taken").build()).await;
    world.event("Conflict", |event| event["regarding"]["name"] == "taken").await;
    world.apply(broken("edited").build()).await;
    world.copy(0, "Secret", "edited", |_| true).await;
    world.edit(0, "Secret", "edited", json!({"stringData": {"token": format!("other {MARK}")}})).await;
    world.copy(0, "Secret", "edited", |copy| copy["data"]["token"] == "b25l").await;
    nothing_is_told(&world, &towline).await;
}

#[tokio::test]
async fn a_plan_names_what_it_would_do_and_shows_no_value() {
    let world = World::new("silence-plan").await;
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a").build()).await;
    world.put(0, secret(&world.name, "taken").data("token", "theirs").build()).await;
    world.apply(secret(&world.name, "taken").data("token", "one").contexts("a").build()).await;
    let (hub, followers) = (world.hub_kubeconfig(), world.file("followers", &world.contexts(&[("a", 0)])));
    for output in ["table", "json"] {
        let planned = tokio::process::Command::new(env!("CARGO_BIN_EXE_towline"))
            .args(["plan", "--kubeconfig", hub.to_str().unwrap(), "--kubeconfig-file", followers.to_str().unwrap()])
            .args(["--local-sync=false", "--source-namespaces", &world.name, "--output", output])
            .output()
            .await
            .unwrap();
        let said = [planned.stdout, planned.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains("Create") && said.contains("Conflict"), "{said}");
        silent("a plan", &said);
    }
    let copies = world.followers[0].list(&collection("Secret", &world.name)).await.unwrap();
    assert_eq!(copies.len(), 1, "a plan writes nothing");
}
