//! A request as it came over the wire.

use bytes::Bytes;

/// A whole request. Nothing is decoded: signatures are over what was sent. Holds credentials: there is no way to print it.
#[derive(Clone, Default)]
pub struct Request {
    /// `GET`, `POST`.
    pub method: String,
    /// The path, still percent-encoded.
    pub path: String,
    /// What follows the `?`, still percent-encoded; empty if there is none.
    pub query: String,
    /// Names in lower case, values trimmed, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Request {
    /// The first header of that name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The host to which it was sent, without a port.
    pub fn host(&self) -> &str {
        let host = self.header("host").unwrap_or_default();
        host.rsplit_once(':').map_or(host, |(host, _)| host)
    }
}
