//! The way through the proxy, for clients that insist on the real hosts.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::makers::{Ground, HUB, ISSUER, REGION, SUBJECT};
use crate::token::{token, token_for};

/// Asks the proxy for a tunnel, and says what it answers.
async fn connect(ground: &Ground, target: &str) -> (TcpStream, String) {
    let proxy = ground.aws.proxy_url();
    let mut stream = TcpStream::connect(proxy.strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n").as_bytes()).await.unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap().into());
    }
    (stream, head.split(' ').nth(1).unwrap().to_owned())
}

/// A tunnel to `host`, whose certificate is checked against the one authority that we give out.
async fn tunnel(ground: &Ground, host: &str) -> TlsStream<TcpStream> {
    let (stream, status) = connect(ground, &format!("{host}:443")).await;
    assert_eq!(status, "200");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ground.aws.ca_pem().as_bytes()).unwrap()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider().into();
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    TlsConnector::from(std::sync::Arc::new(config)).connect(name, stream).await.unwrap()
}

/// One request, and the whole answer.
async fn ask(ground: &Ground, host: &str, request: &str) -> String {
    let mut tunnel = tunnel(ground, host).await;
    tunnel.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Our server says goodbye with a closed connection only.
    let _ = tunnel.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

/// The request that is in a token, to `host`.
fn presigned(token: &str, host: &str) -> String {
    let url = BASE64_URL_SAFE_NO_PAD.decode(token.strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
    let url = String::from_utf8(url).unwrap();
    let query = url.split_once('?').unwrap().1;
    format!("GET /?{query} HTTP/1.1\r\nhost: {host}\r\nx-k8s-aws-id: prod\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_post_reaches_sts_in_the_region_of_the_host() {
    let ground = Ground::new();
    let token = ground.aws.web_identity_token(ISSUER, SUBJECT, Duration::from_secs(60)).unwrap();
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", HUB)])
        .extend_pairs([("RoleSessionName", "towline"), ("WebIdentityToken", &token)])
        .finish();
    let host = "sts.eu-west-3.amazonaws.com";
    let length = body.len();
    let head = format!("POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let answer = ask(&ground, host, &(head + &body)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA"), "{answer}");
    assert_eq!(ground.aws.calls()[0].region, "eu-west-3");
}

#[tokio::test]
async fn a_presigned_request_is_good_at_the_host_of_its_region_and_service_only() {
    let ground = Ground::new();
    let signed = token(&ground.follower().await, REGION, "prod", SystemTime::now());
    let right = "sts.eu-central-1.amazonaws.com";
    let answer = ask(&ground, right, &presigned(&signed, right)).await;
    assert!(
        answer.contains("<Arn>arn:aws:sts::222222222222:assumed-role/towline-follower/towline-prod</Arn>"),
        "{answer}"
    );
    let wrong = "sts.eu-west-1.amazonaws.com";
    let answer = ask(&ground, wrong, &presigned(&signed, wrong)).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("<Message>Credential should be scoped to a valid region.</Message>"), "{answer}");
    let for_eks = token_for("eks", &ground.follower().await, REGION, "prod", SystemTime::now());
    let answer = ask(&ground, right, &presigned(&for_eks, right)).await;
    assert!(answer.contains("<Message>Credential should be scoped to correct service: 'sts'.</Message>"), "{answer}");
    // Another service's host does not take it either.
    let eks = "eks.eu-central-1.amazonaws.com";
    assert!(ask(&ground, eks, &presigned(&signed, eks)).await.starts_with("HTTP/1.1 404"));
}

#[tokio::test]
async fn only_hosts_of_aws_are_behind_the_proxy() {
    let ground = Ground::new();
    for target in ["sts.amazonaws.com:443", "sts.cn-north-1.amazonaws.com.cn:443", "eks.eu-west-1.api.aws:443"] {
        assert_eq!(connect(&ground, target).await.1, "200", "{target}");
    }
    for target in ["example.com:443", "sts.amazonaws.com:80", "127.0.0.1:443", "ec2.eu-west-1.amazonaws.com:443"] {
        assert_eq!(connect(&ground, target).await.1, "403", "{target}");
    }
}
