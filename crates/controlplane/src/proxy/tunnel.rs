//! One connection through a proxy.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::Behaviour;

const CHUNK: usize = 64 * 1024;

/// Passes bytes both ways until both sides are done. When it is aborted, both sides see a reset.
pub(super) async fn run(client: TcpStream, mut behaviour: watch::Receiver<Behaviour>) {
    // Best effort: without it they see an orderly end instead of a reset, or a small delay.
    let _ = client.set_zero_linger();
    let _ = client.set_nodelay(true);
    let Some(target) = open_gate(&mut behaviour).await else { return };
    let Ok(server) = TcpStream::connect(target).await else { return };
    let _ = server.set_zero_linger();
    let _ = server.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(pass(from_client, to_server, behaviour.clone()), pass(from_server, to_client, behaviour));
}

/// Waits while nothing may pass; answers where new connections go. None when the proxy has ended.
async fn open_gate(behaviour: &mut watch::Receiver<Behaviour>) -> Option<SocketAddr> {
    loop {
        if let Behaviour::Forward(target) = *behaviour.borrow_and_update() {
            return Some(target);
        }
        behaviour.changed().await.ok()?;
    }
}

/// One direction. Bytes that were read when the gate closed are held, not lost.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut behaviour: watch::Receiver<Behaviour>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        if open_gate(&mut behaviour).await.is_none() {
            return;
        }
        let Some(bytes) = chunk.get(..length) else { return };
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
    // Hand on the end of this direction; through a black hole, even that is held.
    if open_gate(&mut behaviour).await.is_some() {
        let _ = to.shutdown().await;
    }
}
