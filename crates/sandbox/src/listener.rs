//! Serving HTTP on loopback, for as long as somebody holds on to it.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// A thousand followers may come at once, and whoever does not fit waits for a second.
const BACKLOG: u32 = 1024;

/// Something that listens. Ends with all its connections when it is dropped.
pub(crate) struct Listener {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Listener {
    /// Listens on a free port and hands each connection to `serve`. On the runtime of the control planes: stand-ins are shared
    /// by tests that have runtimes of their own.
    pub(crate) fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let _inside = controlplane::runtime::background()?.enter();
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).context("cannot bind to loopback")?;
        let listener = socket.listen(BACKLOG).context("cannot listen on loopback")?;
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(accept(listener, serve));
        Ok(Self { address, _task: task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A client that is gone before it was accepted is no loss.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Speaks HTTP/1.1 over a connection until either side ends it.
pub(crate) async fn speak_http(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A client that hangs up in the middle has no one to be told.
    let _ = connection.await;
}
