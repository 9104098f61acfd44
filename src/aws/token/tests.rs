use super::*;
use crate::aws::host::{Variant, sts_host};
use serde::Deserialize;

/// Made by the code of the AWS CLI, with made-up keys.
const VECTORS: &str = include_str!("vectors.jsonl");

#[derive(Deserialize)]
struct Vector {
    id: String,
    access_key: String,
    secret_key: String,
    session_token: Option<String>,
    region: String,
    cluster: String,
    time: jiff::Timestamp,
    fips: bool,
    dualstack: bool,
    host: String,
    token: String,
}

fn vectors() -> Vec<Vector> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn credentials(session_token: Option<String>, expiry: Option<SystemTime>) -> Credentials {
    Credentials::new("AKIDEXAMPLE", "secret", session_token, expiry, "test")
}

fn audience(cluster: &str) -> Audience {
    Audience { sts_host: "sts.eu-west-1.amazonaws.com".into(), region: "eu-west-1".into(), cluster: cluster.into() }
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(1_767_323_045_999)
}

#[test]
fn a_token_is_byte_for_byte_the_one_of_the_aws_cli() {
    for vector in vectors() {
        let keys = Credentials::new(vector.access_key, vector.secret_key, vector.session_token, None, "vector");
        let variant = Variant { fips: vector.fips, dual_stack: vector.dualstack };
        let sts_host = sts_host(&vector.region, variant).unwrap();
        assert_eq!(sts_host, vector.host, "{}", vector.id);
        let audience = Audience { sts_host, region: vector.region, cluster: vector.cluster };
        let token = presign(&keys, &audience, vector.time.into()).unwrap();
        assert_eq!(*token.value, vector.token, "{}", vector.id);
    }
    assert_eq!(vectors().len(), 12);
}

#[test]
fn a_token_lives_for_fourteen_minutes_of_whole_seconds() {
    let token = presign(&credentials(None, None), &audience("a"), now()).unwrap();
    assert_eq!(token.expires, UNIX_EPOCH + Duration::from_secs(1_767_323_045 + 14 * 60));
}

#[test]
fn a_token_dies_before_the_credentials_that_signed_it() {
    let expiry = now() + Duration::from_secs(300);
    let token = presign(&credentials(None, Some(expiry)), &audience("a"), now()).unwrap();
    assert_eq!(token.expires, expiry - Duration::from_secs(60));
}

#[test]
fn a_token_that_the_authenticator_would_refuse_for_its_length_is_not_made() {
    let longest = credentials(Some("t".repeat(2500)), None);
    assert!(presign(&longest, &audience("a"), now()).unwrap().value.len() <= LONGEST);
    let error = presign(&credentials(Some("t".repeat(3000)), None), &audience("a"), now()).err().unwrap();
    assert!(matches!(error, TokenError::TooLong { length, .. } if length > LONGEST), "{error}");
    assert!(!error.to_string().contains("ttt"));
}

#[test]
fn a_cluster_name_that_no_header_can_hold_is_told() {
    let error = presign(&credentials(None, None), &audience("a\nb"), now()).err().unwrap();
    assert!(error.to_string().contains("cannot be signed"), "{error}");
}
