//! What a source ships: its content after `towline.dev/keys` and `towline.dev/target-type`, written as JSON once and shared
//! by all followers. It cannot be printed, and its buffers are wiped on drop.

use super::{
    decode::{Content, Values},
    digest::{Digest, DigestKey},
    hidden::Hidden,
    tls::{self, Sound, Unsound},
};
use crate::api::{annotations::Intent, patterns::Patterns};
use std::{collections::BTreeSet, fmt, sync::Arc};
use zeroize::Zeroizing;

/// Content that is ready to be sent.
pub struct Payload {
    /// `type`; `None` for ConfigMaps.
    pub type_: Option<Arc<str>>,
    /// `immutable`.
    pub immutable: bool,
    /// `data`.
    pub data: Fields,
    /// `binaryData`.
    pub binary_data: Fields,
    /// Digest over all of the above.
    pub digest: Digest,
    /// The TLS pair, if the type says that it holds one.
    pub tls: Option<Result<Sound, Unsound>>,
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payload")
    }
}

/// Keys, and the members of a JSON object (`"k":"v","l":"w"`, without braces).
#[derive(Default)]
pub struct Fields {
    /// The keys, sorted.
    pub keys: Box<[Box<str>]>,
    members: Zeroizing<Vec<u8>>,
}

impl Fields {
    /// The members as JSON, without braces. Never log them.
    pub fn members(&self) -> &[u8] {
        &self.members
    }

    fn of(values: &Values) -> Self {
        let mut members = Zeroizing::new(Vec::with_capacity(values.iter().map(|(key, value)| room(key, value)).sum()));
        for (key, value) in values {
            if !members.is_empty() {
                members.push(b',');
            }
            json_text(&mut members, key);
            members.push(b':');
            json_text(&mut members, value.reveal());
        }
        Self { keys: values.keys().cloned().collect(), members }
    }
}

/// Room for a member, so that the buffer never grows and leaves an unwiped copy behind.
fn room(key: &str, value: &Hidden) -> usize {
    let escaped = |text: &str| text.bytes().map(escaped_length).sum::<usize>() + 2;
    escaped(key) + escaped(value.reveal()) + 2
}

fn escaped_length(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// Appends a JSON string.
pub fn json_text(to: &mut Vec<u8>, text: &str) {
    to.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => to.extend([b'\\', byte]),
            0..0x20 => to.extend([b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]),
            _ => to.push(byte),
        }
    }
    to.push(b'"');
}

fn hex(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}

/// Why a source's content cannot be shipped as its annotations ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// `keys` leaves nothing.
    #[error("annotation towline.dev/keys matches none of the data keys")]
    NoKeys,
    /// `keys` drops what the type needs.
    #[error(
        "annotation towline.dev/keys drops {key}, which type {type_} needs: add the key, or set towline.dev/target-type"
    )]
    NeededKey {
        /// The key.
        key: &'static str,
        /// The type.
        type_: Arc<str>,
    },
    /// `target-type` on a ConfigMap.
    #[error("annotation towline.dev/target-type: a ConfigMap has no type")]
    TypeOfConfigMap,
}

impl Payload {
    /// Takes a source's content, applies its intent, and writes the JSON.
    pub fn pack(mut content: Content, intent: &Intent, key: &DigestKey) -> Result<Self, Misfit> {
        if let Some(patterns) = &intent.keys {
            select(&mut content, patterns, intent.target_type.is_some())?;
        }
        if let Some(wanted) = &intent.target_type {
            content.type_ = Some(content.type_.map(|_| wanted.as_str().into()).ok_or(Misfit::TypeOfConfigMap)?);
        }
        Ok(Self {
            digest: key.content(&content),
            tls: tls::examine(&content),
            data: Fields::of(&content.data),
            binary_data: Fields::of(&content.binary_data),
            immutable: content.immutable,
            type_: content.type_,
        })
    }

    /// `data` and `binaryData` keys together.
    pub fn keys(&self) -> BTreeSet<&str> {
        self.data.keys.iter().chain(&self.binary_data.keys).map(|key| &**key).collect()
    }
}

fn select(content: &mut Content, patterns: &Patterns, retyped: bool) -> Result<(), Misfit> {
    let needed = content.type_.as_deref().map_or(&[][..], needed_keys);
    let dropped = needed.iter().find(|key| content.data.contains_key(**key) && !patterns.matches(key));
    if let (Some(key), Some(type_), false) = (dropped, &content.type_, retyped) {
        return Err(Misfit::NeededKey { key, type_: type_.clone() });
    }
    content.data.retain(|key, _| patterns.matches(key));
    content.binary_data.retain(|key, _| patterns.matches(key));
    if content.data.is_empty() && content.binary_data.is_empty() { Err(Misfit::NoKeys) } else { Ok(()) }
}

/// The keys that the API server demands of a Secret's type.
fn needed_keys(type_: &str) -> &'static [&'static str] {
    match type_ {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::annotations;
    use proptest::prelude::*;

    fn intent(annotations: &[(&str, &str)]) -> Intent {
        let all = annotations.iter().chain(&[("towline.dev/followers", "*")]);
        let all = all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        annotations::parse(&all).unwrap().unwrap()
    }

    fn content(type_: Option<&str>, keys: &[&str]) -> Content {
        let data = keys.iter().map(|key| ((*key).into(), "dg==".into())).collect();
        Content { type_: type_.map(Into::into), data, ..Content::default() }
    }

    fn pack(content: Content, annotations: &[(&str, &str)]) -> Result<Payload, Misfit> {
        Payload::pack(content, &intent(annotations), &DigestKey::generate().unwrap())
    }

    #[test]
    fn keys_select_data() {
        let payload = pack(content(Some("Opaque"), &["a", "b", "c"]), &[("towline.dev/keys", "*, !b")]).unwrap();
        assert_eq!(payload.data.members(), br#""a":"dg==","c":"dg==""#);
        assert_eq!(payload.keys(), ["a", "c"].into());
    }

    #[test]
    fn keys_that_match_nothing_are_refused() {
        assert_eq!(pack(content(None, &["a"]), &[("towline.dev/keys", "x")]).unwrap_err(), Misfit::NoKeys);
    }

    #[test]
    fn a_key_that_the_type_needs_is_dropped_only_with_another_type() {
        let pair = || content(Some("kubernetes.io/tls"), &["ca.crt", "tls.crt", "tls.key"]);
        let ca = ("towline.dev/keys", "ca.crt");
        assert!(matches!(pack(pair(), &[ca]), Err(Misfit::NeededKey { key: "tls.crt", .. })));
        let payload = pack(pair(), &[ca, ("towline.dev/target-type", "Opaque")]).unwrap();
        assert_eq!(payload.type_.as_deref(), Some("Opaque"));
        assert_eq!(payload.tls, None);
    }

    #[test]
    fn a_config_map_has_no_type() {
        assert_eq!(
            pack(content(None, &["a"]), &[("towline.dev/target-type", "Opaque")]).unwrap_err(),
            Misfit::TypeOfConfigMap
        );
    }

    #[test]
    fn a_payload_shows_nothing() {
        assert_eq!(format!("{:?}", pack(content(None, &["a"]), &[]).unwrap()), "Payload");
    }

    proptest! {
        #[test]
        fn members_are_the_json_of_the_values_and_the_buffer_never_grew(values: std::collections::BTreeMap<String, String>) {
            let hidden: Values = values.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect();
            let fields = Fields::of(&hidden);
            let json = [b"{", fields.members(), b"}"].concat();
            prop_assert_eq!(serde_json::from_slice::<std::collections::BTreeMap<String, String>>(&json).unwrap(), values);
            prop_assert!(fields.members.len() <= hidden.iter().map(|(key, value)| room(key, value)).sum::<usize>());
        }
    }
}
