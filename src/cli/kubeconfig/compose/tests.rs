use super::*;
use crate::{
    api::follower::parse,
    cli::args::{self, Surroundings, Task, Token},
};

const FILE: &str = "
- name: prod
  spec:
    connection:
      eks: {clusterName: prod, region: eu-west-1, roleARN: 'arn:aws:iam::222222222222:role/towline', externalID: x:1, sessionName: me}
      proxyURL: http://user:hunter2@proxy:3128
- name: own
  spec:
    connection:
      awsIAMAuthenticator: {clusterID: 'own.example/1', server: 'https://own.example', region: eu-west-1, certificateAuthorityData: AUTHORITY}
      tlsServerName: kubernetes
";

fn connection(name: &str) -> Connection {
    let authority = rcgen::generate_simple_self_signed(vec!["own.example".to_owned()]).unwrap().cert.pem();
    let listing = parse(&FILE.replace("AUTHORITY", &STANDARD.encode(authority))).unwrap();
    listing.followers[&FollowerName::from(name)].as_ref().unwrap().spec.connection.clone()
}

fn place(token_id: &str) -> Place {
    Place { server: "https://there".to_owned(), authority: b"PEM".to_vec(), token_id: token_id.to_owned() }
}

/// Read as kubectl would: from the text.
fn read(parts: Vec<Part>) -> Kubeconfig {
    Kubeconfig::from_yaml(&text(parts).unwrap()).unwrap()
}

fn user(config: &Kubeconfig, name: &str) -> AuthInfo {
    config.auth_infos.iter().find(|user| user.name == name).unwrap().auth_info.clone().unwrap()
}

/// What the plugin would be asked for.
fn asked(exec: &ExecConfig) -> Token {
    assert_eq!(exec.command.as_deref(), Some("towline"));
    let words = std::iter::once("towline".to_owned()).chain(exec.args.clone().unwrap());
    match args::read(words, &Surroundings::default()) {
        Ok(Task::Token(token)) => token,
        Ok(_) => panic!("another command"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_declared_follower_becomes_a_context_whose_tokens_towline_makes() {
    let part = declared(&"prod".into(), &connection("prod"), &place("prod"), NodeRole::Refused);
    let config = read(vec![part]);
    assert_eq!(config.current_context.as_deref(), Some("prod"));
    let cluster = config.clusters[0].cluster.clone().unwrap();
    assert_eq!(cluster.server.as_deref(), Some("https://there"));
    assert_eq!(cluster.certificate_authority_data.as_deref(), Some("UEVN"));
    assert_eq!(cluster.proxy_url.as_deref(), Some("http://user:hunter2@proxy:3128"));
    let exec = user(&config, "prod").exec.unwrap();
    assert_eq!(
        (exec.api_version.as_deref(), exec.interactive_mode.clone()),
        (Some(EXEC_VERSION), Some(ExecInteractiveMode::Never))
    );
    let role = Role {
        external_id: Some("x:1".to_owned()),
        session_name: SessionName::Named("me".to_owned()),
        ..Role::new("arn:aws:iam::222222222222:role/towline")
    };
    let wanted = Token {
        cluster: "prod".to_owned(),
        region: Some("eu-west-1".to_owned()),
        role: Some(role),
        profile: None,
        node_role: NodeRole::Refused,
    };
    assert_eq!(asked(&exec), wanted);
}

#[test]
fn an_id_that_is_no_name_is_told_as_an_id_and_the_nodes_role_stays_allowed() {
    let part = declared(&"own".into(), &connection("own"), &place("own.example/1"), NodeRole::Allowed);
    let config = read(vec![part]);
    assert_eq!(config.clusters[0].cluster.as_ref().unwrap().tls_server_name.as_deref(), Some("kubernetes"));
    let exec = user(&config, "own").exec.unwrap();
    assert!(exec.args.as_ref().unwrap().contains(&"--cluster-id=own.example/1".to_owned()));
    assert_eq!(asked(&exec).node_role, NodeRole::Allowed);
}

const CONTEXTS: &str = "
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: /etc/ca.crt}}]
users:
- {name: token, user: {token: hunter2}}
- name: aws
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: aws
      args: [--region, eu-west-1, eks, get-token, --cluster-name, prod, --output, json]
      env: [{name: AWS_PROFILE, value: mc-project}]
- {name: forwarding, user: {exec: {apiVersion: v1, command: aws-iam-authenticator, args: [token, -i, id, -r, 'arn:r', --forward-session-name, --region, eu-west-1]}}}
- {name: elsewhere, user: {exec: {apiVersion: v1, command: gke-gcloud-auth-plugin}}}
contexts:
- {name: a, context: {cluster: c, user: token, namespace: team}}
- {name: b, context: {cluster: c, user: aws}}
- {name: f, context: {cluster: c, user: forwarding}}
- {name: g, context: {cluster: c, user: elsewhere}}
- {name: lost, context: {cluster: c, user: nobody}}
";

fn copy(names: &[&str], aws_tools: AwsTools) -> Kubeconfig {
    let config = Kubeconfig::from_yaml(CONTEXTS).unwrap();
    let part = |name: &&str| copied(&config, &(*name).into(), aws_tools, NodeRole::Refused).unwrap();
    read(names.iter().map(part).collect())
}

#[test]
fn a_context_is_copied_as_it_is_under_its_own_name_throughout() {
    let config = copy(&["a", "b"], AwsTools::Keep);
    assert_eq!(config.current_context, None);
    let context = config.contexts[0].context.clone().unwrap();
    let names = (context.cluster.as_str(), context.user.as_deref(), context.namespace.as_deref());
    assert_eq!(names, ("a", Some("a"), Some("team")));
    assert_eq!(config.clusters[1].cluster.as_ref().unwrap().certificate_authority.as_deref(), Some("/etc/ca.crt"));
    assert_eq!(secrecy::ExposeSecret::expose_secret(&user(&config, "a").token.unwrap()), "hunter2");
    assert_eq!(user(&config, "b").exec.unwrap().command.as_deref(), Some("aws"));
}

#[test]
fn aws_tools_are_replaced_where_all_that_they_are_told_can_be_said() {
    let config = copy(&["a", "b", "f", "g"], AwsTools::Replace);
    let exec = user(&config, "b").exec.unwrap();
    let token = asked(&exec);
    assert_eq!((token.cluster.as_str(), token.region.as_deref()), ("prod", Some("eu-west-1")));
    assert_eq!(exec.env.unwrap()[0]["value"], "mc-project", "the entry's own variables stay");
    assert_eq!(exec.api_version.as_deref(), Some(EXEC_VERSION));
    for (name, command) in [("f", "aws-iam-authenticator"), ("g", "gke-gcloud-auth-plugin")] {
        assert_eq!(user(&config, name).exec.unwrap().command.as_deref(), Some(command));
    }
}

#[test]
fn a_context_without_its_user_is_told() {
    let config = Kubeconfig::from_yaml(CONTEXTS).unwrap();
    let error = copied(&config, &"lost".into(), AwsTools::Keep, NodeRole::Refused).err();
    assert_eq!(error.as_deref(), Some("the kubeconfig has no user for this context"));
}
