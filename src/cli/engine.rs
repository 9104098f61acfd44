//! Puts the rooms together for `run` and `plan`: the reader of the management cluster, the fleet of workers, and what they
//! tell. Every task is supervised: one that ends early ends the process.

use super::args::{Identity, Job, SourceNamespaces, WriteRate};
use crate::{
    api::{
        approval::Approvals,
        key::Kind,
        names::{FollowerName, Namespace},
    },
    aws::{principal::Aws, settings as aws_settings},
    cluster::{
        endpoint::Endpoint,
        session::{Options, Session},
    },
    follower::{
        catalog::{Catalog, Entry},
        connection::AwsConnections,
        member::Member,
        providers::{
            file::{Format, WatchedFile},
            followers_file::FollowersFile,
            kubeconfig_file::KubeconfigFile,
        },
        registry::Registry,
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
    telemetry::metrics::Metrics,
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
    /// What was wrong in the files of followers at the start and is not told by a follower: it was logged, too.
    pub complaints: Vec<String>,
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
    /// How followers are reached through AWS.
    pub aws: AwsConnections,
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

/// How AWS is reached, and as whom. Nothing is asked of it yet.
pub fn aws(job: &Job, metrics: &Metrics) -> AwsConnections {
    let flags = &job.followers.aws;
    let aws = Aws::new(session_name(&job.identity), flags.node_role, Arc::new(metrics.clone()));
    AwsConnections::new(aws, aws_settings::Settings::of_process())
        .allowing(flags.allowed_roles.clone())
        .with_source_identity(flags.source_identity.clone())
}

/// How CloudTrail shows Towline: by its management cluster.
fn session_name(identity: &Identity) -> String {
    let hub = identity.cluster_name.as_deref().unwrap_or(&identity.instance);
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_+=,.@-".contains(c) { c } else { '-' };
    format!("towline@{hub}").chars().map(allowed).take(64).collect()
}

/// Starts reading and copying.
pub fn start(job: &Job, hub: Hub, drive: Drive) -> Result<Engine> {
    let mut tasks = JoinSet::new();
    let key = DigestKey::generate().map_err(|_| anyhow!("the system has no randomness"))?;
    let permits = Arc::new(Semaphore::new(LISTS_AT_ONCE));
    let stop = drive.stop.clone();

    let Providers { mut registry, complaints } = providers(job, &hub, &drive.aws, &mut tasks, &stop)?;
    let (names, names_seen) = watch::channel(registry.catalog());
    let (labels, labels_wanted) = watch::channel(namespace_labels(&names.borrow()));
    tasks.spawn(ends(registry.run(names, stop.clone())));
    tasks.spawn(ends(watch_labels(names_seen.clone(), labels, stop.clone())));

    let (sources, sources_seen) = watch::channel(Snapshot::default());
    let (approvals, approvals_seen) = watch::channel(Arc::new(Approvals::new()));
    let uid = hub.session.uid().clone();
    let shared = shared(job, &drive, permits.clone());
    let reader = Reader::new(reader::Parts {
        store: Store::new(packing(job, &hub, &key), scopes(&job.sources.namespaces)),
        extras: Extras { namespace: job.identity.namespace.clone(), namespace_labels: labels_wanted },
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
    Ok(Engine { tasks, sources: sources_seen, directory, complaints })
}

/// A task that cannot fail.
pub async fn ends(task: impl Future<Output = ()>) -> Result<()> {
    task.await;
    Ok(())
}

/// Where followers come from.
struct Providers {
    registry: Registry,
    complaints: Vec<String>,
}

/// Reads every provider once and starts watching it, in the order in which one's claim of a name wins over another's.
fn providers(
    job: &Job,
    hub: &Hub,
    aws: &AwsConnections,
    tasks: &mut JoinSet<Result<()>>,
    stop: &CancellationToken,
) -> Result<Providers> {
    let followers = &job.followers;
    let (mut parts, mut complaints) = (Vec::new(), Vec::new());
    if followers.local_sync {
        let entry = local(job, hub);
        // Nobody writes to it again: what it says stays true.
        parts.push(watch::channel(Catalog::from([(entry.member.name.clone(), entry)])).1);
    }
    let (policy, only) = (&followers.policy, &followers.only);
    if let Some(path) = &followers.kubeconfig_file {
        let format =
            KubeconfigFile { path: path.clone(), policy: policy.clone(), only: only.clone(), aws: aws.clone() };
        let (part, complaint) = follow(format, tasks, stop).context("--kubeconfig-file")?;
        parts.push(part);
        complaints.extend(complaint);
    }
    if let Some(path) = &followers.followers_file {
        let (path, policy, only) = (path.clone(), policy.clone(), only.clone());
        let format = FollowersFile { path, policy, only, aws: aws.clone() };
        let (part, complaint) = follow(format, tasks, stop).context("--followers-file")?;
        parts.push(part);
        complaints.extend(complaint);
    }
    Ok(Providers { registry: Registry::new(parts), complaints })
}

/// The followers of a file, now and later, and what is wrong in it now.
fn follow(
    format: impl Format,
    tasks: &mut JoinSet<Result<()>>,
    stop: &CancellationToken,
) -> Result<(watch::Receiver<Catalog>, Option<String>)> {
    let (file, catalog) = WatchedFile::open(format).map_err(|why| anyhow!(why))?;
    let complaint = file.complaint().map(str::to_owned);
    let (sender, part) = watch::channel(catalog);
    tasks.spawn(ends(file.watch(sender, stop.clone())));
    Ok((part, complaint))
}

/// The management cluster as a follower of itself.
fn local(job: &Job, hub: &Hub) -> Entry {
    let member = Member {
        name: FollowerName::local(),
        labels: Arc::new(BTreeMap::new()),
        namespace: None,
        policy: job.followers.policy.clone(),
    };
    Entry { member, provider: "local", connection: Ok(hub.endpoint.clone().into()), pin: None, rivals: Vec::new() }
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

/// Whether any follower's policy selects source namespaces by their labels.
fn namespace_labels(catalog: &Catalog) -> NamespaceLabels {
    let asks = |entry: &Entry| entry.member.policy.needs_source_namespace_labels();
    if catalog.values().any(asks) { NamespaceLabels::Read } else { NamespaceLabels::Ignore }
}

/// A follower that comes later may be the first to ask. Once they are read, they stay so.
async fn watch_labels(
    mut catalog: watch::Receiver<Catalog>,
    labels: watch::Sender<NamespaceLabels>,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Ok(()) = catalog.changed() => {}
        }
        let wanted = namespace_labels(&catalog.borrow_and_update());
        labels.send_if_modified(|held| {
            let changed = *held == NamespaceLabels::Ignore && wanted == NamespaceLabels::Read;
            if changed {
                *held = wanted;
            }
            changed
        });
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
