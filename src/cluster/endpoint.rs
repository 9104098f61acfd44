//! Everything needed to reach one API server.

use super::{kubeconfig::EndpointError, login::Login};
use crate::api::names::Namespace;
use kube::config::Kubeconfig;
use std::{path::Path, sync::Arc};
use zeroize::Zeroizing;

/// One API server: address, TLS, proxy, login. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<()>);

/// Tells endpoints apart: a hash over server, CA, credentials and names of files. It is compared, never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// What an endpoint is made of.
pub struct Parts {
    /// `https://host:port`, with a path if the server has one.
    pub server: String,
    /// PEM; `None`: the system's roots.
    pub certificate_authority: Option<Vec<u8>>,
    /// The name that the server's certificate must have, if it is not the host's.
    pub tls_server_name: Option<String>,
    /// An `http://` proxy that understands CONNECT; `None`: as `HTTPS_PROXY` and `NO_PROXY` say.
    pub proxy_url: Option<String>,
    /// Where the bearer token comes from.
    pub login: Login,
    /// What tells this login from another, for the fingerprint.
    pub login_fingerprint: Zeroizing<Vec<u8>>,
    /// The namespace that the context sets.
    pub default_namespace: Option<Namespace>,
}

impl Endpoint {
    /// An endpoint from its parts; `name` is for the errors.
    pub fn new(name: &str, parts: Parts) -> Result<Self, EndpointError> {
        todo!()
    }
    /// A context of a kubeconfig. Reads the files that it names and runs nothing.
    pub fn from_context(kubeconfig: &Kubeconfig, context: &str) -> Result<Self, EndpointError> {
        todo!()
    }
    /// The same server by another login. `fingerprint` is what tells that login from another.
    pub fn with_login(&self, login: Login, fingerprint: &[u8]) -> Self {
        todo!()
    }
    /// The cluster that this process runs in.
    pub fn in_cluster() -> Result<Self, EndpointError> {
        todo!()
    }
    /// As kubectl finds it: the flag, `KUBECONFIG`, `~/.kube/config`, else in-cluster.
    pub fn from_flags(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, EndpointError> {
        todo!()
    }
    /// Whether this is the same entry as before.
    pub fn fingerprint(&self) -> Fingerprint {
        todo!()
    }
    /// The namespace that the context sets, if it sets one.
    pub fn default_namespace(&self) -> Option<&Namespace> {
        todo!()
    }
    /// Scheme, host and port, for messages.
    pub fn server(&self) -> &str {
        todo!()
    }
}
