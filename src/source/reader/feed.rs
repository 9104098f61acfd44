//! The watches on the management cluster, as one stream.

use super::Extras;
use crate::{
    api::{approval, key::Kind},
    cluster::{
        error::Error,
        paths,
        session::Session,
        watch::{Event, Selection, Watch},
    },
    object::decode::{MetaOnly, Notice, Object},
    source::Scope,
};
use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};
use tokio::sync::Semaphore;

/// What one of them shows.
pub(super) enum Seen {
    Source(Scope, Result<Event<Notice>, Error>),
    Approvals(Result<Event<Object>, Error>),
    Namespace(Result<Event<MetaOnly>, Error>),
}

/// All watches on the management cluster.
pub(super) struct Feed {
    sources: Vec<(Scope, Watch<Notice>)>,
    approvals: Watch<Object>,
    namespaces: Option<Watch<MetaOnly>>,
}

impl Feed {
    pub(super) fn new(session: &Session, scopes: &[Scope], extras: &Extras, permits: &Arc<Semaphore>) -> Self {
        let select = |path: String, field_selector: Option<String>| Selection {
            path,
            label_selector: None,
            metadata_only: field_selector.is_none(),
            field_selector,
        };
        let sources = scopes.iter().map(|scope| {
            let selection = select(paths::collection(scope.kind, scope.namespace.as_ref()), None);
            (scope.clone(), Watch::new(session.clone(), selection, permits.clone()))
        });
        let path = paths::collection(Kind::ConfigMap, Some(&extras.namespace));
        let approvals = select(path, Some(format!("metadata.name={}", approval::CONFIG_MAP)));
        Self {
            sources: sources.collect(),
            approvals: Watch::new(session.clone(), approvals, permits.clone()),
            namespaces: None,
        }
    }

    /// Begins to read the labels of namespaces, if that has not begun yet.
    pub(super) fn read_namespaces(&mut self, session: &Session, permits: &Arc<Semaphore>) {
        self.namespaces.get_or_insert_with(|| {
            let path = paths::namespaces();
            let selection = Selection { path, label_selector: None, metadata_only: true, field_selector: None };
            Watch::new(session.clone(), selection, permits.clone())
        });
    }

    pub(super) fn resume(&mut self, session: &Session) {
        for (_, watch) in &mut self.sources {
            watch.go_on(session.clone());
        }
        self.approvals.go_on(session.clone());
        if let Some(watch) = &mut self.namespaces {
            watch.go_on(session.clone());
        }
    }

    pub(super) async fn next(&mut self) -> Seen {
        poll_fn(|context| {
            if let Some(watch) = &mut self.namespaces
                && let Poll::Ready(event) = pin!(watch.next()).poll(context)
            {
                return Poll::Ready(Seen::Namespace(event));
            }
            if let Poll::Ready(event) = pin!(self.approvals.next()).poll(context) {
                return Poll::Ready(Seen::Approvals(event));
            }
            for (scope, watch) in &mut self.sources {
                if let Poll::Ready(event) = pin!(watch.next()).poll(context) {
                    return Poll::Ready(Seen::Source(scope.clone(), event));
                }
            }
            Poll::Pending
        })
        .await
    }
}
