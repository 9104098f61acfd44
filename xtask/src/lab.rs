//! A management cluster and followers, with a Towline in mind that has just the rights that `deploy/rbac` grants: by
//! ServiceAccounts everywhere, or by one in the management cluster and by whatever way into the followers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use controlplane::{Cluster, Fleet, Options, Scratch};

use crate::kubeconfig::{Context, kubeconfig};

/// Towline's namespace and ServiceAccount, as the manifests name both.
const TOWLINE: &str = "towline";
/// What the audit logs call it.
pub(crate) const USER: &str = "system:serviceaccount:towline:towline";

/// A management cluster, followers, and the folder of all their files.
pub(crate) struct Lab {
    pub(crate) fleet: Fleet,
    hub_token: String,
    /// Of Towline's ServiceAccount in each follower; none if it comes by another way.
    tokens: Vec<String>,
    // Last, so that it goes last.
    scratch: Scratch,
}

impl Lab {
    /// Starts the clusters and grants the rights.
    pub(crate) async fn start(name: &str, followers: usize) -> Result<Self> {
        let scratch = Scratch::new(name)?;
        let fleet = Fleet::start(followers, scratch.path()).await?;
        let mut lab = Self::of(fleet, scratch).await?;
        for follower in &lab.fleet.followers {
            lab.tokens.push(grant(follower, "follower.yaml").await?);
        }
        Ok(lab)
    }

    /// Takes clusters whose followers Towline comes into by another way, and grants the rights in the management cluster.
    pub(crate) async fn of(fleet: Fleet, scratch: Scratch) -> Result<Self> {
        let hub_token = grant(&fleet.management, "management.yaml").await?;
        Ok(Self { fleet, hub_token, tokens: Vec::new(), scratch })
    }

    /// Starts one more follower.
    pub(crate) async fn add_follower(&mut self) -> Result<()> {
        let name = format!("follower-{}", self.fleet.followers.len() + 1);
        let cluster = Cluster::start(self.fleet.etcd(), self.scratch.path(), &name, Options::default()).await?;
        self.tokens.push(grant(&cluster, "follower.yaml").await?);
        self.fleet.followers.push(cluster);
        Ok(())
    }

    /// Makes a namespace in all clusters.
    pub(crate) async fn ensure_namespace(&self, name: &str) -> Result<()> {
        for cluster in self.clusters() {
            cluster.ensure_namespace(name).await?;
        }
        Ok(())
    }

    /// The management cluster, then the followers.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &Cluster> {
        std::iter::once(&self.fleet.management).chain(&self.fleet.followers)
    }

    /// The followers, each with the token that Towline has there.
    pub(crate) fn followers(&self) -> impl Iterator<Item = (&Cluster, &str)> {
        self.fleet.followers.iter().zip(self.tokens.iter().map(String::as_str))
    }

    /// The kubeconfig that Towline reads of the management cluster.
    pub(crate) fn hub_kubeconfig(&self) -> Result<PathBuf> {
        let hub = &self.fleet.management;
        self.file("hub.kubeconfig", &hub.kubeconfig(&hub.url(), &self.hub_token))
    }

    /// The kubeconfig of the first followers, by these names.
    pub(crate) fn followers_kubeconfig(&self, names: &[&str]) -> Result<PathBuf> {
        let clusters = self.followers().zip(names);
        let contexts: Vec<Context> =
            clusters.map(|((cluster, token), name)| Context { name, cluster, server: cluster.url(), token }).collect();
        self.file("followers.kubeconfig", &kubeconfig(&contexts))
    }

    /// The same, but the first of them is reached at `server`.
    pub(crate) fn followers_kubeconfig_via(&self, names: &[&str], server: &str) -> Result<PathBuf> {
        let path = self.followers_kubeconfig(names)?;
        let direct = self.fleet.follower(1)?.url();
        let text = fs::read_to_string(&path)?.replace(&direct, server);
        self.file("followers-via-proxy.kubeconfig", &text)
    }

    /// Writes a file that only its owner may read: there are tokens in it.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder().join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// The folder of all files. Others cannot look into it; it goes with the process.
    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }
}

/// Applies a manifest as it is, and answers a token of the ServiceAccount in it.
async fn grant(cluster: &Cluster, manifest: &str) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/rbac").join(manifest);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    cluster.apply_yaml(&text).await?;
    cluster.service_account_token(TOWLINE, TOWLINE).await
}
