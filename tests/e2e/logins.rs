//! As whom Towline comes to a follower: token, token file, plugin, client certificate.

use super::{
    makers::secret,
    towline::Towline,
    world::{World, kubeconfig},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

fn source(world: &World, value: &str) -> Value {
    secret(&world.name, "key").data("key", value).contexts("a").build()
}

fn with_user(world: &World, user: Value) -> String {
    let mut context = world.context("a", 0);
    context["user"] = user;
    kubeconfig(&[context])
}

/// Another account with the same rights as the world's own.
async fn successor(world: &World) -> (String, String) {
    let (cluster, name) = (world.followers[0], format!("{}-successor", world.name));
    let token = cluster.service_account_token(&world.name, &name).await.unwrap();
    let subject = json!({"kind": "ServiceAccount", "namespace": world.name, "name": name});
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let binding = cluster.get(&format!("{bindings}/{}-follower", world.name)).await.unwrap();
    let same = json!({"metadata": {"name": name}, "roleRef": binding["roleRef"], "subjects": [subject]});
    cluster.create(bindings, &same).await.unwrap();
    (format!("system:serviceaccount:{}:{name}", world.name), token)
}

#[tokio::test]
async fn a_token_that_is_changed_in_the_kubeconfig_is_used_from_then_on() {
    let world = World::new("logins-token").await;
    let towline = Towline::start(&world, &with_user(&world, json!({"token": world.tokens[0]})), &[]);
    world.apply(source(&world, "one")).await;
    world.copy(0, "Secret", "key", |_| true).await;
    let (user, token) = successor(&world).await;
    world.file("followers.kubeconfig", &with_user(&world, json!({"token": token})));
    towline.logs("follower kubeconfig read again").await;
    let mark = world.audit(0).mark();
    world.apply(source(&world, "two")).await;
    world.copy(0, "Secret", "key", |copy| copy["data"]["key"] == "dHdv").await;
    let writes = world.audit(0).since(mark).await.unwrap().in_namespace(&world.name).writes();
    assert_eq!(writes.by(&user).len(), 1, "{writes}");
}

#[tokio::test]
async fn a_token_file_is_read_again_when_its_token_is_refused() {
    let world = World::new("logins-file").await;
    let file = world.file("token", "not a token of this cluster");
    let towline = Towline::start(&world, &with_user(&world, json!({"tokenFile": file})), &[]);
    world.apply(source(&world, "one")).await;
    towline.logs("401 Unauthorized").await;
    world.file("token", &format!("{}\n", world.tokens[0]));
    world.copy(0, "Secret", "key", |_| true).await;
}

#[tokio::test]
async fn a_plugin_is_run_for_a_token() {
    let world = World::new("logins-plugin").await;
    let answer = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": world.tokens[0]},
    });
    let script = world.file("plugin.sh", &format!("echo run >>\"$RUNS\"\ncat <<END\n{answer}\nEND\n"));
    let runs = world.scratch.path().join("runs");
    let plugin = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": [script], "interactiveMode": "Never",
        "env": [{"name": "RUNS", "value": runs}],
    });
    let _towline = Towline::start(&world, &with_user(&world, json!({"exec": plugin})), &[]);
    for (value, encoded) in [("one", "b25l"), ("two", "dHdv")] {
        world.apply(source(&world, value)).await;
        world.copy(0, "Secret", "key", |copy| copy["data"]["key"] == encoded).await;
    }
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n", "a token without an end is asked for once");
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let world = World::new("logins-certificate").await;
    let identity = world.followers[0].client_certificate(&world.user()).unwrap();
    let encoded = |pem: &str| STANDARD.encode(pem);
    let user =
        json!({"client-certificate-data": encoded(&identity.certificate), "client-key-data": encoded(&identity.key)});
    let _towline = Towline::start(&world, &with_user(&world, user), &[]);
    let mark = world.audit(0).mark();
    world.apply(source(&world, "one")).await;
    world.copy(0, "Secret", "key", |_| true).await;
    let writes = world.audit(0).since(mark).await.unwrap().by(&world.user()).writes();
    assert_eq!(writes.len(), 1, "{writes}");
}
