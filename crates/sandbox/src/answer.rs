//! An answer, before it goes over the wire.

use serde_json::Value;

/// Status, headers and body; the `Date` comes last, from the clock of the stand-in.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body: body.to_string() }
    }

    pub(crate) fn xml(status: u16, body: String) -> Self {
        Self { status, headers: vec![("content-type", "text/xml".to_owned())], body }
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self { status, headers: vec![("content-type", "text/plain".to_owned())], body: body.to_owned() }
    }

    pub(crate) fn with_request_id(self, id: &str) -> Self {
        self.with("x-amzn-requestid", id)
    }

    pub(crate) fn with(mut self, header: &'static str, value: &str) -> Self {
        self.headers.push((header, value.to_owned()));
        self
    }
}
