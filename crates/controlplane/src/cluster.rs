//! One cluster: a kube-apiserver with its own prefix in etcd.
//!
//! All methods take `&self` and may be called from any runtime, so that tests can share a cluster.

mod accounts;
mod files;
mod flags;
mod kubectl;
mod lifecycle;
mod options;
mod requests;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

use crate::api::{self, Api};
use crate::audit::Audit;
use crate::binaries::Binaries;
use crate::certificates::{Authority, Certificates};
use crate::etcd::Etcd;
use crate::port::ReservedPort;
use crate::process::Process;

pub use options::Options;

/// A Kubernetes cluster without nodes. Killed when dropped.
pub struct Cluster {
    name: String,
    folder: PathBuf,
    options: Options,
    binaries: Binaries,
    etcd_url: String,
    port: ReservedPort,
    authority: Authority,
    admin_token: String,
    api: Api,
    audit: Audit,
    running: Mutex<Running>,
}

/// What changes when a cluster is stopped, started, or begun anew.
struct Running {
    etcd_prefix: String,
    server: Option<Process>,
    controllers: Option<Process>,
}

impl Cluster {
    /// Starts a new, empty cluster, with its files in `folder`/`name`, and waits until it is ready. Another one of the same
    /// name never gets the data of an earlier one.
    pub async fn start(etcd: &Etcd, folder: &Path, name: &str, options: Options) -> Result<Self> {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let port = ReservedPort::any()?;
        let certificates = Certificates::generate(name)?;
        let admin_token = new_token();
        files::write(&folder, &certificates, &admin_token, &port)?;
        let config = api::config(&url(port.address()), &certificates.authority, &admin_token)?;
        let cluster = Self {
            name: name.to_owned(),
            audit: Audit::new(folder.join("audit.log")),
            folder,
            options,
            binaries: etcd.binaries().clone(),
            etcd_url: etcd.url(),
            port,
            authority: certificates.authority,
            admin_token,
            api: Api::connect(config).await?,
            running: Mutex::new(Running { etcd_prefix: new_prefix(name), server: None, controllers: None }),
        };
        cluster.start_again().await?;
        Ok(cluster)
    }

    /// The name it was started with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its API server is: `https://127.0.0.1:PORT`, the same for as long as the cluster exists.
    pub fn url(&self) -> String {
        url(self.port.address())
    }

    /// The same, for a [`crate::Proxy`].
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The certificate authority to trust. The server's certificate is good for 127.0.0.1 on any port.
    pub fn ca_pem(&self) -> &str {
        &self.authority.pem
    }

    /// The token of user `admin`, group `system:masters`.
    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// A kubeconfig (YAML) with one context, named like the cluster, for the admin.
    pub fn kubeconfig_admin(&self) -> String {
        self.kubeconfig(&self.url(), &self.admin_token)
    }

    /// The same for another token, and perhaps through a proxy at `server`.
    pub fn kubeconfig(&self, server: &str, token: &str) -> String {
        files::kubeconfig(&self.name, server, &self.authority.pem, token)
    }

    /// The requests it saw.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// The folder of its files: `kube-apiserver.log`, `audit.log`, keys.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A typed client with a token, for the caller's runtime (unlike [`Api`], it dies with it).
    pub fn client(&self, token: &str) -> Result<kube::Client> {
        Ok(kube::Client::try_from(api::config(&self.url(), &self.authority, token)?)?)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn url(address: SocketAddr) -> String {
    format!("https://{address}")
}

fn new_token() -> String {
    format!("{:032x}", fastrand::u128(..))
}

fn new_prefix(name: &str) -> String {
    format!("/{name}-{:016x}", fastrand::u64(..))
}
