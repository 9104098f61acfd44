//! The floor: a bare client that does no more than write.
//!
//! One keep-alive client per follower, all connections open before the clock starts, no watch, no decision, no reading of
//! the answers beyond their status. It writes the same bytes of data as Towline, to all followers at once, as the same user:
//! an API server has as much to check.

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::eye;
use crate::lab::Lab;

/// So many writes at once per follower, as many as Towline makes.
const AT_ONCE: usize = 32;

/// A client for each of the first followers.
pub(super) struct Floor {
    clients: Vec<Client>,
}

impl Floor {
    /// Connects.
    pub(super) async fn connect(lab: &Lab, followers: usize) -> Result<Self> {
        let mut clients = Vec::new();
        for (cluster, token) in lab.followers().take(followers) {
            clients.push(eye::client(cluster, token).await?);
        }
        let floor = Self { clients };
        // So that every connection that will be used is open.
        let asked = stream::iter(0..AT_ONCE).map(|_| floor.all(&Method::GET, "/version", &Value::Null));
        asked.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        Ok(floor)
    }

    /// Creates one object everywhere.
    pub(super) async fn create(&self, path: &str, object: &Value) -> Result<()> {
        self.all(&Method::POST, path, object).await
    }

    /// Patches one object everywhere.
    pub(super) async fn patch(&self, path: &str, patch: &Value) -> Result<()> {
        self.all(&Method::PATCH, path, patch).await
    }

    /// Creates many objects everywhere.
    pub(super) async fn create_all(&self, path: &str, objects: &[Value]) -> Result<()> {
        let writes = self.clients.iter().map(|client| async move {
            let posts = objects.iter().map(|object| send(client, &Method::POST, path, object));
            stream::iter(posts).buffer_unordered(AT_ONCE).try_collect::<()>().await
        });
        try_join_all(writes).await.map(drop)
    }

    async fn all(&self, method: &Method, path: &str, body: &Value) -> Result<()> {
        try_join_all(self.clients.iter().map(|client| send(client, method, path, body))).await.map(drop)
    }
}

async fn send(client: &Client, method: &Method, path: &str, body: &Value) -> Result<()> {
    let content_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let answer = client.send(request.body(Body::from(bytes))?).await.with_context(|| format!("{method} {path}"))?;
    ensure!(answer.status().is_success(), "{method} {path}: {}", answer.status());
    // Read to its end, or the connection is not used again.
    answer.into_body().collect_bytes().await?;
    Ok(())
}
