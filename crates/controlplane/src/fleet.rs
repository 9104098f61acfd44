//! A management cluster and its followers.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::cluster::{Cluster, Options};
use crate::etcd::Etcd;
use crate::runtime;

/// Several clusters on one etcd. Killed when dropped, and at the end of the process if it is kept in a static.
///
/// The tests of one file share one: `static FLEET: tokio::sync::OnceCell<Fleet>`, with a [`crate::Scratch`] beside it,
/// and namespaces of their own.
pub struct Fleet {
    /// Where sources live; named `management`.
    pub management: Cluster,
    /// Where copies go; named `follower-1` and so on.
    pub followers: Vec<Cluster>,
    // Last, so that it goes last.
    etcd: Arc<Etcd>,
}

impl Fleet {
    /// Starts a management cluster and `followers` others, all at once, with their files in `folder`.
    pub async fn start(followers: usize, folder: &Path) -> Result<Self> {
        Self::start_with(followers, folder, Options::default()).await
    }

    /// The same with options for every cluster.
    pub async fn start_with(followers: usize, folder: &Path, options: Options) -> Result<Self> {
        Self::start_each(options.clone(), vec![options; followers], folder).await
    }

    /// The same with options of its own for the management cluster and for each follower.
    pub async fn start_each(management: Options, followers: Vec<Options>, folder: &Path) -> Result<Self> {
        let etcd = Arc::new(Etcd::start(folder).await?);
        let mut starting = JoinSet::new();
        for (index, options) in std::iter::once(management).chain(followers).enumerate() {
            let (etcd, folder, name) = (etcd.clone(), folder.to_owned(), cluster_name(index));
            let start = async move { (index, Cluster::start(&etcd, &folder, &name, options).await) };
            starting.spawn_on(start, runtime::background()?);
        }
        let mut clusters = Vec::new();
        while let Some(started) = starting.join_next().await {
            let (index, cluster) = started?;
            clusters.push((index, cluster?));
        }
        clusters.sort_by_key(|(index, _)| *index);
        let mut clusters = clusters.into_iter().map(|(_, cluster)| cluster);
        let management = clusters.next().context("no management cluster")?;
        Ok(Self { management, followers: clusters.collect(), etcd })
    }

    /// The store behind all of them, for a test that wants one more cluster, to stop it or to begin it anew.
    pub fn etcd(&self) -> &Etcd {
        &self.etcd
    }

    /// The follower of that number, from 1 on.
    pub fn follower(&self, number: usize) -> Result<&Cluster> {
        number
            .checked_sub(1)
            .and_then(|index| self.followers.get(index))
            .with_context(|| format!("no follower {number}"))
    }
}

fn cluster_name(index: usize) -> String {
    match index {
        0 => "management".to_owned(),
        number => format!("follower-{number}"),
    }
}
