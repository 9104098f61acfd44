//! The command line: one file per subcommand.

pub mod args;
pub mod engine;
pub mod inspect;
pub mod run;
pub mod signals;

use anyhow::Context;
use std::process::ExitCode;

/// Does what the command line says.
pub fn execute(task: args::Task) -> ExitCode {
    match prepare().and_then(|runtime| runtime.block_on(dispatch(task))) {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(task: args::Task) -> anyhow::Result<ExitCode> {
    match task {
        args::Task::Run(run) => run::run(*run).await,
        args::Task::Plan(_) | args::Task::Deletions(_) => Ok(ExitCode::FAILURE),
    }
}

fn prepare() -> anyhow::Result<tokio::runtime::Runtime> {
    // One crypto provider in the whole process: a second one cannot be installed.
    let _installed_before = rustls::crypto::aws_lc_rs::default_provider().install_default();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(std::env::var("TOWLINE_LOG").unwrap_or("info".into())).init();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime cannot be started")
}
