//! What is asked of an API server, and what it answers.

use super::error::Error;
use bytes::Bytes;
use http::Method;
use serde::de::DeserializeOwned;
use std::time::Duration;
use zeroize::Zeroizing;

/// An object holds at most a mebibyte, and JSON may write each byte of it as six.
const OBJECT_CAP: usize = 8 << 20;
/// The largest page of a list.
pub(super) const LIST_CAP: usize = 16 << 20;
const OBJECT_PATIENCE: Duration = Duration::from_secs(10);
const LIST_PATIENCE: Duration = Duration::from_secs(30);

/// In what form the answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Accept {
    /// The objects.
    #[default]
    Json,
    /// Their metadata only: the server leaves the data out.
    PartialObject,
    /// A list of which only the metadata is wanted.
    PartialObjectList,
}

impl Accept {
    pub(super) fn header(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::PartialObject => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Self::PartialObjectList => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        }
    }
}

/// One request. Nothing of it is ever printed.
#[derive(Clone)]
pub struct Call {
    /// A label for metrics and errors: `get`, `list`, `create`, `patch`, `delete`, `watch`.
    pub verb: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// Path and query, from [`super::paths`].
    pub path_and_query: String,
    /// The body; make it by [`payload`] when it holds data of a Secret.
    pub body: Option<Bytes>,
    /// The body's type.
    pub content_type: Option<&'static str>,
    /// The answer's form.
    pub accept: Accept,
    /// The largest answer that is taken, in bytes.
    pub cap: usize,
    /// How long to wait for the answer's head, and then for each further piece of it.
    pub patience: Duration,
}

impl Call {
    /// GET of one object.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new("get", Method::GET, path.into())
    }

    /// GET of a list: it may be larger, and take longer.
    pub fn list(path: impl Into<String>) -> Self {
        Self { cap: LIST_CAP, patience: LIST_PATIENCE, ..Self::new("list", Method::GET, path.into()) }
    }

    /// POST of a JSON object to a collection.
    pub fn create(path: impl Into<String>, body: Bytes) -> Self {
        Self::new("create", Method::POST, path.into()).with_body("application/json", body)
    }

    /// PUT of a JSON object.
    pub fn replace(path: impl Into<String>, body: Bytes) -> Self {
        Self::new("update", Method::PUT, path.into()).with_body("application/json", body)
    }

    /// PATCH by JSON merge patch.
    pub fn merge_patch(path: impl Into<String>, body: Bytes) -> Self {
        Self::new("patch", Method::PATCH, path.into()).with_body("application/merge-patch+json", body)
    }

    /// DELETE with `DeleteOptions` as its body.
    pub fn delete(path: impl Into<String>, options: Bytes) -> Self {
        Self::new("delete", Method::DELETE, path.into()).with_body("application/json", options)
    }

    pub(super) fn watch(path: String) -> Self {
        Self { patience: LIST_PATIENCE, ..Self::new("watch", Method::GET, path) }
    }

    /// Asks for metadata only.
    pub fn metadata_only(self) -> Self {
        let list = self.verb == "list";
        Self { accept: if list { Accept::PartialObjectList } else { Accept::PartialObject }, ..self }
    }

    fn new(verb: &'static str, method: Method, path_and_query: String) -> Self {
        let (cap, patience) = (OBJECT_CAP, OBJECT_PATIENCE);
        Self { verb, method, path_and_query, body: None, content_type: None, accept: Accept::Json, cap, patience }
    }

    fn with_body(self, content_type: &'static str, body: Bytes) -> Self {
        Self { body: Some(body), content_type: Some(content_type), ..self }
    }
}

/// A request's body that is wiped when the last user of it is gone.
pub fn payload(bytes: Zeroizing<Vec<u8>>) -> Bytes {
    Bytes::from_owner(bytes)
}

/// A 2xx answer. Its body is wiped when it is dropped.
pub struct Answer {
    pub(super) verb: &'static str,
    /// The HTTP code.
    pub code: u16,
    /// The body.
    pub body: Zeroizing<Vec<u8>>,
}

impl Answer {
    /// Decodes the body. The error does not quote it.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::decode(self.verb, &error))
    }
}
