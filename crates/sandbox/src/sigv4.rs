//! Signature Version 4, as the verifier sees it: written from AWS's description and independent of the SDK that signs.
//!
//! ```text
//! Request ──▶ Claim (who says to have signed what, when, for which region and service)
//!               ├─ check_time:      now against the time of signing
//!               └─ check_signature: canonical request ──▶ string to sign ──▶ HMAC chain of the secret ──▶ compare
//! ```
//!
//! Both forms: an `Authorization` header, and a presigned URL with everything in the query. Pure: time is an argument.

mod canonical;
mod claim;
mod key;
#[cfg(test)]
mod tests;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use jiff::{SignedDuration, Timestamp};

use crate::request::Request;

/// How far a clock may be ahead, and how old a signature in a header may be.
const SKEW: SignedDuration = SignedDuration::from_mins(5);
/// How old a presigned request may be. STS ignores `X-Amz-Expires`, if only it is there.
const PRESIGNED_AGE: SignedDuration = SignedDuration::from_mins(15);

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What a request says about its signature. Holds a session token: there is no way to print it.
#[derive(Clone)]
pub struct Claim {
    /// Whose key signed it.
    pub access_key: String,
    /// The session token that belongs to temporary credentials.
    pub session_token: Option<String>,
    /// What the signature is good for.
    pub scope: Scope,
    time: Timestamp,
    amz_date: String,
    signed_headers: Vec<String>,
    signature: String,
    form: Form,
}

/// For what a signature is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The day, `20260102`.
    pub date: String,
    /// The region.
    pub region: String,
    /// `sts`, `eks`.
    pub service: String,
}

/// Where the signature stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Header,
    Presigned,
}

/// What is wrong with a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There is none.
    #[error("Request is missing Authentication Token")]
    Absent,
    /// It lacks something, or is not well-formed.
    #[error("{0}")]
    Incomplete(String),
    /// It is too old.
    #[error("Signature expired: {signed} is now earlier than {limit} ({now} - {allowed} min.)")]
    Expired {
        /// When it was signed.
        signed: String,
        /// When it should have been, at the earliest.
        limit: String,
        /// The time of the server.
        now: String,
        /// How many minutes a signature lives.
        allowed: i64,
    },
    /// The signer's clock is ahead.
    #[error("Signature not yet current: {signed} is still later than {limit} ({now} + 5 min.)")]
    NotYet {
        /// When it was signed.
        signed: String,
        /// When it should have been, at the latest.
        limit: String,
        /// The time of the server.
        now: String,
    },
    /// Another region or service.
    #[error("Credential should be scoped to {0}")]
    Scope(String),
    /// Another secret, or the request was changed.
    #[error(
        "The request signature we calculated does not match the signature you provided. \
         Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
    )]
    Mismatch,
}

impl Claim {
    /// What the request says. Refuses what is missing, doubled or malformed, and what would leave something unsigned.
    pub fn read(request: &Request) -> Result<Self, Flaw> {
        claim::read(request)
    }

    /// Whether the signature is neither too old nor from the future.
    pub fn check_time(&self, now: Timestamp) -> Result<(), Flaw> {
        let age = match self.form {
            Form::Header => SKEW,
            Form::Presigned => PRESIGNED_AGE,
        };
        let stamp = claim::format_time;
        if self.time < now - age {
            let (signed, limit) = (stamp(self.time), stamp(now - age));
            return Err(Flaw::Expired { signed, limit, now: stamp(now), allowed: age.as_mins() });
        }
        if self.time > now + SKEW {
            return Err(Flaw::NotYet { signed: stamp(self.time), limit: stamp(now + SKEW), now: stamp(now) });
        }
        Ok(())
    }

    /// Whether the signature is that of `secret` over exactly this request.
    pub fn check_signature(&self, request: &Request, secret: &str) -> Result<(), Flaw> {
        let canonical = canonical::request(request, &self.signed_headers);
        let Scope { date, region, service } = &self.scope;
        let string = format!(
            "{ALGORITHM}\n{}\n{date}/{region}/{service}/aws4_request\n{}",
            self.amz_date,
            hex(digest(&SHA256, canonical.as_bytes()).as_ref())
        );
        let expected = hex(key::sign(secret, &self.scope, &string).as_ref());
        verify_slices_are_equal(expected.as_bytes(), self.signature.as_bytes()).map_err(|_| Flaw::Mismatch)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
