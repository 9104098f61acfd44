//! Requests to one cluster, over links that have all shown the same identity.

use super::{
    call::{Answer, Call},
    endpoint::Endpoint,
    error::Error,
};
use crate::api::names::ClusterUid;
use std::{sync::Arc, time::Duration};

/// Is told of every request.
pub trait Observer: Send + Sync {
    /// A request ended, or (lists and watches) its answer began; `code` is `None` when there was no answer.
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
pub struct Session(Arc<()>);

impl Session {
    /// Connects, and asks who is there before anything else.
    pub async fn open(endpoint: &Endpoint, options: Options) -> Result<Self, Error> {
        todo!()
    }
    /// Who answers: the UID of `kube-system`.
    pub fn uid(&self) -> &ClusterUid {
        todo!()
    }
    /// Waits until the session is of no use any more, and says why.
    pub async fn closed(&self) -> Error {
        todo!()
    }
    /// Sends one request. Any answer that is not 2xx is an error.
    pub async fn call(&self, call: Call) -> Result<Answer, Error> {
        todo!()
    }
}
