//! `towline check`: followers that are good, and those with one thing wrong each.

use super::{
    cli::{self, Answer},
    world::{Rights, World, kubeconfig},
};
use controlplane::Behaviour;
use serde_json::{Value, json};

async fn check(world: &World, contexts: &[Value], words: &[&str]) -> Answer {
    let file = world.file("followers.kubeconfig", &kubeconfig(contexts));
    let mut all = vec!["check", "--kubeconfig-file", file.to_str().unwrap()];
    all.extend(words);
    let answer = cli::towline(&all).await;
    for token in &world.tokens {
        assert!(!answer.out.contains(token.as_str()) && !answer.complaints.contains(token.as_str()));
    }
    answer
}

/// The steps of a follower, as the text shows them: sign, name, rest.
fn steps<'a>(out: &'a str, follower: &str) -> Vec<(&'a str, &'a str, &'a str)> {
    let block = out.split("\n\n").find(|block| block.lines().next() == Some(follower));
    let lines = block.unwrap_or_else(|| panic!("no {follower} in {out}")).lines().skip(1);
    let split = |line: &'a str| {
        let (sign, rest) = line.trim_start().split_once(' ').unwrap();
        let (name, said) = rest.split_once(' ').unwrap();
        (sign, name, said.trim_start())
    };
    lines.filter(|line| !line.trim_start().starts_with('→')).map(split).collect()
}

/// The same without what they say.
fn signs<'a>(out: &'a str, follower: &str) -> Vec<(&'a str, &'a str)> {
    steps(out, follower).into_iter().map(|(sign, name, _)| (sign, name)).collect()
}

const REACHED: [(&str, &str); 5] = [("✓", "dns"), ("✓", "tcp"), ("✓", "tls"), ("✓", "certificate"), ("✓", "authority")];

#[tokio::test]
async fn a_follower_with_just_the_rights_of_the_manifest_is_good() {
    let world = World::new("check-good").await;
    let answer = check(&world, &[world.context("a", 0), world.context("b", 1)], &["a"]).await;
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.complaints);
    let there =
        [("✓", "credential"), ("✓", "user"), ("✓", "cluster"), ("✓", "rights"), ("✓", "rights"), ("✓", "rights")];
    let all: Vec<_> = REACHED.into_iter().chain(there).chain([("✓", "excess")]).collect();
    assert_eq!(signs(&answer.out, "a"), all, "{}", answer.out);
    let uid = world.followers[0].uid().await.unwrap();
    assert!(answer.out.contains(&format!("{} in ", world.user())) && answer.out.contains(&uid), "{}", answer.out);
    assert!(answer.out.ends_with("\nAll is good: 1 of 1.\n"), "{}", answer.out);
}

#[tokio::test]
async fn rights_in_named_namespaces_are_enough_for_those_and_no_others() {
    let world = World::with("check-named", Rights::Named).await;
    let contexts = [world.context("a", 0)];
    let named = check(&world, &contexts, &["--target-namespaces", &world.name]).await;
    assert_eq!(named.code, 0, "{}", named.out);
    let all = check(&world, &contexts, &[]).await;
    assert_eq!(all.code, 1, "{}", all.out);
    let missing: Vec<_> = steps(&all.out, "a").into_iter().filter(|(sign, ..)| *sign == "✗").collect();
    let copies = "missing get, list, watch, create, patch, delete";
    let wanted = [
        format!("secrets in all namespaces: {copies}"),
        format!("configmaps in all namespaces: {copies}"),
        "namespaces: missing get, list, watch".to_owned(),
    ];
    let wanted: Vec<_> = wanted.iter().map(|said| ("✗", "rights", said.as_str())).collect();
    assert_eq!(missing, wanted);
    assert!(all.out.contains("→ apply deploy/rbac/follower.yaml"), "{}", all.out);
}

#[tokio::test]
async fn somebody_without_any_right_is_told_who_they_are_and_what_to_grant() {
    let world = World::new("check-nothing").await;
    let mut context = world.context("a", 0);
    context["token"] = json!(world.followers[0].service_account_token(&world.name, "nobody").await.unwrap());
    let answer = check(&world, &[context], &[]).await;
    assert_eq!(answer.code, 1);
    let found = steps(&answer.out, "a");
    let user = found.iter().find(|(_, name, _)| *name == "user").unwrap();
    assert!(user.0 == "✓" && user.2.starts_with(&format!("system:serviceaccount:{}:nobody in ", world.name)));
    let cluster = found.iter().find(|(_, name, _)| *name == "cluster").unwrap();
    assert_eq!((cluster.0, cluster.2), ("✗", "not known: kube-system may not be read"));
    assert_eq!(found.iter().filter(|(sign, name, _)| (*sign, *name) == ("✗", "rights")).count(), 3);
    assert_eq!(found.last().map(|(sign, name, _)| (*sign, *name)), Some(("✓", "excess")));
}

#[tokio::test]
async fn system_masters_is_too_much() {
    let world = World::new("check-masters").await;
    let mut context = world.context("a", 0);
    context["token"] = json!(world.followers[0].admin_token());
    let answer = check(&world, &[context], &["--target-namespaces", "one,two"]).await;
    assert_eq!(answer.code, 1);
    let bad: Vec<_> = steps(&answer.out, "a").into_iter().filter(|(sign, ..)| *sign != "✓").collect();
    let found = "this identity is in system:masters, whom nothing limits; Towline needs 6 verbs on secrets and configmaps in 2 namespaces, and 3 on namespaces";
    assert_eq!(bad, [("✗", "excess", found)]);
    assert!(!answer.out.contains(world.followers[0].admin_token()));
}

#[tokio::test]
async fn a_right_that_lets_somebody_become_more_is_named() {
    let world = World::new("check-excess").await;
    let rule = json!({"apiGroups": [""], "resources": ["pods/exec", "users"], "verbs": ["create", "impersonate"]});
    let role = json!({"metadata": {"name": "check-excess-more"}, "rules": [rule]});
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    world.followers[0].create(&format!("{rbac}/clusterroles"), &role).await.unwrap();
    let binding = json!({
        "metadata": {"name": "check-excess-more"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "check-excess-more"},
        "subjects": [{"kind": "ServiceAccount", "namespace": world.name, "name": world.name}],
    });
    world.followers[0].create(&format!("{rbac}/clusterrolebindings"), &binding).await.unwrap();
    let answer = check(&world, &[world.context("a", 0)], &[]).await;
    assert_eq!(answer.code, 1);
    let bad: Vec<_> = steps(&answer.out, "a").into_iter().filter(|(sign, ..)| *sign != "✓").collect();
    assert!(
        bad.len() == 1 && bad[0].2.starts_with("this identity may impersonate users, create pods/exec; "),
        "{bad:?}"
    );
}

#[tokio::test]
async fn a_dead_follower_and_a_wrong_authority_are_told_and_harm_no_other() {
    let world = World::new("check-dead").await;
    world.proxies[1].set(Behaviour::Refuse).await.unwrap();
    let mut forged = world.context("forged", 2);
    forged["ca"] = world.context("a", 0)["ca"].clone();
    let answer = check(&world, &[world.context("a", 0), world.context("dead", 1), forged], &["--output", "json"]).await;
    assert_eq!(answer.code, 1);
    let told: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(told["good"], false);
    let reports = told["followers"].as_array().unwrap();
    let good: Vec<_> =
        reports.iter().map(|report| (report["follower"].as_str().unwrap(), report["good"] == true)).collect();
    assert_eq!(good, [("a", true), ("dead", false), ("forged", false)]);
    let failed = |report: &Value| {
        let steps = report["steps"].as_array().unwrap();
        let at = steps.iter().position(|step| step["result"] == "failed").unwrap();
        let after: Vec<_> = steps[at + 1..].iter().filter(|step| step["step"] != "authority").collect();
        assert!(!after.is_empty() && after.iter().all(|step| step["result"] == "notTried"), "{report}");
        assert!(!steps[at]["fix"].as_str().unwrap().is_empty());
        (steps[at]["step"].as_str().unwrap().to_owned(), steps[at]["found"].as_str().unwrap().to_owned())
    };
    let (step, _) = failed(&reports[1]);
    assert!(step == "tcp" || step == "tls", "{step}");
    let untrusted = "its certificate is not from the certificate authority of the connection";
    assert_eq!(failed(&reports[2]), ("tls".to_owned(), untrusted.to_owned()));
}

#[tokio::test]
async fn a_token_that_is_refused_is_told() {
    let world = World::new("check-refused").await;
    let mut context = world.context("a", 0);
    context["token"] = json!("not-a-token-of-this-cluster");
    let answer = check(&world, &[context], &[]).await;
    assert_eq!(answer.code, 1);
    let bad: Vec<_> = steps(&answer.out, "a").into_iter().filter(|(sign, ..)| *sign != "✓").collect();
    let wanted = [
        ("✗", "user", "the server does not accept the credentials"),
        ("·", "cluster", "not tried"),
        ("·", "rights", "not tried"),
        ("·", "excess", "not tried"),
    ];
    assert_eq!(bad, wanted);
    assert!(!answer.out.contains("not-a-token-of-this-cluster"));
}

/// A context of AWS's tools, while nothing says who we are on AWS.
#[tokio::test]
async fn an_identity_that_nothing_says_is_told_and_the_way_is_tried_still() {
    let world = World::new("check-nobody").await;
    let connection = json!({"eks": {
        "clusterName": "prod",
        "region": "eu-west-1",
        "endpoint": world.context("a", 0)["server"],
        "certificateAuthorityData": world.context("a", 0)["ca"],
    }});
    let file = world.file("followers.yaml", &json!([{"name": "a", "spec": {"connection": connection}}]).to_string());
    let answer = cli::towline(&["check", "--followers-file", file.to_str().unwrap()]).await;
    assert_eq!(answer.code, 1);
    let after = ["credential", "user", "cluster", "rights", "excess"].map(|name| ("·", name));
    let wanted: Vec<_> = [("✗", "identity")].into_iter().chain(REACHED).chain(after).collect();
    assert_eq!(signs(&answer.out, "a"), wanted, "{}", answer.out);
    assert!(answer.out.contains("no AWS identity"), "{}", answer.out);
}

#[tokio::test]
async fn a_plugin_that_fails_is_told() {
    let world = World::new("check-plugin").await;
    let script = world.file("plugin.sh", "exit 1\n");
    let mut broken = world.context("broken", 0);
    broken["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": [script], "interactiveMode": "Never",
    }});
    let answer = check(&world, &[broken], &[]).await;
    assert_eq!(answer.code, 1);
    let bad = steps(&answer.out, "broken").into_iter().find(|(sign, ..)| *sign == "✗").unwrap();
    assert_eq!(bad.1, "credential");
    assert!(bad.2.contains("run it by hand"), "{}", answer.out);
}

#[tokio::test]
async fn what_is_typed_wrong_is_a_mistake() {
    let world = World::new("check-usage").await;
    let answer = check(&world, &[world.context("a", 0)], &["b"]).await;
    assert_eq!((answer.code, answer.out.as_str()), (2, ""));
    assert_eq!(answer.complaints, "error: there is no follower b; there are a\n");
    let answer = cli::towline(&["check"]).await;
    assert_eq!(
        (answer.code, answer.complaints.as_str()),
        (2, "error: there are no followers: give --kubeconfig-file or --followers-file\n")
    );
}
