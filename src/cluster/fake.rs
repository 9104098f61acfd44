//! A stand-in for an API server, on a real socket, that misbehaves as told. For tests only.

use super::{Endpoint, Login, Options, Parts, Session};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{
    convert::Infallible,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::watch,
    task::JoinSet,
};

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Counts connections from 0.
    pub(super) connection: usize,
    pub(super) url: String,
    pub(super) authorization: String,
    pub(super) accept: String,
}

impl Seen {
    pub(super) fn is_identity(&self) -> bool {
        self.url == super::paths::IDENTITY
    }

    pub(super) fn is_watch(&self) -> bool {
        self.url.contains("watch=1")
    }
}

/// What it answers.
pub(super) enum Say {
    Json(u16, String),
    With(u16, &'static str, &'static str),
    /// These pieces, and the end.
    Pieces(Vec<String>),
    /// These pieces, and then nothing for ever.
    Open(Vec<String>),
    /// After a while.
    Late(Duration, Box<Say>),
    /// Not even a head.
    Hang,
}

type Answer = Arc<dyn Fn(&Seen) -> Say + Send + Sync>;

/// The server. It ends when it is dropped.
pub(super) struct Fake {
    pub(super) address: std::net::SocketAddr,
    ca: Option<Vec<u8>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    open: Arc<AtomicUsize>,
    frozen: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

struct Shared {
    answer: Answer,
    seen: Arc<Mutex<Vec<Seen>>>,
    open: Arc<AtomicUsize>,
    frozen: watch::Receiver<bool>,
}

enum Protocol {
    Http1,
    Http2,
}

pub(super) fn identity(uid: &str) -> Say {
    Say::Json(200, format!(r#"{{"metadata":{{"name":"kube-system","uid":"{uid}"}}}}"#))
}

impl Fake {
    /// Plain HTTP/1.1. Identity questions are answered `one`.
    pub(super) async fn http1(answer: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        Self::start(known(answer), None).await
    }

    /// TLS and HTTP/2. Identity questions are answered `one`.
    pub(super) async fn http2(answer: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        Self::start(known(answer), Some(rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap())).await
    }

    /// Plain HTTP/1.1, identity questions included.
    pub(super) async fn raw(answer: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        Self::start(Arc::new(answer), None).await
    }

    async fn start(answer: Answer, cert: Option<rcgen::CertifiedKey<rcgen::KeyPair>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (seen, open, frozen) = (Arc::default(), Arc::default(), watch::Sender::new(false));
        let shared =
            Arc::new(Shared { answer, seen: Arc::clone(&seen), open: Arc::clone(&open), frozen: frozen.subscribe() });
        let (address, mut tasks) = (listener.local_addr().unwrap(), JoinSet::new());
        let ca = cert.as_ref().map(|cert| cert.cert.pem().into_bytes());
        tasks.spawn(accept(listener, cert.map(acceptor), shared));
        Self { address, ca, seen, open, frozen, _tasks: tasks }
    }

    pub(super) fn endpoint(&self, login: Login) -> Endpoint {
        self.endpoint_by(Parts { login, ..Parts::default() })
    }

    pub(super) fn endpoint_by(&self, parts: Parts) -> Endpoint {
        let scheme = if self.ca.is_some() { "https" } else { "http" };
        let server = format!("{scheme}://{}", self.address);
        Endpoint::new("fake", Parts { server, certificate_authority: self.ca.clone(), ..parts }).unwrap()
    }

    pub(super) async fn session(&self) -> Session {
        Session::open(&self.endpoint(Login::none()), Options::default()).await.unwrap()
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// All requests but the identity questions.
    pub(super) fn asked(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| !seen.is_identity()).collect()
    }

    /// How many connections are open.
    pub(super) fn connections(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// From now on it neither reads nor writes, and closes nothing.
    pub(super) fn freeze(&self) {
        self.frozen.send_replace(true);
    }
}

/// Awaits a condition, at most ten seconds.
pub(super) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never: {what}");
}

fn known(answer: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Answer {
    Arc::new(move |seen| if seen.is_identity() { identity("one") } else { answer(seen) })
}

fn acceptor(cert: rcgen::CertifiedKey<rcgen::KeyPair>) -> tokio_rustls::TlsAcceptor {
    let key = rustls::pki_types::PrivateKeyDer::try_from(cert.signing_key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(vec![cert.cert.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config).into()
}

async fn accept(listener: TcpListener, tls: Option<tokio_rustls::TlsAcceptor>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        let (shared, tls) = (Arc::clone(&shared), tls.clone());
        connections.spawn(async move {
            shared.open.fetch_add(1, Ordering::SeqCst);
            match tls {
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => serve(stream, number, &shared, Protocol::Http2).await,
                    Err(_refused) => {}
                },
                None => serve(stream, number, &shared, Protocol::Http1).await,
            }
            shared.open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn serve<S>(stream: S, number: usize, shared: &Arc<Shared>, protocol: Protocol)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let held = Arc::clone(shared);
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&held);
        async move { Ok::<_, Infallible>(respond(look(number, &request), &shared).await) }
    });
    let mut frozen = shared.frozen.clone();
    let stopped = async move { drop(frozen.wait_for(|frozen| *frozen).await) };
    match protocol {
        Protocol::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            tokio::select! { _ = &mut connection => {}, () = stopped => pending().await }
        }
        Protocol::Http1 => {
            let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! { _ = &mut connection => {}, () = stopped => pending().await }
        }
    }
}

fn look(connection: usize, request: &Request<Incoming>) -> Seen {
    let header = |name: &str| request.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let url = request.uri().path_and_query().unwrap().to_string();
    Seen { connection, url, authorization: header("authorization"), accept: header("accept") }
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

async fn respond(seen: Seen, shared: &Shared) -> Response<Body> {
    shared.seen.lock().unwrap().push(seen.clone());
    let mut say = (shared.answer)(&seen);
    while let Say::Late(after, next) = say {
        tokio::time::sleep(after).await;
        say = *next;
    }
    match say {
        Say::Json(code, text) => Response::builder().status(code).body(body(vec![text], Ends::Yes)).unwrap(),
        Say::With(code, header, value) => {
            Response::builder().status(code).header(header, value).body(body(Vec::new(), Ends::Yes)).unwrap()
        }
        Say::Pieces(pieces) => Response::new(body(pieces, Ends::Yes)),
        Say::Open(pieces) => Response::new(body(pieces, Ends::Never)),
        Say::Late(..) | Say::Hang => pending().await,
    }
}

#[derive(PartialEq)]
enum Ends {
    Yes,
    Never,
}

fn body(pieces: Vec<String>, ends: Ends) -> Body {
    let pieces = stream::iter(pieces).map(|piece| Ok(Frame::data(Bytes::from(piece))));
    let open = stream::pending().take(usize::from(ends == Ends::Never));
    StreamBody::new(pieces.chain(open)).boxed_unsync()
}
