//! AssumeRoleWithWebIdentity.

use std::time::Duration;

use aws_sdk_sts::error::ProvideErrorMetadata;
use jiff::Timestamp;
use sandbox::OidcProvider;
use serde_json::{Value, json};

use crate::makers::{ACCOUNT, Ground, HUB, HUB_ACCOUNT, ISSUER, SUBJECT, code, credentials};

const HOUR: Duration = Duration::from_secs(3600);

/// What STS says to a token.
async fn exchange(ground: &Ground, token: &str) -> (String, String) {
    let request = ground.sts(&ground.anna).assume_role_with_web_identity();
    let request = request.role_arn(HUB).role_session_name("towline").web_identity_token(token);
    match request.send().await {
        Ok(_) => ("OK".into(), String::new()),
        Err(error) => (error.code().unwrap_or_default().into(), error.message().unwrap_or_default().into()),
    }
}

fn claims(change: &Value) -> Value {
    let now = Timestamp::now().as_second();
    let mut claims = json!({"iss": ISSUER, "sub": SUBJECT, "aud": ["sts.amazonaws.com"], "iat": now, "exp": now + 600});
    claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    claims
}

#[tokio::test]
async fn a_service_account_gets_a_session_of_its_role() {
    let ground = Ground::new();
    let token = ground.aws.web_identity_token(ISSUER, SUBJECT, HOUR).unwrap();
    let request = ground.sts(&ground.anna).assume_role_with_web_identity();
    let answer = request.role_arn(HUB).role_session_name("towline").web_identity_token(&token).send().await.unwrap();
    assert_eq!(answer.subject_from_web_identity_token(), Some(SUBJECT));
    assert_eq!(answer.audience(), Some("sts.amazonaws.com"));
    let session = credentials(answer.credentials().unwrap());
    let identity = ground.sts(&session).get_caller_identity().send().await.unwrap();
    assert_eq!(identity.arn(), Some("arn:aws:sts::111111111111:assumed-role/towline-hub/towline"));
    assert_eq!(ground.aws.calls()[0].principal, None);
    assert!(ground.aws.secrets().contains(&token));
}

#[tokio::test]
async fn a_token_is_checked_before_it_is_believed() {
    let ground = Ground::new();
    let sign = |change: Value| ground.aws.sign_web_identity(ISSUER, &claims(&change)).unwrap();
    assert_eq!(exchange(&ground, &sign(json!({}))).await.0, "OK");
    assert_eq!(exchange(&ground, &sign(json!({"aud": "sts.amazonaws.com"}))).await.0, "OK");
    for (change, code) in [
        (json!({"exp": Timestamp::now().as_second() - 1}), "ExpiredTokenException"),
        (json!({"exp": null}), "InvalidIdentityToken"),
        (json!({"nbf": Timestamp::now().as_second() + 600}), "InvalidIdentityToken"),
        (json!({"aud": ["kubernetes"]}), "InvalidIdentityToken"),
        (json!({"iss": "https://elsewhere.example.com"}), "InvalidIdentityToken"),
        (json!({"sub": "system:serviceaccount:towline:other"}), "AccessDenied"),
    ] {
        assert_eq!(exchange(&ground, &sign(change.clone())).await.0, code, "{change}");
    }
    assert_eq!(exchange(&ground, "not.a.token").await.0, "InvalidIdentityToken");
}

#[tokio::test]
async fn a_token_of_another_key_is_refused() {
    let ground = Ground::new();
    let forger = OidcProvider::new(HUB_ACCOUNT, ISSUER, "sts.amazonaws.com").unwrap();
    let (code, message) = exchange(&ground, &forger.sign(&claims(&json!({}))).unwrap()).await;
    assert_eq!(code, "InvalidIdentityToken");
    assert!(message.contains("verification key"));

    let token = ground.aws.web_identity_token(ISSUER, SUBJECT, HOUR).unwrap();
    let [header, _, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!("{token}") };
    let other = forger.sign(&claims(&json!({"extra": 1}))).unwrap();
    let body = other.split('.').nth(1).unwrap();
    assert_eq!(exchange(&ground, &format!("{header}.{body}.{signature}")).await.0, "InvalidIdentityToken");
}

#[tokio::test]
async fn a_provider_counts_in_the_accounts_that_know_it() {
    let ground = Ground::new();
    let token = ground.aws.web_identity_token(ISSUER, SUBJECT, HOUR).unwrap();
    let removed = ground.aws.change(|world| world.remove_provider(HUB_ACCOUNT, ISSUER)).unwrap();
    let (code, message) = exchange(&ground, &token).await;
    assert_eq!(code, "InvalidIdentityToken");
    assert!(message.contains("No OpenIDConnect provider found in your account"));
    ground.aws.change(|world| world.add_provider(removed.in_account(ACCOUNT)));
    assert_eq!(exchange(&ground, &token).await.0, "InvalidIdentityToken");
    ground.aws.change(|world| world.add_provider(removed));
    assert_eq!(exchange(&ground, &token).await.0, "OK");
}

#[tokio::test]
async fn a_first_role_may_last_longer_than_a_chained_one() {
    let ground = Ground::new();
    let token = ground.aws.web_identity_token(ISSUER, SUBJECT, HOUR).unwrap();
    let request = ground.sts(&ground.anna).assume_role_with_web_identity().web_identity_token(token);
    let request = request.role_arn(HUB).role_session_name("towline").duration_seconds(3601);
    // Not longer than the role allows, though.
    assert_eq!(code(request.send().await), "ValidationError");
}
