//! A proxy that is itself the end of the tunnel: `CONNECT sts.eu-central-1.amazonaws.com:443`, then TLS, then our STS.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::authority::Authority;
use crate::endpoint::Endpoint;
use crate::listener::speak_http;

/// The longest request for a tunnel.
const LONGEST: usize = 8192;

/// One tunnel. A client that does not get it is told by a status, or by the end of the connection.
pub(super) async fn serve(stream: TcpStream, authority: Arc<Authority>, router: Router) {
    if let Ok(stream) = open(stream, &authority).await {
        speak_http(stream, router).await;
    }
}

async fn open(mut stream: TcpStream, authority: &Authority) -> Result<TlsStream<TcpStream>> {
    let head = read_head(&mut stream).await?;
    let Some(host) = host_of(&head).filter(|host| Endpoint::of_host(host).is_some()) else {
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await?;
        bail!("not a host of AWS");
    };
    let config = authority.server(host)?;
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    TlsAcceptor::from(config).accept(stream).await.context("no TLS")
}

/// Up to the empty line. The client waits for our answer, so nothing follows it.
async fn read_head(stream: &mut TcpStream) -> Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LONGEST || stream.read_buf(&mut head).await? == 0 {
            bail!("no request for a tunnel");
        }
    }
    Ok(String::from_utf8(head)?)
}

/// Only ports of TLS lead to AWS.
fn host_of(head: &str) -> Option<&str> {
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    target.strip_suffix(":443")
}
