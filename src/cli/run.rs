//! `towline run`: copies, and keeps all copies in step, until it is told to stop.

use super::{
    args::{self, Run, WriteMode},
    engine::{self, Drive, Engine, Hub, ends},
    inspect::Inspector,
    signals::{Signals, aborted},
};
use crate::{
    api::{approval, names::Namespace},
    mirror::{advisor, apply::Mode, teller::Telling},
    source::census,
    telemetry::{
        audit::AuditLog,
        herald::{self, Desk, ObjectRef},
        logs,
        metrics::Metrics,
    },
    web::serve,
};
use anyhow::{Context, Result};
use std::{path::Path, process::ExitCode, sync::Arc};
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

/// Runs until a signal, or until something that it cannot do without has failed.
pub async fn run(run: Run) -> Result<ExitCode> {
    logs::init(run.logging.format.into(), Some(&run.logging.filter))?;
    let mut signals = Signals::listen().context("signals cannot be listened to")?;
    for warning in &run.warnings {
        tracing::warn!("{warning}");
    }
    let listener = TcpListener::bind(run.listen).await.with_context(|| format!("--listen {}", run.listen))?;
    let (stop, metrics, mode) = (CancellationToken::new(), Metrics::new(), mode(run.mode));
    let (hub_session, hub_seen) = watch::channel(None);
    let desk = Desk {
        hub: (mode == Mode::Apply).then_some(hub_seen),
        myself: Some(myself(&run.job.identity.namespace)),
        instance: run.job.identity.instance.clone(),
    };
    let (notices, herald) = herald::herald(desk, metrics.clone());
    let audit = run.audit_log.as_ref().map(audit_log).transpose()?;
    let telling = Telling { metrics: metrics.clone(), audit, notices: notices.clone(), mode };

    let hub = Hub::connect(&run.job, &telling).await?;
    tracing::info!(cluster = %hub.session().uid(), "management cluster connected");
    let aws = engine::aws(&run.job, &metrics);
    let drive = Drive { mode, rate: run.rate, telling, aws, hub_session, stop: stop.clone() };
    let mut engine = engine::start(&run.job, hub, drive)?;
    let inspector =
        Inspector { metrics: metrics.clone(), sources: engine.sources.clone(), directory: engine.directory.clone() };
    tracing::info!(address = %listener.local_addr()?, "pages are served");

    let (sources, directory) = (engine.sources.clone(), engine.directory.clone());
    engine.supervise({
        let stop = stop.clone();
        async move { Ok(serve(listener, Arc::new(inspector), stop).await?) }
    });
    engine.supervise(ends(herald.run(stop.clone())));
    engine.supervise(ends(census::run(sources.clone(), metrics, stop.clone())));
    engine.supervise(ends(advisor::run(sources, directory, notices, stop.clone())));
    supervise(engine, &mut signals, stop).await
}

/// What events about Towline and its followers are attached to: its Pod, else the ConfigMap by which people answer it.
fn myself(namespace: &Namespace) -> ObjectRef {
    let pod = std::env::var("HOSTNAME").ok().filter(|_| std::env::var_os("KUBERNETES_SERVICE_HOST").is_some());
    let (kind, name) = match pod {
        Some(name) => ("Pod", name),
        None => ("ConfigMap", approval::CONFIG_MAP.to_owned()),
    };
    ObjectRef { kind, namespace: namespace.to_string(), name, uid: String::new(), resource_version: String::new() }
}

fn audit_log(flag: &args::AuditLog) -> Result<AuditLog> {
    let path = match flag {
        args::AuditLog::StandardOutput => Path::new("-"),
        args::AuditLog::File(path) => path,
    };
    AuditLog::open(path).with_context(|| format!("--audit-log {}", path.display()))
}

impl From<args::LogFormat> for logs::LogFormat {
    fn from(format: args::LogFormat) -> Self {
        match format {
            args::LogFormat::Plain => Self::Plain,
            args::LogFormat::Json => Self::Json,
        }
    }
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
