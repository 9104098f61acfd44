//! Keyed digests: equality of content without keeping it. The key is random per process, so a printed or dumped digest
//! says nothing about a short password.

use super::decode::{Content, Values};
use aws_lc_rs::{hmac, rand};
use std::fmt;

/// The type of a Secret that names none.
pub const OPAQUE: &str = "Opaque";

/// 16 bytes of HMAC-SHA-256 under the process's key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Digest([u8; 16]);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest")
    }
}

/// The process's digest key.
#[derive(Clone)]
pub struct DigestKey(hmac::Key);

impl DigestKey {
    /// A new random key. Fails only if the system has no randomness.
    pub fn generate() -> Result<Self, aws_lc_rs::error::Unspecified> {
        Ok(Self(hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new())?))
    }

    /// Starts a digest.
    pub fn start(&self) -> Hasher {
        Hasher(hmac::Context::with_key(&self.0))
    }

    /// Digest of what an object holds: type (empty = Opaque for Secrets), immutable, data, binaryData.
    pub fn content(&self, content: &Content) -> Digest {
        let mut hasher = self.start();
        hasher.text(content.type_.as_deref().unwrap_or(OPAQUE));
        hasher.flag(content.immutable);
        hasher.values(&content.data);
        hasher.values(&content.binary_data);
        hasher.finish()
    }
}

/// A digest in the making. Every field is preceded by its length: no two sequences of fields look the same.
pub struct Hasher(hmac::Context);

impl Hasher {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds a text or its absence.
    pub fn maybe(&mut self, text: Option<&str>) {
        self.flag(text.is_some());
        self.text(text.unwrap_or_default());
    }

    /// Adds a truth value.
    pub fn flag(&mut self, flag: bool) {
        self.0.update(&[u8::from(flag)]);
    }

    /// Adds the length of a list whose items follow.
    pub fn count(&mut self, count: usize) {
        self.0.update(&(count as u64).to_le_bytes());
    }

    /// Adds another digest.
    pub fn digest(&mut self, digest: Digest) {
        self.0.update(&digest.0);
    }

    /// Adds a name with its value or the absence of one.
    pub fn entry(&mut self, name: &str, value: Option<&str>) {
        self.text(name);
        self.maybe(value);
    }

    /// Adds keys and values.
    pub fn values(&mut self, values: &Values) {
        self.count(values.len());
        for (key, value) in values {
            self.text(key);
            self.text(value.reveal());
        }
    }

    /// The digest.
    pub fn finish(self) -> Digest {
        let mut digest = [0; 16];
        for (to, from) in digest.iter_mut().zip(self.0.sign().as_ref()) {
            *to = *from;
        }
        Digest(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(data: &[(&str, &str)]) -> Content {
        let data = data.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Content { data, ..Content::default() }
    }

    #[test]
    fn equal_content_has_equal_digests_and_any_difference_shows() {
        let key = DigestKey::generate().unwrap();
        let base = key.content(&content(&[("a", "1"), ("b", "2")]));
        assert_eq!(base, key.content(&content(&[("a", "1"), ("b", "2")])));
        assert_ne!(base, key.content(&content(&[("a", "1b"), ("", "2")])));
        assert_ne!(base, key.content(&content(&[("a", "1")])));
        let moved = Content { binary_data: content(&[("a", "1"), ("b", "2")]).data, ..Content::default() };
        assert_ne!(base, key.content(&moved));
    }

    #[test]
    fn another_process_has_other_digests() {
        let of = || DigestKey::generate().unwrap().content(&content(&[("a", "1")]));
        assert_ne!(of(), of());
    }
}
