//! What `towline manifests iam` prints, before judges that know AWS and nothing of Towline: parliament and cfn-lint
//! (policies, templates), the AWS CLI with moto's IAM (what is typed), and a parser of Terraform's language.
//!
//! `cargo xtask test` installs them and says by variables where they are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::use_debug,
    reason = "a test that cannot go on has failed"
)]

#[path = "iam/judges.rs"]
mod judges;
#[path = "iam/moto.rs"]
mod moto;
#[path = "iam/terraform.rs"]
mod terraform;

use judges::{cfn_lint, parliament};
use moto::AwsCli;
use serde_json::{Value, json};
use std::process::Command;

/// A fleet in all ways in which flags change documents. Some names look like anything but text to a reader of YAML.
const WAYS: [&str; 4] = [
    "--follower 222222222222/eu-west-1/prod,222222222222/us-east-1/a_b-C,333333333333/eu-west-1/dev,\
     333333333333/us-east-1/on,333333333333/us-east-1/1_0,333333333333/us-east-1/0x1F,333333333333/us-east-1/1e3",
    "--follower 222222222222/eu-west-1/prod --irsa-issuer https://oidc.eks.eu-west-1.amazonaws.com/id/ABCDEF",
    "--follower 222222222222/eu-west-1/prod --external-id towline:eu --follower-trust hub-account \
     --hub-cluster eu-west-1/management --hub-role platform/towline --follower-role platform/towline-follower",
    "--follower 222222222222/cn-north-1/prod --external-id towline \
     --irsa-issuer https://oidc.eks.cn-north-1.amazonaws.com.cn/id/ABCDEF",
];

fn manifests(way: &str, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_towline"))
        .env_clear()
        .args(["manifests", "iam", "--hub-account", "111111111111"])
        .args(way.split_whitespace().chain(more.iter().copied()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{way}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn bundle(way: &str) -> Value {
    serde_json::from_str(&manifests(way, &[])).unwrap()
}

fn roles(bundle: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(&bundle["hub"]).chain(bundle["followers"].as_array().unwrap())
}

fn policies(role: &Value) -> impl Iterator<Item = (&String, &Value)> {
    role["policies"].as_object().unwrap().iter()
}

/// A trust policy as parliament can read it: it knows actions, resources and conditions, but nobody who is trusted; and of
/// web identity providers only those that AWS itself has.
fn without_principal(role: &Value) -> Value {
    let mut text = role["trustPolicy"].to_string();
    if let Some(provider) = role["trustPolicy"]["Statement"][0]["Principal"]["Federated"].as_str() {
        let (_, issuer) = provider.split_once("oidc-provider/").unwrap();
        text = text.replace(&format!("{issuer}:"), "cognito-identity.amazonaws.com:");
    }
    let mut policy: Value = serde_json::from_str(&text).unwrap();
    for statement in policy["Statement"].as_array_mut().unwrap() {
        assert!(statement.as_object_mut().unwrap().remove("Principal").is_some(), "{statement}");
        statement["Resource"] = role["arn"].clone();
    }
    policy
}

#[test]
fn parliament_finds_nothing_in_any_policy() {
    for way in WAYS {
        let bundle = bundle(way);
        for role in roles(&bundle) {
            for (name, policy) in policies(role) {
                assert_eq!(parliament(policy), "", "{way}: {name}");
            }
            assert_eq!(parliament(&without_principal(role)), "", "{way}: trust of {}", role["arn"]);
        }
    }
}

#[test]
fn parliament_finds_a_typo_and_what_does_not_belong_together() {
    let bundle = bundle(WAYS[2]);
    let policy = bundle["followers"][0]["policies"]["towline-describe-clusters"].to_string();
    let wrong = |from: &str, to: &str| {
        assert!(policy.contains(from), "{policy}");
        parliament(&serde_json::from_str(&policy.replace(from, to)).unwrap())
    };
    assert!(wrong("eks:DescribeCluster", "eks:DescribeClustr").contains("UNKNOWN_ACTION"));
    assert!(wrong(":cluster/", ":nodegroup/").contains("RESOURCE_MISMATCH"));
    let mut trust = without_principal(&bundle["followers"][0]);
    trust["Statement"][1]["Condition"] = trust["Statement"][0]["Condition"].clone();
    let found = parliament(&trust);
    assert!(found.contains("Unknown condition sts:ExternalId for action sts:TagSession"), "{found}");
}

#[test]
fn cfn_lint_finds_nothing_in_any_template() {
    for way in WAYS {
        for part in ["hub", "followers", "access"] {
            let template = manifests(way, &["--output", "cloudformation", "--part", part]);
            assert_eq!(cfn_lint(&template), "", "{way}: {part}");
        }
    }
}

#[test]
fn cfn_lint_finds_typos() {
    let of = |part| manifests(WAYS[2], &["--output", "cloudformation", "--part", part]);
    for (part, from, to) in [
        ("hub", "AssumeRolePolicyDocument", "AssumeRolePolicyDocumnt"),
        ("hub", "Effect: Allow", "Effect: Alow"),
        ("followers", "Ref: ExternalId", "Ref: ExternalID"),
        ("followers", "- Clusters", "- Cluster"),
        ("access", "AWS::EKS::AccessEntry", "AWS::EKS::AccesEntry"),
        ("access", "PrincipalArn", "PrincipalARN"),
        ("access", "ClusterName: prod", "ClusterName: on"),
    ] {
        let template = of(part);
        assert!(template.contains(from), "{from} is not in\n{template}");
        assert_ne!(cfn_lint(&template.replace(from, to)), "", "{to}");
    }
}

#[tokio::test]
async fn the_aws_cli_and_iam_take_what_the_document_says() {
    let cli = AwsCli::start().await;
    for (number, way) in WAYS.into_iter().enumerate() {
        let bundle = bundle(way);
        let mut made = 0;
        for role in roles(&bundle) {
            made += 1;
            let name = format!("way-{number}-{made}");
            let trust = role["trustPolicy"].to_string();
            let path = role["path"].as_str().unwrap();
            let create = ["iam", "create-role", "--role-name", &name, "--path", path];
            cli.run(&[&create[..], &["--assume-role-policy-document", &trust]].concat()).unwrap();
            // moto looks into a trust policy only when it takes the place of another.
            cli.run(&["iam", "update-assume-role-policy", "--role-name", &name, "--policy-document", &trust]).unwrap();
            for (policy, document) in policies(role) {
                let put = ["iam", "put-role-policy", "--role-name", &name, "--policy-name", policy];
                cli.run(&[&put[..], &["--policy-document", &document.to_string()]].concat()).unwrap();
            }
        }
        assert!(made > 1);
    }
    let typo =
        json!({"Version": "2012-10-17", "Statement": [{"Effect": "Alow", "Action": "sts:AssumeRole"}]}).to_string();
    let wrong = ["iam", "update-assume-role-policy", "--role-name", "way-0-1", "--policy-document", &typo];
    assert!(cli.run(&wrong).unwrap_err().contains("MalformedPolicyDocument"));
}

#[tokio::test]
async fn the_aws_cli_understands_the_commands_for_access_entries() {
    let cli = AwsCli::start().await;
    // Checks what is asked and prints what an answer looks like.
    let check = |words: &[&str]| cli.run(&[words, &["--generate-cli-skeleton", "output"]].concat());
    let bundle = bundle(WAYS[0]);
    let access = bundle["access"].as_array().unwrap();
    assert_eq!(access.len(), 7);
    for one in access {
        let mut words: Vec<&str> = one["command"].as_str().unwrap().split(' ').skip(1).collect();
        check(&words).unwrap();
        let flag = words.iter().position(|word| *word == "--kubernetes-groups").unwrap();
        words[flag] = "--kubernetes-group-names";
        assert!(check(&words).unwrap_err().contains("Unknown options"));
    }
    let mut entry = access[0]["accessEntry"].clone();
    let from_file = |entry: &Value| check(&["eks", "create-access-entry", "--cli-input-json", &entry.to_string()]);
    from_file(&entry).unwrap();
    entry["kubernetesGroups"] = json!("towline");
    assert!(from_file(&entry).unwrap_err().contains("kubernetesGroups"));
}

#[test]
fn nobody_becomes_master_and_nothing_is_a_wildcard() {
    for way in WAYS {
        let formats = [
            manifests(way, &[]),
            manifests(way, &["--output", "terraform"]),
            manifests(way, &["--output", "cloudformation", "--part", "followers"]),
            manifests(way, &["--output", "cloudformation", "--part", "access"]),
            manifests(way, &["--part", "rbac"]),
        ];
        for text in formats {
            assert!(!text.contains("system:masters") && !text.contains('*'), "{way}: {text}");
        }
        let trust = bundle(way)["followers"][0]["trustPolicy"].to_string();
        assert_eq!(trust.contains(":root"), way.contains("hub-account"), "{way}: {trust}");
    }
}
