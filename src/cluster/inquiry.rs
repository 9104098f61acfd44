//! Questions to a server of which nothing is known yet: who are we there, what may we do, who is it at all.
//!
//! A [`super::Session`] opens only for somebody who may read `kube-system`. Whoever may not needs to be told more than that.
//!
//! Architecture invariant: an inquiry sends reviews and the question who is there, and can send nothing else: no server keeps
//! anything of them.

use super::{
    call::{Answer, Call},
    endpoint::Endpoint,
    error::{Error, describe},
    link::{Link, Tasks},
    wire::Wire,
};
use crate::api::names::ClusterUid;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use tokio::{
    sync::{Mutex, oneshot, watch},
    time::timeout,
};
use zeroize::Zeroizing;

/// The largest answer: some have hundreds of groups.
const CAP: usize = 1 << 20;

/// What a server can be asked about ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    /// Who we are: a `SelfSubjectReview`.
    Subject,
    /// Whether we may do something: a `SelfSubjectAccessReview`.
    Access,
}

/// A connection for questions.
pub struct Inquiry {
    wire: Wire,
    link: Mutex<Link>,
}

/// The certificates that a server shows (DER, its own first); none if it does not speak TLS. Sends no request.
pub async fn certificates(endpoint: &Endpoint) -> Result<Vec<Vec<u8>>, Error> {
    Link::greet(endpoint).await
}

impl Inquiry {
    /// Connects.
    pub async fn open(endpoint: &Endpoint) -> Result<Self, Error> {
        let (fault, tasks) = (watch::Sender::new(None), Tasks::default());
        let credential = endpoint.login().credential().await?;
        // Nobody waits for its end: the next question fails.
        let (ended, _) = oneshot::channel();
        let link = Link::open(endpoint, credential.identity.as_deref(), &tasks, ended).await?;
        let wire = Wire { endpoint: endpoint.clone(), observer: None, fault, tasks };
        Ok(Self { wire, link: Mutex::new(link) })
    }

    /// Who is there.
    pub async fn cluster(&self) -> Result<ClusterUid, Error> {
        let credential = self.wire.endpoint.login().credential().await?;
        self.wire.identify(&mut *self.link.lock().await, &credential).await
    }

    /// What it says to a review. Many can be asked at a time.
    pub async fn review(&self, review: Review, body: Bytes) -> Result<Answer, Error> {
        let path = match review {
            Review::Subject => "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            Review::Access => "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        };
        let call = Call { cap: CAP, ..Call::create(path, body) };
        let mut link = self.link.lock().await;
        match link.share() {
            Some(mut shared) => {
                drop(link);
                self.answer(&mut shared, &call).await
            }
            None => self.answer(&mut link, &call).await,
        }
    }

    async fn answer(&self, link: &mut Link, call: &Call) -> Result<Answer, Error> {
        let response = self.wire.inquire(link, call).await?;
        let (verb, code) = (call.verb, response.status().as_u16());
        let body = timeout(call.patience, Limited::new(response.into_body(), call.cap).collect()).await;
        let body = body.map_err(|_| Error::Timeout { verb, after: call.patience })?;
        let body = body.map_err(|error| Error::Interrupted { verb, why: describe(&*error) })?;
        Ok(Answer { verb, code, body: Zeroizing::new(body.to_bytes().to_vec()) })
    }
}
