//! Towline with nothing around it but what a test gives it. Nothing that it says or shows may hold anything that AWS handed out.

use super::{canary, tenant::Tenant, towline::Towline, world::CAP};
use base64::{Engine, engine::general_purpose::STANDARD};
use controlplane::eventually;
use sandbox::Aws;
use serde_json::Value;
use std::{ops::Deref, path::Path, process::Command, time::Duration};

/// How every token begins.
const TOKEN: &str = "k8s-aws-v1.";

/// A running daemon. When it is dropped, its log must not hold a secret.
pub struct Daemon {
    towline: Towline,
    aws: &'static Aws,
}

impl Daemon {
    /// Starts `towline run` with these variables and no others.
    pub fn start(tenant: &Tenant, environment: &[(&str, String)], flags: &[&str]) -> Self {
        let home = tenant.world.scratch.path().display().to_string();
        let prepare = |command: &mut Command| {
            command.env_clear().env("HOME", &home).envs(environment.iter().map(|(name, value)| (name, value)));
        };
        Self { towline: Towline::run_as(&tenant.world, flags, prepare), aws: &tenant.ground.aws }
    }

    /// Waits until a follower is connected.
    pub async fn connects(&self, follower: &str) {
        let look = async || Ok((self.report(follower).await["connected"] == true).then_some(()));
        eventually(&format!("{follower} to be connected"), CAP, look).await.unwrap();
    }

    /// Waits until this stands as the problem of a follower in `/api/v1/followers`, and in the log; the whole of it.
    pub async fn complains(&self, follower: &str, text: &str) -> String {
        let look = async || {
            let problem = self.report(follower).await["problem"].as_str().unwrap_or_default().to_owned();
            Ok(problem.contains(text).then_some(problem))
        };
        let problem = eventually(&format!("{follower}: {text:?}"), CAP, look).await.unwrap();
        self.towline.logs(text).await;
        problem
    }

    /// What `/api/v1/followers` says about one.
    pub async fn report(&self, follower: &str) -> Value {
        remember(self.aws);
        let page = self.towline.json("/api/v1/followers").await;
        let reports = page["items"].as_array().unwrap();
        reports.iter().find(|report| report["follower"] == follower).cloned().unwrap_or_default()
    }

    /// Looks through all that can be seen from outside; the log is looked through at the end.
    pub async fn shows_no_secret(&self) {
        remember(self.aws);
        for page in ["/metrics", "/api/v1/followers", "/api/v1/sources", "/api/v1/deletions"] {
            self.towline.page(page).await;
        }
    }
}

impl Deref for Daemon {
    type Target = Towline;

    fn deref(&self) -> &Towline {
        &self.towline
    }
}

/// Before the log is looked through.
impl Drop for Daemon {
    fn drop(&mut self) {
        remember(self.aws);
    }
}

/// What `towline plan` says: whether every follower answered, and which of them did not, with the reason.
pub async fn plan(tenant: &Tenant, environment: &[(&str, String)], followers: &Path) -> Value {
    let world = &tenant.world;
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_towline"))
        .env_clear()
        .env("HOME", world.scratch.path())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .args(["plan", "--output", "json", "--local-sync=false", "--namespace", &world.name])
        .args(["--source-namespaces", &world.name, "--kubeconfig"])
        .arg(world.hub_kubeconfig())
        .arg("--followers-file")
        .arg(followers)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    remember(&tenant.ground.aws);
    canary::silent("a plan", &said);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(output.status.success(), answer["complete"] == true, "{said}");
    answer
}

/// From now on nothing may show what AWS has handed out so far.
fn remember(aws: &Aws) {
    aws.secrets().iter().for_each(|secret| canary::register(secret));
    canary::register(TOKEN);
}

#[tokio::test]
async fn whatever_aws_hands_out_would_be_noticed() {
    let tenant = Tenant::new("canary").await;
    let file = tenant.web_identity(Duration::from_secs(60));
    let secret = std::fs::read_to_string(file).unwrap();
    remember(&tenant.ground.aws);
    let token = format!("{TOKEN}{}", STANDARD.encode("https://sts.eu-central-1.amazonaws.com/"));
    for said in [secret.clone(), STANDARD.encode(format!("token {secret}")), format!("{:?}", secret.as_bytes()), token]
    {
        assert!(canary::shown(&format!("a line with {said} in it")).is_some(), "{said}");
    }
    assert_eq!(canary::shown("a line with nothing in it"), None);
}
