//! Sees what happens in a namespace of a cluster, the moment it happens: one watch.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use controlplane::Cluster;
use futures::TryStreamExt;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::core::WatchEvent;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long anything may take to be seen.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is there, by name.
type Seen = HashMap<String, Sight>;

/// An object as it was last seen.
#[derive(Clone)]
pub(crate) struct Sight {
    pub(crate) data: BTreeMap<String, String>,
    pub(crate) at: Instant,
}

/// A watch on one kind of objects in one namespace of a cluster, as its admin.
pub(crate) struct Eye {
    seen: watch::Receiver<Seen>,
    _task: JoinSet<()>,
}

#[derive(Clone, Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Clone, Deserialize)]
struct Metadata {
    name: String,
}

impl Eye {
    /// Looks at the objects at `path`, a collection.
    pub(crate) async fn open(cluster: &Cluster, path: &str) -> Result<Self> {
        let client = client(cluster, cluster.admin_token()).await?;
        let (sender, seen) = watch::channel(Seen::new());
        let url = format!("{path}?watch=1&timeoutSeconds=86400");
        let mut task = JoinSet::new();
        task.spawn(async move { while look(&client, &url, &sender).await.is_ok() {} });
        Ok(Self { seen, _task: task })
    }

    /// Waits until `name` is there and satisfies a condition; answers when it was seen.
    pub(crate) async fn sees(&self, name: &str, holds: impl Fn(&Sight) -> bool) -> Result<Instant> {
        let mut seen = self.seen.clone();
        let there = seen.wait_for(|seen| seen.get(name).is_some_and(&holds));
        let there = timeout(PATIENCE, there).await.with_context(|| format!("{name} was not seen in time"))??;
        Ok(there.get(name).map_or_else(Instant::now, |sight| sight.at))
    }

    /// Waits until `name` is not there.
    pub(crate) async fn misses(&self, name: &str) -> Result<Instant> {
        let mut seen = self.seen.clone();
        let gone = seen.wait_for(|seen| !seen.contains_key(name));
        timeout(PATIENCE, gone).await.with_context(|| format!("{name} did not go in time"))??;
        Ok(Instant::now())
    }

    /// Waits until so many objects satisfy a condition; answers when the last of them was seen.
    pub(crate) async fn counts(&self, count: u32, holds: impl Fn(&str) -> bool) -> Result<Instant> {
        let mut seen = self.seen.clone();
        let enough = seen.wait_for(|seen| seen.keys().filter(|name| holds(name)).count() == count as usize);
        let what = || format!("{count} objects were not seen in time");
        let there = timeout(PATIENCE, enough).await.with_context(what)??;
        let last = there.iter().filter(|(name, _)| holds(name)).map(|(_, sight)| sight.at).max();
        Ok(last.unwrap_or_else(Instant::now))
    }
}

/// A client without any limit of time: a quiet watch is a good one.
pub(crate) async fn client(cluster: &Cluster, token: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(&cluster.kubeconfig(&cluster.url(), token))?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    Ok(Client::try_from(config)?)
}

/// One watch, from what is there now until it ends.
async fn look(client: &Client, url: &str, sender: &watch::Sender<Seen>) -> Result<()> {
    let request = http::Request::get(url).body(Vec::new())?;
    let mut events = std::pin::pin!(client.request_events::<Object>(request).await?);
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let sight = Sight { data: object.data, at: Instant::now() };
                sender.send_modify(|seen| drop(seen.insert(object.metadata.name, sight)));
            }
            WatchEvent::Deleted(object) => sender.send_modify(|seen| drop(seen.remove(&object.metadata.name))),
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
        }
    }
    Ok(())
}
