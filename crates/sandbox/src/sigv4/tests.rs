//! The vectors: tokens that the AWS CLI's own code made, each in two orders, and AWS's documented example of a header.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::{Claim, Flaw};
use crate::endpoint::Endpoint;
use crate::request::Request;

const VECTORS: &str = include_str!("../../tests/token-vectors.jsonl");

#[derive(Deserialize)]
struct Vector {
    id: String,
    access_key: String,
    secret_key: String,
    session_token: Option<String>,
    region: String,
    cluster: String,
    time: Timestamp,
    host: String,
    token: String,
    token_sorted: String,
}

fn vectors() -> Vec<Vector> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The request that an authenticator sends for `token` in the name of `cluster`.
fn request(token: &str, cluster: &str) -> Request {
    let url = BASE64_URL_SAFE_NO_PAD.decode(token.strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
    let url = String::from_utf8(url).unwrap();
    let (host, query) = url.strip_prefix("https://").unwrap().split_once("/?").unwrap();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Request {
        method: "GET".into(),
        path: "/".into(),
        query: query.into(),
        headers: vec![header("host", host), header("x-k8s-aws-id", cluster), header("accept", "application/json")],
        ..Request::default()
    }
}

fn verify(request: &Request, secret: &str, now: Timestamp) -> Result<(), Flaw> {
    let claim = Claim::read(request)?;
    claim.check_time(now)?;
    claim.check_signature(request, secret)
}

/// Both orders of every vector.
fn each(mut check: impl FnMut(&Vector, &str)) {
    let vectors = vectors();
    assert_eq!(vectors.len(), 12);
    for vector in &vectors {
        check(vector, &vector.token);
        check(vector, &vector.token_sorted);
    }
}

#[test]
fn every_token_verifies_with_its_secret_at_its_time() {
    each(|vector, token| {
        let request = request(token, &vector.cluster);
        assert_eq!(verify(&request, &vector.secret_key, vector.time), Ok(()), "{}", vector.id);
        let claim = Claim::read(&request).unwrap();
        assert_eq!(claim.access_key, vector.access_key);
        assert_eq!(claim.session_token, vector.session_token);
        assert_eq!((claim.scope.region.as_str(), claim.scope.service.as_str()), (vector.region.as_str(), "sts"));
        assert_eq!(request.host(), vector.host);
        assert_eq!(Endpoint::of_host(&vector.host).unwrap().region, vector.region);
    });
}

#[test]
fn a_token_for_one_cluster_is_refused_for_another() {
    each(|vector, token| {
        for other in ["other", &vector.cluster.to_uppercase(), ""] {
            let request = request(token, other);
            assert_eq!(verify(&request, &vector.secret_key, vector.time), Err(Flaw::Mismatch), "{}", vector.id);
        }
    });
}

#[test]
fn a_token_lives_for_fifteen_minutes_and_may_be_five_ahead() {
    each(|vector, token| {
        let request = request(token, &vector.cluster);
        // Signatures are made of whole seconds, and one of the vectors is not.
        let signed = Timestamp::from_second(vector.time.as_second()).unwrap();
        let at = |seconds| verify(&request, &vector.secret_key, signed + SignedDuration::from_secs(seconds));
        assert_eq!(at(900), Ok(()), "{}", vector.id);
        assert!(matches!(at(901), Err(Flaw::Expired { allowed: 15, .. })), "{}", vector.id);
        assert_eq!(at(-300), Ok(()), "{}", vector.id);
        assert!(matches!(at(-301), Err(Flaw::NotYet { .. })), "{}", vector.id);
    });
}

#[test]
fn a_token_of_another_secret_is_refused() {
    each(|vector, token| {
        let request = request(token, &vector.cluster);
        let secret = format!("{}x", vector.secret_key);
        assert_eq!(verify(&request, &secret, vector.time), Err(Flaw::Mismatch), "{}", vector.id);
    });
}

#[test]
fn a_token_is_refused_when_any_byte_of_it_is_another() {
    each(|vector, token| {
        let whole = request(token, &vector.cluster);
        for (position, byte) in whole.query.bytes().enumerate() {
            let other = if byte == b'a' { 'b' } else { 'a' };
            let mut query = whole.query.clone();
            query.replace_range(position..=position, &other.to_string());
            if canonical(&query) == canonical(&whole.query) {
                continue;
            }
            let changed = Request { query, ..whole.clone() };
            let verdict = verify(&changed, &vector.secret_key, vector.time);
            assert!(verdict.is_err(), "{}: byte {position} of {}", vector.id, changed.query);
        }
    });
}

/// `%2F` and `%2f` are the same; nothing else that the test above does leaves a query as it is.
fn canonical(query: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(query).collect()
}

#[test]
fn a_token_is_refused_at_a_host_of_another_region_and_with_another_scope() {
    each(|vector, token| {
        let right = request(token, &vector.cluster);
        let headers = right.headers.iter().map(|(name, value)| match name.as_str() {
            "host" => (name.clone(), value.replace(&vector.region, "eu-south-7") + "x"),
            _ => (name.clone(), value.clone()),
        });
        let elsewhere = Request { headers: headers.collect(), ..right.clone() };
        assert_eq!(verify(&elsewhere, &vector.secret_key, vector.time), Err(Flaw::Mismatch), "{}", vector.id);
        let scope = format!("%2F{}%2Fsts%2F", vector.region);
        assert!(right.query.contains(&scope));
        for other in ["%2Feu-south-7%2Fsts%2F", &format!("%2F{}%2Feks%2F", vector.region)] {
            let rescoped = Request { query: right.query.replace(&scope, other), ..right.clone() };
            assert_eq!(verify(&rescoped, &vector.secret_key, vector.time), Err(Flaw::Mismatch), "{}", vector.id);
        }
    });
}

#[test]
fn a_token_without_one_of_its_parts_is_incomplete() {
    let vector = &vectors()[0];
    let whole = request(&vector.token, &vector.cluster);
    for part in ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"] {
        let lacks = |pair: &&str| !pair.starts_with(&format!("X-Amz-{part}="));
        let query = whole.query.split('&').filter(lacks).collect::<Vec<_>>().join("&");
        let verdict = verify(&Request { query, ..whole.clone() }, &vector.secret_key, vector.time);
        assert!(matches!(verdict, Err(Flaw::Incomplete(_))), "{part}: {verdict:?}");
    }
    for wrong in ["0", "604801", "soon"] {
        let query = whole.query.replace("X-Amz-Expires=60", &format!("X-Amz-Expires={wrong}"));
        let verdict = verify(&Request { query, ..whole.clone() }, &vector.secret_key, vector.time);
        assert!(matches!(verdict, Err(Flaw::Incomplete(_))), "{wrong}: {verdict:?}");
    }
}

/// "Create a signed AWS API request" in AWS's IAM user guide.
fn documented() -> Request {
    let authorization = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date, \
         Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
    let headers = [
        ("host", "iam.amazonaws.com"),
        ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("x-amz-date", "20150830T123600Z"),
        ("authorization", authorization),
    ];
    Request {
        method: "GET".into(),
        path: "/".into(),
        query: "Action=ListUsers&Version=2010-05-08".into(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        ..Request::default()
    }
}

const DOCUMENTED_SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn documented_time() -> Timestamp {
    "2015-08-30T12:36:00Z".parse().unwrap()
}

#[test]
fn the_documented_example_of_a_header_verifies() {
    assert_eq!(verify(&documented(), DOCUMENTED_SECRET, documented_time()), Ok(()));
}

#[test]
fn a_signature_in_a_header_lives_for_five_minutes() {
    let at = |seconds| verify(&documented(), DOCUMENTED_SECRET, documented_time() + SignedDuration::from_secs(seconds));
    assert_eq!(at(300), Ok(()));
    assert!(matches!(at(301), Err(Flaw::Expired { allowed: 5, .. })));
    assert!(matches!(at(-301), Err(Flaw::NotYet { .. })));
}

#[test]
fn a_request_with_a_signed_header_is_refused_when_anything_in_it_is_another() {
    let verdict = |request: &Request| verify(request, DOCUMENTED_SECRET, documented_time());
    let right = documented();
    assert_eq!(verdict(&Request { method: "POST".into(), ..right.clone() }), Err(Flaw::Mismatch));
    assert_eq!(verdict(&Request { path: "/x".into(), ..right.clone() }), Err(Flaw::Mismatch));
    assert_eq!(verdict(&Request { query: "Action=ListRoles".into(), ..right.clone() }), Err(Flaw::Mismatch));
    assert_eq!(verdict(&Request { body: "x".into(), ..right.clone() }), Err(Flaw::Mismatch));
    for position in 0..3 {
        let mut changed = right.clone();
        let value = &mut changed.headers[position].1;
        // Still a time, and still on the same day.
        *value = if value.ends_with('Z') { "20150830T123601Z".into() } else { format!("{value}x") };
        assert_eq!(verdict(&changed), Err(Flaw::Mismatch), "{:?}", changed.headers[position]);
    }
}

#[test]
fn a_header_of_amazon_that_is_not_signed_is_refused() {
    let mut request = documented();
    request.headers.push(("x-amz-security-token".into(), "stolen".into()));
    let verdict = verify(&request, DOCUMENTED_SECRET, documented_time());
    assert!(matches!(verdict, Err(Flaw::Incomplete(message)) if message.contains("x-amz-security-token")));
}

#[test]
fn a_request_without_any_signature_is_told_so() {
    let mut request = documented();
    request.headers.pop();
    assert_eq!(verify(&request, DOCUMENTED_SECRET, documented_time()), Err(Flaw::Absent));
}
