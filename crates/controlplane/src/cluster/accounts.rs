//! Service accounts and their tokens, and client certificates.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Cluster;
use crate::api::{self, Api, status_code};
use crate::certificates::ClientCertificate;

/// A day, in seconds: no test outlives it.
const TOKEN_LIFETIME: u32 = 24 * 60 * 60;

impl Cluster {
    /// A token of service account `name`, good for a day. Makes the namespace and the account if they are missing.
    pub async fn service_account_token(&self, namespace: &str, name: &str) -> Result<String> {
        self.ensure_namespace(namespace).await?;
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        self.ensure(&accounts, &json!({"metadata": {"name": name}})).await?;
        let request = json!({"spec": {"expirationSeconds": TOKEN_LIFETIME}});
        let answer = self.api.create(&format!("{accounts}/{name}/token"), &request).await?;
        let token = answer.pointer("/status/token").and_then(Value::as_str).context("no token in the answer")?;
        Ok(token.to_owned())
    }

    /// A certificate by which a client is `user`.
    pub fn client_certificate(&self, user: &str) -> Result<ClientCertificate> {
        self.authority.client(user)
    }

    /// Makes the namespace if it is missing.
    pub async fn ensure_namespace(&self, namespace: &str) -> Result<()> {
        self.ensure("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await
    }

    /// A client with another token than the admin's.
    pub async fn api_with(&self, token: &str) -> Result<Api> {
        Api::connect(api::config(&self.url(), &self.authority, token)?).await
    }

    async fn ensure(&self, path: &str, object: &Value) -> Result<()> {
        match self.api.create(path, object).await {
            Err(error) if status_code(&error) != Some(409) => Err(error),
            _ => Ok(()),
        }
    }
}
