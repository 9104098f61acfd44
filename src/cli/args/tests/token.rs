use super::*;
use crate::aws::{
    chain::{Role, SessionName},
    settings::NodeRole,
};

const ARN: &str = "arn:aws:iam::222222222222:role/towline-follower";

fn token(flags: &str) -> Token {
    match task(&format!("token {flags}")) {
        Ok(Task::Token(token)) => token,
        Ok(other) => panic!("not token: {}", name(&other)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_cluster_is_enough_for_a_token() {
    let plain =
        Token { cluster: "prod".to_owned(), region: None, role: None, profile: None, node_role: NodeRole::Refused };
    assert_eq!(token("--cluster-name prod"), plain);
    assert_eq!(token("--cluster-id 0123-ab").cluster, "0123-ab");
}

#[test]
fn every_flag_of_token_arrives() {
    let role = Role {
        external_id: Some("x:1".to_owned()),
        session_name: SessionName::Named("me".to_owned()),
        ..Role::new(ARN)
    };
    let flags = format!(
        "--cluster-name prod --region eu-west-1 --role-arn {ARN} --external-id x:1 --session-name me --profile p \
         --aws-allow-node-role"
    );
    let wanted = Token {
        cluster: "prod".to_owned(),
        region: Some("eu-west-1".to_owned()),
        role: Some(role),
        profile: Some("p".to_owned()),
        node_role: NodeRole::Allowed,
    };
    assert_eq!(token(&flags), wanted);
}

#[test]
fn mistakes_of_token_are_told() {
    for (flags, said) in [
        ("", "--cluster-name <NAME>|--cluster-id <ID>"),
        ("--cluster-name a --cluster-id b", "cannot be used with"),
        ("--cluster-name a --external-id abc", "--role-arn"),
        ("--cluster-name a --session-name abc", "--role-arn"),
        ("--cluster-name a --role-arn towline", "arn:PARTITION:iam"),
        ("--cluster-name a --region west", "eu-west-1"),
        ("--cluster-name -", "letters, digits"),
    ] {
        let told = mistake(&format!("token {flags}"));
        assert!(told.contains(said), "{flags}: {told}");
    }
}
