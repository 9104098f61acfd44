//! `towline kubeconfig` and `towline token`, as kubectl uses them.

use super::{
    cli::{self, Answer},
    world::{World, kubeconfig},
};
use serde_json::json;
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
};
use tokio::process::Command;

/// kubectl with a kubeconfig, where `towline` is in the path and the environment holds AWS keys of nobody.
async fn kubectl(world: &World, file: &Path, words: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_BIN_EXE_towline")).parent().unwrap().to_owned();
    let path = std::env::join_paths([folder, PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).unwrap();
    let mut command = Command::new(world.followers[0].kubectl_path());
    command.arg("--kubeconfig").arg(file).arg("--cache-dir").arg(world.scratch.path()).args(words);
    command.env_clear().env("PATH", path).env("HOME", world.scratch.path());
    command.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").env("AWS_SECRET_ACCESS_KEY", "nobody's").kill_on_drop(true);
    command.output().await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A context by the world's own token, one by AWS's tools, and a follower that is declared: all of them lead to follower 0.
struct Files {
    contexts: PathBuf,
    followers: PathBuf,
    output: PathBuf,
}

fn files(world: &World) -> Files {
    let (plain, mut aws) = (world.context("plain", 0), world.context("aws", 0));
    aws["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "prod", "--output", "json"],
    }});
    let connection = json!({"eks": {
        "clusterName": "prod",
        "region": "eu-west-1",
        "endpoint": plain["server"],
        "certificateAuthorityData": plain["ca"],
    }});
    let followers = json!([{"name": "declared", "spec": {"connection": connection}}]);
    Files {
        contexts: world.file("contexts.kubeconfig", &kubeconfig(&[plain, aws])),
        followers: world.file("followers.yaml", &followers.to_string()),
        output: world.scratch.path().join("written.kubeconfig"),
    }
}

async fn write(files: &Files, words: &[&str]) -> Answer {
    let mut all = vec!["kubeconfig"];
    all.extend(words);
    all.extend(["--kubeconfig-file", files.contexts.to_str().unwrap()]);
    all.extend(["--followers-file", files.followers.to_str().unwrap()]);
    cli::towline(&all).await
}

#[tokio::test]
async fn kubectl_takes_what_is_written_and_asks_towline_for_tokens() {
    let world = World::new("kubeconfig-kubectl").await;
    let files = files(&world);
    let answer = write(&files, &["--replace-exec", "--output", files.output.to_str().unwrap()]).await;
    assert_eq!((answer.code, answer.out.as_str(), answer.complaints.as_str()), (0, "", ""));
    assert_eq!(std::fs::metadata(&files.output).unwrap().permissions().mode() & 0o777, 0o600);

    let contexts = kubectl(&world, &files.output, &["config", "get-contexts", "--output", "name"]).await;
    assert_eq!(text(&contexts.stdout), "aws\ndeclared\nplain\n", "{}", text(&contexts.stderr));
    let namespace = ["get", "--raw", "/api/v1/namespaces/kube-system", "--context"];
    let plain = kubectl(&world, &files.output, &[&namespace[..], &["plain"]].concat()).await;
    assert!(text(&plain.stdout).contains(r#""name":"kube-system""#), "{}", text(&plain.stderr));
    for context in ["declared", "aws"] {
        // The token comes, and this cluster does not know whom AWS would say it is from.
        let refused = kubectl(&world, &files.output, &[&namespace[..], &[context]].concat()).await;
        let said = text(&refused.stderr);
        assert!(said.contains("Unauthorized") || said.contains("must be logged in"), "{context}: {said}");
        assert!(!said.contains("exec"), "{context}: {said}");
    }
}

#[tokio::test]
async fn only_those_who_are_named_are_written_and_a_name_that_is_none_is_a_mistake() {
    let world = World::new("kubeconfig-chosen").await;
    let files = files(&world);
    let answer = write(&files, &["decl*"]).await;
    assert_eq!(answer.code, 0, "{}", answer.complaints);
    assert!(answer.out.contains("current-context: declared") && !answer.out.contains("plain"), "{}", answer.out);
    let answer = write(&files, &["declared", "gone"]).await;
    assert_eq!((answer.code, answer.out.as_str()), (2, ""));
    assert_eq!(answer.complaints, "error: there is no follower gone; there are aws, declared, plain\n");
}

#[tokio::test]
async fn a_follower_that_cannot_be_written_leaves_the_old_file_as_it_was() {
    let world = World::new("kubeconfig-kept").await;
    let files = files(&world);
    let old = world.file("written.kubeconfig", "old");
    world.file("followers.yaml", r#"[{"name": "broken", "spec": {"connection": {"eks": {"clusterName": "prod"}}}}]"#);
    let answer = write(&files, &["--output", old.to_str().unwrap()]).await;
    assert_eq!(answer.code, 1);
    assert!(answer.complaints.contains("broken: ") && answer.complaints.contains("region"), "{}", answer.complaints);
    assert_eq!(std::fs::read_to_string(old).unwrap(), "old");
}
