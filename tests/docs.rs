//! The documentation says what is true: its examples are taken, its flags, metrics and messages are the program's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::use_debug,
    reason = "a test that cannot go on has failed"
)]

#[path = "docs/cli.rs"]
mod cli;
#[path = "docs/markdown.rs"]
mod markdown;
#[path = "iam/moto.rs"]
mod moto;
#[path = "docs/stranger.rs"]
mod stranger;

use base64::{Engine, engine::general_purpose::STANDARD};
use cli::Cli;
use markdown::Document;
use rcgen::{CertificateParams, KeyPair};
use std::process::Command;
use stranger::Stranger;
use towline::{api::follower, aws::error::AwsError, telemetry::metrics::Metrics};

const AWS: &str = include_str!("../docs/aws.md");
const README: &str = include_str!("../README.md");

/// The base64 of a certificate, in the place of `LS0t…`.
fn with_authority(text: &str) -> String {
    let parameters = CertificateParams::new(["example.com".to_owned()]).unwrap();
    let certificate = parameters.self_signed(&KeyPair::generate().unwrap()).unwrap();
    text.replace("LS0t…", &STANDARD.encode(certificate.pem()))
}

#[test]
fn every_followers_file_is_taken() {
    let (aws, readme) = (Document::read(AWS), Document::read(README));
    let files: Vec<&str> = aws.files("followers.yaml").chain(readme.files("followers.yaml")).collect();
    assert_eq!(files.len(), 5);
    for text in files {
        let listing = follower::parse(&with_authority(text)).unwrap();
        assert!(listing.nameless.is_empty() && !listing.followers.is_empty(), "{text}");
        for (name, follower) in &listing.followers {
            assert!(follower.is_ok(), "{name:?}: {follower:?}");
        }
    }
}

#[test]
fn every_command_flag_and_variable_is_known_to_the_program() {
    let cli = Cli::ask();
    for (name, text) in [("docs/aws.md", AWS), ("README.md", README)] {
        let document = Document::read(text);
        let mut seen = 0;
        for typed in document.typed() {
            cli.check(&typed).unwrap_or_else(|why| panic!("{name}: `{typed}`: {why}"));
            seen += 1;
        }
        assert!(seen > 20, "{name}: {seen}");
    }
}

#[test]
fn a_flag_or_a_command_that_is_not_there_is_noticed() {
    let cli = Cli::ask();
    for wrong in [
        "--folowers-file",
        "towline rum",
        "towline run --follower",
        "towline manifests iam --dry-run",
        "export TOWLINE_FOLOWER=a",
        "args: [run, --folowers-file=x]",
    ] {
        assert!(cli.check(wrong).is_err(), "{wrong}");
    }
    let right =
        ["--followers-file F", "towline manifests iam --part rbac > a --b", "aws --profile hub", "TOWLINE_FOLLOWER=a"];
    right.iter().for_each(|typed| cli.check(typed).unwrap());
}

#[test]
fn the_lines_for_aws_auth_are_those_that_are_printed() {
    let mut iam = Command::new(env!("CARGO_BIN_EXE_towline"));
    iam.env_clear().args(["manifests", "iam", "--hub-account", "111111111111", "--part", "access"]);
    let output = iam.args(["--follower", "222222222222/eu-central-1/prod"]).output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let printed = printed.pointer("/0/mapRoles").and_then(serde_json::Value::as_str).unwrap();
    let document = Document::read(AWS);
    assert_eq!(document.files("aws-auth").collect::<Vec<_>>(), [printed.trim_end()]);
}

#[test]
fn what_a_code_means_is_what_the_program_says() {
    let document = Document::read(AWS);
    let rows: Vec<[&str; 4]> = document.rows().filter_map(|row| row.try_into().ok()).collect();
    let rows: Vec<_> = rows.into_iter().filter(|[.., pause]| pause.ends_with(" s")).collect();
    assert_eq!(rows.len(), 13);
    for [call, code, meaning, pause] in rows {
        let calls = ["sts:AssumeRole", "sts:AssumeRoleWithWebIdentity", "eks:DescribeCluster"];
        let meant = calls.into_iter().filter(|name| call == "any" || call == format!("`{name}`"));
        let meant: Vec<&str> = meant.collect();
        assert!(!meant.is_empty(), "{call}");
        for operation in meant {
            let (subject, caller) = ("a role".to_owned(), "somebody".to_owned());
            let error = AwsError::Refused { operation, subject, caller, code: code.trim_matches('`').into() };
            assert!(error.to_string().ends_with(&format!(": {meaning}")), "{error}\n{meaning}");
            assert_eq!(format!("{} s", error.pause().as_secs()), pause, "{call} {code}");
        }
    }
}

#[test]
fn the_metrics_are_those_of_the_program() {
    let metrics = Metrics::new();
    metrics.aws_request("sts", "AssumeRole", "OK");
    metrics.credentials_expire("arn", 1.0);
    let page = metrics.render();
    let document = Document::read(AWS);
    let named: Vec<&str> = document.codes().filter(|code| code.starts_with("towline_")).collect();
    assert_eq!(named.len(), 3);
    for series in named {
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let line = page.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {page}"));
        let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
        labels.for_each(|label| assert!(line.contains(&format!("{label}=\"")), "{label} in {line}"));
    }
}

#[tokio::test]
async fn what_is_to_be_typed_for_the_first_follower_can_be_typed() {
    let document = Document::read(AWS);
    let stranger = Stranger::arrive().await;
    for name in ["followers.yaml", "deployment.yaml"] {
        stranger.write(name, document.files(name).next().unwrap());
    }
    stranger.types(&document.script());
    let providers = stranger.aws(&["iam", "list-open-id-connect-providers", "--output", "text"]);
    assert!(providers.contains("oidc-provider/"), "{providers}");
    let subjects = stranger.kubectl("prod", "get clusterrolebinding towline-follower -o jsonpath={.subjects[*].name}");
    assert_eq!(subjects, "towline");
    let role = "get serviceaccount towline -n towline -o jsonpath={.metadata.annotations}";
    assert!(
        stranger
            .kubectl("mgmt", role)
            .contains(r#""eks.amazonaws.com/role-arn":"arn:aws:iam::111111111111:role/towline""#)
    );
    let file = "get configmap towline-followers -n towline -o jsonpath={.data.followers\\.yaml}";
    assert!(follower::parse(&stranger.kubectl("mgmt", file)).unwrap().followers.contains_key("prod"));
    let mounted = "get deployment towline -n towline -o jsonpath={.spec.template.spec.volumes[*].configMap.name}";
    assert_eq!(stranger.kubectl("mgmt", mounted), "towline-followers");
}
