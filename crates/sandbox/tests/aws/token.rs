//! Tokens for clusters, signed by the SDK's implementation of SigV4.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// A token for the cluster that is called `cluster`, signed at `time`.
pub fn token(credentials: &Credentials, region: &str, cluster: &str, time: SystemTime) -> String {
    token_for("sts", credentials, region, cluster, time)
}

/// The same, signed for that service.
pub fn token_for(service: &str, credentials: &Credentials, region: &str, cluster: &str, time: SystemTime) -> String {
    let host = format!("sts.{region}.amazonaws.com");
    let url = format!("https://{host}/?Action=GetCallerIdentity&Version=2011-06-15");
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(Duration::from_secs(60));
    let identity = credentials.clone().into();
    let parameters = SigningParams::builder().identity(&identity).region(region).name(service);
    let parameters = parameters.time(time).settings(settings).build().unwrap().into();
    let headers = [("host", host.as_str()), ("x-k8s-aws-id", cluster)];
    let request = SignableRequest::new("GET", &url, headers.into_iter(), SignableBody::Bytes(&[])).unwrap();
    let (instructions, _) = sign(request, &parameters).unwrap().into_parts();
    let (_, added) = instructions.into_parts();
    let added = added.iter().map(|(name, value)| format!("&{name}={}", encode(value))).collect::<String>();
    format!("k8s-aws-v1.{}", BASE64_URL_SAFE_NO_PAD.encode(url + &added))
}

fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
