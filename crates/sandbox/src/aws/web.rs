//! Between HTTP and [`crate::dispatch`].

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use http::{HeaderMap, Response, StatusCode, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::answer::Answer;
use crate::dispatch::{self, Reply};
use crate::request::Request;
use crate::state::Shared;

/// More than any request of STS or EKS.
const LARGEST_BODY: usize = 1 << 20;

/// STS and EKS, told apart by path.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

async fn handle(State(shared): State<Arc<Shared>>, request: http::Request<Body>) -> Response<Body> {
    let Some(request) = read(request).await else { return empty(StatusCode::BAD_REQUEST) };
    let Reply { answer, delay, time } = dispatch::answer(&mut shared.lock(), &request);
    respond(answer, delay, time).await
}

/// The whole request; `None` if the client went away, or sends without end.
pub(crate) async fn read(request: http::Request<Body>) -> Option<Request> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LARGEST_BODY).await.ok()?;
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    Some(Request { method: parts.method.to_string(), path, query, headers: headers(&parts.headers), body })
}

fn headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// The answer over the wire, when its time has come.
pub(crate) async fn respond(answer: Answer, delay: Duration, time: Timestamp) -> Response<Body> {
    tokio::time::sleep(delay).await;
    let mut response = Response::builder().status(answer.status);
    if let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&time) {
        response = response.header(header::DATE, date);
    }
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    // Fails only for a fault with a status or code that HTTP does not have.
    response.body(Body::from(answer.body)).unwrap_or_else(|_| empty(StatusCode::INTERNAL_SERVER_ERROR))
}

pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
