//! Sources that this instance cannot see: their copies stay as they are, and others are not held up.

use super::{
    makers::{Maker, config_map, secret},
    towline::Towline,
    world::{CAP, World, apply, path},
};
use controlplane::{Cluster, eventually, status_code};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The world's namespace and another one, in the management cluster and in follower 0.
async fn two_namespaces(name: &str) -> (World, String) {
    let world = World::new(name).await;
    let other = format!("{name}-other");
    world.hub.ensure_namespace(&other).await.unwrap();
    world.followers[0].ensure_namespace(&other).await.unwrap();
    (world, other)
}

/// Starts an instance for the sources of these namespaces.
fn start(world: &World, namespaces: &str) -> Towline {
    let file = world.file("followers.kubeconfig", &world.contexts(&[("a", 0)]));
    let flags = ["--kubeconfig-file", file.to_str().unwrap(), "--deletion-delay", "1s"];
    Towline::run(world, &[&flags[..], &["--source-namespaces", namespaces]].concat())
}

async fn put(cluster: &Cluster, object: Maker) {
    apply(cluster, &object.contexts("a").build()).await.unwrap();
}

async fn delete(cluster: &Cluster, kind: &str, namespace: &str) {
    cluster.delete(&path(kind, namespace, "key")).await.unwrap();
}

async fn there(world: &World, kind: &str, namespace: &str) -> Option<Value> {
    world.followers[0].get_opt(&path(kind, namespace, "key")).await.unwrap()
}

async fn copied(world: &World, kind: &str, namespace: &str) {
    let look = async || Ok(there(world, kind, namespace).await);
    eventually(&format!("the copy of {kind} in {namespace}"), CAP, look).await.unwrap();
}

async fn gone(world: &World, kind: &str, namespace: &str) {
    let look = async || Ok(there(world, kind, namespace).await.is_none().then_some(()));
    eventually(&format!("the copy of {kind} in {namespace} gone"), CAP, look).await.unwrap();
}

/// Takes all rights to read sources away, but for those that [`allow`] gives.
async fn forbid_all(world: &World) {
    let rules = json!({"rules": [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["events.k8s.io", ""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]});
    world.hub.patch(&format!("{RBAC}/clusterroles/{}-sources", world.name), &rules).await.unwrap();
}

/// Lets Towline read sources of these kinds in a namespace.
async fn allow(world: &World, namespace: &str, resources: &[&str]) {
    let (folder, account) = (format!("{RBAC}/namespaces/{namespace}"), &world.name);
    let rule = json!({"apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"]});
    let role = json!({"metadata": {"name": "readers"}, "rules": [rule]});
    world.hub.create(&format!("{folder}/roles"), &role).await.unwrap();
    let binding = json!({
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "readers"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": account}],
    });
    world.hub.create(&format!("{folder}/rolebindings"), &binding).await.unwrap();
}

async fn forbid(world: &World, namespace: &str) {
    world.hub.delete(&format!("{RBAC}/namespaces/{namespace}/rolebindings/readers")).await.unwrap();
}

/// Waits until the management cluster answers the world's account like this: rights take effect a moment after they change.
async fn answers(world: &World, namespace: &str, resource: &str, code: Option<u16>) {
    let api = world.hub.api_with(&world.hub_token).await.unwrap();
    let path = format!("/api/v1/namespaces/{namespace}/{resource}");
    let look = async || {
        let answered = api.get(&path).await.err().and_then(|error| status_code(&error));
        Ok((answered == code).then_some(()))
    };
    eventually(&format!("{code:?} for {path}"), CAP, look).await.unwrap();
}

#[tokio::test]
async fn a_source_namespace_forbidden_at_start_keeps_its_copies_while_others_go() {
    let (world, other) = two_namespaces("scopes-forbidden").await;
    let both = format!("{},{other}", world.name);
    let mut towline = start(&world, &both);
    put(world.hub, secret(&world.name, "key")).await;
    put(world.hub, secret(&other, "key")).await;
    copied(&world, "Secret", &world.name).await;
    copied(&world, "Secret", &other).await;
    towline.stop().await;

    delete(world.hub, "Secret", &world.name).await;
    delete(world.hub, "Secret", &other).await;
    forbid_all(&world).await;
    allow(&world, &world.name, &["secrets", "configmaps"]).await;
    answers(&world, &world.name, "secrets", None).await;
    answers(&world, &other, "secrets", Some(403)).await;
    let towline = start(&world, &both);
    gone(&world, "Secret", &world.name).await;
    towline.logs("sources cannot be read: grant get, list and watch on secrets").await;
    towline.row("a", "key", "Waiting").await;
    assert!(there(&world, "Secret", &other).await.is_some());
}

#[tokio::test]
async fn a_kind_forbidden_at_start_keeps_its_copies_while_others_go() {
    let world = World::new("scopes-kind").await;
    let mut towline = start(&world, &world.name);
    put(world.hub, secret(&world.name, "key")).await;
    put(world.hub, config_map(&world.name, "key")).await;
    copied(&world, "Secret", &world.name).await;
    copied(&world, "ConfigMap", &world.name).await;
    towline.stop().await;

    delete(world.hub, "Secret", &world.name).await;
    delete(world.hub, "ConfigMap", &world.name).await;
    forbid_all(&world).await;
    allow(&world, &world.name, &["configmaps"]).await;
    answers(&world, &world.name, "configmaps", None).await;
    answers(&world, &world.name, "secrets", Some(403)).await;
    let towline = start(&world, &world.name);
    gone(&world, "ConfigMap", &world.name).await;
    towline.row("a", "key", "Waiting").await;
    assert!(there(&world, "Secret", &world.name).await.is_some());
}

#[tokio::test]
async fn a_source_namespace_forbidden_later_keeps_its_copies_until_it_may_be_read_again() {
    let (world, other) = two_namespaces("scopes-later").await;
    forbid_all(&world).await;
    for namespace in [&world.name, &other] {
        allow(&world, namespace, &["secrets", "configmaps"]).await;
        answers(&world, namespace, "secrets", None).await;
    }
    let towline = start(&world, &format!("{},{other}", world.name));
    put(world.hub, secret(&world.name, "key")).await;
    put(world.hub, secret(&other, "key")).await;
    copied(&world, "Secret", &world.name).await;
    copied(&world, "Secret", &other).await;

    forbid(&world, &other).await;
    answers(&world, &other, "secrets", Some(403)).await;
    // An open watch goes on until it ends.
    world.hub_proxy.retarget(world.hub.address()).await.unwrap();
    towline.logs("sources cannot be read: grant get, list and watch on secrets").await;
    delete(world.hub, "Secret", &world.name).await;
    delete(world.hub, "Secret", &other).await;
    gone(&world, "Secret", &world.name).await;
    put(world.hub, secret(&world.name, "key")).await;
    copied(&world, "Secret", &world.name).await;
    assert!(there(&world, "Secret", &other).await.is_some());

    world.hub.delete(&format!("{RBAC}/namespaces/{other}/roles/readers")).await.unwrap();
    allow(&world, &other, &["secrets", "configmaps"]).await;
    gone(&world, "Secret", &other).await;
}

#[tokio::test]
async fn two_instances_with_different_source_namespaces_leave_each_others_copies_alone() {
    let (world, other) = two_namespaces("scopes-instances").await;
    let (mut one, mut two) = (start(&world, &world.name), start(&world, &other));
    put(world.hub, secret(&world.name, "key")).await;
    put(world.hub, secret(&other, "key")).await;
    copied(&world, "Secret", &world.name).await;
    copied(&world, "Secret", &other).await;
    two.stop().await;
    let theirs = there(&world, "Secret", &other).await;

    // To the first instance, the other's source is as gone as its own.
    delete(world.hub, "Secret", &world.name).await;
    delete(world.hub, "Secret", &other).await;
    gone(&world, "Secret", &world.name).await;
    one.stop().await;
    let one = start(&world, &world.name);
    put(world.hub, secret(&world.name, "key")).await;
    copied(&world, "Secret", &world.name).await;
    delete(world.hub, "Secret", &world.name).await;
    gone(&world, "Secret", &world.name).await;
    assert_eq!(there(&world, "Secret", &other).await, theirs);
    assert_eq!(one.json("/api/v1/deletions").await["items"], json!([]));

    let _two = start(&world, &other);
    gone(&world, "Secret", &other).await;
}

#[tokio::test]
async fn a_scope_that_is_narrowed_leaves_the_copies_from_outside_it() {
    let (world, other) = two_namespaces("scopes-narrowed").await;
    let mut towline = start(&world, &format!("{},{other}", world.name));
    put(world.hub, secret(&world.name, "key")).await;
    put(world.hub, secret(&other, "key")).await;
    copied(&world, "Secret", &world.name).await;
    copied(&world, "Secret", &other).await;
    let outside = there(&world, "Secret", &other).await;
    towline.stop().await;

    let _towline = start(&world, &world.name);
    delete(world.hub, "Secret", &other).await;
    delete(world.hub, "Secret", &world.name).await;
    gone(&world, "Secret", &world.name).await;
    assert_eq!(there(&world, "Secret", &other).await, outside);
}

#[tokio::test]
async fn a_kind_forbidden_later_keeps_its_copies_until_it_may_be_read_again() {
    let world = World::new("scopes-kind-later").await;
    forbid_all(&world).await;
    allow(&world, &world.name, &["secrets", "configmaps"]).await;
    answers(&world, &world.name, "secrets", None).await;
    let towline = start(&world, &world.name);
    put(world.hub, secret(&world.name, "key")).await;
    put(world.hub, config_map(&world.name, "key")).await;
    copied(&world, "Secret", &world.name).await;
    copied(&world, "ConfigMap", &world.name).await;

    let readers = format!("{RBAC}/namespaces/{}/roles/readers", world.name);
    let only = |resources: &[&str]| json!({"rules": [{"apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"]}]});
    world.hub.patch(&readers, &only(&["configmaps"])).await.unwrap();
    answers(&world, &world.name, "secrets", Some(403)).await;
    // An open watch goes on until it ends.
    world.hub_proxy.retarget(world.hub.address()).await.unwrap();
    towline.logs("sources cannot be read: grant get, list and watch on secrets").await;
    delete(world.hub, "Secret", &world.name).await;
    delete(world.hub, "ConfigMap", &world.name).await;
    gone(&world, "ConfigMap", &world.name).await;
    assert!(there(&world, "Secret", &world.name).await.is_some());

    world.hub.patch(&readers, &only(&["secrets", "configmaps"])).await.unwrap();
    gone(&world, "Secret", &world.name).await;
}
