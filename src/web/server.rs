//! Connections, their limits and their end.

use super::{inspect::Handle, routes::routes};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How many connections are served at once; further ones wait to be accepted.
const CONNECTIONS: usize = 64;
/// How long a client may take to send the head of a request, and to stay without one.
const HEAD: Duration = Duration::from_secs(10);
/// How long a connection is served before it is asked to leave: nobody holds a place for ever.
const LIFE: Duration = Duration::from_secs(120);
/// How long an answer may go on after that, or after the server is to stop.
const GRACE: Duration = Duration::from_secs(5);
/// The largest head that is read.
const BUFFER: usize = 16 << 10;
/// How long accepting rests when the system has no more file descriptors.
const REST: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets answers under way finish for five seconds.
pub async fn serve(listener: TcpListener, app: Handle, stop: CancellationToken) -> io::Result<()> {
    let routes = routes(app);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        tokio::select! {
            () = stop.cancelled() => break,
            (stream, place) = accept(&listener, &places) => {
                connections.spawn(connection(stream, place, routes.clone(), stop.clone()));
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// The next connection for which there is a place.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                // A peer that left again, or too many open files: neither is the end.
                tracing::debug!(error = %error.kind(), "web: accept");
                sleep(REST).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, _place: Option<OwnedSemaphorePermit>, routes: Router, stop: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
    let mut serving = std::pin::pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)));
    tokio::select! {
        _ended = &mut serving => return,
        () = stop.cancelled() => {}
        () = sleep(LIFE) => {}
    }
    serving.as_mut().graceful_shutdown();
    // What a client did to its own connection is nobody else's business.
    drop(timeout(GRACE, serving).await);
}
