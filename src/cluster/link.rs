//! One TCP connection to an API server, with TLS and HTTP on top.

use super::{
    endpoint::{Endpoint, Proxy},
    error::{Error, describe},
    exec::Identity,
};
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
    rt::Executor,
};
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, MaybeHttpsStream, ResolveServerName,
};
use hyper_util::{
    client::legacy::connect::{Connection, HttpConnector, proxy::Tunnel},
    rt::{TokioIo, TokioTimer},
};
use std::{
    error::Error as StdError,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{net::TcpStream, sync::oneshot, task::JoinSet, time::timeout};
use tower::ServiceExt;

/// How long name resolution, TCP, proxy, TLS and the HTTP/2 preface may take together.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// PINGs of HTTP/2: a link that died silently is noticed within the sum of the two.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_LIMIT: Duration = Duration::from_secs(10);
/// What the server may send ahead of us. There are thousands of links, and a stalled one keeps this much.
const STREAM_WINDOW: u32 = 64 << 10;
const LINK_WINDOW: u32 = 128 << 10;
/// The largest head and read-ahead of HTTP/1.1.
const HTTP1_BUFFER: usize = 64 << 10;

pub(super) type Body = Full<Bytes>;
type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// The tasks that drive a session's links. They end with it.
#[derive(Default)]
pub(super) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    /// Lets hyper start tasks here. It holds no claim on them, or a link would keep itself alive.
    fn spawner(&self) -> Spawner {
        Spawner(Arc::downgrade(&self.0))
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.spawner().execute(task);
    }

    /// Ends all tasks now: requests under way fail.
    pub(super) fn abort(&self) {
        lock(&self.0).abort_all();
    }
}

#[derive(Clone)]
struct Spawner(Weak<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Spawner {
    fn execute(&self, task: F) {
        if let Some(tasks) = self.0.upgrade() {
            let mut tasks = lock(&tasks);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }
}

fn lock(tasks: &Mutex<JoinSet<()>>) -> std::sync::MutexGuard<'_, JoinSet<()>> {
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sending side of one connection.
pub(super) enum Link {
    /// One request at a time.
    Http1(http1::SendRequest<Body>),
    /// Many at a time; clones share the connection.
    Http2(http2::SendRequest<Body>),
}

impl Link {
    /// Connects. `ended` is told why an HTTP/2 connection takes no more requests.
    pub(super) async fn open(
        endpoint: &Endpoint,
        identity: Option<&Identity>,
        tasks: &Tasks,
        ended: oneshot::Sender<String>,
    ) -> Result<Self, Error> {
        let failed = |why: String| Error::Connect { server: endpoint.server().to_owned(), why };
        let connecting = async {
            let stream = connect(endpoint, identity).await.map_err(|error| describe(&*error))?;
            let handshake = Self::handshake(stream, tasks, ended).await;
            handshake.map_err(|error| describe(&error))
        };
        let connected = timeout(CONNECT_LIMIT, connecting).await;
        connected.map_err(|_| failed("no answer within 10 s".to_owned()))?.map_err(failed)
    }

    /// Connects, and says which certificates the server shows (DER, its own first). Sends no request.
    pub(super) async fn greet(endpoint: &Endpoint) -> Result<Vec<Vec<u8>>, Error> {
        let failed = |why: String| Error::Connect { server: endpoint.server().to_owned(), why };
        let connected = timeout(CONNECT_LIMIT, connect(endpoint, None)).await;
        let stream = connected.map_err(|_| failed("no answer within 10 s".to_owned()))?;
        match stream.map_err(|error| failed(describe(&*error)))? {
            MaybeHttpsStream::Http(_) => Ok(Vec::new()),
            MaybeHttpsStream::Https(stream) => {
                let shown = stream.inner().get_ref().1.peer_certificates().unwrap_or_default();
                Ok(shown.iter().map(|certificate| certificate.to_vec()).collect())
            }
        }
    }

    async fn handshake(stream: Stream, tasks: &Tasks, ended: oneshot::Sender<String>) -> Result<Self, hyper::Error> {
        if stream.connected().is_negotiated_h2() {
            let (sender, driver) = http2(tasks).handshake(stream).await?;
            tasks.spawn(async move {
                let why = driver.await.err();
                // Nobody listens to a link that was given up.
                let _told = ended.send(why.map_or_else(|| "closed by the server".to_owned(), |error| describe(&error)));
            });
            return Ok(Self::Http2(sender));
        }
        let (sender, driver) = http1::Builder::new().max_buf_size(HTTP1_BUFFER).handshake(stream).await?;
        tasks.spawn(async move { drop(driver.await) });
        Ok(Self::Http1(sender))
    }

    /// Sends one request.
    pub(super) async fn send(&mut self, request: Request<Body>) -> Result<Response<Incoming>, hyper::Error> {
        match self {
            Self::Http1(sender) => sender.send_request(request).await,
            Self::Http2(sender) => sender.send_request(request).await,
        }
    }

    /// Another handle to the same connection, where that can carry more than one request at a time.
    pub(super) fn share(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
        }
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    /// Waits until the last answer is read; `false` if the link is dead.
    pub(super) async fn ready(&mut self) -> bool {
        match self {
            Self::Http1(sender) => sender.ready().await.is_ok(),
            Self::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_closed(),
            Self::Http2(sender) => sender.is_closed(),
        }
    }
}

fn http2(tasks: &Tasks) -> http2::Builder<Spawner> {
    let mut builder = http2::Builder::new(tasks.spawner());
    builder
        .timer(TokioTimer::new())
        .adaptive_window(false)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(LINK_WINDOW)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_LIMIT)
        .keep_alive_while_idle(true);
    builder
}

/// Tries all addresses of a name, IPv6 and IPv4 at once.
fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(Duration::from_secs(15)));
    tcp.set_keepalive_interval(Some(Duration::from_secs(5)));
    tcp.set_keepalive_retries(Some(3));
    tcp.set_connect_timeout(Some(CONNECT_LIMIT));
    tcp
}

async fn connect(endpoint: &Endpoint, identity: Option<&Identity>) -> Result<Stream, Box<dyn StdError + Send + Sync>> {
    let tls = endpoint.tls(identity)?;
    let to = with_port(endpoint.base())?;
    match endpoint.proxy() {
        None => HttpsConnector::new(tcp(), tls, false, resolver(endpoint)).oneshot(to).await,
        Some(proxy) => HttpsConnector::new(tunnel(proxy), tls, false, resolver(endpoint)).oneshot(to).await,
    }
}

fn tunnel(proxy: &Proxy) -> Tunnel<HttpConnector> {
    let tunnel = Tunnel::new(proxy.uri.clone(), tcp());
    match &proxy.authorization {
        Some(authorization) => tunnel.with_auth(authorization.clone()),
        None => tunnel,
    }
}

fn resolver(endpoint: &Endpoint) -> Arc<dyn ResolveServerName + Send + Sync> {
    match endpoint.server_name() {
        Some(name) => Arc::new(FixedServerNameResolver::new(name.clone())),
        None => Arc::new(DefaultServerNameResolver::default()),
    }
}

/// A tunnel takes a URL without port for one of 443, also when it is plain.
fn with_port(base: &Uri) -> Result<Uri, http::Error> {
    let scheme = base.scheme_str().unwrap_or("https");
    let port = base.port_u16().unwrap_or(if scheme == "http" { 80 } else { 443 });
    let authority = format!("{}:{port}", base.host().unwrap_or_default());
    Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build()
}
