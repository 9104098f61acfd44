//! SIGTERM and SIGINT: the first drains, the second aborts.

use std::process::ExitCode;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// The exit code after a second signal.
pub const ABORTED: u8 = 130;

/// What `main` ends with after a second signal.
pub fn aborted() -> ExitCode {
    ExitCode::from(ABORTED)
}
