//! What somebody approved: ConfigMap `towline-approvals` in Towline's own namespace. A key is the first 16 hex digits of
//! SHA-256 over its value; the value is JSON `{"follower": UID, "copies": ["Kind/namespace/name/uid", …]}`, sorted. Pure.

use super::names::ClusterUid;
use aws_lc_rs::digest::{SHA256, digest as sha};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// Approved deletions: `Kind/namespace/name/uid` by follower.
pub type Approvals = BTreeMap<ClusterUid, BTreeSet<String>>;

/// The ConfigMap's name.
pub const CONFIG_MAP: &str = "towline-approvals";

#[derive(Serialize, Deserialize)]
struct Value {
    follower: ClusterUid,
    copies: Vec<String>,
}

/// The value under which these copies are approved.
pub fn value(follower: &ClusterUid, copies: &[String]) -> String {
    let value = Value { follower: follower.clone(), copies: copies.to_vec() };
    serde_json::to_string(&value).unwrap_or_default()
}

/// The key that belongs to it.
pub fn digest(follower: &ClusterUid, copies: &[String]) -> String {
    digest_of(&value(follower, copies))
}

fn digest_of(value: &str) -> String {
    sha(&SHA256, value.as_bytes()).as_ref().iter().take(8).fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// Reads the ConfigMap's data. An entry whose key is not its value's digest was not made by `towline deletions approve`, or
/// was edited since: it approves nothing.
pub fn read<'a>(data: impl Iterator<Item = (&'a str, &'a str)>) -> Approvals {
    let mut approved = Approvals::new();
    for (_, value) in data.filter(|(key, value)| *key == digest_of(value)) {
        if let Ok(Value { follower, copies }) = serde_json::from_str(value) {
            approved.entry(follower).or_default().extend(copies);
        }
    }
    approved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_read_back_and_an_edited_one_is_not() {
        let copies = ["Secret/n/a/u1".to_owned(), "Secret/n/b/u2".to_owned()];
        let (uid, value) = (ClusterUid::from("c"), value(&"c".into(), &copies));
        let key = digest(&uid, &copies);
        assert_eq!(key.len(), 16);
        assert_eq!(read([(key.as_str(), value.as_str())].into_iter()), [(uid, copies.into())].into());
        let edited = value.replace("u1", "u3");
        assert!(read([(key.as_str(), edited.as_str())].into_iter()).is_empty());
    }
}
