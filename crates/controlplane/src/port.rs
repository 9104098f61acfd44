//! Loopback ports that nobody else gets.
//!
//! Asking the kernel for a free port, closing it and telling a server to use it fails now and then: somebody else gets it
//! in between. Here a socket stays bound (not listening) with SO_REUSEPORT, next to the server's own. While the server is
//! stopped, connections are refused and the port is still ours.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use tokio::net::TcpSocket;

/// A port on 127.0.0.1, reserved until dropped. Servers on it must set SO_REUSEPORT.
pub(crate) struct ReservedPort {
    address: SocketAddr,
    _holder: TcpSocket,
}

impl ReservedPort {
    /// Reserves a free port.
    pub(crate) fn any() -> Result<Self> {
        let holder = shared_socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(Self { address: holder.local_addr()?, _holder: holder })
    }

    /// The loopback address with this port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port.
    pub(crate) fn number(&self) -> u16 {
        self.address.port()
    }

    /// A socket bound to this port, to listen on.
    pub(crate) fn socket(&self) -> Result<TcpSocket> {
        shared_socket(self.address)
    }
}

fn shared_socket(address: SocketAddr) -> Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address).with_context(|| format!("cannot bind {address}"))?;
    Ok(socket)
}
