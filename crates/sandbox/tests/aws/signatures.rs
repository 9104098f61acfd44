//! Credentials and clocks.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_credential_types::Credentials;
use aws_sdk_sts::error::ProvideErrorMetadata;

use crate::makers::{FOLLOWER, Ground, REGION, code};

#[tokio::test]
async fn only_credentials_that_were_handed_out_are_good() {
    let ground = Ground::new();
    let good = ground.follower().await;
    let (key, secret, token) = (good.access_key_id(), good.secret_access_key(), good.session_token().unwrap());
    let with = |key: &str, secret: &str, token: Option<&str>| {
        Credentials::new(key, secret, token.map(ToOwned::to_owned), None, "test")
    };
    for (credentials, sts_code, eks_code) in [
        (with(key, secret, Some(token)), "OK", "OK"),
        (with(key, "other", Some(token)), "SignatureDoesNotMatch", "InvalidSignatureException"),
        (with("ASIAOTHER", secret, Some(token)), "InvalidClientTokenId", "UnrecognizedClientException"),
        (with(key, secret, Some("other")), "InvalidClientTokenId", "UnrecognizedClientException"),
        (with(key, secret, None), "InvalidClientTokenId", "UnrecognizedClientException"),
        (with(ground.anna.access_key_id(), "other", None), "SignatureDoesNotMatch", "InvalidSignatureException"),
    ] {
        assert_eq!(code(ground.sts(&credentials).get_caller_identity().send().await), sts_code);
        assert_eq!(code(ground.eks(&credentials).describe_cluster().name("prod").send().await), eks_code);
    }
}

#[tokio::test]
async fn credentials_expire_when_they_said_and_sooner_if_life_is_accelerated() {
    let ground = Ground::new();
    let long = ground.assume_follower(&ground.anna).duration_seconds(900).send().await.unwrap();
    let left = long.credentials().unwrap().expiration().secs() - jiff::Timestamp::now().as_second();
    assert!((890..=900).contains(&left), "{left}");
    ground.aws.set_lifetime(Duration::from_secs(60));
    let short = ground.assume_follower(&ground.anna).duration_seconds(900).send().await.unwrap();
    let left = short.credentials().unwrap().expiration().secs() - jiff::Timestamp::now().as_second();
    assert!((50..=60).contains(&left), "{left}");

    let retrying = |credentials: &Credentials| {
        let config = ground.config(credentials, REGION).into_builder().retry_config(RetryConfig::standard()).build();
        (aws_sdk_sts::Client::new(&config), aws_sdk_eks::Client::new(&config))
    };
    // The SDK learns the time from the first refusal and signs again.
    ground.aws.set_clock_offset(300);
    let (sts, eks) = retrying(&crate::makers::credentials(long.credentials().unwrap()));
    assert_eq!(code(sts.get_caller_identity().send().await), "OK");
    assert_eq!(code(eks.describe_cluster().name("prod").send().await), "OK");
    let (sts, eks) = retrying(&crate::makers::credentials(short.credentials().unwrap()));
    assert_eq!(code(sts.get_caller_identity().send().await), "ExpiredToken");
    assert_eq!(code(eks.describe_cluster().name("prod").send().await), "ExpiredTokenException");
}

#[tokio::test]
async fn a_clock_that_is_wrong_is_told_and_corrected() {
    let ground = Ground::new();
    for (offset, complaint) in [(1200, "Signature expired"), (-1200, "Signature not yet current")] {
        ground.aws.set_clock_offset(offset);
        let refused = ground.sts(&ground.anna).get_caller_identity().send().await.unwrap_err();
        assert_eq!(refused.code(), Some("SignatureDoesNotMatch"));
        assert!(refused.message().unwrap().starts_with(complaint), "{refused:?}");
        let date = refused.raw_response().unwrap().headers().get("date").unwrap();
        let date = jiff::fmt::rfc2822::parse(date).unwrap().timestamp();
        let ahead = date.as_second() - jiff::Timestamp::now().as_second();
        assert!((offset - 5..=offset + 5).contains(&ahead), "{ahead}");

        let config = ground.config(&ground.anna, REGION).into_builder().retry_config(RetryConfig::standard()).build();
        let corrected = aws_sdk_sts::Client::new(&config).get_caller_identity().send().await;
        assert_eq!(code(corrected), "OK", "{offset}");
    }
}

#[tokio::test]
async fn credentials_are_of_one_partition() {
    let ground = Ground::new();
    let china = ground.config(&ground.anna, "cn-north-1");
    let refused = aws_sdk_sts::Client::new(&china).get_caller_identity().send().await;
    assert_eq!(code(refused), "InvalidClientTokenId");
}

#[tokio::test]
async fn session_tokens_are_as_long_as_is_asked() {
    let ground = Ground::new();
    ground.aws.set_session_token_length(3000);
    assert_eq!(ground.follower().await.session_token().unwrap().len(), 3000);
    assert!(ground.aws.calls().iter().all(|call| call.target.as_deref() == Some(FOLLOWER)));
}
