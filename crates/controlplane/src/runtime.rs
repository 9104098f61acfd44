//! The runtime on which connections of this crate live.
//!
//! A connection belongs to the runtime that made it and dies with it. Clusters are shared by tests, each with a runtime
//! of its own, so whatever holds a connection runs here instead.

use std::future::Future;
use std::io;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();

/// A handle on the runtime of this crate.
pub fn background() -> Result<&'static Handle> {
    let start = || Builder::new_multi_thread().worker_threads(2).thread_name("controlplane").enable_all().build();
    match RUNTIME.get_or_init(start) {
        Ok(runtime) => Ok(runtime.handle()),
        Err(error) => Err(anyhow!("cannot start the runtime of the control planes: {error}")),
    }
}

/// Runs `work` on the runtime of this crate. Dropping the returned future stops the work.
pub(crate) async fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let mut tasks = JoinSet::new();
    tasks.spawn_on(work, background()?);
    tasks.join_next().await.context("the work vanished")?.context("the work did not end well")
}
