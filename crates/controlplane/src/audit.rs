//! Which requests an API server saw: its audit log, one line per stage of a request, written before it goes on.
//!
//! A request counts from the moment it is received, and is read once it has been answered. The answer may reach the client
//! a moment before the log does, so reading waits for the requests that are still open.

mod log;
mod requests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

pub use requests::{Request, Requests};

/// How long to wait for open requests to end. Those to a hung webhook or a paused server may not.
const SETTLE: Duration = Duration::from_secs(2);

/// The audit log of one API server. Probes and the server's requests to itself are left out.
#[derive(Clone)]
pub struct Audit {
    path: PathBuf,
}

/// A moment in an audit log.
#[derive(Clone, Copy)]
pub struct Mark {
    offset: u64,
}

impl Audit {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Now: requests received from here on are new.
    pub fn mark(&self) -> Mark {
        Mark { offset: std::fs::metadata(&self.path).map_or(0, |file| file.len()) }
    }

    /// All requests since the cluster was started.
    pub async fn all(&self) -> Result<Requests> {
        self.since(Mark { offset: 0 }).await
    }

    /// The requests received since `mark`, each once: when it was answered, or, a watch, when the answer began.
    /// One that is still not answered after two seconds, or never was because the server was killed, is left out.
    pub async fn since(&self, mark: Mark) -> Result<Requests> {
        let began = Instant::now();
        loop {
            let read = log::read(&self.path, mark.offset)?;
            if read.open == 0 || began.elapsed() > SETTLE {
                return Ok(Requests::new(read.answered));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
