//! The annotations by which a ConfigMap or Secret asks to be copied, and what they ask for.

use super::{
    duration,
    grammar::{cut, is_dns_label, is_dns_subdomain, nearest},
    mark,
    names::{FollowerName, ObjectName},
    patterns::{Patterns, is_glob},
    selector::Selector,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

/// What all of Towline's own keys begin with.
pub const TOWLINE: &str = "towline.dev/";
/// What all of kubed's keys begin with.
pub const KUBED: &str = "kubed.appscode.com/";

/// kubed's key: into namespaces of the management cluster.
pub const SYNC: &str = "kubed.appscode.com/sync";
/// kubed's key: to followers by name.
pub const SYNC_CONTEXTS: &str = "kubed.appscode.com/sync-contexts";
/// To followers by names and globs.
pub const FOLLOWERS: &str = "towline.dev/followers";
/// To followers by their labels.
pub const FOLLOWER_SELECTOR: &str = "towline.dev/follower-selector";
/// Into other namespaces than the same-named one. Privileged.
pub const TARGET_NAMESPACES: &str = "towline.dev/target-namespaces";
/// Into namespaces by their labels. Privileged.
pub const TARGET_NAMESPACE_SELECTOR: &str = "towline.dev/target-namespace-selector";
/// Name of the copy. Privileged.
pub const TARGET_NAME: &str = "towline.dev/target-name";
/// Create a missing namespace. Privileged.
pub const CREATE_NAMESPACE: &str = "towline.dev/create-namespace";
/// What to do about an object that Towline did not make. Privileged.
pub const ON_CONFLICT: &str = "towline.dev/on-conflict";
/// Copy only some data keys.
pub const KEYS: &str = "towline.dev/keys";
/// Type of the copy.
pub const TARGET_TYPE: &str = "towline.dev/target-type";
/// What happens to copies that are no longer wanted.
pub const DELETION_POLICY: &str = "towline.dev/deletion-policy";
/// How long copies outlive their source.
pub const DELETION_DELAY: &str = "towline.dev/deletion-delay";
/// Whether an unsound TLS payload is held back from sound copies.
pub const VALIDATE: &str = "towline.dev/validate";
/// Leave all copies as they are.
pub const SUSPEND: &str = "towline.dev/suspend";

/// All keys that make an object a source.
pub const SOURCE_KEYS: [&str; 15] = [
    SYNC,
    SYNC_CONTEXTS,
    FOLLOWERS,
    FOLLOWER_SELECTOR,
    TARGET_NAMESPACES,
    TARGET_NAMESPACE_SELECTOR,
    TARGET_NAME,
    CREATE_NAMESPACE,
    ON_CONFLICT,
    KEYS,
    TARGET_TYPE,
    DELETION_POLICY,
    DELETION_DELAY,
    VALIDATE,
    SUSPEND,
];

/// Keys of copies and namespaces; a copy that another hub made may be a source here, and carries them.
const COPY_KEYS: [&str; 5] = [mark::ORIGIN, mark::SOURCE, mark::PROPAGATED, mark::HOLD, mark::ACCEPT];

/// Characters of a mistaken value that are quoted.
const QUOTED: usize = 100;

/// A type that no annotation may ask for: the follower would put a service account's token into such a copy.
const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";

/// Where kubed's `sync` copies to in the management cluster; never into the source's own namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubedSync {
    /// Into all namespaces.
    All,
    /// Into those with fitting labels.
    Selector(Selector),
}

/// What to do about an object that Towline did not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave it, and tell.
    #[default]
    Refuse,
    /// Take its place, where policy grants it.
    Overwrite,
}

/// What happens to a copy that is no longer wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeletionPolicy {
    /// It is deleted.
    #[default]
    Delete,
    /// Its marks are removed and it stays.
    Orphan,
}

/// All that a source asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Followers by name, as kubed; sorted, each once.
    pub sync_contexts: Vec<FollowerName>,
    /// Namespaces of the management cluster, as kubed.
    pub local_sync: Option<KubedSync>,
    /// Followers by name or glob. A `*` here matches [`FollowerName::local`] too, which is never meant.
    pub followers: Option<Patterns>,
    /// Followers by labels.
    pub follower_selector: Option<Selector>,
    /// Namespaces of followers by name or glob.
    pub target_namespaces: Option<Patterns>,
    /// Namespaces of followers by labels.
    pub target_namespace_selector: Option<Selector>,
    /// Name of the copies; none: the source's.
    pub target_name: Option<ObjectName>,
    /// Create missing namespaces that are named literally.
    pub create_namespace: bool,
    /// What to do about objects that Towline did not make.
    pub on_conflict: OnConflict,
    /// Data keys to copy; none: all.
    pub keys: Option<Patterns>,
    /// Type of the copies; none: the source's.
    pub target_type: Option<String>,
    /// What happens to unwanted copies; none: not said.
    pub deletion_policy: Option<DeletionPolicy>,
    /// How long copies outlive their source; none: not said.
    pub deletion_delay: Option<Duration>,
    /// Whether an unsound TLS payload is held back from sound copies (the default).
    pub validate: bool,
    /// Leave all copies as they are.
    pub suspend: bool,
}

/// A mistake in an annotation. Holds nothing but one key and value of ours and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// The annotation.
    pub key: String,
    /// Its value, cut at 100 characters; empty if the key itself is the mistake.
    pub value: String,
    /// What is allowed instead.
    pub allowed: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, allowed } = self;
        match value.as_str() {
            "" => write!(f, "annotation {key} is invalid: allowed is {allowed}"),
            value => write!(f, "annotation {key}: \"{value}\" is invalid: allowed is {allowed}"),
        }
    }
}

/// Whether Towline reads an annotation; all others are dropped while decoding, so that their values are never held.
pub fn is_read(key: &str) -> bool {
    key.starts_with(TOWLINE) || [SYNC, SYNC_CONTEXTS, mark::KUBED_ORIGIN].contains(&key)
}

/// What an object asks for; `Ok(None)`: it is not a source.
pub fn parse(annotations: &BTreeMap<String, String>) -> Result<Option<Intent>, Invalid> {
    if let Some(key) = annotations.keys().find(|key| is_unknown(key)) {
        return Err(unknown(key));
    }
    if !SOURCE_KEYS.iter().any(|key| annotations.contains_key(*key)) {
        return Ok(None);
    }
    let read = Reader { annotations };
    Ok(Some(Intent {
        sync_contexts: read.sync_contexts(),
        local_sync: read.kubed_sync()?,
        followers: read.value(FOLLOWERS, patterns)?,
        follower_selector: read.value(FOLLOWER_SELECTOR, selector)?,
        target_namespaces: read.value(TARGET_NAMESPACES, namespaces)?,
        target_namespace_selector: read.value(TARGET_NAMESPACE_SELECTOR, selector)?,
        target_name: read.value(TARGET_NAME, object_name)?,
        create_namespace: read.value(CREATE_NAMESPACE, switch)?.unwrap_or(false),
        on_conflict: read.value(ON_CONFLICT, on_conflict)?.unwrap_or_default(),
        keys: read.value(KEYS, data_keys)?,
        target_type: read.value(TARGET_TYPE, target_type)?,
        deletion_policy: read.value(DELETION_POLICY, deletion_policy)?,
        deletion_delay: read.value(DELETION_DELAY, delay)?,
        validate: read.value(VALIDATE, switch)?.unwrap_or(true),
        suspend: read.value(SUSPEND, switch)?.unwrap_or(false),
    }))
}

struct Reader<'a> {
    annotations: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    /// A value of Towline's own, without the blanks around it; it may not be empty.
    fn value<T>(&self, key: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, Invalid> {
        let Some(text) = self.annotations.get(key).map(|text| text.trim()) else { return Ok(None) };
        let read = if text.is_empty() { Err("a value that is not empty".to_owned()) } else { read(text) };
        read.map(Some).map_err(|allowed| Invalid { key: key.to_owned(), value: cut(text, QUOTED), allowed })
    }

    /// As kubed: empty or `true` is everything, anything else is a selector.
    fn kubed_sync(&self) -> Result<Option<KubedSync>, Invalid> {
        match self.annotations.get(SYNC).map(|text| text.trim()) {
            None => Ok(None),
            Some("" | "true") => Ok(Some(KubedSync::All)),
            Some(_) => Ok(self.value(SYNC, selector)?.map(KubedSync::Selector)),
        }
    }

    fn sync_contexts(&self) -> Vec<FollowerName> {
        let text = self.annotations.get(SYNC_CONTEXTS).map_or("", String::as_str);
        let names: BTreeSet<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        names.into_iter().map(FollowerName::from).collect()
    }
}

fn patterns(text: &str) -> Result<Patterns, String> {
    Patterns::parse(text).map_err(|error| error.to_string())
}

fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|error| error.to_string())
}

fn namespaces(text: &str) -> Result<Patterns, String> {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-*?".contains(c);
    let fits = |text: &str| is_dns_label(text) || (is_glob(text) && text.chars().all(part));
    let list = patterns(text)?;
    if list.texts().all(fits) {
        return Ok(list);
    }
    Err("namespaces (lower-case letters, digits and `-`, at most 63 characters) or globs".to_owned())
}

fn data_keys(text: &str) -> Result<Patterns, String> {
    let part = |c: char| c.is_ascii_alphanumeric() || "-._*?".contains(c);
    let list = patterns(text)?;
    if list.texts().all(|text| text.chars().all(part)) {
        return Ok(list);
    }
    Err("data keys (letters, digits, `-`, `.` and `_`) or globs".to_owned())
}

fn object_name(text: &str) -> Result<ObjectName, String> {
    let allowed = || "an object's name (lower-case letters, digits, `-` and `.`, at most 253 characters)".to_owned();
    is_dns_subdomain(text).then(|| text.into()).ok_or_else(allowed)
}

fn target_type(text: &str) -> Result<String, String> {
    let part = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    if text == TOKEN_TYPE {
        return Err(format!("any type but {TOKEN_TYPE}"));
    }
    if text.len() <= 253 && text.chars().all(part) {
        return Ok(text.to_owned());
    }
    Err("a Secret's type, for example Opaque or kubernetes.io/tls".to_owned())
}

fn delay(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|error| error.to_string())
}

fn switch(text: &str) -> Result<bool, String> {
    one_of(text, [("true", true), ("false", false)])
}

fn on_conflict(text: &str) -> Result<OnConflict, String> {
    one_of(text, [("Refuse", OnConflict::Refuse), ("Overwrite", OnConflict::Overwrite)])
}

fn deletion_policy(text: &str) -> Result<DeletionPolicy, String> {
    one_of(text, [("Delete", DeletionPolicy::Delete), ("Orphan", DeletionPolicy::Orphan)])
}

fn one_of<T: Copy>(text: &str, [one, two]: [(&str, T); 2]) -> Result<T, String> {
    let meant = [one, two].into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    meant.map(|(_, value)| value).ok_or_else(|| format!("{} or {}", one.0, two.0))
}

/// One of Towline's that it does not know: a typing mistake, which must not silently copy nothing.
fn is_unknown(key: &str) -> bool {
    key.starts_with(TOWLINE) && !SOURCE_KEYS.contains(&key) && !COPY_KEYS.contains(&key)
}

fn unknown(key: &str) -> Invalid {
    let typed = cut(key, QUOTED);
    let own = SOURCE_KEYS.into_iter().filter(|key| key.starts_with(TOWLINE));
    let nearest = nearest(&typed, own).unwrap_or(FOLLOWERS);
    Invalid { key: typed, value: String::new(), allowed: format!("a known key, the nearest is {nearest}") }
}

#[cfg(test)]
mod tests;
