//! The chain of HMACs from a secret to a signature.

use aws_lc_rs::hmac::{HMAC_SHA256, Key, Tag, sign as hmac};

use super::Scope;

/// Signs `string` with the key that `secret` gives for `scope`.
pub(super) fn sign(secret: &str, scope: &Scope, string: &str) -> Tag {
    let start = Key::new(HMAC_SHA256, format!("AWS4{secret}").as_bytes());
    let key = [&scope.date, &scope.region, &scope.service, "aws4_request"]
        .iter()
        .fold(start, |key, part| Key::new(HMAC_SHA256, hmac(&key, part.as_bytes()).as_ref()));
    hmac(&key, string.as_bytes())
}
