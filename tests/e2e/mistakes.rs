//! What cannot work is told in one clear line, with a code that is not 0, and nothing is lost by it.

use super::{
    makers::secret,
    towline::{Towline, refused},
    world::{World, kubeconfig},
};
use serde_json::{Value, json};
use std::{fs::Permissions, os::unix::fs::PermissionsExt, path::Path};

/// What it says when it cannot run: one line, at the end.
fn complaint((code, said): &(Option<i32>, String)) -> &str {
    assert!(code.is_some_and(|code| code != 0), "{code:?} {said}");
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
    assert!(!said.contains("panic"), "{said}");
    said.lines().last().unwrap_or_default().strip_prefix("error: ").unwrap_or_else(|| panic!("{said}"))
}

async fn says(flags: &[&str], what: &[&str]) {
    let refused = refused(flags).await;
    let complaint = complaint(&refused);
    for part in what {
        assert!(complaint.contains(part), "{flags:?}: {complaint:?} does not say {part:?}");
    }
}

/// Flags that get as far as the management cluster.
fn run<'a>(hub: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let mut flags = vec!["run", "--listen", "127.0.0.1:0", "--kubeconfig", hub.to_str().unwrap()];
    flags.extend(more);
    flags
}

/// The kubeconfig of the management cluster with one thing changed.
fn hub(world: &World, pointer: &str, value: Value) -> std::path::PathBuf {
    let text = world.hub.kubeconfig(&world.hub.url(), &world.hub_token);
    let mut config: Value = serde_json::from_str(&text).unwrap();
    *config.pointer_mut(pointer).unwrap() = value;
    world.file("bad-hub.kubeconfig", &config.to_string())
}

#[tokio::test]
async fn flags_that_make_no_sense_are_told_before_anything_else() {
    let table: [(&[&str], &[&str]); 4] = [
        (&["run", "--no-such-flag"], &["--no-such-flag"]),
        (&["run", "--deletion-delay", "soon"], &["--deletion-delay", "soon"]),
        (&["run", "--source-namespaces", "a", "--config-source-namespace", "b"], &["contradict each other"]),
        (&["run", "--local-sync=false"], &["there is nowhere to copy to"]),
    ];
    for (flags, parts) in table {
        let (code, said) = refused(flags).await;
        assert_eq!(code, Some(2), "{flags:?}: {said}");
        let first = said.lines().next().unwrap();
        assert!(first.starts_with("error: ") && parts.iter().all(|part| first.contains(part)), "{flags:?}: {said}");
    }
}

#[tokio::test]
async fn a_typo_in_a_policy_file_is_told_with_its_place() {
    let world = World::new("mistakes-policy").await;
    let policy = world.file("policy.yaml", "accept:\n- from: {namespaces: [certs]}\n  too: {}\n");
    let policy = policy.to_str().unwrap();
    says(&run(&world.hub_kubeconfig(), &["--policy-file", policy]), &[&format!("{policy}:3:3: "), "`too`"]).await;
}

#[tokio::test]
async fn a_management_kubeconfig_that_cannot_be_used_is_told() {
    let world = World::new("mistakes-hub").await;
    let good = world.hub_kubeconfig();
    says(&run(Path::new("/nowhere/kubeconfig"), &[]), &["/nowhere/kubeconfig: entity not found"]).await;
    says(&run(&world.file("bad", "{clusters: [secret"), &[]), &["is not a kubeconfig (line 1, column"]).await;
    says(&run(&world.file("empty", ""), &[]), &["current-context"]).await;
    says(&run(&good, &["--context", "nope"]), &["context nope", "there is no such context"]).await;
    says(
        &run(&hub(&world, "/clusters/0/cluster/server", json!("https://127.0.0.1:1")), &[]),
        &["the management cluster at https://127.0.0.1:1 cannot be used", "connection refused"],
    )
    .await;
    let other = world.context("a", 0)["ca"].clone();
    let wrong = hub(&world, "/clusters/0/cluster/certificate-authority-data", other);
    says(&run(&wrong, &[]), &["cannot be used", "certificate"]).await;
    says(&run(&hub(&world, "/users/0/user/token", json!("wrong")), &[]), &["cannot be used", "401 Unauthorized"]).await;
}

#[tokio::test]
async fn a_follower_kubeconfig_that_cannot_be_used_is_told() {
    let world = World::new("mistakes-followers").await;
    let good = world.hub_kubeconfig();
    let with = |file: &Path| file.to_str().unwrap().to_owned();
    let mark = world.hub.audit().mark();
    for (file, why) in [
        ("/nowhere/kubeconfig".to_owned(), "entity not found"),
        (with(&world.file("bad", "clusters: {")), "is not a kubeconfig"),
        (with(&world.file("empty", "")), "it holds no context"),
        (with(world.scratch.path()), "is a directory"),
    ] {
        says(&run(&good, &["--kubeconfig-file", &file]), &["--kubeconfig-file", &file, why]).await;
    }
    let writes = world.hub.audit().since(mark).await.unwrap().by(&world.user()).writes();
    assert!(writes.is_empty(), "{writes}");
}

#[tokio::test]
async fn a_kubeconfig_that_we_may_not_read_is_told_with_both_users() {
    // The scratch folder of a world is closed to others altogether.
    let (file, program) = (temporary("kubeconfig"), temporary("towline"));
    std::fs::write(&file, "{}").unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_towline"), &program).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let us = std::process::Command::new("id").arg("-u").output().unwrap().stdout;
    let us = String::from_utf8(us).unwrap().trim().to_owned();
    // Nothing is closed to root.
    let (nobody, them) =
        if us == "0" { (&["setpriv", "--reuid=65534", "--clear-groups"][..], "65534") } else { (&[][..], us.as_str()) };
    let mut line: Vec<&str> = nobody.to_vec();
    line.extend([program.to_str().unwrap(), "run", "--listen", "127.0.0.1:0", "--kubeconfig", file.to_str().unwrap()]);
    let output = std::process::Command::new(line[0]).args(&line[1..]).output();
    for path in [&file, &program] {
        std::fs::remove_file(path).unwrap();
    }
    let output = output.unwrap();
    let refused = (output.status.code(), String::from_utf8(output.stderr).unwrap());
    let expected = format!("{}: permission denied: mode 0000 of user {us}; we are user {them}", file.display());
    assert_eq!(complaint(&refused), expected);
}

fn temporary(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("towline-mistakes-{}-{name}", std::process::id()))
}

/// Takes rights from the world's account: the rules of its ClusterRole are these from now on.
async fn only(world: &World, cluster: &controlplane::Cluster, role: &str, rules: Value) {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{}-{role}", world.name);
    cluster.patch(&path, &json!({"rules": rules})).await.unwrap();
}

fn rule(resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [""], "resources": resources, "verbs": verbs})
}

const READ: [&str; 3] = ["get", "list", "watch"];

#[tokio::test]
async fn a_right_that_is_missing_in_the_management_cluster_is_named() {
    let world = World::new("mistakes-hub-rights").await;
    only(&world, world.hub, "sources", json!([rule(&["namespaces", "configmaps"], &READ)])).await;
    let towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    towline.logs("sources cannot be read: grant get, list and watch on secrets").await;
    let settings = super::makers::config_map(&world.name, "settings").data("key", "one").contexts("a");
    world.apply(settings.build()).await;
    world.copy(0, "ConfigMap", "settings", |_| true).await;
    drop(towline);
    only(&world, world.hub, "sources", json!([])).await;
    says(&run(&world.hub_kubeconfig(), &[]), &["cannot be used", "403 Forbidden", "grant get on namespaces"]).await;
}

#[tokio::test]
async fn a_right_that_is_missing_in_a_follower_is_named_and_holds_up_no_other() {
    let world = World::new("mistakes-rights").await;
    let copies = ["secrets", "configmaps"];
    let all = ["get", "list", "watch", "create", "patch", "delete"];
    let towline = Towline::start(&world, &world.contexts(&[("a", 0), ("b", 1)]), &["--deletion-delay", "1s"]);
    let source = |name: &str, value: &str| secret(&world.name, name).data("key", value).contexts("a, b").build();
    world.apply(source("key", "one")).await;
    for follower in [0, 1] {
        world.copy(follower, "Secret", "key", |_| true).await;
    }
    let without = |verb: &str| {
        let rest: Vec<&str> = all.into_iter().filter(|held| *held != verb).collect();
        json!([rule(&["namespaces"], &READ), rule(&copies, &rest)])
    };
    let others = async |value: &str| world.copy(1, "Secret", "key", |copy| copy["data"]["key"] == value).await;
    only(&world, world.followers[0], "follower", without("patch")).await;
    world.apply(source("key", "two")).await;
    towline.logs("grant patch on secrets").await;
    others("dHdv").await;
    only(&world, world.followers[0], "follower", without("create")).await;
    world.apply(source("new", "one")).await;
    world.event("Refused", |event| event["note"].as_str().unwrap().contains("grant create on secrets")).await;
    world.copy(1, "Secret", "new", |_| true).await;
    only(&world, world.followers[0], "follower", without("delete")).await;
    world.delete("Secret", "key").await;
    towline.logs("grant delete on secrets").await;
    world.gone(1, "Secret", "key").await;
    assert!(world.there(0, "Secret", "key").await.is_some());
}

#[tokio::test]
async fn a_follower_that_lets_us_read_nothing_is_told_with_the_rights_that_are_missing() {
    let world = World::new("mistakes-no-rights").await;
    only(&world, world.followers[0], "follower", json!([rule(&["namespaces"], &READ)])).await;
    let towline = Towline::start(&world, &kubeconfig(&[world.context("a", 0), world.context("b", 1)]), &[]);
    world.apply(secret(&world.name, "key").data("key", "one").contexts("a, b").build()).await;
    world.copy(1, "Secret", "key", |_| true).await;
    towline.logs("may not read secrets in all namespaces: grant get, list and watch").await;
    only(&world, world.followers[0], "follower", json!([])).await;
    world.proxies[0].retarget(world.followers[0].address()).await.unwrap();
    towline.logs("grant get on namespaces").await;
}
