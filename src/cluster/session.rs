//! Requests to one cluster, over links that have all shown the same identity.
//!
//! ```text
//! HTTP/2   calls ──▶ link 0 ◀── watches 1–50        HTTP/1.1   call  ──▶ an idle link (≤ 4), else a new one
//!          more watches: calls ──▶ link 1                      watch ──▶ a new link
//!                        watches 51–100 ──▶ link 2             heartbeat every 15 s of silence
//! ```

use super::{
    buffer::Buffer,
    call::{Answer, Call},
    endpoint::Endpoint,
    error::{Error, describe},
    link::{Link, Tasks},
    wire::Wire,
};
use crate::api::names::ClusterUid;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep_until, timeout},
};

/// A server allows 100 streams: half of them for watches leaves room for their successors.
const WATCHES_PER_LINK: usize = 50;
/// How many calls run at once; others wait for their turn, which costs them none of their patience.
const CALLS_HTTP2: usize = 40;
const CALLS_HTTP1: usize = 4;
/// How long a link may take to be ready again after a refusal.
const SETTLE: Duration = Duration::from_millis(50);
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Is told of every request.
pub trait Observer: Send + Sync {
    /// An answer began (`code`), or none came.
    fn request(&self, verb: &'static str, code: Option<u16>, took: Duration);
}

/// What a session is opened with.
#[derive(Clone, Default)]
pub struct Options {
    /// Is told of every request.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Requests to one cluster. Clones share it; it ends with the last of them.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    wire: Wire,
    uid: ClusterUid,
    links: Mutex<Links>,
    /// Held while a further HTTP/2 link is opened.
    opening: tokio::sync::Mutex<()>,
    calls: Arc<Semaphore>,
    /// When an answer last began.
    heard: Mutex<Instant>,
}

enum Links {
    Http1 { idle: Vec<Link> },
    Http2 { calls: Link, watching: Vec<Shared> },
}

/// An HTTP/2 link that carries watches: each of them holds a clone of `count`.
struct Shared {
    link: Link,
    count: Arc<()>,
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Call,
    Watch,
}

/// A link, for one request.
struct Lease {
    link: Link,
    _call: Option<OwnedSemaphorePermit>,
    _watch: Option<Arc<()>>,
}

/// A 2xx answer of which the body is still to be read.
pub(super) struct Reply {
    session: Session,
    verb: &'static str,
    code: u16,
    body: Incoming,
    lease: Option<Lease>,
}

impl Session {
    /// Connects, and asks who is there before anything else.
    pub async fn open(endpoint: &Endpoint, options: Options) -> Result<Self, Error> {
        let fault = watch::Sender::new(None);
        let wire = Wire { endpoint: endpoint.clone(), observer: options.observer, fault, tasks: Tasks::default() };
        let (link, uid) = wire.open().await?;
        let (links, calls) = match link.share() {
            Some(calls) => (Links::Http2 { calls, watching: vec![Shared::new(link)] }, CALLS_HTTP2),
            None => (Links::Http1 { idle: vec![link] }, CALLS_HTTP1),
        };
        let http1 = matches!(links, Links::Http1 { .. });
        let (calls, heard) = (Arc::new(Semaphore::new(calls)), Mutex::new(Instant::now()));
        let inner = Inner { wire, uid, links: Mutex::new(links), opening: tokio::sync::Mutex::default(), calls, heard };
        let session = Self(Arc::new(inner));
        if http1 {
            session.0.wire.tasks.spawn(heartbeat(Arc::downgrade(&session.0)));
        }
        Ok(session)
    }

    /// Who answers: the UID of `kube-system`.
    pub fn uid(&self) -> &ClusterUid {
        &self.0.uid
    }

    /// Waits until the session is of no use any more, and says why ([`Error::Disconnected`] or [`Error::Moved`]).
    pub async fn closed(&self) -> Error {
        let mut fault = self.0.wire.fault.subscribe();
        let known = fault.wait_for(Option::is_some).await.ok().and_then(|fault| fault.clone());
        known.unwrap_or_else(|| Error::disconnected("the session is over"))
    }

    /// Sends one request. Any answer that is not 2xx is an error.
    pub async fn call(&self, call: Call) -> Result<Answer, Error> {
        let mut reply = self.send(&call, Lane::Call).await?;
        let mut body = Buffer::with_capacity(reply.announced(call.cap));
        while let Some(piece) = reply.piece(call.patience).await? {
            if !body.push(&piece, call.cap) {
                return Err(Error::TooLarge { verb: call.verb, cap: call.cap });
            }
        }
        Ok(Answer { verb: call.verb, code: reply.code, body: body.take() })
    }

    /// Sends one request and waits for the head of a 2xx answer.
    pub(super) async fn send(&self, call: &Call, lane: Lane) -> Result<Reply, Error> {
        let turn = match lane {
            Lane::Call => Arc::clone(&self.0.calls).acquire_owned().await.ok(),
            Lane::Watch => None,
        };
        let mut lease = self.lease(lane).await?;
        lease._call = turn;
        self.check()?;
        let response = self.0.wire.ask(&mut lease.link, call).await;
        if lane == Lane::Call && response.is_ok() {
            *lock(&self.0.heard) = Instant::now();
        }
        let response = match response {
            Err(error @ Error::Status(_)) => {
                self.give_back_when_ready(lease).await;
                return Err(error);
            }
            response => response?,
        };
        let (session, verb, code) = (self.clone(), call.verb, response.status().as_u16());
        Ok(Reply { session, verb, code, body: response.into_body(), lease: Some(lease) })
    }

    fn check(&self) -> Result<(), Error> {
        self.0.wire.fault.borrow().clone().map_or(Ok(()), Err)
    }

    async fn lease(&self, lane: Lane) -> Result<Lease, Error> {
        self.check()?;
        while let Some(mut lease) = self.take(lane) {
            // An idle link that the server has closed meanwhile is not worth an error.
            if lease.link.is_http2() || lease.link.ready().await {
                return Ok(lease);
            }
        }
        if matches!(&*lock(&self.0.links), Links::Http1 { .. }) {
            return Ok(Lease::of(self.open_link().await?));
        }
        let _one_at_a_time = self.0.opening.lock().await;
        match self.take(lane) {
            Some(lease) => Ok(lease),
            None => self.widen().await,
        }
    }

    fn take(&self, lane: Lane) -> Option<Lease> {
        match (&mut *lock(&self.0.links), lane) {
            (Links::Http1 { idle }, Lane::Call) => {
                idle.retain(|link| !link.is_closed());
                idle.pop().map(Lease::of)
            }
            (Links::Http1 { .. }, Lane::Watch) => None,
            (Links::Http2 { calls, .. }, Lane::Call) => calls.share().map(Lease::of),
            (Links::Http2 { watching, .. }, Lane::Watch) => watching.iter().find_map(Shared::lease),
        }
    }

    /// Opens a link for another 50 watches. The calls move to one of their own when the second is opened.
    async fn widen(&self) -> Result<Lease, Error> {
        let alone = matches!(&*lock(&self.0.links), Links::Http2 { watching, .. } if watching.len() == 1);
        let own = if alone { Some(self.open_link().await?) } else { None };
        let shared = Shared::new(self.open_link().await?);
        let lease = shared.lease();
        if let Links::Http2 { calls, watching } = &mut *lock(&self.0.links) {
            if let Some(own) = own {
                *calls = own;
            }
            watching.push(shared);
        }
        lease.ok_or_else(|| Error::disconnected("the server speaks another HTTP than before"))
    }

    /// A further connection, which must lead to the same cluster. Boxed: each watch would keep the room for it.
    async fn open_link(&self) -> Result<Link, Error> {
        let (link, found) = Box::pin(self.0.wire.open()).await?;
        self.same(found)?;
        Ok(link)
    }

    fn same(&self, found: ClusterUid) -> Result<(), Error> {
        if found == self.0.uid {
            return Ok(());
        }
        let moved = Error::Moved { expected: self.0.uid.clone(), found };
        self.0.wire.fail(moved.clone());
        Err(moved)
    }

    /// After a refusal, whose body is mostly read to its end.
    async fn give_back_when_ready(&self, mut lease: Lease) {
        if !lease.link.is_http2() && timeout(SETTLE, lease.link.ready()).await == Ok(true) {
            self.give_back(lease);
        }
    }

    fn give_back(&self, lease: Lease) {
        if let Links::Http1 { idle } = &mut *lock(&self.0.links)
            && idle.len() < CALLS_HTTP1
            && lease._call.is_some()
        {
            idle.push(lease.link);
        }
    }
}

impl Shared {
    fn new(link: Link) -> Self {
        Self { link, count: Arc::new(()) }
    }

    fn lease(&self) -> Option<Lease> {
        let free = Arc::strong_count(&self.count) <= WATCHES_PER_LINK;
        let link = if free { self.link.share() } else { None };
        link.map(|link| Lease { _watch: Some(Arc::clone(&self.count)), ..Lease::of(link) })
    }
}

impl Lease {
    fn of(link: Link) -> Self {
        Self { link, _call: None, _watch: None }
    }
}

impl Reply {
    /// The next piece of the body, if it comes within `patience`; `None` at its end.
    pub(super) async fn piece(&mut self, patience: Duration) -> Result<Option<Bytes>, Error> {
        loop {
            let Ok(frame) = timeout(patience, self.body.frame()).await else {
                return Err(Error::Timeout { verb: self.verb, after: patience });
            };
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => return Ok(Some(piece)),
                    Err(_trailers) => {}
                },
                Some(Err(error)) => return Err(self.session.0.wire.broken(self.verb, describe(&error)).await),
                None => {
                    if let Some(lease) = self.lease.take() {
                        self.session.give_back(lease);
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// How long the body will be, if the server says so and it is less than `cap`.
    pub(super) fn announced(&self, cap: usize) -> usize {
        let exact = hyper::body::Body::size_hint(&self.body).exact();
        exact.and_then(|length| usize::try_from(length).ok()).filter(|length| *length <= cap).unwrap_or_default()
    }
}

/// HTTP/1.1 has no PING: asks who is there whenever nothing was heard for a while.
async fn heartbeat(session: Weak<Inner>) {
    let mut due = Instant::now() + HEARTBEAT;
    loop {
        sleep_until(due).await;
        let Some(session) = session.upgrade().map(Session) else { return };
        due = *lock(&session.0.heard) + HEARTBEAT;
        if due <= Instant::now() {
            if let Err(error) = session.beat().await {
                session.0.wire.fail(error);
                return;
            }
            due = Instant::now() + HEARTBEAT;
        }
    }
}

impl Session {
    /// A refusal is a sign of life.
    async fn beat(&self) -> Result<(), Error> {
        let Some(mut lease) = self.take(Lane::Call) else { return self.open_link().await.map(drop).or_else(alive) };
        let found = match self.0.wire.endpoint.login().credential().await {
            Ok(credential) => self.0.wire.identify(&mut lease.link, &credential).await,
            Err(error) => Err(error.into()),
        };
        match found {
            Ok(found) => {
                self.give_back(lease);
                self.same(found)
            }
            Err(error) => alive(error),
        }
    }
}

fn alive(error: Error) -> Result<(), Error> {
    match error {
        Error::Status(_) | Error::Login(_) | Error::Decode { .. } => Ok(()),
        Error::Moved { .. } => Err(error),
        dead => Err(Error::disconnected(format!("heartbeat: {dead}"))),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
