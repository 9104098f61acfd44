//! The canonical request: one spelling of a request, whatever way it was written.

use aws_lc_rs::digest::{SHA256, digest};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::hex;
use crate::request::Request;

/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The canonical form of `request`. A signed header that is not there counts as empty, which no honest signer signed.
pub(super) fn request(request: &Request, signed_headers: &[String]) -> String {
    let headers: String = signed_headers.iter().map(|name| format!("{name}:{}\n", header(request, name))).collect();
    format!(
        "{}\n{}\n{}\n{headers}\n{}\n{}",
        request.method,
        path(&request.path),
        query(&request.query),
        signed_headers.join(";"),
        // Never what the client says: the hash of what came.
        hex(digest(&SHA256, &request.body).as_ref()),
    )
}

/// Each segment is encoded once more than in the request: the rule for every service but S3.
fn path(raw: &str) -> String {
    match raw {
        "" => "/".to_owned(),
        raw => raw.split('/').map(encode).collect::<Vec<_>>().join("/"),
    }
}

/// Sorted by encoded name, then value, without the signature itself.
fn query(raw: &str) -> String {
    let pairs = raw.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(|(name, _)| *name != "X-Amz-Signature")
        .map(|(name, value)| (recode(name), recode(value)))
        .collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// All values of that name, runs of blanks folded.
fn header(request: &Request, name: &str) -> String {
    let values = request.headers.iter().filter(|(header, _)| header == name);
    values.map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(",")
}

fn recode(encoded: &str) -> String {
    percent_encode(&percent_decode_str(encoded).collect::<Vec<u8>>(), ENCODED).to_string()
}

fn encode(raw: &str) -> String {
    percent_encode(raw.as_bytes(), ENCODED).to_string()
}
