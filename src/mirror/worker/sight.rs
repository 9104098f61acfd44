//! What a worker makes of what its watches say.

use super::{Worker, line::Line};
use crate::{
    api::{mark::ACCEPT, names::Namespace},
    cluster::{
        error::{Class, Error},
        watch::Event,
    },
    mirror::{
        feed::{Breadth, Feed, Seen},
        namespaces::{NamespaceInfo, Visible},
    },
    object::decode::{Meta, MetaOnly, Object},
    source::Scope,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Which namespaces a running relist has shown, and whether one was ever complete or is forbidden.
#[derive(Default)]
pub(super) struct NamespaceRelist {
    shown: BTreeMap<Option<Namespace>, BTreeSet<Namespace>>,
    settled: BTreeSet<Option<Namespace>>,
}

impl Worker {
    pub(super) fn saw(&mut self, seen: Seen) {
        match seen {
            Seen::Copy(scope, event) => self.saw_copy(&scope, event),
            Seen::Namespace(name, event) => self.saw_namespace(name, event),
        }
    }

    fn saw_copy(&mut self, scope: &Scope, event: Result<Event<Object>, Error>) {
        match event {
            Ok(event) => {
                self.teller.contact();
                self.take_copy(scope, event);
            }
            Err(error) if error.class() == Class::Denied => self.denied(scope, &error),
            Err(error) => {
                tracing::debug!(follower = %self.teller.follower(), kind = %scope.kind, %error, "watch interrupted");
            }
        }
    }

    fn take_copy(&mut self, scope: &Scope, event: Event<Object>) {
        match event {
            Event::RelistBegun => self.mirror.relist_begun(scope),
            Event::RelistDone => {
                self.problem = None;
                self.mirror.relist_done(scope);
            }
            Event::Listed(object) | Event::Applied(object) => {
                let observed = self.settings.observer.observe(scope.kind, &object);
                self.mirror.copy_seen(object.metadata.key(scope.kind), observed);
            }
            Event::Deleted(object) => self.mirror.copy_gone(&object.metadata.key(scope.kind), &object.metadata.uid),
            Event::Undecodable { namespace, name, .. } => {
                tracing::warn!(follower = %self.teller.follower(), kind = %scope.kind, ?namespace, ?name, "a copy cannot be decoded");
            }
        }
    }

    /// The rights do not reach the whole cluster: by name, if names are known; else by another way in.
    fn denied(&mut self, scope: &Scope, error: &Error) {
        self.mirror.unreadable(scope.clone());
        self.problem = Some(format!("may not read {}: grant get, list and watch ({error})", scope.kind.plural()));
        self.teller.denied(scope, error);
        if self.breadth == Breadth::Cluster && !self.names().is_empty() {
            self.narrow();
        } else if self.dial.has_alternatives() {
            self.hang_up();
            self.parked = None;
            self.rest();
        }
    }

    fn names(&self) -> BTreeSet<Namespace> {
        let contexts = self.mirror.roster().members.iter().filter_map(|member| member.namespace.clone());
        contexts.chain(self.shared.names.iter().cloned()).collect()
    }

    /// A context that came later may name a namespace that nobody watches yet.
    pub(super) fn follow_names(&mut self) {
        if matches!(&self.breadth, Breadth::Named(watched) if !self.names().is_subset(watched)) {
            self.narrow();
        }
    }

    fn narrow(&mut self) {
        self.parked = None;
        self.breadth = Breadth::Named(self.names());
        self.mirror.restart(self.breadth.scopes(), Visible::Only(self.names()));
        self.namespaces = NamespaceRelist::default();
        if let Line::Up(up) = &mut self.line {
            up.feed = Feed::new(&up.session, &self.settings.observer.hub, &self.breadth, &self.shared.permits);
        }
    }

    fn saw_namespace(&mut self, name: Option<Namespace>, event: Result<Event<MetaOnly>, Error>) {
        match event {
            Ok(Event::RelistBegun) => {
                self.namespaces.shown.insert(name, BTreeSet::new());
            }
            Ok(Event::RelistDone) => self.namespaces_listed(name),
            Ok(Event::Listed(object) | Event::Applied(object)) => {
                let (seen, info) = namespace(object.metadata);
                if let Some(shown) = self.namespaces.shown.get_mut(&name) {
                    shown.insert(seen.clone());
                }
                self.mirror.namespace_seen(seen, info);
            }
            Ok(Event::Deleted(object)) => self.mirror.namespace_gone(&object.metadata.name.as_str().into()),
            Ok(Event::Undecodable { .. }) => {}
            Err(error) if error.class() == Class::Denied => {
                self.teller.namespaces_denied(&error);
                self.namespaces.settled.insert(name.clone());
                if name.is_none() {
                    self.mirror.namespaces_visible(Visible::None);
                }
            }
            Err(error) => {
                tracing::debug!(follower = %self.teller.follower(), %error, "watch of namespaces interrupted");
            }
        }
    }

    fn namespaces_listed(&mut self, name: Option<Namespace>) {
        let shown = self.namespaces.shown.remove(&name).unwrap_or_default();
        let known = self.mirror.namespace_names();
        let covered = known.into_iter().filter(|known| name.as_ref().is_none_or(|name| name == known));
        for gone in covered.filter(|known| !shown.contains(known)) {
            self.mirror.namespace_gone(&gone);
        }
        if name.is_none() {
            self.mirror.namespaces_visible(Visible::All);
        }
        self.namespaces.settled.insert(name);
    }
}

impl NamespaceRelist {
    /// Whether the namespaces are known or known to be forbidden: before, a missing one would be written to in vain.
    pub(super) fn is_settled(&self, breadth: &Breadth) -> bool {
        match breadth {
            Breadth::Cluster => self.settled.contains(&None),
            Breadth::Named(names) => names.iter().all(|name| self.settled.contains(&Some(name.clone()))),
        }
    }
}

fn namespace(meta: Meta) -> (Namespace, NamespaceInfo) {
    let accepts = meta.annotation(ACCEPT).is_none_or(|value| value != "false");
    let labels = meta.labels.into_iter().map(|(key, value)| (key.into_string(), value)).collect();
    (meta.name.as_str().into(), NamespaceInfo { labels: Arc::new(labels), accepts, terminating: meta.deleting })
}
