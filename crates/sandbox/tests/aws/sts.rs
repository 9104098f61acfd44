//! GetCallerIdentity and AssumeRole.

use std::time::Duration;

use aws_sdk_sts::error::ProvideErrorMetadata;
use aws_sdk_sts::types::Tag;
use sandbox::{Aws, Role, User, World};
use serde_json::json;

use crate::makers::{ANNA, FOLLOWER, Ground, HUB, allow, code, credentials, follower_trust, trust};

#[tokio::test]
async fn a_caller_learns_who_they_are() {
    let ground = Ground::new();
    let anna = ground.sts(&ground.anna).get_caller_identity().send().await.unwrap();
    assert_eq!(anna.arn(), Some(ANNA));
    assert_eq!(anna.account(), Some("111111111111"));
    assert!(anna.user_id().unwrap().starts_with("AIDA"));

    let follower = ground.sts(&ground.follower().await).get_caller_identity().send().await.unwrap();
    // Without the path.
    let arn = "arn:aws:sts::222222222222:assumed-role/towline-follower/towline-prod";
    assert_eq!(follower.arn(), Some(arn));
    assert!(follower.user_id().unwrap().starts_with("AROA"));
    assert!(follower.user_id().unwrap().ends_with(":towline-prod"));
}

#[tokio::test]
async fn a_role_in_another_account_needs_trust_and_permission() {
    let ground = Ground::new();
    assert_eq!(code(ground.assume_follower(&ground.anna).send().await), "OK");

    let without_external_id = ground.assume_follower(&ground.anna).set_external_id(None).send().await.unwrap_err();
    assert_eq!(without_external_id.code(), Some("AccessDenied"));
    let message = format!("User: {ANNA} is not authorized to perform: sts:AssumeRole on resource: {FOLLOWER}");
    assert_eq!(without_external_id.message(), Some(message.as_str()));
    assert_eq!(without_external_id.raw_response().unwrap().status().as_u16(), 403);
    assert_eq!(code(ground.assume_follower(&ground.anna).external_id("towline-8").send().await), "AccessDenied");

    let hub = ground.hub().await;
    assert_eq!(code(ground.assume_follower(&hub).send().await), "OK");
    ground.set_hub_policy(&allow(&json!("sts:AssumeRole"), "arn:aws:iam::222222222222:role/other"));
    assert_eq!(code(ground.assume_follower(&hub).send().await), "AccessDenied");
    ground.set_hub_policy(&allow(&json!("sts:*"), "*"));
    assert_eq!(code(ground.assume_follower(&hub).send().await), "OK");

    ground.set_trust(&trust(&json!({"AWS": ANNA}), &json!("sts:AssumeRole"), &json!({})));
    assert_eq!(code(ground.assume_follower(&hub).send().await), "AccessDenied");
    ground.set_trust(&trust(&json!({"AWS": "arn:aws:iam::111111111111:root"}), &json!("sts:AssumeRole"), &json!({})));
    assert_eq!(code(ground.assume_follower(&hub).send().await), "OK");
}

#[tokio::test]
async fn within_an_account_trust_by_name_is_enough_and_trust_in_the_account_is_not() {
    let ground = Ground::new();
    let near = "arn:aws:iam::111111111111:role/near";
    let assume = || ground.assume_follower(&ground.anna).role_arn(near).send();
    for (principal, verdict) in [(ANNA, "OK"), ("arn:aws:iam::111111111111:root", "AccessDenied")] {
        let policy = trust(&json!({"AWS": principal}), &json!("sts:AssumeRole"), &json!({}));
        ground.aws.change(|world| world.add_role(Role::new(near, &policy).unwrap()));
        assert_eq!(code(assume().await), verdict, "{principal}");
    }
    let bob = User::new("arn:aws:iam::111111111111:user/bob").unwrap();
    let bob = bob.with_policy(&allow(&json!("sts:AssumeRole"), "arn:aws:iam::111111111111:role/*")).unwrap();
    let key = aws_credential_types::Credentials::new(bob.access_key(), bob.secret_key(), None, None, "test");
    ground.aws.change(|world| world.add_user(bob));
    assert_eq!(code(ground.assume_follower(&key).role_arn(near).send().await), "OK");
}

#[tokio::test]
async fn a_role_that_is_not_there_looks_like_one_that_is_not_allowed() {
    let ground = Ground::new();
    let missing = "arn:aws:iam::222222222222:role/missing";
    let hub = ground.hub().await;
    ground.set_hub_policy(&allow(&json!("*"), "*"));
    assert_eq!(code(ground.assume_follower(&hub).role_arn(missing).send().await), "AccessDenied");
}

#[tokio::test]
async fn sessions_of_a_role_that_is_gone_are_worth_nothing() {
    let ground = Ground::new();
    let follower = ground.follower().await;
    let identity = || ground.sts(&follower).get_caller_identity().send();
    assert_eq!(code(identity().await), "OK");
    ground.aws.change(|world| world.remove_role(FOLLOWER)).unwrap();
    assert_eq!(code(identity().await), "InvalidClientTokenId");
    // Another role of the same name is another role.
    ground.aws.change(|world| world.add_role(Role::new(FOLLOWER, &follower_trust(&json!("sts:AssumeRole"))).unwrap()));
    assert_eq!(code(identity().await), "InvalidClientTokenId");
    ground.follower().await;
}

#[tokio::test]
async fn a_chained_role_lasts_for_an_hour_at_most() {
    let ground = Ground::new();
    ground.aws.change(|world| {
        let role = Role::new(FOLLOWER, &follower_trust(&json!("sts:AssumeRole"))).unwrap();
        world.add_role(role.with_max_session(Duration::from_secs(7200)));
    });
    let hub = ground.hub().await;
    assert_eq!(code(ground.assume_follower(&hub).duration_seconds(3600).send().await), "OK");
    let chained = ground.assume_follower(&hub).duration_seconds(3601).send().await.unwrap_err();
    assert_eq!(chained.code(), Some("ValidationError"));
    assert!(chained.message().unwrap().contains("role chaining"));
    assert_eq!(code(ground.assume_follower(&ground.anna).duration_seconds(7200).send().await), "OK");
    let beyond = ground.assume_follower(&ground.anna).duration_seconds(7201).send().await.unwrap_err();
    assert!(beyond.message().unwrap().contains("MaxSessionDuration"));
}

#[tokio::test]
async fn parameters_have_limits() {
    let ground = Ground::new();
    let request = || ground.assume_follower(&ground.anna);
    for refused in [
        request().role_session_name("x"),
        request().role_session_name("x".repeat(65)),
        request().role_session_name("with blank"),
        request().role_session_name("with/slash"),
        request().external_id("x"),
        request().external_id("x".repeat(1225)),
        request().external_id("with blank"),
        request().duration_seconds(899),
        request().duration_seconds(43_201),
        request().role_arn("arn:aws:iam::2:role"),
        request().role_arn("arn:aws:iam::222222222222:user/anna"),
        request().source_identity("x"),
        request().policy("{}"),
        request().serial_number("arn:aws:iam::111111111111:mfa/anna").token_code("123456"),
    ] {
        let input = refused.as_input().clone().build().unwrap();
        assert_eq!(code(refused.send().await), "ValidationError", "{input:?}");
    }
    assert_eq!(code(request().duration_seconds(900).role_session_name("a+=,.@-_b").send().await), "OK");
}

#[tokio::test]
async fn session_tags_need_a_right_of_their_own_and_go_on_if_they_are_transitive() {
    let ground = Ground::new();
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build().unwrap();
    let tagged = || ground.assume_follower(&ground.anna).tags(tag("team", "rope"));
    assert_eq!(code(tagged().send().await), "AccessDenied");
    ground.set_trust(&follower_trust(&json!(["sts:AssumeRole", "sts:TagSession"])));
    // Anna's own policy does not allow it yet.
    assert_eq!(code(tagged().send().await), "AccessDenied");

    // Within an account, trust by name is enough for both.
    let (first, second) = ("arn:aws:iam::111111111111:role/first", "arn:aws:iam::111111111111:role/second");
    let both = json!(["sts:AssumeRole", "sts:TagSession"]);
    let add = |arn: &str, principal: &str, action: &serde_json::Value| {
        let policy = trust(&json!({"AWS": principal}), action, &json!({}));
        ground.aws.change(|world| world.add_role(Role::new(arn, &policy).unwrap()));
    };
    add(first, ANNA, &both);
    add(second, first, &json!("sts:AssumeRole"));
    let onward = async |transitive: Option<&str>| {
        let request = ground.assume_follower(&ground.anna).role_arn(first).tags(tag("team", "rope"));
        let request = request.set_transitive_tag_keys(transitive.map(|key| vec![key.to_owned()]));
        let session = request.send().await.unwrap();
        credentials(session.credentials().unwrap())
    };
    let plain = onward(None).await;
    assert_eq!(code(ground.assume_follower(&plain).role_arn(second).send().await), "OK");
    let carrying = onward(Some("team")).await;
    assert_eq!(code(ground.assume_follower(&carrying).role_arn(second).send().await), "AccessDenied");
    add(second, first, &both);
    assert_eq!(code(ground.assume_follower(&carrying).role_arn(second).send().await), "OK");
    let conflict = ground.assume_follower(&carrying).role_arn(second).tags(tag("team", "other")).send().await;
    assert_eq!(code(conflict), "InvalidParameterValue");
}

#[tokio::test]
async fn a_source_identity_needs_a_right_of_its_own_and_stays() {
    let ground = Ground::new();
    let (first, second) = ("arn:aws:iam::111111111111:role/first", "arn:aws:iam::111111111111:role/second");
    let add = |arn: &str, principal: &str, action: serde_json::Value| {
        let policy = trust(&json!({"AWS": principal}), &action, &json!({}));
        ground.aws.change(|world| world.add_role(Role::new(arn, &policy).unwrap()));
    };
    add(first, ANNA, json!("sts:AssumeRole"));
    let asking = || ground.assume_follower(&ground.anna).role_arn(first).source_identity("anna");
    assert_eq!(code(asking().send().await), "AccessDenied");
    add(first, ANNA, json!(["sts:AssumeRole", "sts:SetSourceIdentity"]));
    let answer = asking().send().await.unwrap();
    assert_eq!(answer.source_identity(), Some("anna"));

    let session = credentials(answer.credentials().unwrap());
    add(second, first, json!("sts:AssumeRole"));
    let next = || ground.assume_follower(&session).role_arn(second);
    assert_eq!(code(next().send().await), "AccessDenied");
    add(second, first, json!(["sts:AssumeRole", "sts:SetSourceIdentity"]));
    assert_eq!(next().send().await.unwrap().source_identity(), Some("anna"));
    assert_eq!(code(next().source_identity("bert").send().await), "AccessDenied");
}

#[tokio::test]
async fn calls_and_secrets_are_on_record() {
    let ground = Ground::new();
    let follower = ground.follower().await;
    let _ = ground.assume_follower(&follower).send().await;
    let calls = ground.aws.calls();
    let seen: Vec<_> = calls.iter().map(|call| (call.operation.as_str(), call.code.as_str())).collect();
    assert_eq!(seen, [("AssumeRole", "OK"), ("AssumeRole", "AccessDenied")]);
    assert_eq!(calls[0].principal.as_deref(), Some(ANNA));
    assert_eq!(calls[0].target.as_deref(), Some(FOLLOWER));
    assert_eq!(calls[0].region, "eu-central-1");
    let session = "arn:aws:sts::222222222222:assumed-role/towline-follower/towline-prod";
    assert_eq!(calls[1].principal.as_deref(), Some(session));
    let secrets = ground.aws.secrets();
    ground.aws.change(|world| world.remove_user(ground.anna.access_key_id())).unwrap();
    assert_eq!(ground.aws.secrets(), secrets);
    for secret in [ground.anna.secret_access_key(), follower.secret_access_key(), follower.session_token().unwrap()] {
        assert!(secrets.iter().any(|known| known == secret));
        assert!(!format!("{calls:?}").contains(secret));
    }
}

#[test]
fn what_is_not_understood_cannot_get_into_a_world() {
    let statement =
        trust(&json!({"AWS": HUB}), &json!("sts:AssumeRole"), &json!({"IpAddress": {"aws:SourceIp": "::1"}}));
    assert!(Role::new(FOLLOWER, &statement).is_err());
    let fine = trust(&json!({"AWS": HUB}), &json!("sts:AssumeRole"), &json!({}));
    assert!(Role::new("arn:aws:iam::222222222222:user/x", &fine).is_err());
    assert!(Role::new(FOLLOWER, &fine).unwrap().with_policy(&fine).is_err());
    assert!(User::new(FOLLOWER).is_err());
}

#[test]
fn a_stand_in_that_is_dropped_is_gone() {
    let aws = Aws::start(World::new()).unwrap();
    let address = aws.url().strip_prefix("http://").unwrap().to_owned();
    let open = || std::net::TcpStream::connect(&address);
    assert!(open().is_ok());
    drop(aws);
    let gone = (0..1000).any(|_| {
        std::thread::yield_now();
        open().is_err()
    });
    assert!(gone, "somebody still listens on {address}");
}
