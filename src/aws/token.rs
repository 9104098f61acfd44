//! The bearer token of an EKS cluster: a presigned `GetCallerIdentity` that the cluster's authenticator sends to STS. Pure;
//! byte for byte what `aws eks get-token` prints.

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_runtime_api::client::identity::Identity;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{
    fmt::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use zeroize::Zeroizing;

const PREFIX: &str = "k8s-aws-v1.";
/// Says nothing about how long the token lives, but must be there.
const EXPIRES: Duration = Duration::from_secs(60);
/// STS takes it for 15 minutes from its date; a minute is left for clocks and slow requests.
const LIFETIME: Duration = Duration::from_secs(14 * 60);
/// A token dies with the credentials that signed it: so long before them it is not used any more.
const MARGIN: Duration = Duration::from_secs(60);
/// The authenticator refuses more, without a word.
const LONGEST: usize = 4096;

/// For whom a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audience {
    /// The STS host that the authenticator will ask: `sts.REGION.amazonaws.com`, or what the partition has.
    pub sts_host: String,
    /// The region of that host.
    pub region: String,
    /// The cluster's name, or the id of a local cluster on an Outpost, or an authenticator's `clusterID`. Case matters.
    pub cluster: String,
}

/// A token and until when it can be used.
pub struct Token {
    /// `k8s-aws-v1.` and the presigned URL in base64url.
    pub value: Zeroizing<String>,
    /// By the clock that it was signed with.
    pub expires: SystemTime,
}

/// Why no token could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The signer refused its input.
    #[error(
        "the token for cluster {cluster} cannot be signed: region or cluster name hold characters that no header may have"
    )]
    Unsignable {
        /// The cluster.
        cluster: String,
    },
    /// The authenticator would refuse it with a bare 401.
    #[error(
        "the token for cluster {cluster} is {length} bytes long, and no authenticator takes more than 4096: the role's session token is too large (session tags, session policies)"
    )]
    TooLong {
        /// The cluster.
        cluster: String,
        /// Bytes.
        length: usize,
    },
}

/// Signs a token. `now` is the time as AWS sees it: STS refuses a clock that is 15 minutes off.
pub fn presign(credentials: &Credentials, audience: &Audience, now: SystemTime) -> Result<Token, TokenError> {
    let now = whole_seconds(now);
    let url = presigned_url(credentials, audience, now)
        .ok_or_else(|| TokenError::Unsignable { cluster: audience.cluster.clone() })?;
    let value = Zeroizing::new(format!("{PREFIX}{}", *Zeroizing::new(URL_SAFE_NO_PAD.encode(url.as_bytes()))));
    if value.len() > LONGEST {
        return Err(TokenError::TooLong { cluster: audience.cluster.clone(), length: value.len() });
    }
    let dies = credentials.expiry().and_then(|expiry| expiry.checked_sub(MARGIN));
    let expires = dies.into_iter().chain([now + LIFETIME]).min().unwrap_or(now);
    Ok(Token { value, expires })
}

fn presigned_url(credentials: &Credentials, audience: &Audience, now: SystemTime) -> Option<Zeroizing<String>> {
    let identity: Identity = credentials.clone().into();
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(EXPIRES);
    let params = v4::SigningParams::builder().identity(&identity).region(&audience.region).name("sts");
    let params = params.time(now).settings(settings).build().ok()?;
    let url = format!("https://{}/?Action=GetCallerIdentity&Version=2011-06-15", audience.sts_host);
    let headers = [("host", audience.sts_host.as_str()), ("x-k8s-aws-id", audience.cluster.as_str())];
    let request = SignableRequest::new("GET", &url, headers.into_iter(), SignableBody::Bytes(&[])).ok()?;
    let (instructions, _) = sign(request, &params.into()).ok()?.into_parts();

    let mut signed = Zeroizing::new(url);
    // Room for all, or a longer buffer would leave the shorter one behind, unwiped.
    signed.reserve(3 * instructions.params().iter().map(|(name, value)| name.len() + value.len() + 2).sum::<usize>());
    let mut params: Vec<_> = instructions.params().iter().collect();
    params.sort_by_key(|(name, _)| place(name));
    for (name, value) in params {
        signed.push('&');
        signed.push_str(name);
        signed.push('=');
        percent_encode(value, &mut signed);
    }
    Some(signed)
}

/// The order in which the AWS CLI writes the parameters. The signature does not depend on it.
fn place(name: &str) -> usize {
    const ORDER: [&str; 7] = [
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Date",
        "X-Amz-Expires",
        "X-Amz-SignedHeaders",
        "X-Amz-Security-Token",
        "X-Amz-Signature",
    ];
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

/// RFC 3986: all but the unreserved characters, in upper-case hex.
fn percent_encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                // Writing to a String cannot fail.
                let _written = write!(out, "%{byte:02X}");
            }
        }
    }
}

fn whole_seconds(time: SystemTime) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

#[cfg(test)]
mod tests;
