//! Which worker serves which cluster. Every name is asked once where it leads; names that lead to the same cluster are
//! routes to one worker; the management cluster is skipped.

mod directory;
mod known;

pub use directory::Directory;

use super::{
    dial::Route,
    inquiry::Inquiry,
    report::FollowerReport,
    state::Settings,
    teller::Telling,
    worker::{Inputs, Moved, Orders, Parts, Shared, Worker},
};
use crate::{
    api::{
        approval::Approvals,
        names::{ClusterUid, FollowerName},
    },
    cluster::{
        error::Error,
        session::{Options, Session},
    },
    follower::catalog::{Catalog, Entry, SUSPENDED},
    source::Snapshot,
};
use known::{Known, pause};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// Removed and added again within this time is no change.
const GRACE: Duration = Duration::from_secs(5);

/// What the fleet is told, always the newest.
pub struct Feeds {
    /// The names that providers know.
    pub catalog: watch::Receiver<Catalog>,
    /// The sources.
    pub sources: watch::Receiver<Snapshot>,
    /// Approved deletions.
    pub approvals: watch::Receiver<Arc<Approvals>>,
}

/// How the workers of this process are made.
pub struct Plant {
    /// Settings of a mirror, for the management cluster; the follower's UID is filled in.
    pub settings: Settings,
    /// What all workers share.
    pub shared: Shared,
    /// Whom they tell.
    pub telling: Telling,
}

/// The owner of all workers.
pub struct Fleet {
    plant: Plant,
    feeds: Feeds,
    directory: watch::Sender<Directory>,
    names: BTreeMap<FollowerName, Known>,
    workers: BTreeMap<ClusterUid, Handle>,
    probes: JoinSet<Probe>,
    running: JoinSet<ClusterUid>,
    /// Clusters whose worker was told to stop and has not ended yet.
    ending: BTreeSet<ClusterUid>,
    moved: (mpsc::Sender<Moved>, mpsc::Receiver<Moved>),
    stop: CancellationToken,
}

struct Handle {
    orders: watch::Sender<Orders>,
    inquiries: mpsc::Sender<Inquiry>,
    stop: CancellationToken,
}

struct Probe {
    name: FollowerName,
    entry: Entry,
    result: Result<Session, Error>,
}

impl Fleet {
    /// A fleet without workers yet.
    pub fn new(plant: Plant, feeds: Feeds, stop: CancellationToken) -> (Self, watch::Receiver<Directory>) {
        let (directory, receiver) = watch::channel(Directory::default());
        let fleet = Self {
            plant,
            feeds,
            directory,
            names: BTreeMap::new(),
            workers: BTreeMap::new(),
            probes: JoinSet::new(),
            running: JoinSet::new(),
            ending: BTreeSet::new(),
            moved: mpsc::channel(1024),
            stop,
        };
        (fleet, receiver)
    }

    /// Works until it is told to stop; ends when all workers have. A worker that ends by itself is a defect: the process
    /// must not go on without it.
    pub async fn run(mut self) -> Result<(), FleetError> {
        self.take_catalog();
        loop {
            let leaving = self.names.values().filter_map(|known| known.leaves).min();
            let wake = leaving.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
            // In this order: the workers are told to stop with the fleet, and one that ends first has not ended by itself.
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Ok(()) = self.feeds.catalog.changed() => self.take_catalog(),
                Some(moved) = self.moved.1.recv() => self.take_moved(&moved),
                Some(probe) = self.probes.join_next() => self.probed(probe?),
                Some(ended) = self.running.join_next() => self.ended(ended?)?,
                () = sleep_until(wake) => {}
            }
            self.forget_left();
            self.regroup();
        }
        self.probes.shutdown().await;
        while let Some(ended) = self.running.join_next().await {
            ended?;
        }
        Ok(())
    }

    fn take_catalog(&mut self) {
        let catalog = self.feeds.catalog.borrow_and_update().clone();
        for (name, known) in &mut self.names {
            if catalog.contains_key(name) {
                known.leaves = None;
            } else if known.leaves.is_none() {
                known.leaves = Some(Instant::now() + GRACE);
            }
        }
        for (name, entry) in catalog {
            self.learn(name, entry);
        }
        self.regroup();
    }

    fn learn(&mut self, name: FollowerName, entry: Entry) {
        match self.names.get_mut(&name) {
            Some(known) if known.entry.reaches_as(&entry) => known.entry = entry,
            Some(known) => {
                known.take(entry);
                self.probe(&name);
            }
            None => {
                self.names.insert(name.clone(), Known::new(entry));
                self.probe(&name);
            }
        }
    }

    /// Asks where a name leads.
    fn probe(&mut self, name: &FollowerName) {
        let Some(known) = self.names.get_mut(name) else { return };
        let connection = match &known.entry.connection {
            Ok(connection) => connection.clone(),
            Err(why) => {
                match why.as_str() {
                    SUSPENDED => tracing::info!(follower = %name, "follower is suspended by its spec"),
                    _ => tracing::error!(follower = %name, why, "follower cannot be used"),
                }
                self.plant.telling.silent(name, known.entry.info());
                known.refuse(why.clone());
                return;
            }
        };
        known.asked = true;
        let pause = pause(known.attempts);
        let (name, entry, observer) = (name.clone(), known.entry.clone(), self.plant.telling.observer(name.clone()));
        self.probes.spawn(async move {
            sleep(pause).await;
            let result = connection.open(Options { observer: Some(observer) }).await;
            Probe { name, entry, result }
        });
    }

    fn probed(&mut self, probe: Probe) {
        let Some(known) = self.names.get_mut(&probe.name).filter(|known| known.entry.reaches_as(&probe.entry)) else {
            return;
        };
        known.asked = false;
        let why = match probe.result.map(|session| known.admit(session)) {
            Ok(Ok(())) => return,
            Ok(Err(refused)) => refused,
            Err(error) => {
                self.plant.telling.unreachable(&probe.name, &error);
                error.to_string()
            }
        };
        if known.problem.as_ref() != Some(&why) {
            tracing::warn!(follower = %probe.name, error = why, "follower does not answer");
        }
        known.problem = Some(why);
        self.ask_again(&probe.name);
    }

    /// Asks once more where a name leads, after a pause.
    fn ask_again(&mut self, name: &FollowerName) {
        let Some(known) = self.names.get_mut(name).filter(|known| !known.asked) else { return };
        self.plant.telling.silent(name, known.entry.info());
        known.attempts = known.attempts.saturating_add(1);
        self.probe(name);
    }

    /// A worker found another cluster behind a name. One that the name's spec forbids is nobody's: the name waits until the
    /// right one answers. One that is not to be reached any more was found by a way that is given up.
    fn take_moved(&mut self, moved: &Moved) {
        let Some(known) = self.names.get_mut(&moved.name).filter(|known| known.entry.connection.is_ok()) else {
            return;
        };
        match known.entry.refuses(&moved.found) {
            None => {
                known.uid = Some(moved.found.clone());
                known.session = None;
                known.skipped = false;
            }
            Some(why) => {
                tracing::error!(follower = %moved.name, why, "follower is refused");
                known.refuse(why);
                self.ask_again(&moved.name);
            }
        }
    }

    fn ended(&mut self, uid: ClusterUid) -> Result<(), FleetError> {
        self.workers.remove(&uid);
        if self.ending.remove(&uid) { Ok(()) } else { Err(FleetError::WorkerEnded(uid)) }
    }

    fn forget_left(&mut self) {
        let now = Instant::now();
        let gone = |known: &Known| known.leaves.is_some_and(|when| when <= now);
        for (name, _) in self.names.iter().filter(|(_, known)| gone(known)) {
            tracing::info!(follower = %name, "follower is no longer configured; its copies stay as they are");
            self.plant.telling.forget(name);
        }
        self.names.retain(|_, known| !gone(known));
    }

    /// Gives every worker the names that lead to its cluster; starts and stops workers as names come and go.
    fn regroup(&mut self) {
        self.skip_hub();
        let unanswered: BTreeSet<FollowerName> = self.names_where(|known| known.uid.is_none());
        let known: BTreeSet<FollowerName> = self.names_where(|_| true);
        let (unanswered, known) = (Arc::new(unanswered), Arc::new(known));
        let mut groups: BTreeMap<ClusterUid, Orders> = BTreeMap::new();
        for (name, known_name) in self.names.iter().filter(|(_, known)| !known.skipped) {
            let Some(uid) = &known_name.uid else { continue };
            let orders = groups.entry(uid.clone()).or_default();
            orders.roster.members.push(known_name.entry.member.clone());
            orders.roster.unanswered = unanswered.clone();
            orders.roster.known = known.clone();
            let connection = known_name.entry.connection.as_ref().ok().cloned();
            orders.routes.extend(connection.map(|connection| Route { name: name.clone(), connection }));
        }
        for (uid, handle) in &self.workers {
            if !groups.contains_key(uid) && self.ending.insert(uid.clone()) {
                handle.stop.cancel();
            }
        }
        for (uid, orders) in groups {
            self.order(uid, orders);
        }
        self.close_spare();
        self.publish_directory();
    }

    fn order(&mut self, uid: ClusterUid, orders: Orders) {
        // One that is ending must have ended before another for the same cluster starts: `ended` comes back here.
        if self.ending.contains(&uid) {
            return;
        }
        match self.workers.get(&uid) {
            Some(handle) => {
                handle.orders.send_if_modified(|held| {
                    let changed = !held.is_same(&orders);
                    if changed {
                        *held = orders;
                    }
                    changed
                });
            }
            None => self.start(uid, orders),
        }
    }

    fn start(&mut self, uid: ClusterUid, orders: Orders) {
        let first = orders.routes.iter().find_map(|route| {
            let session = self.names.get_mut(&route.name)?.session.take()?;
            Some((route.name.clone(), session))
        });
        let mut settings = self.plant.settings.clone();
        settings.observer.cluster = uid.clone();
        let name = orders.roster.members.first().map(|member| member.name.clone()).unwrap_or_else(FollowerName::local);
        let info = self.names.get(&name).map(|known| known.entry.info()).unwrap_or_default();
        let (orders, received) = watch::channel(orders);
        let (inquiries, asked) = mpsc::channel(16);
        let stop = self.stop.child_token();
        let worker = Worker::new(Parts {
            teller: self.plant.telling.teller(&name, info, &settings),
            settings,
            shared: self.plant.shared.clone(),
            inputs: Inputs {
                sources: self.feeds.sources.clone(),
                orders: received,
                approvals: self.feeds.approvals.clone(),
            },
            inquiries: asked,
            moved: self.moved.0.clone(),
            session: first,
        });
        let token = stop.clone();
        self.running.spawn({
            let uid = uid.clone();
            async move {
                worker.run(token).await;
                uid
            }
        });
        self.workers.insert(uid, Handle { orders, inquiries, stop });
    }

    /// A worker has its own connection, and nobody needs one to the management cluster: an open one costs both sides.
    fn close_spare(&mut self) {
        for known in self.names.values_mut() {
            let served = known.uid.as_ref().is_some_and(|uid| self.workers.contains_key(uid));
            if known.skipped || served {
                known.session = None;
            }
        }
    }

    fn skip_hub(&mut self) {
        let hub = &self.plant.settings.sender.hub;
        for (name, known) in &mut self.names {
            let is_hub = known.uid.as_ref() == Some(hub) && *name != FollowerName::local();
            if is_hub && !known.skipped {
                known.skipped = true;
                tracing::info!(follower = %name, "leads to the management cluster itself: skipped");
                self.plant.telling.forget(name);
            }
        }
    }

    fn names_where(&self, chosen: impl Fn(&Known) -> bool) -> BTreeSet<FollowerName> {
        self.names.iter().filter(|(_, known)| chosen(known)).map(|(name, _)| name.clone()).collect()
    }

    fn publish_directory(&self) {
        let silent = self.names.iter().filter(|(_, known)| known.uid.is_none());
        let silent = silent.map(|(name, known)| FollowerReport::silent(name, known.problem.clone()));
        // The name is served, but not as who claims it in vain may think.
        let rivals = self.names.iter().filter_map(|(name, known)| Some((name, known.entry.rivalry()?)));
        let rivals = rivals.map(|(name, why)| FollowerReport::silent(name, Some(why)));
        let workers = self.workers.values().map(|handle| handle.inquiries.clone());
        self.directory.send_replace(Directory {
            workers: workers.collect(),
            silent: silent.chain(rivals).collect(),
            names: self.names_where(|_| true),
            hub: self.names_where(|known| known.skipped),
            asked: self.names.values().all(|known| known.uid.is_some() || known.problem.is_some()),
        });
    }
}

/// Why the fleet cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A worker ended though nobody told it to.
    #[error("the worker of cluster {0} ended by itself")]
    WorkerEnded(ClusterUid),
    /// A task panicked.
    #[error("a task of the fleet failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

#[cfg(test)]
mod tests;
