//! What is known of a follower's namespaces. Pure.

use crate::api::names::Namespace;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A namespace as its watch shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceInfo {
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Not annotated `towline.dev/accept: "false"`.
    pub accepts: bool,
    /// Being deleted.
    pub terminating: bool,
}

/// Whether copies can be made in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    Open,
    /// It is there and wants nothing (`towline.dev/accept: "false"`).
    Closed,
    /// It is being deleted.
    Terminating,
    /// It is not there.
    Missing,
    /// We may not see it: only a write will tell.
    Invisible,
}

/// All namespaces that this connection may see.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    seen: BTreeMap<Namespace, NamespaceInfo>,
    visible: Visible,
}

/// Which namespaces would be seen if they were there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Visible {
    /// None: the list was not read, or is forbidden.
    #[default]
    None,
    /// These, each by a watch of its own.
    Only(BTreeSet<Namespace>),
    /// All.
    All,
}

impl Namespaces {
    /// Nothing seen yet, of these.
    pub fn new(visible: Visible) -> Self {
        Self { seen: BTreeMap::new(), visible }
    }

    /// Takes a namespace as it is now; returns whether anything changed.
    pub fn set(&mut self, name: Namespace, info: NamespaceInfo) -> bool {
        self.seen.get(&name) != Some(&info) && {
            self.seen.insert(name, info);
            true
        }
    }

    /// Takes note that a namespace is gone; returns whether it was there.
    pub fn remove(&mut self, name: &Namespace) -> bool {
        self.seen.remove(name).is_some()
    }

    /// Takes what would be seen; returns whether that is new.
    pub fn set_visible(&mut self, visible: Visible) -> bool {
        self.visible != visible && {
            self.visible = visible;
            true
        }
    }

    /// Names and labels.
    pub fn iter(&self) -> impl Iterator<Item = (&Namespace, &NamespaceInfo)> {
        self.seen.iter()
    }

    /// One namespace.
    pub fn get(&self, name: &Namespace) -> Option<&NamespaceInfo> {
        self.seen.get(name)
    }

    /// Whether selectors and globs see every namespace there is.
    pub fn are_known(&self) -> bool {
        self.visible == Visible::All
    }

    /// Whether copies can be made in this namespace.
    pub fn presence(&self, name: &Namespace) -> Presence {
        match self.seen.get(name) {
            Some(NamespaceInfo { terminating: true, .. }) => Presence::Terminating,
            Some(NamespaceInfo { accepts: false, .. }) => Presence::Closed,
            Some(_) => Presence::Open,
            None if self.sees(name) => Presence::Missing,
            None => Presence::Invisible,
        }
    }

    fn sees(&self, name: &Namespace) -> bool {
        match &self.visible {
            Visible::None => false,
            Visible::Only(names) => names.contains(name),
            Visible::All => true,
        }
    }
}
