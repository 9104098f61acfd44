//! What a worker watches in its follower: copies (objects with our label) and namespaces.

use crate::{
    api::{
        key::Kind,
        mark::ORIGIN,
        names::{ClusterUid, Namespace},
    },
    cluster::{
        error::Error,
        paths,
        session::Session,
        watch::{Event, Selection, Watch},
    },
    object::decode::{MetaOnly, Object},
    source::Scope,
};
use std::{collections::BTreeSet, future::poll_fn, pin::pin, sync::Arc, task::Poll};
use tokio::sync::Semaphore;

/// How wide the rights in a follower reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// The whole cluster: one watch per kind.
    Cluster,
    /// These namespaces only: a watch per kind and namespace.
    Named(BTreeSet<Namespace>),
}

impl Breadth {
    /// The lists of copies that are read.
    pub fn scopes(&self) -> Vec<Scope> {
        let scope = |namespace: Option<&Namespace>, kind| Scope { kind, namespace: namespace.cloned() };
        match self {
            Self::Cluster => Kind::ALL.map(|kind| scope(None, kind)).into(),
            Self::Named(names) => names.iter().flat_map(|name| Kind::ALL.map(|kind| scope(Some(name), kind))).collect(),
        }
    }
}

/// Something that a watch said, or why it said nothing.
pub enum Seen {
    /// About copies.
    Copy(Scope, Result<Event<Object>, Error>),
    /// About all namespaces, or the one that is watched by name.
    Namespace(Option<Namespace>, Result<Event<MetaOnly>, Error>),
}

/// All watches of one follower.
pub struct Feed {
    copies: Vec<(Scope, Watch<Object>)>,
    namespaces: Vec<(Option<Namespace>, Watch<MetaOnly>)>,
    /// Which watch is asked first next time: a busy one does not silence the others.
    turn: usize,
}

impl Feed {
    /// Starts all watches, with complete lists.
    pub fn new(session: &Session, hub: &ClusterUid, breadth: &Breadth, permits: &Arc<Semaphore>) -> Self {
        let copies = breadth.scopes().into_iter().map(|scope| {
            let selection = Selection {
                path: paths::collection(scope.kind, scope.namespace.as_ref()),
                label_selector: Some(format!("{ORIGIN}={hub}")),
                field_selector: None,
                metadata_only: false,
            };
            (scope, Watch::new(session.clone(), selection, permits.clone()))
        });
        let names: Vec<Option<Namespace>> = match breadth {
            Breadth::Cluster => vec![None],
            Breadth::Named(names) => names.iter().cloned().map(Some).collect(),
        };
        let namespaces = names.into_iter().map(|name| {
            let selection = Selection {
                path: paths::namespaces(),
                label_selector: None,
                field_selector: name.as_ref().map(|name| format!("metadata.name={name}")),
                metadata_only: true,
            };
            (name, Watch::new(session.clone(), selection, permits.clone()))
        });
        Self { copies: copies.collect(), namespaces: namespaces.collect(), turn: 0 }
    }

    /// Goes on over a new connection to the same cluster, where the watches left off.
    #[must_use]
    pub fn resume(self, session: &Session) -> Self {
        let copies = self.copies.into_iter().map(|(scope, watch)| (scope, watch.resume(session.clone())));
        let namespaces = self.namespaces.into_iter().map(|(name, watch)| (name, watch.resume(session.clone())));
        Self { copies: copies.collect(), namespaces: namespaces.collect(), turn: 0 }
    }

    /// What is seen next. Cancel-safe.
    pub async fn next(&mut self) -> Seen {
        poll_fn(|context| {
            let (copies, namespaces) = (self.copies.len(), self.namespaces.len());
            for step in 0..copies + namespaces {
                let index = (self.turn + step) % (copies + namespaces);
                let seen = if let Some((scope, watch)) = self.copies.get_mut(index) {
                    pin!(watch.next()).poll(context).map(|event| Seen::Copy(scope.clone(), event))
                } else if let Some((name, watch)) = self.namespaces.get_mut(index - copies) {
                    pin!(watch.next()).poll(context).map(|event| Seen::Namespace(name.clone(), event))
                } else {
                    Poll::Pending
                };
                if seen.is_ready() {
                    self.turn = index + 1;
                    return seen;
                }
            }
            Poll::Pending
        })
        .await
    }
}
