//! Which path answers what.

use super::{
    answer::{self, Refusal},
    filter::Filter,
    inspect::{BoxFuture, Handle},
};
use axum::{
    Router,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Serialize;
use std::time::Duration;
use tokio::time::timeout;

/// How long the rest of the program may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const ENDPOINTS: &str = "\
Towline

/healthz            the process is alive
/readyz             the sources were listed
/metrics            OpenMetrics
/api/v1/followers   followers, and their targets that are not in step
/api/v1/sources     sources, and the states of their targets
/api/v1/deletions   unwanted copies that wait for approval

/api/v1 takes ?follower= (not for sources), ?namespace= and ?name=.
";

type Asked = Result<Query<Filter>, QueryRejection>;

pub(super) fn routes(app: Handle) -> Router {
    Router::new()
        .route("/", get(async || ENDPOINTS))
        .route("/healthz", get(async |State(app): State<Handle>| answer::health(app.alive())))
        .route("/readyz", get(async |State(app): State<Handle>| answer::health(app.ready())))
        .route("/metrics", get(async |State(app): State<Handle>| answer::metrics(app.metrics())))
        .route("/api/v1/followers", get(followers))
        .route("/api/v1/sources", get(sources))
        .route("/api/v1/deletions", get(deletions))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "no such page: / lists them"))
        .method_not_allowed_fallback(not_allowed)
        .layer(middleware::map_response(answer::common))
        .with_state(app)
}

async fn followers(State(app): State<Handle>, asked: Asked) -> Result<Response, Refusal> {
    let filter = understood(asked)?;
    let reports = in_time(app.followers()).await?;
    Ok(answer::items(filter.followers(reports)))
}

async fn sources(State(app): State<Handle>, asked: Asked) -> Result<Response, Refusal> {
    let filter = understood(asked)?;
    if filter.follower.is_some() {
        // A source's counts are over all followers: to leave the filter out of account would be a wrong answer.
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "sources are not told by follower: ask /api/v1/followers"));
    }
    let reports = in_time(app.sources()).await?;
    Ok(answer::items(filter.sources(reports)))
}

async fn deletions(State(app): State<Handle>, asked: Asked) -> Result<Response, Refusal> {
    let filter = understood(asked)?;
    let reports = in_time(app.deletions()).await?;
    Ok(answer::items(filter.deletions(reports)))
}

fn understood(asked: Asked) -> Result<Filter, Refusal> {
    let why = "the query is not understood: follower, namespace and name, each at most once";
    asked.map(|Query(filter)| filter).map_err(|_quotes_the_query| Refusal::new(StatusCode::BAD_REQUEST, why))
}

/// A worker that is stuck must not hold a connection.
async fn in_time<T: Serialize>(reports: BoxFuture<'_, Vec<T>>) -> Result<Vec<T>, Refusal> {
    let why = "no answer within 10 s";
    timeout(PATIENCE, reports).await.map_err(|_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why))
}

async fn not_allowed() -> Response {
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD only");
    ([(header::ALLOW, HeaderValue::from_static("GET,HEAD"))], refusal).into_response()
}
