//! Names and where they may lead, against a stand-in for an API server on a loopback socket.

use super::*;
use crate::{
    api::patterns::Patterns,
    cluster::{endpoint::Parts as EndpointParts, paths},
    mirror::{apply::Mode, deletion::Limits, losses::Losses, makers, request::KubedMarks, state::AdoptBy},
    telemetry::{
        herald::{Desk, herald},
        metrics::Metrics,
    },
};
use axum::{Json, Router, extract::Request, http::StatusCode};
use std::sync::Mutex;
use tokio::{net::TcpListener, sync::Semaphore, time::timeout};

const CAP: Duration = Duration::from_secs(20);

/// A cluster that says who it is, and forbids everything else.
struct Cluster {
    endpoint: crate::cluster::endpoint::Endpoint,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Cluster {
    async fn start(uid: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let log = asked.clone();
        let routes = Router::new().fallback(async move |request: Request| {
            let path = request.uri().path().to_owned();
            if path == paths::IDENTITY {
                return (StatusCode::OK, Json(serde_json::json!({"metadata": {"uid": uid}})));
            }
            log.lock().unwrap().push(path);
            (StatusCode::FORBIDDEN, Json(serde_json::json!({"code": 403, "reason": "Forbidden"})))
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let endpoint =
            crate::cluster::endpoint::Endpoint::new(uid, EndpointParts { server, ..EndpointParts::default() });
        Self { endpoint: endpoint.unwrap(), asked, _tasks: tasks }
    }

    /// The follower `a`, which leads here.
    fn entry(&self, pin: Option<&str>) -> Entry {
        Entry {
            member: makers::member("a"),
            provider: "test",
            connection: Ok(self.endpoint.clone().into()),
            pin: pin.map(ClusterUid::from),
            rivals: Vec::new(),
        }
    }
}

/// A fleet that is driven by hand.
struct Yard {
    fleet: Fleet,
    catalog: watch::Sender<Catalog>,
    directory: watch::Receiver<Directory>,
    _feeds: (watch::Sender<Snapshot>, watch::Sender<Arc<Approvals>>),
}

impl Yard {
    fn new(entry: Entry) -> Self {
        let (catalog, catalog_seen) = watch::channel(Catalog::from([("a".into(), entry)]));
        let (sources, sources_seen) = watch::channel(Snapshot::default());
        let (approvals, approvals_seen) = watch::channel(Arc::default());
        let feeds = Feeds { catalog: catalog_seen, sources: sources_seen, approvals: approvals_seen };
        let (mut fleet, directory) = Fleet::new(plant(), feeds, CancellationToken::new());
        fleet.take_catalog();
        Self { fleet, catalog, directory, _feeds: (sources, approvals) }
    }

    /// Waits for the next answer to where a name leads.
    async fn answered(&mut self) {
        let probe = timeout(CAP, self.fleet.probes.join_next()).await.unwrap().unwrap().unwrap();
        self.fleet.probed(probe);
        self.fleet.regroup();
    }

    fn now(&mut self, entry: Entry) {
        self.catalog.send_replace(Catalog::from([("a".into(), entry)]));
        self.fleet.take_catalog();
    }

    fn moved(&mut self, found: &str) {
        self.fleet.take_moved(&Moved { name: "a".into(), found: found.into() });
        self.fleet.regroup();
    }

    /// The clusters that are served.
    fn served(&self) -> Vec<String> {
        let working = self.fleet.workers.keys().filter(|uid| !self.fleet.ending.contains(*uid));
        working.map(ToString::to_string).collect()
    }

    /// What is told of names that are not served.
    fn problems(&self) -> Vec<String> {
        self.directory.borrow().silent.iter().filter_map(|report| report.problem.clone()).collect()
    }
}

fn plant() -> Plant {
    let metrics = Metrics::new();
    let (notices, _herald) = herald(Desk { hub: None, myself: None, instance: "test".to_owned() }, metrics.clone());
    let settings = Settings {
        sender: makers::sender(),
        observer: makers::observer_of(makers::HUB),
        limits: Limits::default(),
        losses: Losses::new(10),
        protected: Arc::default(),
        target_namespaces: None::<Arc<Patterns>>,
        adoption: AdoptBy::Uid,
    };
    let shared = Shared {
        permits: Arc::new(Semaphore::new(4)),
        filter: Arc::default(),
        kubed_marks: KubedMarks::Remove,
        mode: Mode::DryRun,
        old_hubs: Arc::default(),
        rate: None,
        names: BTreeSet::new(),
    };
    Plant { settings, shared, telling: Telling { metrics, audit: None, notices, mode: Mode::DryRun } }
}

const REFUSED: &str =
    "another cluster is behind the name: spec.clusterUID is right, and wrong answers; nothing is written";

#[tokio::test]
async fn a_cluster_that_the_spec_forbids_is_asked_who_it_is_and_nothing_more() {
    let cluster = Cluster::start("wrong").await;
    let mut yard = Yard::new(cluster.entry(Some("right")));
    yard.answered().await;
    assert_eq!((yard.served(), yard.problems()), (vec![], vec![REFUSED.to_owned()]));
    assert!(cluster.asked.lock().unwrap().is_empty());
    yard.now(cluster.entry(Some("wrong")));
    // The question about the old spec may be answered first: it counts no more.
    while yard.served().is_empty() {
        yard.answered().await;
    }
    assert_eq!((yard.served(), yard.problems()), (vec!["wrong".to_owned()], vec![]));
}

#[tokio::test]
async fn a_cluster_that_the_spec_comes_to_forbid_is_served_no_more_at_once() {
    let cluster = Cluster::start("wrong").await;
    let mut yard = Yard::new(cluster.entry(None));
    yard.answered().await;
    assert_eq!(yard.served(), ["wrong"]);
    yard.now(cluster.entry(Some("right")));
    assert_eq!((yard.served(), yard.problems()), (vec![], vec![REFUSED.to_owned()]));
    yard.answered().await;
    assert_eq!((yard.served(), yard.problems()), (vec![], vec![REFUSED.to_owned()]));
}

#[tokio::test]
async fn another_cluster_behind_a_name_is_served_unless_the_spec_forbids_it() {
    let cluster = Cluster::start("right").await;
    for (pin, served) in [(None, vec!["wrong".to_owned()]), (Some("right"), vec![])] {
        let mut yard = Yard::new(cluster.entry(pin));
        yard.answered().await;
        assert_eq!(yard.served(), ["right"]);
        yard.moved("wrong");
        assert_eq!(yard.served(), served);
        assert_eq!(yard.problems(), pin.map(|_| REFUSED.to_owned()).into_iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_suspended_follower_is_known_and_neither_served_nor_asked() {
    let cluster = Cluster::start("one").await;
    let mut yard = Yard::new(cluster.entry(None));
    yard.answered().await;
    assert_eq!(yard.served(), ["one"]);
    yard.now(Entry { connection: Err(SUSPENDED.to_owned()), ..cluster.entry(None) });
    assert_eq!((yard.served(), yard.problems()), (vec![], vec![SUSPENDED.to_owned()]));
    // What its worker found on the way out.
    yard.moved("two");
    assert!(yard.served().is_empty() && yard.fleet.probes.is_empty());
    let directory = yard.directory.borrow().clone();
    assert!(directory.names.contains("a") && directory.asked);
    drop(directory);
    // The worker must have ended before another one for the same cluster starts.
    let ended = timeout(CAP, yard.fleet.running.join_next()).await.unwrap().unwrap().unwrap();
    yard.fleet.ended(ended).unwrap();
    yard.now(cluster.entry(None));
    yard.answered().await;
    assert_eq!((yard.served(), yard.problems()), (vec!["one".to_owned()], vec![]));
}

#[tokio::test]
async fn a_claim_in_vain_is_told_while_the_name_is_served() {
    let cluster = Cluster::start("one").await;
    let mut yard = Yard::new(Entry { rivals: vec!["followers-file"], ..cluster.entry(None) });
    yard.answered().await;
    let told = "followers-file: the name is taken by test, which comes first; give this one another";
    assert_eq!((yard.served(), yard.problems()), (vec!["one".to_owned()], vec![told.to_owned()]));
    yard.now(cluster.entry(None));
    assert_eq!(yard.problems(), Vec::<String>::new());
}
