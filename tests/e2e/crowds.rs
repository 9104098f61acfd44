//! Much at once: large objects, many sources, many namespaces.

use super::{
    makers::{config_map, secret},
    towline::Towline,
    world::{CAP, Rights, World, apply, collection, found, path},
};
use controlplane::eventually;
use futures::{StreamExt, stream};
use serde_json::json;
use std::collections::BTreeMap;

/// What an API server takes at most: the sum of the values of a Secret.
const LARGEST: usize = 1 << 20;
const SOURCES: usize = 500;
/// Two watches of copies and one of the namespace for each: more than the hundred streams of a connection.
const NAMESPACES: usize = 40;

#[tokio::test]
async fn secrets_of_a_mebibyte_arrive_and_are_in_step_after_a_restart() {
    let world = World::new("crowds-large").await;
    let contexts = world.contexts(&[("a", 0)]);
    let mut towline = Towline::start(&world, &contexts, &[]);
    // More than the largest page of a list that Towline takes.
    let names: Vec<String> = (0..14).map(|number| format!("large-{number}")).collect();
    for name in &names {
        world.apply(secret(&world.name, name).data("blob", &"x".repeat(LARGEST)).contexts("a").build()).await;
    }
    for name in &names {
        world.copy(0, "Secret", name, |copy| copy["data"]["blob"].as_str().unwrap().len() > LARGEST).await;
    }
    towline.stop().await;
    let mark = world.audit(0).mark();
    let _again = Towline::start(&world, &contexts, &[]);
    world.apply(secret(&world.name, "later").data("token", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "later", |_| true).await;
    let writes = world.writes(0, mark).await;
    assert_eq!(writes.len(), 1, "{writes:#?}");
}

#[tokio::test]
async fn five_hundred_sources_cost_one_create_each() {
    let world = World::new("crowds-sources").await;
    let contexts = [("a", 0), ("b", 1), ("c", 2)];
    let towline = Towline::start(&world, &world.contexts(&contexts), &[]);
    let source = |number: usize| secret(&world.name, &format!("source-{number}")).data("n", &number.to_string());
    let sources = (0..SOURCES).map(|number| source(number).contexts("a, b, c").build());
    let made = stream::iter(sources).map(async |object| apply(world.hub, &object).await.map(drop)).buffer_unordered(16);
    made.collect::<Vec<_>>().await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    for (name, follower) in contexts {
        let copies = collection("Secret", &world.name);
        let look = async || {
            let copies = world.somebody(follower).list(&format!("{copies}?labelSelector=towline.dev/origin")).await?;
            Ok((copies.len() == SOURCES).then_some(()))
        };
        eventually("all copies", CAP, look).await.unwrap();
        let series = format!("towline_copies{{follower=\"{name}\",state=\"InStep\"}}");
        let settled = async || Ok((towline.metric(&series).await == Some(SOURCES as f64)).then_some(()));
        eventually("all copies in step", CAP, settled).await.unwrap();
        let requests = world.audit(follower).all().await.unwrap().by(&world.user());
        assert_eq!(requests.writes().len(), SOURCES);
        assert_eq!(requests.writes().verb("create").len(), SOURCES);
        assert!(requests.len() < SOURCES + 20, "reads: {}", requests.matching(|request| !request.is_write()));
    }
}

#[tokio::test]
async fn rights_in_forty_namespaces_need_more_watches_than_a_connection_carries() {
    let world = World::with("crowds-watches", Rights::Named).await;
    let follower = world.followers[0];
    let names: Vec<String> = (0..NAMESPACES).map(|number| format!("{}-{number}", world.name)).collect();
    world.grant(0, &names).await;
    let rule = format!("{{from: {{namespaces: [{}]}}, to: {{namespaces: [{}]}}}}", world.name, names.join(", "));
    let policy = world.file("policy.yaml", &format!("accept: [{rule}]"));
    let targets = names.join(",");
    let flags = ["--policy-file", policy.to_str().unwrap(), "--target-namespaces", &targets];
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    let source = |value: &str| {
        let routed = config_map(&world.name, "settings").data("x", value).annotation("towline.dev/followers", "a");
        routed.annotation("towline.dev/target-namespaces", &targets).build()
    };
    world.apply(source("1")).await;
    for name in &names {
        found(follower, &path("ConfigMap", name, "settings"), |copy| copy["data"]["x"] == "1").await;
    }
    // Each of them is watched.
    for name in &names {
        follower.patch(&path("ConfigMap", name, "settings"), &json!({"data": {"x": "edited"}})).await.unwrap();
    }
    for name in &names {
        found(follower, &path("ConfigMap", name, "settings"), |copy| copy["data"]["x"] == "1").await;
    }
    world.apply(source("2")).await;
    for name in &names {
        found(follower, &path("ConfigMap", name, "settings"), |copy| copy["data"]["x"] == "2").await;
    }
    let requests = world.audit(0).all().await.unwrap().by(&world.user());
    let watches = requests.verb("watch").matching(|request| request.code == 200);
    let mut each = BTreeMap::new();
    watches.iter().for_each(|watch| *each.entry((watch.resource.clone(), watch.namespace.clone())).or_insert(0) += 1);
    assert!(watches.len() >= 3 * NAMESPACES, "{watches}");
    assert!(each.iter().all(|((kind, _), count)| kind == "namespaces" || *count == 1), "each once: {each:?}");
}
