//! JSON requests to an API server with a token: the plain way to prepare and to look at a cluster.

use std::time::Duration;

use anyhow::{Context, Result};
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::config::{AuthInfo, Config};
use kube::{Client, Error};
use serde_json::Value;

use crate::certificates::Authority;
use crate::runtime;

/// How long a request may wait for an answer: a paused server must not hang a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client that sends JSON to paths. Cheap to clone; may be used from any runtime.
#[derive(Clone)]
pub struct Api {
    client: Client,
}

impl Api {
    pub(crate) async fn connect(config: Config) -> Result<Self> {
        let client = runtime::run(async move { Client::try_from(config) }).await??;
        Ok(Self { client })
    }

    /// The object or list at `path`.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.send(Method::GET, path, None).await
    }

    /// The same, `None` if there is no such thing.
    pub async fn get_opt(&self, path: &str) -> Result<Option<Value>> {
        match self.get(path).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if status_code(&error) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The items of the list at `path`.
    pub async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let mut list = self.get(path).await?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => anyhow::bail!("{path} is not a list"),
        }
    }

    /// Posts `object` to the collection at `path`.
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.send(Method::POST, path, Some(("application/json", object))).await
    }

    /// Applies a JSON merge patch.
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.send(Method::PATCH, path, Some(("application/merge-patch+json", patch))).await
    }

    /// Replaces the object at `path`.
    pub async fn replace(&self, path: &str, object: &Value) -> Result<Value> {
        self.send(Method::PUT, path, Some(("application/json", object))).await
    }

    /// Deletes the object at `path`.
    pub async fn delete(&self, path: &str) -> Result<Value> {
        self.send(Method::DELETE, path, None).await
    }

    /// Whether the server calls itself ready.
    pub(crate) async fn is_ready(&self) -> bool {
        let client = self.client.clone();
        let ask = async move {
            client.request_text(Request::get("/readyz").body(Vec::new())?).await.map_err(anyhow::Error::from)
        };
        matches!(runtime::run(ask).await, Ok(Ok(_)))
    }

    async fn send(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Value> {
        let what = format!("{method} {path}");
        let mut request = Request::builder().method(method).uri(path);
        let mut bytes = Vec::new();
        if let Some((content_type, value)) = body {
            request = request.header(CONTENT_TYPE, content_type);
            bytes = serde_json::to_vec(value)?;
        }
        let (client, request) = (self.client.clone(), request.body(bytes)?);
        runtime::run(async move { client.request::<Value>(request).await }).await?.context(what)
    }
}

/// The HTTP status with which an API server refused, if that is what happened.
pub fn status_code(error: &anyhow::Error) -> Option<u16> {
    error.chain().find_map(|cause| match cause.downcast_ref::<Error>() {
        Some(Error::Api(status)) => Some(status.code),
        _ => None,
    })
}

/// What a client needs to know to reach `server` with `token`.
pub(crate) fn config(server: &str, authority: &Authority, token: &str) -> Result<Config> {
    let mut config = Config::new(server.parse()?);
    config.root_cert = Some(vec![authority.der.clone()]);
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE);
    config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
    Ok(config)
}
