//! What [`Api`] can do, as the admin, right on the cluster.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Cluster;
use crate::api::Api;

impl Cluster {
    /// The admin's client.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The cluster's UID: that of its `kube-system` namespace.
    pub async fn uid(&self) -> Result<String> {
        let namespace = self.api.get("/api/v1/namespaces/kube-system").await?;
        let uid = namespace.pointer("/metadata/uid").and_then(Value::as_str).context("kube-system has no uid")?;
        Ok(uid.to_owned())
    }

    /// See [`Api::get`].
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.api.get(path).await
    }

    /// See [`Api::get_opt`].
    pub async fn get_opt(&self, path: &str) -> Result<Option<Value>> {
        self.api.get_opt(path).await
    }

    /// See [`Api::list`].
    pub async fn list(&self, path: &str) -> Result<Vec<Value>> {
        self.api.list(path).await
    }

    /// See [`Api::create`].
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.api.create(path, object).await
    }

    /// See [`Api::patch`].
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.api.patch(path, patch).await
    }

    /// See [`Api::replace`].
    pub async fn replace(&self, path: &str, object: &Value) -> Result<Value> {
        self.api.replace(path, object).await
    }

    /// See [`Api::delete`].
    pub async fn delete(&self, path: &str) -> Result<Value> {
        self.api.delete(path).await
    }
}
