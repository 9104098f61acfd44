//! Tables: what documents say to questions.

use serde_json::{Value, json};

use super::{Asker, Context, Policy, PolicyError, Question, Reach, Verdict};

const ROLE: &str = "arn:aws:iam::222222222222:role/towline/follower";
const SESSION: &str = "arn:aws:sts::111111111111:assumed-role/hub/towline";
const HUB: &str = "arn:aws:iam::111111111111:role/hub";
const PROVIDER: &str = "arn:aws:iam::111111111111:oidc-provider/oidc.example.com/id/A";

const BY_NAME: Verdict = Verdict::Allow(Reach::Asker);
const BY_ACCOUNT: Verdict = Verdict::Allow(Reach::Account);

fn hub() -> Asker {
    Asker::Identity { account: "111111111111".into(), arns: vec![SESSION.into(), HUB.into()] }
}

fn document(statements: Value) -> Value {
    json!({"Version": "2012-10-17", "Statement": statements})
}

fn trust(principal: Value, condition: Value) -> Policy {
    let statement =
        json!({"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole", "Condition": condition});
    Policy::trust(&document(statement)).unwrap()
}

fn judge(policy: &Policy, asker: &Asker, action: &str, context: &Context) -> Verdict {
    policy.judge(&Question { asker, action, resource: ROLE, context })
}

#[test]
fn principals_are_reached_by_name_or_by_account() {
    for (principal, asker, verdict) in [
        (json!({"AWS": HUB}), hub(), BY_NAME),
        (json!({"AWS": SESSION}), hub(), BY_NAME),
        (json!({"AWS": ["arn:aws:iam::333333333333:root", HUB]}), hub(), BY_NAME),
        (json!({"AWS": "arn:aws:iam::111111111111:root"}), hub(), BY_ACCOUNT),
        (json!({"AWS": "111111111111"}), hub(), BY_ACCOUNT),
        (json!({"AWS": ["111111111111", HUB]}), hub(), BY_NAME),
        (json!("*"), hub(), BY_NAME),
        (json!({"AWS": "*"}), hub(), BY_NAME),
        (json!({"AWS": "333333333333"}), hub(), Verdict::Silent),
        (json!({"AWS": "arn:aws:iam::111111111111:role/other"}), hub(), Verdict::Silent),
        (json!({"Service": "pods.eks.amazonaws.com"}), hub(), Verdict::Silent),
        (json!({"Service": "pods.eks.amazonaws.com"}), Asker::Service("pods.eks.amazonaws.com".into()), BY_NAME),
        (json!({"Service": "ec2.amazonaws.com"}), Asker::Service("pods.eks.amazonaws.com".into()), Verdict::Silent),
        (json!({"Federated": PROVIDER}), Asker::Federated(PROVIDER.into()), BY_NAME),
        (json!({"Federated": format!("{PROVIDER}B")}), Asker::Federated(PROVIDER.into()), Verdict::Silent),
        (json!("*"), Asker::Federated(PROVIDER.into()), Verdict::Silent),
    ] {
        let policy = trust(principal.clone(), json!({}));
        assert_eq!(judge(&policy, &asker, "sts:AssumeRole", &Context::default()), verdict, "{principal}");
    }
}

#[test]
fn conditions_hold_as_in_iam() {
    let context = Context::default().with("sts:ExternalId", "Towline-7");
    for (condition, holds) in [
        (json!({}), true),
        (json!({"StringEquals": {"sts:ExternalId": "Towline-7"}}), true),
        (json!({"StringEquals": {"STS:externalid": "Towline-7"}}), true),
        (json!({"StringEquals": {"sts:ExternalId": "towline-7"}}), false),
        (json!({"StringEquals": {"sts:ExternalId": "Towline-*"}}), false),
        (json!({"StringEquals": {"sts:ExternalId": ["a", "Towline-7"]}}), true),
        (json!({"StringEquals": {"sts:ExternalId": []}}), false),
        (json!({"StringEquals": {"sts:ExternalId": "Towline-7", "aws:PrincipalTag/team": "x"}}), false),
        (json!({"StringEquals": {"sts:ExternalId": "Towline-7"}, "StringLike": {"sts:ExternalId": "x"}}), false),
        (json!({"StringEqualsIgnoreCase": {"sts:ExternalId": "towline-7"}}), true),
        (json!({"StringNotEquals": {"sts:ExternalId": ["a", "Towline-7"]}}), false),
        (json!({"StringNotEquals": {"sts:ExternalId": "a"}}), true),
        (json!({"StringNotEquals": {"sts:SourceIdentity": "a"}}), true),
        (json!({"StringLike": {"sts:ExternalId": "Tow*-?"}}), true),
        (json!({"StringLike": {"sts:ExternalId": "Tow*-??"}}), false),
        (json!({"StringNotLike": {"sts:ExternalId": "Tow*"}}), false),
        (json!({"StringEquals": {"sts:SourceIdentity": "a"}}), false),
        (json!({"StringEqualsIfExists": {"sts:SourceIdentity": "a"}}), true),
        (json!({"StringEqualsIfExists": {"sts:ExternalId": "a"}}), false),
        (json!({"Null": {"sts:ExternalId": "false"}}), true),
        (json!({"Null": {"sts:ExternalId": true}}), false),
        (json!({"Null": {"sts:SourceIdentity": "true"}}), true),
    ] {
        let policy = trust(json!({"AWS": HUB}), condition.clone());
        let verdict = judge(&policy, &hub(), "sts:AssumeRole", &context);
        assert_eq!(verdict, if holds { BY_NAME } else { Verdict::Silent }, "{condition}");
    }
}

#[test]
fn arns_are_compared_part_by_part() {
    let context = Context::default().with("aws:PrincipalArn", HUB);
    for (pattern, holds) in [
        (HUB, true),
        ("arn:aws:iam::*:role/*", true),
        ("arn:*:iam::111111111111:role/h?b", true),
        ("arn:*:role/hub", false),
        ("*", false),
        ("arn:aws:iam::222222222222:role/hub", false),
    ] {
        for (operator, wanted) in [("ArnLike", holds), ("ArnEquals", holds), ("ArnNotLike", !holds)] {
            let policy = trust(json!({"AWS": HUB}), json!({operator: {"aws:PrincipalArn": pattern}}));
            let verdict = judge(&policy, &hub(), "sts:AssumeRole", &context);
            assert_eq!(verdict, if wanted { BY_NAME } else { Verdict::Silent }, "{operator} {pattern}");
        }
    }
}

#[test]
fn actions_and_resources_are_patterns() {
    for (action, resource, allowed) in [
        (json!("sts:AssumeRole"), json!(ROLE), true),
        (json!("STS:assumerole"), json!(ROLE), true),
        (json!(["eks:*", "sts:Assume*"]), json!("*"), true),
        (json!("*"), json!(["arn:aws:iam::*:role/towline/*"]), true),
        (json!("sts:AssumeRol?"), json!("arn:aws:iam::22222222222?:role/towline/follower"), true),
        (json!("sts:AssumeRole"), json!("ARN:aws:iam::222222222222:role/towline/follower"), false),
        (json!("sts:AssumeRoleWithSAML"), json!("*"), false),
        (json!("sts:TagSession"), json!("*"), false),
        (json!("sts:AssumeRole"), json!("arn:aws:iam::222222222222:role/follower"), false),
        (json!([]), json!("*"), false),
    ] {
        let statement = json!({"Effect": "Allow", "Action": action, "Resource": resource});
        let policy = Policy::permissions(&document(statement.clone())).unwrap();
        let verdict = judge(&policy, &hub(), "sts:AssumeRole", &Context::default());
        assert_eq!(verdict, if allowed { BY_NAME } else { Verdict::Silent }, "{statement}");
    }
}

#[test]
fn a_denial_wins_wherever_it_stands() {
    let allow = json!({"Effect": "Allow", "Action": "sts:*", "Resource": "*"});
    let deny = json!({"Sid": "No", "Effect": "Deny", "Action": "sts:AssumeRole", "Resource": ROLE});
    let policy = |statements| Policy::permissions(&document(statements)).unwrap();
    let context = Context::default();
    for statements in [json!([allow, deny]), json!([deny, allow])] {
        assert_eq!(judge(&policy(statements), &hub(), "sts:AssumeRole", &context), Verdict::Deny);
    }
    let apart = [policy(allow.clone()), policy(deny.clone())];
    let question = Question { asker: &hub(), action: "sts:AssumeRole", resource: ROLE, context: &context };
    assert_eq!(Policy::judge_all(&apart, &question), Verdict::Deny);
    assert_eq!(Policy::judge_all(&apart, &Question { action: "sts:TagSession", ..question }), BY_NAME);
    assert_eq!(Policy::judge_all([], &question), Verdict::Silent);
}

#[test]
fn a_denial_in_a_trust_policy_reaches_an_account() {
    let statements = json!([
        {"Effect": "Allow", "Principal": {"AWS": HUB}, "Action": "sts:AssumeRole"},
        {"Effect": "Deny", "Principal": {"AWS": "111111111111"}, "Action": "sts:*"},
    ]);
    let policy = Policy::trust(&document(statements)).unwrap();
    assert_eq!(judge(&policy, &hub(), "sts:AssumeRole", &Context::default()), Verdict::Deny);
}

#[test]
fn what_is_not_understood_is_an_error() {
    let trust = |extra: Value| {
        let mut statement = json!({"Effect": "Allow", "Principal": {"AWS": HUB}, "Action": "sts:AssumeRole"});
        statement.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        Policy::trust(&document(json!([statement])))
    };
    assert!(trust(json!({})).is_ok());
    for element in [
        json!({"NotAction": "*"}),
        json!({"NotPrincipal": {"AWS": HUB}}),
        json!({"Resource": "*"}),
        json!({"Effect": "allow"}),
        json!({"Action": 7}),
    ] {
        assert!(matches!(trust(element.clone()), Err(PolicyError::Element(_))), "{element}");
    }
    for operator in ["IpAddress", "ForAllValues:StringEquals", "stringequals", "StringMatches", "NullIfExists"] {
        let verdict = trust(json!({"Condition": {operator: {"aws:x": "y"}}}));
        assert_eq!(verdict, Err(PolicyError::Operator(operator.into())));
    }
    let variable = trust(json!({"Condition": {"StringEquals": {"aws:x": "${aws:username}"}}}));
    assert_eq!(variable, Err(PolicyError::Variable("${aws:username}".into())));
    for principal in [
        json!({"AWS": "arn:aws:iam::111111111111:role/*"}),
        json!({"AWS": "arn:aws:s3:::bucket"}),
        json!({"AWS": "hub"}),
        json!({"Service": "*"}),
        json!({"CanonicalUser": "x"}),
        json!("everybody"),
    ] {
        assert!(matches!(trust(json!({"Principal": principal})), Err(PolicyError::Principal(_))), "{principal}");
    }
    let old = Policy::permissions(&json!({"Version": "2008-10-17", "Statement": []}));
    assert!(matches!(old, Err(PolicyError::Element(_))));
    let without_resource = json!({"Effect": "Allow", "Action": "*"});
    assert!(Policy::permissions(&document(without_resource)).is_err());
}
