//! Against a stand-in for the management cluster on a loopback socket.

use super::*;
use crate::cluster::{Endpoint, Options, Parts};
use axum::{
    Json, Router,
    extract::{Request, State},
    http::StatusCode,
};
use std::sync::Mutex;
use tokio::{net::TcpListener, task::JoinSet, time::timeout};

/// What the management cluster was asked, and what it forbids.
#[derive(Clone, Default)]
struct Hub {
    posted: Arc<Mutex<Vec<String>>>,
    forbids: Arc<Mutex<Vec<&'static str>>>,
}

async fn answer(State(hub): State<Hub>, request: Request) -> (StatusCode, Json<serde_json::Value>) {
    let path = request.uri().path().to_owned();
    if path == crate::cluster::paths::IDENTITY {
        return (StatusCode::OK, Json(serde_json::json!({"metadata": {"uid": "hub"}})));
    }
    hub.posted.lock().unwrap().push(path.clone());
    let forbidden = hub.forbids.lock().unwrap().iter().any(|part| path.starts_with(part));
    let status = if forbidden { StatusCode::FORBIDDEN } else { StatusCode::CREATED };
    (status, Json(serde_json::json!({"code": status.as_u16(), "reason": "Forbidden"})))
}

impl Hub {
    async fn session(&self, tasks: &mut JoinSet<()>) -> Session {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().fallback(answer).with_state(self.clone());
        tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let endpoint = Endpoint::new("hub", Parts { server, ..Parts::default() }).unwrap();
        Session::open(&endpoint, Options::default()).await.unwrap()
    }

    /// Waits until so many requests have come.
    async fn posted(&self, count: usize) -> Vec<String> {
        let enough = async {
            while self.posted.lock().unwrap().len() < count {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), enough).await.unwrap();
        self.posted.lock().unwrap().clone()
    }
}

fn object(name: &str) -> ObjectRef {
    let (namespace, uid, resource_version) = ("certs".to_owned(), "u".to_owned(), "1".to_owned());
    ObjectRef { kind: "Secret", namespace, name: name.to_owned(), uid, resource_version }
}

fn synced(name: &str) -> Notice {
    let (tone, follower) = (Tone::Normal, Some("blue".to_owned()));
    Notice { source: object(name), reason: "Synced", tone, follower, target: "certs/tls".to_owned(), detail: None }
}

fn desk(hub: Option<watch::Receiver<Option<Session>>>) -> Desk {
    Desk { hub, myself: None, instance: "towline-0".to_owned() }
}

/// A herald at work, whose events are told at once.
async fn working(hub: &Hub, tasks: &mut JoinSet<()>) -> (Notices, watch::Sender<Option<Session>>) {
    let (sender, receiver) = watch::channel(Some(hub.session(tasks).await));
    let (notices, herald) = herald(desk(Some(receiver)), Metrics::new());
    tasks.spawn(herald.run(CancellationToken::new()));
    (notices, sender)
}

fn told_at_once(notices: &Notices, name: &str) {
    notices.expect(object(name), 1);
    notices.send(synced(name));
}

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/certs/events";
const CORE: &str = "/api/v1/namespaces/certs/events";

#[tokio::test]
async fn a_version_in_step_becomes_one_event() {
    let (hub, mut tasks) = (Hub::default(), JoinSet::new());
    let (notices, _session) = working(&hub, &mut tasks).await;
    told_at_once(&notices, "a");
    told_at_once(&notices, "a");
    told_at_once(&notices, "b");
    assert_eq!(hub.posted(2).await, [EVENTS, EVENTS]);
}

#[tokio::test]
async fn the_older_form_is_used_where_the_newer_is_forbidden_and_then_at_once() {
    let (hub, mut tasks) = (Hub::default(), JoinSet::new());
    hub.forbids.lock().unwrap().push("/apis");
    let (notices, _session) = working(&hub, &mut tasks).await;
    told_at_once(&notices, "a");
    told_at_once(&notices, "b");
    assert_eq!(hub.posted(3).await, [EVENTS, CORE, CORE]);
}

#[tokio::test]
async fn a_namespace_that_forbids_both_is_left_alone_and_others_are_not() {
    let (hub, mut tasks) = (Hub::default(), JoinSet::new());
    hub.forbids.lock().unwrap().extend([EVENTS, CORE]);
    let (notices, _session) = working(&hub, &mut tasks).await;
    told_at_once(&notices, "a");
    told_at_once(&notices, "b");
    let elsewhere = ObjectRef { namespace: "web".to_owned(), ..object("c") };
    notices.expect(elsewhere.clone(), 1);
    notices.send(Notice { source: elsewhere, ..synced("c") });
    assert_eq!(hub.posted(3).await, [EVENTS, CORE, "/apis/events.k8s.io/v1/namespaces/web/events"]);
}

#[tokio::test]
async fn an_event_waits_for_the_connection() {
    let (hub, mut tasks) = (Hub::default(), JoinSet::new());
    let (sender, receiver) = watch::channel(None);
    let (notices, herald) = herald(desk(Some(receiver)), Metrics::new());
    tasks.spawn(herald.run(CancellationToken::new()));
    told_at_once(&notices, "a");
    sender.send_replace(Some(hub.session(&mut tasks).await));
    assert_eq!(hub.posted(1).await, [EVENTS]);
}

#[tokio::test]
async fn what_is_too_much_is_counted_and_nobody_waits() {
    let metrics = Metrics::new();
    let (notices, _idle) = herald(desk(None), metrics.clone());
    for _ in 0..INBOX + 3 {
        notices.send(synced("a"));
    }
    assert!(metrics.render().contains("towline_events_dropped_total 3"));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_goes_on_taking_notices_and_ends_when_told() {
    let mut tasks = JoinSet::new();
    let (stop, metrics) = (CancellationToken::new(), Metrics::new());
    let (notices, herald) = herald(desk(None), metrics.clone());
    tasks.spawn(herald.run(stop.clone()));
    for index in 0..INBOX {
        notices.about_us(Tone::Warning, "ClusterChanged", format!("f{index}"));
        notices.about_follower(Tone::Warning, "FollowerDenied", "blue", None);
        tokio::task::yield_now().await;
    }
    sleep(Duration::from_secs(3)).await;
    assert!(metrics.render().contains("towline_events_dropped_total 0"));
    stop.cancel();
    tasks.join_next().await.unwrap().unwrap();
}
