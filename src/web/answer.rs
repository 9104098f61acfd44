//! The form of answers and errors.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// What prometheus-client writes.
const OPENMETRICS: HeaderValue = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Why a request is not answered. Its text never repeats anything of the request.
pub(super) struct Refusal {
    code: StatusCode,
    why: String,
}

#[derive(Serialize)]
struct Error {
    code: u16,
    error: String,
}

#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

impl Refusal {
    pub(super) fn new(code: StatusCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.code, Json(Error { code: self.code.as_u16(), error: self.why })).into_response()
    }
}

/// `{"items": [..]}`: an object, so that more can be added.
pub(super) fn items<T: Serialize>(items: Vec<T>) -> Response {
    Json(Items { items }).into_response()
}

/// `ok`, or 503 with the reason, as plain text: probes show it to people.
pub(super) fn health(state: Result<(), String>) -> Response {
    match state {
        Ok(()) => "ok\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

/// The metrics page.
pub(super) fn metrics(text: String) -> Response {
    ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response()
}

/// What every answer says about itself.
pub(super) async fn common(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
