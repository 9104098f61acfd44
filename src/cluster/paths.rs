//! URLs of the Kubernetes API. Pure.

use crate::api::{
    key::{Kind, ObjectKey},
    names::{Namespace, ObjectName},
};

/// The namespace whose UID is a cluster's identity.
pub const IDENTITY: &str = "/api/v1/namespaces/kube-system";

/// All objects of a kind, in one namespace or (with `None`) in all.
pub fn collection(kind: Kind, namespace: Option<&Namespace>) -> String {
    match namespace {
        Some(namespace) => format!("{}/{}", self::namespace(namespace), kind.plural()),
        None => format!("/api/v1/{}", kind.plural()),
    }
}

/// One object.
pub fn object(key: &ObjectKey) -> String {
    in_collection(key.kind, &key.namespace, &key.name)
}

fn in_collection(kind: Kind, namespace: &Namespace, name: &ObjectName) -> String {
    format!("{}/{}", collection(kind, Some(namespace)), segment(name.as_str()))
}

/// All namespaces.
pub fn namespaces() -> String {
    "/api/v1/namespaces".to_owned()
}

/// One namespace.
pub fn namespace(name: &Namespace) -> String {
    format!("/api/v1/namespaces/{}", segment(name.as_str()))
}

/// A path and its query.
#[derive(Clone, Debug)]
pub struct Url(String, char);

impl Url {
    /// A path without query.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into(), '?')
    }

    /// Adds one pair.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.0.push(self.1);
        self.1 = '&';
        encode(&mut self.0, key);
        self.0.push('=');
        encode(&mut self.0, value);
        self
    }

    /// Adds one pair if there is a value.
    pub fn with_some(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Path and query as in a request line.
    pub fn build(self) -> String {
        self.0
    }
}

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.build()
    }
}

/// The header of one key of `as-user-extra`: header names are case-insensitive, so the key is encoded as client-go does.
pub(super) fn header_extra(key: &str) -> String {
    let mut name = "impersonate-extra-".to_owned();
    encode(&mut name, &key.to_ascii_lowercase());
    name
}

/// One path segment. A segment of dots only would be taken for a step up.
fn segment(text: &str) -> String {
    if text.bytes().all(|byte| byte == b'.') {
        return text.replace('.', "%2E");
    }
    let mut out = String::with_capacity(text.len());
    encode(&mut out, text);
    out
}

fn encode(out: &mut String, text: &str) {
    let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0').to_ascii_uppercase();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_those_of_the_core_api() {
        let key = ObjectKey::new(Kind::Secret, "web", "tls.example.com");
        assert_eq!(object(&key), "/api/v1/namespaces/web/secrets/tls.example.com");
        assert_eq!(collection(Kind::ConfigMap, None), "/api/v1/configmaps");
        assert_eq!(collection(Kind::ConfigMap, Some(&"web".into())), "/api/v1/namespaces/web/configmaps");
    }

    #[test]
    fn a_query_is_encoded() {
        let url = Url::new("/x").with("labelSelector", "a/b in (c,d)").with_some("continue", None).with("limit", "250");
        assert_eq!(url.build(), "/x?labelSelector=a%2Fb%20in%20%28c%2Cd%29&limit=250");
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_segment(name in ".*") {
            let path = object(&ObjectKey::new(Kind::Secret, "web", name.as_str()));
            let rest = path.strip_prefix("/api/v1/namespaces/web/secrets/").unwrap();
            prop_assert!(!rest.contains(['/', '?', '#', ' ']));
            prop_assert!(path.parse::<http::uri::PathAndQuery>().is_ok());
            prop_assert!(rest.is_empty() || rest.bytes().any(|byte| byte != b'.'));
        }
    }
}
