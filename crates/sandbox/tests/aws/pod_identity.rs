//! The agent of EKS Pod Identity.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use aws_config::ecs::EcsCredentialsProvider;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use controlplane::Scratch;
use sandbox::{Association, PodIdentityAgent, Role};
use serde_json::{Value, json};

use crate::makers::{FOLLOWER, Ground, HUB, REGION, allow, code, follower_trust, trust};

const SERVICE: &str = "pods.eks.amazonaws.com";

/// A hub whose role is for pods.
fn start(action: &Value) -> (Ground, Scratch, PodIdentityAgent) {
    let ground = Ground::new();
    let policy = trust(&json!({"Service": SERVICE}), action, &json!({}));
    let role = Role::new(HUB, &policy).unwrap();
    let role = role.with_policy(&allow(&json!(["sts:AssumeRole", "sts:TagSession"]), FOLLOWER)).unwrap();
    ground.aws.change(|world| world.add_role(role));
    let scratch = Scratch::new("pod-identity").unwrap();
    let [region, cluster, namespace, service_account, pod] =
        [REGION, "hub", "towline", "towline", "towline-0"].map(ToOwned::to_owned);
    let association = Association { role: HUB.to_owned(), region, cluster, namespace, service_account, pod };
    let agent = PodIdentityAgent::start(&ground.aws, association, scratch.path()).unwrap();
    (ground, scratch, agent)
}

/// Asks the agent as its protocol says: a GET with the token as it is in the file.
fn ask(agent: &PodIdentityAgent, token: &str) -> (u16, String) {
    let url = agent.url();
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: {token}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Set for the process that plays the pod.
const POD: &str = "SANDBOX_TEST_POD";

#[test]
fn the_sdk_in_a_pod_finds_its_way() {
    let (ground, _scratch, agent) = start(&json!(["sts:AssumeRole", "sts:TagSession"]));
    let pod = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pod_identity::the_pod"])
        .env("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url())
        .env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", agent.token_file())
        .env(POD, ground.aws.url())
        .output()
        .unwrap();
    assert!(pod.status.success(), "{}", String::from_utf8_lossy(&pod.stdout));
    let seen: Vec<_> = ground.aws.calls().into_iter().map(|call| (call.operation, call.code)).collect();
    let expected = [("GetCredentials", "OK"), ("GetCallerIdentity", "OK")];
    assert_eq!(seen, expected.map(|(operation, code)| (operation.to_owned(), code.to_owned())));
}

/// Not a test of its own: the provider of the SDK reads its environment, which a test cannot change for itself.
#[tokio::test]
async fn the_pod() {
    let Ok(endpoint) = std::env::var(POD) else { return };
    let provider = EcsCredentialsProvider::builder().build();
    let config = aws_config::SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .region(aws_config::Region::new(REGION))
        .endpoint_url(endpoint)
        .credentials_provider(SharedCredentialsProvider::new(provider))
        .build();
    let identity = aws_sdk_sts::Client::new(&config).get_caller_identity().send().await.unwrap();
    assert_eq!(identity.account(), Some("111111111111"));
}

fn credentials(body: &str) -> Credentials {
    let answer: Value = serde_json::from_str(body).unwrap();
    let text = |name: &str| answer[name].as_str().unwrap().to_owned();
    Credentials::new(text("AccessKeyId"), text("SecretAccessKey"), Some(text("Token")), None, "test")
}

#[tokio::test]
async fn a_pod_gets_a_session_whose_tags_go_on_into_every_role() {
    let (ground, _scratch, agent) = start(&json!(["sts:AssumeRole", "sts:TagSession"]));
    let token = fs::read_to_string(agent.token_file()).unwrap();
    let (status, body) = ask(&agent, &token);
    assert_eq!(status, 200, "{body}");
    let hub = credentials(&body);
    let identity = ground.sts(&hub).get_caller_identity().send().await.unwrap();
    let prefix = "arn:aws:sts::111111111111:assumed-role/towline-hub/eks-hub-towline-0-";
    assert!(identity.arn().unwrap().starts_with(prefix), "{identity:?}");
    assert!(hub.session_token().unwrap().len() > 900);

    // A trust policy without sts:TagSession is the mistake that everybody makes.
    assert_eq!(code(ground.assume_follower(&hub).send().await), "AccessDenied");
    ground.set_trust(&follower_trust(&json!(["sts:AssumeRole", "sts:TagSession"])));
    assert_eq!(code(ground.assume_follower(&hub).send().await), "OK");
    assert_eq!(code(ground.assume_follower(&hub).duration_seconds(3601).send().await), "ValidationError");
    let secrets = ground.aws.secrets();
    assert!([token.as_str(), hub.secret_access_key()].iter().all(|secret| secrets.iter().any(|known| known == secret)));
}

#[tokio::test]
async fn tags_of_a_pod_may_be_asked_for_in_a_trust_policy() {
    let (ground, _scratch, agent) = start(&json!(["sts:AssumeRole", "sts:TagSession"]));
    let hub = credentials(&ask(&agent, &fs::read_to_string(agent.token_file()).unwrap()).1);
    for (namespace, verdict) in [("towline", "OK"), ("other", "AccessDenied")] {
        let condition = json!({"StringEquals": {"aws:PrincipalTag/kubernetes-namespace": namespace}});
        let action = json!(["sts:AssumeRole", "sts:TagSession"]);
        ground.set_trust(&trust(&json!({"AWS": HUB}), &action, &condition));
        assert_eq!(code(ground.assume_follower(&hub).send().await), verdict, "{namespace}");
    }
}

#[test]
fn the_token_is_that_in_the_file_now() {
    let (ground, _scratch, agent) = start(&json!(["sts:AssumeRole", "sts:TagSession"]));
    let old = fs::read_to_string(agent.token_file()).unwrap();
    agent.rotate().unwrap();
    let new = fs::read_to_string(agent.token_file()).unwrap();
    assert_eq!(ask(&agent, &old).0, 400);
    assert_eq!(ask(&agent, "").0, 400);
    assert_eq!(ask(&agent, &new).0, 200);
    let codes: Vec<String> = ground.aws.calls().into_iter().map(|call| call.code).collect();
    assert_eq!(codes, ["InvalidTokenException", "InvalidRequestException", "OK"]);
}

#[test]
fn a_role_for_pods_must_allow_tags() {
    let (_ground, _scratch, agent) = start(&json!("sts:AssumeRole"));
    let (status, body) = ask(&agent, &fs::read_to_string(agent.token_file()).unwrap());
    assert_eq!(status, 400);
    assert!(body.contains("AccessDeniedException"), "{body}");
}
