//! Namespaces of a follower: missing, made later, ending, chosen by their labels.

use super::{
    makers::secret,
    towline::Towline,
    world::{World, collection, found, gone, kubeconfig, path},
};
use controlplane::Cluster;
use serde_json::{Value, json};

#[tokio::test]
async fn a_copy_is_made_as_soon_as_the_namespace_of_its_context_is_there() {
    let world = World::new("places-late").await;
    let late = format!("{}-late", world.name);
    let towline = Towline::start(&world, &with_namespace(&world, &late), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("placed").build()).await;
    towline.shows("placed", &format!("Secret/{late}/key"), "Waiting").await;
    world.namespace(world.followers[0], "late", json!({})).await;
    found(world.followers[0], &path("Secret", &late, "key"), |copy| copy["data"]["token"] == "b25l").await;
    assert!(
        world.there(0, "Secret", "key").await.is_none(),
        "the context's namespace takes the place of the same-named"
    );
}

#[tokio::test]
async fn an_ending_namespace_gets_nothing_until_it_is_made_anew() {
    let world = World::new("places-ending").await;
    let follower = world.followers[0];
    let ending = world.namespace(follower, "ending", json!({})).await;
    let both = [placed(&world, &ending), world.context("same", 0)];
    let towline = Towline::start(&world, &kubeconfig(&both), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("placed").build()).await;
    let first = found(follower, &path("Secret", &ending, "key"), |_| true).await;
    let mark = world.audit(0).mark();
    follower.delete(&format!("/api/v1/namespaces/{ending}")).await.unwrap();
    follower.delete(&path("Secret", &ending, "key")).await.unwrap();
    towline.shows("placed", &format!("Secret/{ending}/key"), "Waiting").await;
    // Others in the same cluster are not held up.
    world.apply(secret(&world.name, "other").data("token", "one").contexts("same").build()).await;
    world.copy(0, "Secret", "other", |_| true).await;
    end(follower, &ending).await;
    follower.create("/api/v1/namespaces", &json!({"metadata": {"name": ending}})).await.unwrap();
    let again = found(follower, &path("Secret", &ending, "key"), |_| true).await;
    assert_ne!(again["metadata"]["uid"], first["metadata"]["uid"]);
    let tries = world.audit(0).since(mark).await.unwrap().by(&world.user()).in_namespace(&ending).verb("create");
    assert!(tries.len() <= 2, "a create that raced with the end of the namespace, and the one that counts: {tries}");
}

#[tokio::test]
async fn kubeds_sync_follows_the_labels_of_namespaces_of_the_management_cluster() {
    let world = World::new("places-sync").await;
    let label = json!({"towline-test": world.name});
    let early = world.namespace(world.hub, "early", label.clone()).await;
    let late = world.namespace(world.hub, "late", json!({})).await;
    label_namespace(world.hub, &world.name, label.clone()).await;
    let _towline = Towline::run(&world, &["--local-sync", "--source-namespaces", &world.name]);
    let selector = format!("towline-test={}", world.name);
    let source = secret(&world.name, "key").data("token", "one").annotation("kubed.appscode.com/sync", &selector);
    let before = world.apply(source.build()).await;
    found(world.hub, &path("Secret", &early, "key"), |_| true).await;
    label_namespace(world.hub, &late, label).await;
    found(world.hub, &path("Secret", &late, "key"), |_| true).await;
    label_namespace(world.hub, &late, json!({"towline-test": null})).await;
    gone(world.hub, &path("Secret", &late, "key")).await;
    found(world.hub, &path("Secret", &early, "key"), |_| true).await;
    let after = world.hub.get(&path("Secret", &world.name, "key")).await.unwrap();
    assert_eq!(
        after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"],
        "a source is never written"
    );
}

#[tokio::test]
async fn a_selector_of_namespaces_is_followed_where_a_policy_grants_it() {
    let world = World::new("places-selector").await;
    let follower = world.followers[0];
    let label = json!({"towline-test": world.name});
    let early = world.namespace(follower, "early", label.clone()).await;
    let late = world.namespace(follower, "late", json!({})).await;
    let other = world.namespace(follower, "other", label.clone()).await;
    let policy = format!("accept: [{{from: {{namespaces: [{}]}}, to: {{namespaces: [{early}, {late}]}}}}]", world.name);
    let policy = world.file("policy.yaml", &policy);
    let flags = ["--policy-file", policy.to_str().unwrap()];
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    let source = secret(&world.name, "key").data("token", "one").annotation("towline.dev/followers", "a");
    let selector = format!("towline-test={}", world.name);
    world.apply(source.annotation("towline.dev/target-namespace-selector", &selector).build()).await;
    found(follower, &path("Secret", &early, "key"), |_| true).await;
    label_namespace(follower, &late, label).await;
    found(follower, &path("Secret", &late, "key"), |_| true).await;
    label_namespace(follower, &late, json!({"towline-test": null})).await;
    gone(follower, &path("Secret", &late, "key")).await;
    found(follower, &path("Secret", &early, "key"), |_| true).await;
    assert!(follower.list(&collection("Secret", &other)).await.unwrap().is_empty(), "no rule leads there");
}

#[tokio::test]
async fn a_protected_namespace_gets_nothing_by_our_keys_and_the_missing_rule_is_told() {
    let world = World::new("places-protected").await;
    // The world's namespace is Towline's own, too.
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    let ours = secret(&world.name, "ours").data("token", "one").annotation("towline.dev/followers", "*");
    world.apply(ours.build()).await;
    let rule = format!("to: {{namespaces: [\"{}\"]}}", world.name);
    world.event("NotGranted", |event| event["note"].as_str().is_some_and(|note| note.contains(&rule))).await;
    world.apply(secret(&world.name, "kubeds").data("token", "one").contexts("a").build()).await;
    world.copy(0, "Secret", "kubeds", |_| true).await;
    assert!(world.there(0, "Secret", "ours").await.is_none());
}

#[tokio::test]
async fn a_namespace_that_a_policy_lets_a_source_make_is_made() {
    let world = World::new("places-made").await;
    let follower = world.followers[0];
    let made = format!("{}-made", world.name);
    let role = json!({"metadata": {"name": made}, "rules": [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]},
    ]});
    let binding = json!({"metadata": {"name": made},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": made},
        "subjects": [{"kind": "ServiceAccount", "name": world.name, "namespace": world.name}]});
    follower.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await.unwrap();
    follower.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await.unwrap();
    let rule =
        format!("{{from: {{namespaces: [{}]}}, to: {{namespaces: [{made}]}}, allow: [CreateNamespace]}}", world.name);
    let policy = world.file("policy.yaml", &format!("accept: [{rule}]"));
    let flags = ["--policy-file", policy.to_str().unwrap()];
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &flags);
    let source = secret(&world.name, "key").data("token", "one").annotation("towline.dev/followers", "a");
    let source = source.annotation("towline.dev/target-namespaces", &made);
    world.apply(source.annotation("towline.dev/create-namespace", "true").build()).await;
    found(follower, &path("Secret", &made, "key"), |_| true).await;
}

/// A follower `placed` whose context names a namespace.
fn with_namespace(world: &World, namespace: &str) -> String {
    kubeconfig(&[placed(world, namespace)])
}

fn placed(world: &World, namespace: &str) -> Value {
    let mut context = world.context("placed", 0);
    context["namespace"] = json!(namespace);
    context
}

async fn label_namespace(cluster: &Cluster, name: &str, labels: Value) {
    cluster.patch(&format!("/api/v1/namespaces/{name}"), &json!({"metadata": {"labels": labels}})).await.unwrap();
}

/// What the namespace controller does in the end.
async fn end(cluster: &Cluster, name: &str) {
    let mut namespace = cluster.get(&format!("/api/v1/namespaces/{name}")).await.unwrap();
    namespace["spec"]["finalizers"] = json!([]);
    cluster.replace(&format!("/api/v1/namespaces/{name}/finalize"), &namespace).await.unwrap();
    gone(cluster, &format!("/api/v1/namespaces/{name}")).await;
}
