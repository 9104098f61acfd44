//! What every measurement stands on: clusters, eyes on the followers, Towline, the floor's client, and objects to copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use controlplane::{Cluster, eventually};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::floor::Floor;
use crate::eye::{Eye, Sight};
use crate::lab::Lab;
use crate::towline::Towline;

/// Followers that are measured; more are started for the memory of one more.
pub(super) const FOLLOWERS: [&str; 4] = ["f1", "f2", "f3", "f4"];
/// Names for twice as many.
pub(super) const MORE_FOLLOWERS: [&str; 8] = ["f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"];
/// Where sources and their copies are.
pub(super) const SOURCES: &str = "/api/v1/namespaces/bench/secrets";
/// Where the floor's client writes.
pub(super) const FLOOR: &str = "/api/v1/namespaces/floor/secrets";
/// Bytes of data in each object.
const SIZE: usize = 3000;
const PATIENCE: Duration = Duration::from_secs(120);

/// Clusters and everything that looks at them or writes to them.
pub(super) struct Ground {
    pub(super) lab: Lab,
    pub(super) floor: Floor,
    program: PathBuf,
    /// On the copies, one per follower.
    pub(super) copies: Vec<Eye>,
    /// On what the floor's client writes.
    pub(super) written: Vec<Eye>,
}

impl Ground {
    /// Starts all but Towline.
    pub(super) async fn lay(built: &Path) -> Result<Self> {
        let lab = Lab::start("bench", FOLLOWERS.len()).await?;
        // A copy: somebody may build again meanwhile.
        let program = lab.folder().join("towline");
        fs::copy(built, &program).with_context(|| format!("cannot copy {}", built.display()))?;
        lab.ensure_namespace("bench").await?;
        lab.ensure_namespace("floor").await?;
        let (mut copies, mut written) = (Vec::new(), Vec::new());
        for cluster in &lab.fleet.followers {
            copies.push(Eye::open(cluster, SOURCES).await?);
            written.push(Eye::open(cluster, FLOOR).await?);
        }
        let floor = Floor::connect(&lab, FOLLOWERS.len()).await?;
        Ok(Self { lab, floor, program, copies, written })
    }

    /// Starts Towline for these followers.
    pub(super) async fn towline(&self, followers: &[&str]) -> Result<Towline> {
        self.towline_with(self.lab.followers_kubeconfig(followers)?).await
    }

    /// The same for a kubeconfig.
    pub(super) async fn towline_with(&self, followers: PathBuf) -> Result<Towline> {
        let hub = format!("--kubeconfig={}", self.lab.hub_kubeconfig()?.display());
        let followers = format!("--kubeconfig-file={}", followers.display());
        let flags = [&hub, &followers, "--local-sync=false", "--deletion-delay=0s"];
        Towline::start(&self.program, self.lab.folder().join("towline.log"), &flags).await
    }

    /// The management cluster.
    pub(super) fn hub(&self) -> &Cluster {
        &self.lab.fleet.management
    }

    /// Deletes all sources, copies and what the floor's client wrote. Towline must not be running.
    pub(super) async fn clear(&self) -> Result<()> {
        for cluster in self.lab.clusters() {
            cluster.delete(SOURCES).await?;
            cluster.delete(FLOOR).await?;
        }
        for eye in self.copies.iter().chain(&self.written) {
            eye.counts(0, |_| true).await?;
        }
        Ok(())
    }

    /// Creates so many sources.
    pub(super) async fn create_sources(&self, count: u32) -> Result<()> {
        let objects: Vec<Value> = (0..count).map(|number| source(&format!("source-{number}"), 0)).collect();
        let posts = objects.iter().map(|object| self.hub().create(SOURCES, object));
        stream::iter(posts).buffer_unordered(8).try_for_each(async |_| Ok(())).await
    }

    /// A source that is made only to be waited for: what was before it has been seen when it has arrived.
    pub(super) async fn witness(&self, name: &str) -> Result<()> {
        self.hub().create(SOURCES, &source(name, 0)).await?;
        seen_by_all(&self.copies, name, 0).await.map(drop)
    }

    /// Waits until Towline has nothing to do: its metrics say so, and a witness has arrived.
    pub(super) async fn settled(&self, towline: &Towline, sources: u32, witness: &str) -> Result<()> {
        let all = async || -> Result<Option<()>> {
            for follower in FOLLOWERS {
                let series = format!(r#"towline_copies{{follower="{follower}",state="InStep"}}"#);
                if towline.metric(&series).await? != Some(f64::from(sources)) {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        };
        eventually("all copies in step", PATIENCE, all).await?;
        self.witness(witness).await
    }
}

/// Waits until a version of an object was seen on all followers; answers when on the last of them.
pub(super) async fn seen_by_all(eyes: &[Eye], name: &str, version: usize) -> Result<Instant> {
    let mut last = None;
    for eye in eyes {
        last = last.max(Some(eye.sees(name, |sight| is_version(sight, version)).await?));
    }
    last.context("there are no followers")
}

/// An object that Towline copies to all followers.
pub(super) fn source(name: &str, version: usize) -> Value {
    object(name, version, &json!({"towline.dev/followers": "*"}))
}

/// The same object without that wish.
pub(super) fn plain(name: &str, version: usize) -> Value {
    object(name, version, &json!({}))
}

/// A merge patch to another version.
pub(super) fn update(version: usize) -> Value {
    json!({"data": data(version)})
}

fn object(name: &str, version: usize, annotations: &Value) -> Value {
    json!({"metadata": {"name": name, "annotations": annotations}, "data": data(version)})
}

fn data(version: usize) -> Value {
    let filler: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(SIZE).collect();
    json!({"version": STANDARD.encode(version.to_string()), "filler": STANDARD.encode(filler)})
}

fn is_version(sight: &Sight, version: usize) -> bool {
    sight.data.get("version").is_some_and(|found| *found == STANDARD.encode(version.to_string()))
}
