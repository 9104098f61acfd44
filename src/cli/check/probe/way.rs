//! Name, TCP, TLS: each tried by itself, so that the first that fails is told.

use crate::{
    cli::check::{
        network,
        step::{Kind, Step},
    },
    cluster::{
        endpoint::{Endpoint, Hop},
        error::Error,
        inquiry,
    },
};
use jiff::Timestamp;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

/// For each of the three.
const LIMIT: Duration = Duration::from_secs(10);

/// Goes there. Whether it can be talked to.
pub(super) async fn way(endpoint: &Endpoint, now: Timestamp, steps: &mut Vec<Step>) -> bool {
    let hop = endpoint.first_hop();
    let found = resolve(&hop).await;
    let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    let dns = network::dns(&hop, if found.is_empty() { Err(()) } else { Ok(&addresses) });
    let is_known = dns.leads_on();
    steps.push(dns);
    if !is_known {
        steps.extend([Kind::Tcp, Kind::Tls].map(Step::not_tried));
        return false;
    }
    let tcp = network::tcp(&hop, connect(&found).await);
    let is_open = tcp.leads_on();
    steps.push(tcp);
    if !is_open {
        steps.push(Step::not_tried(Kind::Tls));
        return false;
    }
    let shown = inquiry::certificates(endpoint).await;
    let why = shown.as_ref().err().map(why);
    let tls = network::tls(endpoint.is_verified(), why.as_deref().map_or(Ok(()), Err));
    let is_good = tls.leads_on();
    steps.push(tls);
    steps.extend(network::certificates(&shown.unwrap_or_default(), endpoint.authorities(), now));
    is_good
}

fn why(error: &Error) -> String {
    match error {
        Error::Connect { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

async fn resolve(hop: &Hop) -> Vec<SocketAddr> {
    let found = timeout(LIMIT, lookup_host((hop.host.as_str(), hop.port))).await;
    found.ok().and_then(Result::ok).map(Iterator::collect).unwrap_or_default()
}

async fn connect(addresses: &[SocketAddr]) -> Result<SocketAddr, Option<io::ErrorKind>> {
    let stream = timeout(LIMIT, TcpStream::connect(addresses)).await.map_err(|_| None)?;
    stream.and_then(|stream| stream.peer_addr()).map_err(|error| Some(error.kind()))
}
