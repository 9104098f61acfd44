//! `towline run`: copies, and keeps all copies in step, until it is told to stop.

use super::{
    args::{Run, WriteMode},
    engine::{self, Drive, Engine, Hub},
    signals::{Signals, aborted},
};
use crate::{
    mirror::{apply::Mode, teller::Telling},
    source::census,
    telemetry::{herald::Notices, metrics::Metrics},
};
use anyhow::{Context, Result};
use std::process::ExitCode;
use tokio_util::sync::CancellationToken;

/// Runs until a signal, or until something that it cannot do without has failed.
pub async fn run(run: Run) -> Result<ExitCode> {
    let mut signals = Signals::listen().context("signals cannot be listened to")?;
    let stop = CancellationToken::new();
    for warning in &run.warnings {
        tracing::warn!("{warning}");
    }
    let telling = Telling { metrics: Metrics::new(), audit: None, notices: Notices, mode: mode(run.mode) };
    let hub = Hub::connect(&run.job, &telling).await?;
    tracing::info!(cluster = %hub.session().uid(), "management cluster connected");
    let drive = Drive { mode: telling.mode, rate: run.rate.clone(), telling: telling.clone(), stop: stop.clone() };
    let mut engine = engine::start(&run.job, hub, drive)?;
    let sources = engine.sources.clone();
    let told = stop.clone();
    engine.tasks.spawn(async move {
        census::run(sources, telling.metrics, told).await;
        Ok(())
    });
    supervise(engine, &mut signals, stop).await
}

fn mode(mode: WriteMode) -> Mode {
    match mode {
        WriteMode::Live => Mode::Apply,
        WriteMode::DryRun => Mode::DryRun,
    }
}

/// Waits for a signal; the second one aborts. A task that ends before is a failure.
async fn supervise(mut engine: Engine, signals: &mut Signals, stop: CancellationToken) -> Result<ExitCode> {
    let mut result = tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "stopping: what is under way is finished; a second signal aborts");
            Ok(ExitCode::SUCCESS)
        }
        Some(ended) = engine.tasks.join_next() => ended.context("a task failed").and_then(|ended| ended)
            .and_then(|()| Err(anyhow::anyhow!("a task ended by itself"))),
    };
    stop.cancel();
    loop {
        tokio::select! {
            signal = signals.next() => {
                tracing::warn!(signal, "aborted");
                return Ok(aborted());
            }
            ended = engine.tasks.join_next() => match ended {
                None => break,
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) if result.is_ok() => result = Err(error),
                Some(Err(error)) if result.is_ok() => result = Err(error.into()),
                Some(_) => {}
            }
        }
    }
    tracing::info!("stopped");
    result
}
