//! kubed's deployment with its files unchanged, less its init container and the programs in its image.

use super::{
    daemon::Daemon,
    ground::CLUSTERS,
    makers::secret,
    tenant::{REGION, Tenant},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

const SESSION: &str = "kubed-of-mc";

#[tokio::test]
async fn kubeds_files_serve_as_they_are_without_the_programs_that_they_name() {
    let tenant = Tenant::new("kubed").await;
    let (world, credentials) = (&tenant.world, credentials(&tenant));
    show_management(&tenant);
    let kubeconfig = world.scratch.path().join("kubeconfig");
    for (cluster, profile) in [("blue", "mc-project"), ("green", "mc-project"), (CLUSTERS[0], "mc-mgmt")] {
        update_kubeconfig(&tenant, &credentials, &kubeconfig, cluster, profile);
    }
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    assert!(text.contains("command: aws") && text.contains("AWS_PROFILE"), "{text}");
    let assumed_by_the_cli = tenant.count("AssumeRole", "OK");
    // No PATH: neither aws nor aws-iam-authenticator could be found.
    let environment = [
        ("AWS_SHARED_CREDENTIALS_FILE", credentials.display().to_string()),
        ("AWS_ENDPOINT_URL", tenant.ground.aws.url()),
    ];
    let flags = ["--v=3", "--cluster-name=mc", "--config-source-namespace", &world.name, "--resync-period=10m"];
    let kubeconfig = ["--kubeconfig-file", kubeconfig.to_str().unwrap()];
    let towline = Daemon::start(&tenant, &environment, &[&flags[..], &kubeconfig].concat());
    world.apply(secret(&world.name, "key").data("token", "one").contexts("blue,green").build()).await;
    for index in [0, 1] {
        world.copy(index, "Secret", "key", |copy| copy["data"]["token"] == "b25l").await;
    }
    towline.logs("leads to the management cluster itself: skipped").await;
    assert_eq!(tenant.count("AssumeRole", "OK") - assumed_by_the_cli, 1, "{:#?}", tenant.calls());
    let session = format!("arn:aws:sts::{}:assumed-role/towline-follower/{SESSION}", tenant.accounts[1]);
    let shown = tenant
        .calls()
        .iter()
        .filter(|call| call.operation == "GetCallerIdentity")
        .any(|call| call.principal.as_ref() == Some(&session));
    assert!(shown, "the session of the profile: {:#?}", tenant.calls());
    assert!(!towline.logged().contains("the token is made by the plugin"));
    towline.shows_no_secret().await;
}

/// The shared file that kubed's image was given.
fn credentials(tenant: &Tenant) -> PathBuf {
    let token = tenant.web_identity(std::time::Duration::from_secs(3600));
    let text = format!(
        "[mc-mgmt]\nrole_arn = {}\nweb_identity_token_file = {}\n\n\
         [mc-project]\nrole_arn = {}\nsource_profile = mc-mgmt\nrole_session_name = {SESSION}\n",
        tenant.hub_role(),
        token.display(),
        tenant.role(0),
    );
    tenant.world.file("credentials", &text)
}

/// The management cluster is one that EKS knows, too, and the hub's role may look it up.
fn show_management(tenant: &Tenant) {
    let (hub, account) = (tenant.world.hub, &tenant.accounts[0]);
    let cluster = sandbox::Cluster::new(account, REGION, CLUSTERS[0]).at(&tenant.world.hub_proxy.url(), hub.ca_pem());
    let describe = serde_json::json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": cluster.arn()},
        {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": tenant.role(0)},
    ]});
    tenant.ground.aws.change(|world| {
        world.add_cluster(cluster);
        world.role_mut(&tenant.hub_role()).unwrap().set_policies(&[describe]).unwrap();
    });
}

/// What kubed's init container ran, by the real AWS CLI.
fn update_kubeconfig(tenant: &Tenant, credentials: &Path, kubeconfig: &Path, cluster: &str, profile: &str) {
    let cli = std::env::var_os("TEST_AWS").expect("TEST_AWS is not set: `cargo xtask test` installs the AWS CLI");
    let output = Command::new(cli)
        .env_clear()
        .env("HOME", tenant.world.scratch.path())
        .env("AWS_SHARED_CREDENTIALS_FILE", credentials)
        .env("AWS_ENDPOINT_URL", tenant.ground.aws.url())
        .args(["eks", "--region", REGION, "update-kubeconfig", "--name", cluster, "--alias", cluster])
        .args(["--profile", profile, "--kubeconfig"])
        .arg(kubeconfig)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
