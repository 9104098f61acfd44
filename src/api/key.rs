//! What a source or a copy is known by inside one cluster: kind, namespace, name.

use super::names::{Namespace, ObjectName};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The two kinds that Towline copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `v1/ConfigMap`.
    ConfigMap,
    /// `v1/Secret`.
    Secret,
}

impl Kind {
    /// Both kinds, in their order.
    pub const ALL: [Self; 2] = [Self::ConfigMap, Self::Secret];

    /// The kind as in an object's `kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    /// The resource as in a URL and in RBAC.
    pub fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A ConfigMap or Secret inside one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// ConfigMap or Secret.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
}

impl ObjectKey {
    /// A key from its three parts.
    pub fn new(kind: Kind, namespace: impl Into<Namespace>, name: impl Into<ObjectName>) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
    }
}
