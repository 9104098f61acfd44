use super::*;
use crate::api::follower;

const CA: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
const AWS: &str = "{apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [--region, eu-west-1, eks, get-token, --cluster-name, prod], env: [{name: AWS_PROFILE, value: p}]}";

fn connections() -> AwsConnections {
    AwsConnections::of_nobody()
}

fn kubeconfig(user: &str) -> Kubeconfig {
    let text = format!(
        "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:6443'}}}}]\nusers: [{{name: u, user: {user}}}]\ncontexts: [{{name: x, context: {{cluster: c, user: u, namespace: team}}}}]\n"
    );
    kubeconfig::parse("test", &text).unwrap()
}

fn context(user: &str) -> Endpoint {
    match connections().context(&kubeconfig(user), "x") {
        Ok(Connection::Direct(endpoint)) => endpoint,
        Ok(Connection::Eks(_)) => panic!("no context asks EKS where it is"),
        Err(why) => panic!("{why}"),
    }
}

async fn refusal(endpoint: &Endpoint) -> String {
    endpoint.login().bearer().await.err().map(|error| error.to_string()).unwrap_or_default()
}

#[tokio::test]
async fn a_token_that_awss_tools_would_make_is_made_here() {
    let endpoint = context(&format!("{{exec: {AWS}}}"));
    assert_eq!(endpoint.default_namespace(), Some(&"team".into()));
    let said = refusal(&endpoint).await;
    assert!(said.starts_with("there is no AWS profile p"), "{said}");
}

#[tokio::test]
async fn an_entry_of_a_version_that_nobody_speaks_any_more_is_understood_all_the_same() {
    let endpoint = context(&format!("{{exec: {}}}", AWS.replace("v1beta1", "v1alpha1")));
    assert!(refusal(&endpoint).await.contains("AWS profile p"));
}

#[tokio::test]
async fn a_token_beside_the_entry_wins() {
    let endpoint = context(&format!("{{token: t, exec: {AWS}}}"));
    assert_eq!(endpoint.login().bearer().await.unwrap().unwrap(), "Bearer t");
}

#[tokio::test]
async fn any_other_plugin_is_run_as_it_is() {
    let endpoint =
        context("{exec: {apiVersion: client.authentication.k8s.io/v1, command: towline-no-such-plugin, args: [eks]}}");
    assert!(refusal(&endpoint).await.contains("towline-no-such-plugin does not start"));
}

#[test]
fn who_signs_tells_one_context_from_another() {
    let (one, other) =
        (context(&format!("{{exec: {AWS}}}")), context(&format!("{{exec: {}}}", AWS.replace("prod", "dev"))));
    assert!(one.fingerprint() != other.fingerprint());
    assert!(one.fingerprint() == context(&format!("{{exec: {AWS}}}")).fingerprint());
}

fn declared(connections: &AwsConnections, connection: &str) -> Result<Connection, String> {
    let text = format!("- name: a\n  spec: {{connection: {{{connection}}}}}\n");
    let mut listing = follower::parse(&text).unwrap();
    let follower = listing.followers.remove(&FollowerName::from("a")).unwrap().unwrap();
    connections.declared(&follower.name, &follower.spec.connection)
}

#[test]
fn eks_is_asked_where_a_cluster_is_unless_that_is_declared() {
    let asked = declared(&connections(), "eks: {clusterName: prod, region: eu-west-1}");
    assert!(matches!(asked, Ok(Connection::Eks(_))));
    let connections = connections().allowing_only("arn:aws:iam::*:role/towline");
    let role = |name: &str| {
        format!("eks: {{clusterName: prod, region: eu-west-1, roleARN: 'arn:aws:iam::111122223333:role/{name}'}}")
    };
    assert!(declared(&connections, &role("towline")).is_ok());
    let refused = declared(&connections, &role("admin")).err();
    let expected = "roleARN arn:aws:iam::111122223333:role/admin: --allowed-role-arns does not allow it";
    assert_eq!(refused.as_deref(), Some(expected));
}

#[test]
fn a_certificate_authority_that_is_none_is_told() {
    let text = format!(
        "eks: {{clusterName: prod, region: eu-west-1, endpoint: 'https://127.0.0.1:1', certificateAuthorityData: {CA}}}"
    );
    assert_eq!(
        declared(&connections(), &text).err().as_deref(),
        Some("a: certificate-authority: is not usable for TLS")
    );
}

#[test]
fn a_source_identity_goes_into_the_roles_that_are_declared() {
    let role = "eks: {clusterName: prod, region: eu-west-1, roleARN: 'arn:aws:iam::111122223333:role/towline'}";
    let features = |connections: AwsConnections| match declared(&connections, role) {
        Ok(Connection::Eks(eks)) => String::from_utf8(eks.principal().features()).unwrap(),
        _ => panic!("{role}"),
    };
    assert!(!features(connections()).contains("towline-mgmt"));
    assert!(features(connections().with_source_identity(Some("towline-mgmt".into()))).contains("towline-mgmt"));
}
