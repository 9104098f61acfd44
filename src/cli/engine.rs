//! Puts the rooms together for `run` and `plan`: the reader of the management cluster, the fleet of workers, and what they
//! tell. Every task is supervised: one that ends early ends the process.

use super::args::{Job, SourceNamespaces, WriteRate};
use crate::{
    api::{
        approval::Approvals,
        key::Kind,
        names::{FollowerName, Namespace},
    },
    cluster::{
        endpoint::Endpoint,
        session::{Options, Session},
    },
    follower::{
        catalog::{Catalog, Entry},
        member::Member,
        providers::kubeconfig_file,
    },
    mirror::{
        apply::Mode,
        fleet::{Directory, Feeds, Fleet, Plant},
        losses::Losses,
        observed::Observer,
        parcel::Sender,
        rate::Rate,
        state::Settings,
        teller::Telling,
        worker::Shared,
    },
    object::digest::DigestKey,
    source::{
        Packing, Scope, Snapshot, Store,
        reader::{self, Extras, NamespaceLabels, Reader},
    },
};
use anyhow::{Context, Result, anyhow};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// So many initial lists are read at a time in the whole process.
const LISTS_AT_ONCE: usize = 32;

/// What is running, and what can be asked of it.
pub struct Engine {
    /// The supervised tasks: each ends only when it is told to.
    pub tasks: JoinSet<Result<()>>,
    /// The sources.
    pub sources: watch::Receiver<Snapshot>,
    /// The followers.
    pub directory: watch::Receiver<Directory>,
}

impl Engine {
    /// Adds a task that must run as long as the engine does.
    pub fn supervise(&mut self, task: impl Future<Output = Result<()>> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

/// How an engine runs.
pub struct Drive {
    /// Whether writes are sent.
    pub mode: Mode,
    /// `--qps`, `--burst`.
    pub rate: Option<WriteRate>,
    /// Whom the workers tell.
    pub telling: Telling,
    /// Gets the connection to the management cluster, while there is one.
    pub hub_session: watch::Sender<Option<Session>>,
    /// Ends everything.
    pub stop: CancellationToken,
}

/// The connection to the management cluster, before anything else is started: without it nothing can run.
pub struct Hub {
    endpoint: Endpoint,
    session: Session,
    options: Options,
}

impl Hub {
    /// Connects as kubectl does, or in-cluster.
    pub async fn connect(job: &Job, telling: &Telling) -> Result<Self> {
        let endpoint = Endpoint::from_flags(job.hub.kubeconfig.as_deref(), job.hub.context.as_deref())?;
        let options = Options { observer: Some(telling.observer(FollowerName::local())) };
        let session = Session::open(&endpoint, options.clone())
            .await
            .with_context(|| format!("the management cluster at {} cannot be used", endpoint.server()))?;
        Ok(Self { endpoint, session, options })
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

/// Starts reading and copying.
pub fn start(job: &Job, hub: Hub, drive: Drive) -> Result<Engine> {
    let mut tasks = JoinSet::new();
    let key = DigestKey::generate().map_err(|_| anyhow!("the system has no randomness"))?;
    let permits = Arc::new(Semaphore::new(LISTS_AT_ONCE));
    let stop = drive.stop.clone();

    let (catalog, file) = catalog(job, &hub)?;
    let (names, names_seen) = watch::channel(catalog);
    if let Some(file) = file {
        tasks.spawn(ends(file.watch(names, stop.clone())));
    } else {
        tasks.spawn(hold(names, stop.clone()));
    }

    let (sources, sources_seen) = watch::channel(Snapshot::default());
    let (approvals, approvals_seen) = watch::channel(Arc::new(Approvals::new()));
    let uid = hub.session.uid().clone();
    let shared = shared(job, &drive, permits.clone());
    let reader = Reader::new(reader::Parts {
        store: Store::new(packing(job, &hub, &key), scopes(&job.sources.namespaces)),
        extras: extras(job),
        outputs: reader::Outputs { sources, approvals, session: drive.hub_session },
        permits,
        endpoint: hub.endpoint,
        options: hub.options,
        session: hub.session,
    });
    tasks.spawn({
        let stop = stop.clone();
        async move { Ok(reader.run(stop).await?) }
    });

    let plant = Plant { settings: settings(job, uid, key), shared, telling: drive.telling };
    let feeds = Feeds { catalog: names_seen, sources: sources_seen.clone(), approvals: approvals_seen };
    let (fleet, directory) = Fleet::new(plant, feeds, stop);
    tasks.spawn(async move { Ok(fleet.run().await?) });
    Ok(Engine { tasks, sources: sources_seen, directory })
}

/// A task that cannot fail.
pub async fn ends(task: impl Future<Output = ()>) -> Result<()> {
    task.await;
    Ok(())
}

/// Keeps a channel open that nobody writes to again.
async fn hold(names: watch::Sender<Catalog>, stop: CancellationToken) -> Result<()> {
    stop.cancelled().await;
    drop(names);
    Ok(())
}

/// The followers that are configured now, and the file to watch for others.
fn catalog(job: &Job, hub: &Hub) -> Result<(Catalog, Option<kubeconfig_file::Source>)> {
    let mut always = Catalog::new();
    if job.followers.local_sync {
        let entry = local(job, hub);
        always.insert(entry.member.name.clone(), entry);
    }
    let Some(path) = &job.followers.kubeconfig_file else { return Ok((always, None)) };
    let file = kubeconfig_file::Source {
        path: path.clone(),
        policy: job.followers.policy.clone(),
        only: job.followers.only.clone(),
        always,
    };
    let catalog = file.read().context("--kubeconfig-file")?;
    Ok((catalog, Some(file)))
}

/// The management cluster as a follower of itself.
fn local(job: &Job, hub: &Hub) -> Entry {
    let member = Member {
        name: FollowerName::local(),
        labels: Arc::new(BTreeMap::new()),
        namespace: None,
        policy: job.followers.policy.clone(),
    };
    Entry { member, provider: "local", endpoint: Ok(hub.endpoint.clone()) }
}

fn scopes(namespaces: &SourceNamespaces) -> Vec<Scope> {
    let scope =
        |namespace: Option<&Namespace>| Kind::ALL.map(|kind| Scope { kind, namespace: namespace.cloned() }).into_iter();
    match namespaces {
        SourceNamespaces::All => scope(None).collect(),
        SourceNamespaces::Only(names) => names.iter().flat_map(|name| scope(Some(name))).collect(),
    }
}

fn packing(job: &Job, hub: &Hub, key: &DigestKey) -> Packing {
    Packing {
        hub: hub.session.uid().clone(),
        filter: job.sources.metadata.clone(),
        allowed_types: job.sources.allowed_types.clone(),
        key: key.clone(),
    }
}

fn extras(job: &Job) -> Extras {
    let read = job.followers.policy.needs_source_namespace_labels();
    Extras {
        namespace: job.identity.namespace.clone(),
        namespace_labels: if read { NamespaceLabels::Read } else { NamespaceLabels::Ignore },
    }
}

fn settings(job: &Job, hub: crate::api::names::ClusterUid, key: DigestKey) -> Settings {
    Settings {
        sender: Sender {
            hub: hub.clone(),
            cluster_name: job.identity.cluster_name.clone().unwrap_or_default().into(),
            instance: job.identity.instance.as_str().into(),
        },
        observer: Observer { cluster: hub.clone(), hub, key },
        limits: job.guard.limits.clone(),
        losses: Losses::new(job.guard.max_unwitnessed_followers),
        protected: job.followers.protected.clone(),
        target_namespaces: job.followers.target_namespaces.clone(),
        adoption: job.adoption,
    }
}

fn shared(job: &Job, drive: &Drive, permits: Arc<Semaphore>) -> Shared {
    let names = job.followers.target_namespaces.iter().flat_map(|patterns| patterns.literals()).map(Namespace::from);
    Shared {
        permits,
        filter: job.sources.metadata.clone(),
        kubed_marks: job.kubed_marks,
        old_hubs: job.old_hubs.clone(),
        mode: drive.mode,
        rate: drive.rate.as_ref().map(|rate| Rate::new(rate.per_second, rate.burst)),
        names: names.collect::<BTreeSet<Namespace>>(),
    }
}
