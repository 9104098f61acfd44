//! moto: STS and EKS as somebody else understood them.

use super::{
    daemon::plan,
    tenant::{REGION, Tenant},
    world::CAP,
};
use controlplane::{Process, eventually};
use serde_json::json;
use std::{path::PathBuf, process::Command};

/// moto's only account, unless a role leads to another.
const ACCOUNT: &str = "123456789012";

#[tokio::test]
async fn moto_hands_out_a_role_and_describes_a_cluster_to_it() {
    let tenant = Tenant::new("moto").await;
    let (endpoint, moto) = start(&tenant).await;
    create_cluster(&tenant, &endpoint);
    let role = |name: &str| format!("arn:aws:iam::{ACCOUNT}:role/{name}");
    let environment = [
        ("AWS_ROLE_ARN", role("towline")),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", tenant.world.file("token", "moto takes anything").display().to_string()),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_ENDPOINT_URL", endpoint.clone()),
    ];
    let connection = |cluster: &str| {
        let eks = json!({"clusterName": cluster, "region": REGION, "roleARN": role("towline-follower")});
        json!({"name": cluster, "spec": {"connection": {"eks": eks}}})
    };
    let file = json!([connection("blue"), connection("nowhere")]).to_string();
    let answer = plan(&tenant, &environment, &tenant.world.file("followers.yaml", &file)).await;
    // moto makes the authority up. Whatever is not a certificate is not trusted, and nobody is called.
    assert_eq!(answer["unreachable"]["blue"], "blue: certificate-authority: holds no PEM certificate", "{answer}");
    let missing = format!("eks:DescribeCluster of nowhere as {}: ResourceNotFoundException", role("towline-follower"));
    assert!(answer["unreachable"]["nowhere"].as_str().unwrap().starts_with(&missing), "{answer}");
    let asked = |what: &str, code: &str| {
        let log = moto.log();
        log.lines().filter(|line| line.contains(&format!("\"{what} HTTP/1.1\" {code}"))).count()
    };
    assert_eq!((asked("POST /", "200"), asked("GET /clusters/blue", "200")), (2, 1), "{}", moto.log());
}

async fn start(tenant: &Tenant) -> (String, Process) {
    let log = tenant.world.scratch.path().join("moto.log");
    let arguments = ["-H", "127.0.0.1", "-p", "0"].map(str::to_owned);
    let mut moto = Process::start(&installed("TEST_MOTO_SERVER"), &arguments, log).unwrap();
    let mut listens = || {
        let (running, log) = (moto.check_running(), moto.log());
        // A line without an end is not all of it.
        let lines = log.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let address = lines.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
        std::future::ready(running.map(|()| address.map(str::to_owned)))
    };
    let endpoint = eventually("moto to listen", CAP, &mut listens).await.unwrap();
    (endpoint, moto)
}

fn create_cluster(tenant: &Tenant, endpoint: &str) {
    let role = format!("arn:aws:iam::{ACCOUNT}:role/eks");
    let output = Command::new(installed("TEST_AWS"))
        .env_clear()
        .env("HOME", tenant.world.scratch.path())
        .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_EC2_METADATA_DISABLED", "true")])
        .args(["--endpoint-url", endpoint, "--region", REGION, "eks", "create-cluster", "--name", "blue"])
        .args(["--role-arn", &role, "--resources-vpc-config", "subnetIds=subnet-1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A program that `cargo xtask test` has installed.
fn installed(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    PathBuf::from(path.unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`")))
}
