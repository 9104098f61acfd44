//! Over a loopback socket, by bare HTTP.

use super::*;
use crate::{
    api::key::Kind,
    mirror::report::{DeletionReport, FollowerReport, SourceReport},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct App {
    ready: AtomicBool,
    stuck: bool,
}

impl Inspect for App {
    fn ready(&self) -> Result<(), String> {
        if self.ready.load(Ordering::Relaxed) { Ok(()) } else { Err("not listed yet: secrets".to_owned()) }
    }

    fn followers(&self) -> BoxFuture<'_, Vec<FollowerReport>> {
        let follower = |name: &str| FollowerReport {
            follower: name.into(),
            names: vec![name.into()],
            cluster_uid: None,
            connected: true,
            problem: None,
            copies: BTreeMap::from([("InStep", 2)]),
            strays: 0,
            rows: vec![],
        };
        let reports = vec![follower("blue"), follower("green")];
        Box::pin(async move {
            if self.stuck {
                std::future::pending::<()>().await;
            }
            reports
        })
    }

    fn sources(&self) -> BoxFuture<'_, Vec<SourceReport>> {
        let source = |namespace: &str| SourceReport {
            kind: Kind::Secret,
            namespace: namespace.into(),
            name: "tls".into(),
            state: "Ready",
            problem: None,
            resource_version: Some("7".to_owned()),
            copies: BTreeMap::new(),
        };
        let reports = vec![source("certs"), source("web")];
        Box::pin(async { reports })
    }

    fn deletions(&self) -> BoxFuture<'_, Vec<DeletionReport>> {
        Box::pin(async { vec![] })
    }

    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }
}

struct Server {
    address: std::net::SocketAddr,
    stop: CancellationToken,
    task: JoinSet<std::io::Result<()>>,
}

struct Reply {
    head: String,
    body: String,
}

impl Reply {
    fn code(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

async fn start(app: App) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let mut task = JoinSet::new();
    task.spawn(serve(listener, Arc::new(app), stop.clone()));
    Server { address, stop, task }
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ask(&self, method: &str, path: &str) -> Reply {
        let mut stream = self.connect().await;
        let request = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        read(&mut stream).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path).await
    }
}

async fn read(stream: &mut TcpStream) -> Reply {
    let mut text = String::new();
    timeout(Duration::from_secs(60), stream.read_to_string(&mut text)).await.unwrap().unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Reply { head: head.to_lowercase(), body: body.to_owned() }
}

#[tokio::test]
async fn health_does_not_wait_for_the_sources_and_readiness_does() {
    let server = start(App::default()).await;
    assert_eq!(server.get("/healthz").await.body, "ok\n");
    let waiting = server.get("/readyz").await;
    assert_eq!((waiting.code(), &*waiting.body), ("503", "not listed yet: secrets\n"));
    let server = start(App { ready: AtomicBool::new(true), ..App::default() }).await;
    assert_eq!(server.get("/readyz").await.code(), "200");
}

#[tokio::test]
async fn metrics_say_what_they_are() {
    let reply = start(App::default()).await.get("/metrics").await;
    assert!(
        reply.head.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{}",
        reply.head
    );
    assert_eq!(reply.body, "# EOF\n");
}

#[tokio::test]
async fn reports_are_items_and_may_be_narrowed() {
    let server = start(App::default()).await;
    assert_eq!(server.get("/api/v1/followers").await.json()["items"].as_array().unwrap().len(), 2);
    let blue = server.get("/api/v1/followers?follower=blue").await.json();
    assert_eq!(blue["items"][0]["follower"], "blue");
    assert_eq!(blue["items"].as_array().unwrap().len(), 1);
    let web = server.get("/api/v1/sources?namespace=web&name=tls").await.json();
    assert_eq!((&web["items"][0]["namespace"], web["items"].as_array().unwrap().len()), (&"web".into(), 1));
    assert_eq!(server.get("/api/v1/deletions").await.body, "{\"items\":[]}");
}

#[tokio::test]
async fn errors_have_one_form_and_do_not_repeat_the_request() {
    let server = start(App::default()).await;
    for (method, path, code) in [
        ("GET", "/hunter2", 404),
        ("GET", "/api/v1/secrets", 404),
        ("POST", "/api/v1/followers", 405),
        ("DELETE", "/metrics", 405),
        ("GET", "/api/v1/followers?hunter2=1", 400),
        ("GET", "/api/v1/followers?name=a&name=hunter2", 400),
        ("GET", "/api/v1/sources?follower=blue", 400),
    ] {
        let reply = server.ask(method, path).await;
        let error = reply.json();
        assert_eq!((reply.code(), &error["code"]), (&*code.to_string(), &code.into()), "{method} {path}");
        assert!(error["error"].is_string() && !reply.body.contains("hunter2"), "{}", reply.body);
        assert!(
            reply.head.contains("content-type: application/json") && reply.head.contains("cache-control: no-store")
        );
    }
}

#[tokio::test]
async fn what_may_be_done_instead_is_said() {
    let reply = start(App::default()).await.ask("POST", "/metrics").await;
    assert!(reply.head.contains("\r\nallow: get,head"), "{}", reply.head);
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let reply = start(App::default()).await.ask("HEAD", "/api/v1/followers").await;
    assert_eq!((reply.code(), &*reply.body), ("200", ""));
}

#[tokio::test]
async fn the_first_page_lists_the_others() {
    let reply = start(App::default()).await.get("/").await;
    assert!(reply.head.contains("text/plain") && reply.body.contains("/api/v1/deletions"), "{}", reply.body);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stuck_does_not_hold_the_page() {
    let reply = start(App { stuck: true, ..App::default() }).await.get("/api/v1/followers").await;
    assert_eq!(reply.code(), "503");
}

#[tokio::test(start_paused = true)]
async fn clients_that_say_nothing_do_not_keep_the_others_out() {
    let server = start(App::default()).await;
    let mut silent = Vec::new();
    for _ in 0..80 {
        silent.push(server.connect().await);
    }
    assert_eq!(server.get("/healthz").await.code(), "200");
}

#[tokio::test]
async fn stopping_closes_idle_connections_and_ends() {
    let mut server = start(App::default()).await;
    let mut idle = server.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(idle.read(&mut [0; 1024]).await.unwrap() > 0);
    server.stop.cancel();
    let ended = timeout(Duration::from_secs(3), server.task.join_next()).await.unwrap();
    assert!(ended.unwrap().unwrap().is_ok());
}
