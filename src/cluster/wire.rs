//! One request over one link: credentials, time limits, the second try after a 401, and who is there at all.

use super::{
    call::Call,
    endpoint::Endpoint,
    error::{Error, describe},
    link::{Body, Link, Tasks},
    login::Credential,
    paths,
    session::Observer,
    status::Status,
};
use crate::api::names::ClusterUid;
use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde::Deserialize;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, timeout},
};

const AGENT: HeaderValue = HeaderValue::from_static(concat!("towline/", env!("CARGO_PKG_VERSION")));
/// The largest refusal that is read. A larger one keeps its code only.
const REFUSAL_CAP: usize = 64 << 10;
/// The label of the question who is there.
const IDENTITY: &str = "identity";
/// How long a broken answer waits for the news that its whole connection is lost.
const NEWS: Duration = Duration::from_millis(100);

/// What all links of a session have in common.
pub(super) struct Wire {
    pub(super) endpoint: Endpoint,
    pub(super) observer: Option<Arc<dyn Observer>>,
    /// Why the session is of no use any more.
    pub(super) fault: watch::Sender<Option<Error>>,
    pub(super) tasks: Tasks,
}

#[derive(Deserialize)]
struct Identified {
    metadata: IdentifiedMeta,
}

#[derive(Deserialize)]
struct IdentifiedMeta {
    uid: ClusterUid,
}

impl Wire {
    /// A new connection. Its first request is the question who is there. An API server hangs up on whom it does not know,
    /// so renewed credentials need another one.
    pub(super) async fn open(&self) -> Result<(Link, ClusterUid), Error> {
        let login = self.endpoint.login();
        let credential = login.credential().await?;
        match self.open_as(&credential).await {
            Err(Error::Status(status)) if status.code == 401 && login.is_renewable() => {
                login.renew(&credential).await;
                self.open_as(&login.credential().await?).await
            }
            opened => opened,
        }
    }

    /// A link that is given up on the way takes no session with it.
    async fn open_as(&self, credential: &Credential) -> Result<(Link, ClusterUid), Error> {
        let (ended, end) = oneshot::channel();
        let mut link = Link::open(&self.endpoint, credential.identity.as_deref(), &self.tasks, ended).await?;
        let uid = self.identify(&mut link, credential).await?;
        let fault = self.fault.clone();
        self.tasks.spawn(async move {
            if let Ok(why) = end.await {
                set(&fault, Error::disconnected(why));
            }
        });
        Ok((link, uid))
    }

    /// Asks who is at the other end.
    pub(super) async fn identify(&self, link: &mut Link, credential: &Credential) -> Result<ClusterUid, Error> {
        let call = Call { verb: IDENTITY, ..Call::get(paths::IDENTITY).metadata_only() };
        let response = self.exchange(link, &call, credential).await?;
        let body = read_small(response.into_body(), call.patience).await;
        let body = body.ok_or(Error::Timeout { verb: call.verb, after: call.patience })?;
        let found: Identified = serde_json::from_slice(&body).map_err(|error| Error::decode(call.verb, &error))?;
        Ok(found.metadata.uid)
    }

    /// Sends a request and waits for the head of a 2xx answer. Credentials that are refused are renewed once. Without any, or
    /// if the others are refused, too, no request of this session can succeed: it is over, and the next one says why.
    pub(super) async fn ask(&self, link: &mut Link, call: &Call) -> Result<Response<Incoming>, Error> {
        match self.inquire(link, call).await {
            Err(Error::Status(status)) if status.code == 401 => Err(self.over(status.to_string())),
            answered => answered,
        }
    }

    /// The same for whom even that refusal is an answer.
    pub(super) async fn inquire(&self, link: &mut Link, call: &Call) -> Result<Response<Incoming>, Error> {
        let credential = self.credential().await?;
        match self.exchange(link, call, &credential).await {
            Err(Error::Status(status)) if status.code == 401 && self.endpoint.login().is_renewable() => {}
            answered => return answered,
        }
        self.endpoint.login().renew(&credential).await;
        if credential.identity.is_some() {
            return Err(self.over("the client certificate is refused: another needs another connection".to_owned()));
        }
        let credential = self.credential().await?;
        self.exchange(link, call, &credential).await
    }

    fn over(&self, why: String) -> Error {
        let error = Error::disconnected(why);
        self.fail(error.clone());
        error
    }

    /// Without credentials the session is of no use: whoever opens another one is told why, and waits between attempts.
    async fn credential(&self) -> Result<Credential, Error> {
        self.endpoint.login().credential().await.map_err(|error| {
            let error = Error::Login(error);
            self.fail(error.clone());
            error
        })
    }

    async fn exchange(
        &self,
        link: &mut Link,
        call: &Call,
        credential: &Credential,
    ) -> Result<Response<Incoming>, Error> {
        let request = request(&self.endpoint, call, credential, link)?;
        let begun = Instant::now();
        let sent = async { if link.ready().await { Some(link.send(request).await) } else { None } };
        let answered = timeout(call.patience, sent).await;
        let code = answered.as_ref().ok().and_then(|sent| Some(sent.as_ref()?.as_ref().ok()?.status().as_u16()));
        if let Some(observer) = &self.observer {
            observer.request(call.verb, code, begun.elapsed());
        }
        match answered {
            Err(_) => Err(Error::Timeout { verb: call.verb, after: call.patience }),
            Ok(None) => Err(self.broken(call.verb, "the connection is closed".to_owned()).await),
            Ok(Some(Err(error))) => Err(self.broken(call.verb, describe(&error)).await),
            Ok(Some(Ok(response))) if response.status().is_success() => Ok(response),
            Ok(Some(Ok(response))) => Err(Error::Status(Box::new(refusal(response, call).await))),
        }
    }

    /// What a broken answer means: the session's fault if that is known at once, else nothing for the others.
    pub(super) async fn broken(&self, verb: &'static str, why: String) -> Error {
        let mut fault = self.fault.subscribe();
        let news = timeout(NEWS, fault.wait_for(Option::is_some)).await;
        let known = news.ok().and_then(Result::ok).and_then(|fault| fault.clone());
        known.unwrap_or(Error::Interrupted { verb, why })
    }

    /// Ends the session: requests under way fail, and no other is sent.
    pub(super) fn fail(&self, error: Error) {
        set(&self.fault, error);
        self.tasks.abort();
    }
}

/// The first fault stays.
fn set(fault: &watch::Sender<Option<Error>>, error: Error) {
    fault.send_if_modified(|fault| {
        let first = fault.is_none();
        fault.get_or_insert(error);
        first
    });
}

fn request(endpoint: &Endpoint, call: &Call, credential: &Credential, link: &Link) -> Result<Request<Body>, Error> {
    let base = endpoint.base();
    let path = format!("{}{}", base.path().trim_end_matches('/'), call.path_and_query);
    let authority = base.authority().map_or("", http::uri::Authority::as_str);
    let mut builder = Request::builder().method(call.method.clone()).header(USER_AGENT, AGENT);
    builder = if link.is_http2() {
        let uri = Uri::builder().scheme(base.scheme_str().unwrap_or("https")).authority(authority).path_and_query(path);
        builder.uri(uri.build().map_err(|_| Error::Malformed { verb: call.verb })?)
    } else {
        builder.uri(path).header(HOST, authority)
    };
    builder = builder.header(ACCEPT, call.accept.header());
    if let Some(content_type) = call.content_type {
        builder = builder.header(CONTENT_TYPE, content_type);
    }
    if let Some(headers) = builder.headers_mut() {
        headers.extend(endpoint.headers().clone());
        headers.extend(credential.authorization.clone().map(|value| (AUTHORIZATION, value)));
    }
    let body = Full::new(call.body.clone().unwrap_or_default());
    builder.body(body).map_err(|_| Error::Malformed { verb: call.verb })
}

async fn refusal(response: Response<Incoming>, call: &Call) -> Status {
    let code: StatusCode = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = read_small(response.into_body(), call.patience).await.unwrap_or_default();
    let verb = if call.verb == IDENTITY { "get" } else { call.verb };
    Status { verb, ..Status::parse(code.as_u16(), retry_after.as_deref(), &body) }
}

async fn read_small(body: Incoming, patience: Duration) -> Option<Bytes> {
    let collected = timeout(patience, Limited::new(body, REFUSAL_CAP).collect()).await;
    Some(collected.ok()?.ok()?.to_bytes())
}
