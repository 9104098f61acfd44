//! Which targets a source wants in one follower, and what it asks for in vain. Pure.
//!
//! Three kinds of route add up: kubed's contexts, Towline's followers, and kubed's sync inside the management cluster.

use super::namespaces::{NamespaceInfo, Namespaces};
use crate::{
    api::{
        annotations::{self, Intent, KubedSync, OnConflict},
        key::ObjectKey,
        names::{FollowerName, Namespace, ObjectName},
        patterns::Patterns,
        policy::{self, Grant, Permission, Sender},
    },
    follower::member::Member,
};
use std::collections::{BTreeMap, BTreeSet};

/// What one source wants in one follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// The targets.
    pub targets: Targets,
    /// Copies that are neither wanted nor unwanted, because policy does not grant what the source asks for.
    pub kept: Kept,
    /// Privileged keys that no rule grants, with the rule that is missing.
    pub not_granted: BTreeMap<&'static str, String>,
    /// Whether the answer depends on which namespaces there are.
    pub by_namespaces: bool,
}

/// Targets in their order: nearly always one or a few, of which a map would take the room of eleven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(Box<[(ObjectKey, Wish)]>);

impl Targets {
    /// How a target is wanted.
    pub fn get(&self, key: &ObjectKey) -> Option<&Wish> {
        let index = self.0.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        self.0.get(index).map(|(_, wish)| wish)
    }

    /// The targets.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The targets, and how each is wanted.
    pub fn iter(&self) -> impl Iterator<Item = &(ObjectKey, Wish)> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a target is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The first name, in byte order, by which the source asks for this follower.
    pub via: FollowerName,
    /// A granted `on-conflict: Overwrite`.
    pub overwrite: bool,
    /// A granted `create-namespace`.
    pub create_namespace: bool,
}

/// Copies of the source that stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// None.
    #[default]
    Nothing,
    /// Those in these namespaces.
    In(BTreeSet<Namespace>),
    /// All that it has in this follower.
    All,
}

impl Kept {
    /// What either keeps.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Nothing, kept) | (kept, Self::Nothing) => kept,
            (Self::In(one), Self::In(two)) => Self::In(&one | &two),
        }
    }

    /// Whether a copy in this namespace stays as it is.
    pub fn keeps(&self, namespace: &Namespace) -> bool {
        match self {
            Self::Nothing => false,
            Self::In(namespaces) => namespaces.contains(namespace),
            Self::All => true,
        }
    }
}

/// One follower, as far as it shapes what is wanted in it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Whether it is the management cluster itself.
    pub local: bool,
    /// Its names.
    pub members: &'a [Member],
    /// Its namespaces.
    pub namespaces: &'a Namespaces,
    /// `--protected-namespaces`.
    pub protected: &'a BTreeSet<Namespace>,
    /// `--target-namespaces`: nothing is wanted anywhere else.
    pub target_namespaces: Option<&'a Patterns>,
}

/// What `source` wants, given what it asks for: by each name what policy lets that name have, together.
pub fn desired(source: &Sender<'_>, intent: &Intent, view: View<'_>) -> Desired {
    let (mut desired, mut targets) = (Desired::default(), BTreeMap::new());
    for member in view.members {
        let mut routing =
            Routing { source, intent, view, member, targets: BTreeMap::new(), desired: Desired::default() };
        if view.local {
            routing.local_sync();
        } else {
            routing.kubed_contexts();
            routing.followers();
        }
        routing.finish();
        join(routing.targets, &mut targets);
        desired.take_in(routing.desired);
        if view.local {
            break;
        }
    }
    desired.targets = Targets(targets.into_iter().collect());
    desired
}

/// The routes by one name.
struct Routing<'a> {
    source: &'a Sender<'a>,
    intent: &'a Intent,
    view: View<'a>,
    member: &'a Member,
    targets: BTreeMap<ObjectKey, Wish>,
    desired: Desired,
}

/// Adds what one more name leads to: permissions add up, and the first name in byte order is remembered.
fn join(targets: BTreeMap<ObjectKey, Wish>, all: &mut BTreeMap<ObjectKey, Wish>) {
    for (key, wish) in targets {
        let held = all.entry(key).or_insert_with(|| wish.clone());
        held.overwrite |= wish.overwrite;
        held.create_namespace |= wish.create_namespace;
        if wish.via < held.via {
            held.via = wish.via;
        }
    }
}

impl Desired {
    /// Adds all but the targets.
    fn take_in(&mut self, other: Self) {
        self.kept = std::mem::take(&mut self.kept).and(other.kept);
        for (key, rule) in other.not_granted {
            self.not_granted.entry(key).or_insert(rule);
        }
        self.by_namespaces |= other.by_namespaces;
    }
}

/// Why a namespace is asked for: it decides what policy must say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// By one of kubed's keys: needs no rule.
    Kubed,
    /// By this key, into the same-named or the context's namespace: needs a rule only where base routes are closed or the
    /// namespace is protected.
    Base(&'static str),
    /// By a privileged key: always needs a rule.
    Privileged,
}

impl Routing<'_> {
    fn local_sync(&mut self) {
        let Some(sync) = &self.intent.local_sync else { return };
        self.desired.by_namespaces = true;
        let matching = |(name, info): &(&Namespace, &NamespaceInfo)| {
            name.as_str() != self.source.namespace.as_str()
                && match sync {
                    KubedSync::All => true,
                    KubedSync::Selector(selector) => selector.matches(|key| info.labels.get(key).map(String::as_str)),
                }
        };
        let names: Vec<Namespace> =
            self.view.namespaces.iter().filter(matching).map(|(name, _)| name.clone()).collect();
        for name in names {
            self.want(&name, Reach::Kubed);
        }
    }

    fn kubed_contexts(&mut self) {
        if self.intent.sync_contexts.contains(&self.member.name) {
            let closed = Reach::Base(annotations::SYNC_CONTEXTS);
            self.want(&self.base_namespace(), if self.member.policy.base_routes { Reach::Kubed } else { closed });
        }
    }

    fn followers(&mut self) {
        let member = self.member;
        let by_name = self.intent.followers.as_ref().is_some_and(|patterns| patterns.matches(member.name.as_str()));
        let label = |key: &str| member.labels.get(key).map(String::as_str);
        let by_label = !member.labels.is_empty()
            && self.intent.follower_selector.as_ref().is_some_and(|selector| selector.matches(label));
        if !by_name && !by_label {
            return;
        }
        if self.intent.target_namespaces.is_none() && self.intent.target_namespace_selector.is_none() {
            let key = if by_name { annotations::FOLLOWERS } else { annotations::FOLLOWER_SELECTOR };
            return self.want(&self.base_namespace(), Reach::Base(key));
        }
        self.named_namespaces();
        self.matching_namespaces();
    }

    fn named_namespaces(&mut self) {
        let Some(patterns) = &self.intent.target_namespaces else { return };
        for name in patterns.literals().map(Namespace::from).collect::<Vec<_>>() {
            self.want_literally(&name);
        }
        if !patterns.is_literal_only() {
            let literals: BTreeSet<&str> = patterns.literals().collect();
            let matching = |name: &Namespace, _: &NamespaceInfo| {
                patterns.matches(name.as_str()) && !literals.contains(name.as_str())
            };
            self.want_matching(annotations::TARGET_NAMESPACES, matching);
        }
    }

    fn matching_namespaces(&mut self) {
        let Some(selector) = &self.intent.target_namespace_selector else { return };
        self.want_matching(annotations::TARGET_NAMESPACE_SELECTOR, |_, info| {
            selector.matches(|key| info.labels.get(key).map(String::as_str))
        });
    }

    /// A namespace that is named and not granted freezes all copies by this name: a typo or a rule taken away deletes nothing.
    fn want_literally(&mut self, namespace: &Namespace) {
        if self.may_reach(namespace) {
            self.want(namespace, Reach::Privileged);
        } else {
            self.refuse(annotations::TARGET_NAMESPACES, namespace, &[]);
            self.desired.kept = Kept::All;
        }
    }

    fn want_matching(&mut self, key: &'static str, matches: impl Fn(&Namespace, &NamespaceInfo) -> bool) {
        self.desired.by_namespaces = true;
        let names = self.view.namespaces.iter().filter(|(name, info)| matches(name, info));
        for name in names.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            if self.may_reach(&name) {
                self.want(&name, Reach::Privileged);
            } else {
                // Nobody means a protected namespace by a glob: that is not worth a word.
                if !self.view.protected.contains(&name) {
                    self.refuse(key, &name, &[]);
                }
                self.keep(name);
            }
        }
    }

    /// Whether a rule leads there; to a protected namespace, only one that names it literally.
    fn may_reach(&mut self, namespace: &Namespace) -> bool {
        let is_protected = self.view.protected.contains(namespace);
        self.granted(namespace).is_some_and(|grant| grant.literal || !is_protected)
    }

    /// Wants one target, as far as policy lets it.
    fn want(&mut self, namespace: &Namespace, reach: Reach) {
        if self.view.target_namespaces.is_some_and(|scope| !scope.matches(namespace.as_str())) {
            return;
        }
        let grant = self.granted(namespace);
        let open = self.member.policy.base_routes && !self.view.protected.contains(namespace);
        if let Reach::Base(key) = reach
            && !open
            && !self.may_reach(namespace)
        {
            return self.refuse(key, namespace, &[]);
        }
        let allows = |permission| grant.as_ref().is_some_and(|grant| grant.allow.contains(&permission));
        let renamed = self.target_name() != self.source.name;
        if renamed && !allows(Permission::Rename) {
            self.refuse(annotations::TARGET_NAME, namespace, &[Permission::Rename]);
            self.desired.kept = Kept::All;
            return;
        }
        let overwrite = self.intent.on_conflict == OnConflict::Overwrite;
        if overwrite && !allows(Permission::Overwrite) {
            self.refuse(annotations::ON_CONFLICT, namespace, &[Permission::Overwrite]);
        }
        if self.intent.create_namespace && !allows(Permission::CreateNamespace) {
            self.refuse(annotations::CREATE_NAMESPACE, namespace, &[Permission::CreateNamespace]);
        }
        let wish = Wish {
            via: self.member.name.clone(),
            overwrite: overwrite && allows(Permission::Overwrite),
            create_namespace: self.intent.create_namespace && allows(Permission::CreateNamespace),
        };
        let name = self.target_name().clone();
        let key = ObjectKey { kind: self.source.kind, namespace: namespace.clone(), name };
        self.targets.insert(key, wish);
    }

    fn keep(&mut self, namespace: Namespace) {
        match &mut self.desired.kept {
            Kept::All => {}
            Kept::In(namespaces) => {
                namespaces.insert(namespace);
            }
            Kept::Nothing => self.desired.kept = Kept::In([namespace].into()),
        }
    }

    fn refuse(&mut self, key: &'static str, namespace: &Namespace, needed: &[Permission]) {
        let (source, needed) = (self.source, needed.iter().copied().collect());
        self.desired.not_granted.entry(key).or_insert_with(|| policy::missing_rule(source, namespace, &needed));
    }

    fn granted(&mut self, namespace: &Namespace) -> Option<Grant> {
        let policy = &self.member.policy;
        self.desired.by_namespaces |= policy.needs_target_namespace_labels();
        let labels = self.view.namespaces.get(namespace).map(|info| &*info.labels);
        policy.grants(self.source, namespace, labels)
    }

    fn base_namespace(&self) -> Namespace {
        self.member.namespace.clone().unwrap_or_else(|| self.source.namespace.clone())
    }

    fn target_name(&self) -> &ObjectName {
        self.intent.target_name.as_ref().unwrap_or(self.source.name)
    }

    /// A source of which nothing is granted by this name keeps what it has.
    fn finish(&mut self) {
        if matches!(self.desired.kept, Kept::In(_)) && self.targets.is_empty() {
            self.desired.kept = Kept::All;
        }
        if self.desired.kept == Kept::All {
            self.targets.clear();
        }
    }
}

#[cfg(test)]
mod tests;
