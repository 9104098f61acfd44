//! Reads the sources: metadata watches on the management cluster, a GET for annotated objects alone. Publishes the
//! [`Snapshot`], the approvals, and the connection for whoever writes events.

mod feed;

use super::{
    snapshot::{Scope, Snapshot},
    store::Store,
};
use crate::{
    api::{
        approval::{self, Approvals},
        key::ObjectKey,
        names::{ClusterUid, Namespace, ResourceVersion},
    },
    cluster::{
        call::Call,
        endpoint::Endpoint,
        error::{Class, Error},
        paths::{self, Url},
        session::{Options, Session},
        watch::Event,
    },
    object::decode::{MetaOnly, Notice, Object},
};
use feed::{Feed, Seen};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

const FETCHES_AT_ONCE: usize = 32;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const UNREADABLE_AGAIN: Duration = Duration::from_secs(60);

/// What the reader reads beside the sources.
#[derive(Clone)]
pub struct Extras {
    /// Towline's own namespace: the ConfigMap of approvals is there.
    pub namespace: Namespace,
    /// Whether policy asks for the labels of source namespaces; they are read from the first time on that it does.
    pub namespace_labels: watch::Receiver<NamespaceLabels>,
}

/// Whether the labels of the management cluster's namespaces are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceLabels {
    /// Policy selects source namespaces by them.
    Read,
    /// Nobody asks.
    Ignore,
}

/// What the reader publishes.
pub struct Outputs {
    /// The sources.
    pub sources: watch::Sender<Snapshot>,
    /// Approved deletions.
    pub approvals: watch::Sender<Arc<Approvals>>,
    /// The connection to the management cluster, while there is one.
    pub session: watch::Sender<Option<Session>>,
}

/// The reader of the management cluster.
pub struct Reader {
    endpoint: Endpoint,
    options: Options,
    hub: ClusterUid,
    store: Store,
    outputs: Outputs,
    feed: Feed,
    to_fetch: VecDeque<ObjectKey>,
    fetching: FuturesUnordered<BoxFuture<'static, (ObjectKey, Result<Object, Error>)>>,
    again: FuturesUnordered<BoxFuture<'static, ObjectKey>>,
    shown_namespaces: Option<BTreeSet<Namespace>>,
    namespace_labels: watch::Receiver<NamespaceLabels>,
    permits: Arc<Semaphore>,
    denied: HashMap<Scope, Instant>,
}

/// How the reader is put together.
pub struct Parts {
    /// The management cluster.
    pub endpoint: Endpoint,
    /// What sessions are opened with.
    pub options: Options,
    /// An open session.
    pub session: Session,
    /// Where sources are kept, with the scopes to read.
    pub store: Store,
    /// What else is read.
    pub extras: Extras,
    /// What is published.
    pub outputs: Outputs,
    /// Bounds the initial lists of the whole process.
    pub permits: Arc<Semaphore>,
}

/// Why the reader cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// Another cluster answers at the management cluster's address.
    #[error(
        "the management cluster's address leads to another cluster now: kube-system's UID was {expected} and is {found}"
    )]
    AnotherCluster {
        /// The cluster that was read so far.
        expected: ClusterUid,
        /// Who answers now.
        found: ClusterUid,
    },
}

impl Reader {
    /// A reader over an open session.
    pub fn new(parts: Parts) -> Self {
        let Parts { endpoint, options, session, store, extras, outputs, permits } = parts;
        let feed = Feed::new(&session, &store.snapshot().scopes.keys().cloned().collect::<Vec<_>>(), &extras, &permits);
        outputs.session.send_replace(Some(session.clone()));
        Self {
            hub: session.uid().clone(),
            endpoint,
            options,
            store,
            outputs,
            feed,
            to_fetch: VecDeque::new(),
            fetching: FuturesUnordered::new(),
            again: FuturesUnordered::new(),
            shown_namespaces: None,
            namespace_labels: extras.namespace_labels,
            permits,
            denied: HashMap::new(),
        }
    }

    /// Reads until it is told to stop.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), ReaderError> {
        loop {
            let Some(session) = self.outputs.session.borrow().clone() else { return Ok(()) };
            let fault = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                fault = self.serve(&session) => fault,
            };
            tracing::warn!(error = %fault, "connection to the management cluster lost");
            drop(session);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                connected = self.reconnect(fault) => connected?,
            }
        }
    }

    /// Works over one session until it ends.
    async fn serve(&mut self, session: &Session) -> Error {
        loop {
            self.fetch(session);
            self.read_labels(session);
            tokio::select! {
                error = session.closed() => return error,
                seen = self.feed.next() => self.saw(seen),
                Some((key, result)) = self.fetching.next() => self.fetched(key, result),
                Some(key) = self.again.next() => self.to_fetch.push_back(key),
                Ok(()) = self.namespace_labels.changed() => {}
            }
            self.publish();
        }
    }

    fn read_labels(&mut self, session: &Session) {
        if *self.namespace_labels.borrow_and_update() == NamespaceLabels::Read {
            self.feed.read_namespaces(session, &self.permits);
        }
    }

    async fn reconnect(&mut self, mut fault: Error) -> Result<(), ReaderError> {
        let mut pause = FIRST_PAUSE;
        self.outputs.session.send_replace(None);
        self.fetching.clear();
        loop {
            if let Error::Moved { expected, found } = fault {
                return Err(ReaderError::AnotherCluster { expected, found });
            }
            match Session::open(&self.endpoint, self.options.clone()).await {
                Ok(session) if *session.uid() == self.hub => {
                    tracing::info!("connected to the management cluster again");
                    self.feed.resume(&session);
                    self.to_fetch = self.store.unfetched().collect();
                    self.outputs.session.send_replace(Some(session));
                    return Ok(());
                }
                Ok(session) => {
                    let (expected, found) = (self.hub.clone(), session.uid().clone());
                    return Err(ReaderError::AnotherCluster { expected, found });
                }
                Err(error) => {
                    tracing::warn!(%error, "the management cluster cannot be reached");
                    fault = error;
                }
            }
            sleep(pause.mul_f64(0.75 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn fetch(&mut self, session: &Session) {
        while self.fetching.len() < FETCHES_AT_ONCE {
            let Some(key) = self.to_fetch.pop_front() else { return };
            let Some(version) = self.store.wanted(&key).cloned() else { continue };
            let session = session.clone();
            let get = async move {
                let result = fetch(&session, &key, &version).await;
                (key, result)
            };
            self.fetching.push(get.boxed());
        }
    }

    fn fetched(&mut self, key: ObjectKey, result: Result<Object, Error>) {
        match result {
            Ok(object) => self.to_fetch.extend(self.store.fetched(&key, object)),
            // The watch will say.
            Err(error) if error.is_not_found() => self.store.missed(&key),
            Err(error) if error.class() == Class::Disconnected => self.to_fetch.push_back(key),
            Err(error) => {
                tracing::warn!(source = %key, %error, "source cannot be read");
                self.store.unreadable(&key, &error.to_string());
                let wait = match error.class() {
                    Class::Throttled(after) => after,
                    Class::Transient => FIRST_PAUSE,
                    _ => UNREADABLE_AGAIN,
                };
                self.again.push(sleep(wait).map(move |()| key).boxed());
            }
        }
    }

    fn saw(&mut self, seen: Seen) {
        match seen {
            Seen::Source(scope, Ok(event)) => self.saw_source(&scope, event),
            Seen::Source(scope, Err(error)) if error.class() == Class::Denied => self.scope_denied(scope, &error),
            Seen::Approvals(Ok(event)) => self.saw_approvals(event),
            Seen::Namespace(Ok(event)) => self.saw_namespace(event),
            Seen::Source(_, Err(error)) | Seen::Approvals(Err(error)) | Seen::Namespace(Err(error)) => {
                tracing::debug!(%error, "watch of the management cluster interrupted");
            }
        }
    }

    fn saw_source(&mut self, scope: &Scope, event: Event<Notice>) {
        match event {
            Event::RelistBegun => self.store.relist_begun(scope),
            Event::RelistDone => {
                self.denied.remove(scope);
                self.store.relist_done(scope);
            }
            Event::Listed(notice) | Event::Applied(notice) => {
                self.to_fetch.extend(self.store.noticed(&notice, scope, Instant::now()));
            }
            Event::Deleted(notice) => self.store.deleted(scope.kind, &notice.metadata),
            Event::Undecodable { .. } => tracing::warn!(kind = %scope.kind, "an object's metadata cannot be decoded"),
        }
    }

    fn scope_denied(&mut self, scope: Scope, error: &Error) {
        self.store.denied(&scope);
        let namespace = scope.namespace.as_ref().map_or("all namespaces", Namespace::as_str).to_owned();
        if self.denied.insert(scope.clone(), Instant::now()).is_none() {
            tracing::error!(
                kind = %scope.kind, namespace, %error,
                "sources cannot be read: grant get, list and watch on {}; their copies stay as they are", scope.kind.plural(),
            );
        }
    }

    fn saw_approvals(&mut self, event: Event<Object>) {
        let approvals = match event {
            Event::Listed(object) | Event::Applied(object) => {
                approval::read(object.content.data.iter().map(|(key, value)| (&**key, value.reveal())))
            }
            Event::Deleted(_) => Approvals::new(),
            Event::RelistBegun | Event::RelistDone | Event::Undecodable { .. } => return,
        };
        self.outputs.approvals.send_replace(Arc::new(approvals));
    }

    fn saw_namespace(&mut self, event: Event<MetaOnly>) {
        let labels = self.store.namespace_labels();
        match event {
            Event::RelistBegun => self.shown_namespaces = Some(BTreeSet::new()),
            Event::RelistDone => {
                let shown = self.shown_namespaces.take().unwrap_or_default();
                *labels = labels
                    .iter()
                    .filter(|(name, _)| shown.contains(*name))
                    .map(|(name, held)| (name.clone(), held.clone()))
                    .collect();
            }
            Event::Listed(object) | Event::Applied(object) => {
                let name = Namespace::from(object.metadata.name.as_str());
                let read = object.metadata.labels.into_iter().map(|(key, value)| (key.into_string(), value)).collect();
                if let Some(shown) = &mut self.shown_namespaces {
                    shown.insert(name.clone());
                }
                labels.insert(name, Arc::new(read));
            }
            Event::Deleted(object) => {
                labels.remove(&Namespace::from(object.metadata.name.as_str()));
            }
            Event::Undecodable { .. } => {}
        }
    }

    fn publish(&mut self) {
        let snapshot = self.store.snapshot();
        self.outputs.sources.send_if_modified(|published| {
            let changed = !published.is_same(snapshot);
            if changed {
                *published = snapshot.clone();
            }
            changed
        });
    }
}

/// Reads an object at least as new as what its watch has shown. The API server's cache, which feeds that watch, knows it
/// already and spares etcd the read. Where that cannot say (another replica behind the same address lags), etcd can.
async fn fetch(session: &Session, key: &ObjectKey, version: &ResourceVersion) -> Result<Object, Error> {
    let path = paths::object(key);
    let known = Url::new(path.clone()).with("resourceVersion", version.as_str());
    let answer = match session.call(Call::get(known.build())).await {
        Err(error) if error.class() == Class::Transient => session.call(Call::get(path)).await,
        answer => answer,
    };
    answer?.decode()
}
