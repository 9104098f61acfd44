//! Newtypes for the strings that travel: cheap to clone (`Arc<str>`), ordered by bytes, never mixed up.

use std::{borrow::Borrow, fmt, sync::Arc};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Ok(Self(Arc::from(text.as_ref())))
            }
        }
    };
}

name! {
    /// A cluster's identity: the UID of its `kube-system` namespace.
    ClusterUid
}
name! {
    /// A name by which a follower is known: a kubeconfig context, any string without a comma.
    FollowerName
}
name! {
    /// A Kubernetes namespace.
    Namespace
}
name! {
    /// The name of a ConfigMap or Secret, at most 253 characters.
    ObjectName
}
name! {
    /// `metadata.uid` of an object.
    Uid
}
name! {
    /// `metadata.resourceVersion` of an object or list.
    ResourceVersion
}

impl FollowerName {
    /// The management cluster as a follower of itself (`kubed.appscode.com/sync`).
    pub fn local() -> Self {
        Self::from("@local")
    }
}

impl ResourceVersion {
    /// Orders two versions of one API server: decimal numbers of any length (KEP-5504); anything else is not ordered.
    pub fn compare(&self, other: &Self) -> Option<std::cmp::Ordering> {
        let (one, two) = (self.digits()?, other.digits()?);
        Some(one.len().cmp(&two.len()).then_with(|| one.cmp(two)))
    }

    fn digits(&self) -> Option<&str> {
        let text = self.0.trim_start_matches('0');
        (!self.0.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn resource_versions_are_ordered_as_numbers_of_any_length() {
        let order = |one: &str, two: &str| ResourceVersion::from(one).compare(&two.into());
        assert_eq!(order("9", "10"), Some(Ordering::Less));
        assert_eq!(order("184467440737095516160", "184467440737095516159"), Some(Ordering::Greater));
        assert_eq!(order("7", "7"), Some(Ordering::Equal));
        assert_eq!(order("", "7"), None);
        assert_eq!(order("a1", "7"), None);
    }
}
