//! The one store behind all clusters.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::binaries::Binaries;
use crate::eventually::eventually;
use crate::port::ReservedPort;
use crate::process::Process;

/// How long etcd may take to be healthy.
const HEALTHY_WITHIN: Duration = Duration::from_secs(30);

/// A running etcd, killed when dropped. Clusters keep apart by prefix.
pub struct Etcd {
    binaries: Binaries,
    client: ReservedPort,
    _peer: ReservedPort,
    process: Mutex<Process>,
}

impl Etcd {
    /// Starts etcd with its data in `folder`/etcd and waits until it is healthy. Builds missing programs first.
    pub async fn start(folder: &Path) -> Result<Self> {
        let binaries = Binaries::provide(&|line| report(line)).await?;
        let (client, peer) = (ReservedPort::any()?, ReservedPort::any()?);
        let process = Process::start(&binaries.etcd, &flags(folder, &client, &peer), folder.join("etcd.log"))?;
        let etcd = Self { binaries, client, _peer: peer, process: Mutex::new(process) };
        let healthy = eventually("etcd to be healthy", HEALTHY_WITHIN, async || {
            etcd.process().check_running()?;
            Ok(is_healthy(etcd.client.address()).then_some(()))
        });
        healthy.await.with_context(|| format!("etcd does not start; {}", etcd.process().last_words()))?;
        Ok(etcd)
    }

    /// Where clients reach it.
    pub fn url(&self) -> String {
        format!("http://{}", self.client.address())
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The programs it was started from, for the clusters on it.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }
}

fn flags(folder: &Path, client: &ReservedPort, peer: &ReservedPort) -> Vec<String> {
    let (client, peer) = (format!("http://{}", client.address()), format!("http://{}", peer.address()));
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--socket-reuse-port=true".into(),
        // Nothing here is worth surviving a power cut, and syncing dominates everything else.
        "--unsafe-no-fsync=true".into(),
        "--quota-backend-bytes=8589934592".into(),
        "--log-level=warn".into(),
    ]
}

fn is_healthy(address: SocketAddr) -> bool {
    let ask = || -> Result<String> {
        let mut stream = TcpStream::connect(address).context("cannot connect to etcd")?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains(r#""health":"true""#))
}

#[allow(clippy::print_stderr, reason = "a developer waits for minutes when programs are built and wants to know why")]
fn report(line: &str) {
    eprintln!("{line}");
}
