//! The command line: one file per subcommand.

pub mod args;
pub mod check;
pub mod deletions;
pub mod engine;
pub mod inspect;
pub mod kubeconfig;
pub mod manifests;
pub mod output;
pub mod plan;
pub mod roster;
pub mod run;
pub mod signals;
pub mod token;

use anyhow::Context;
use std::process::ExitCode;

/// Does what the command line says.
pub fn execute(task: args::Task) -> ExitCode {
    match prepare().and_then(|runtime| runtime.block_on(dispatch(task))) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(task: args::Task) -> anyhow::Result<ExitCode> {
    match task {
        args::Task::Run(run) => run::run(*run).await,
        args::Task::Plan(plan) => plan::plan(*plan).await,
        args::Task::Check(wanted) => check::check(*wanted).await,
        args::Task::Deletions(deletions) => deletions::deletions(deletions).await,
        args::Task::Token(wanted) => token::token(wanted).await,
        args::Task::Kubeconfig(wanted) => kubeconfig::kubeconfig(*wanted).await,
        args::Task::Manifests(wanted) => manifests::manifests(&wanted),
    }
}

fn prepare() -> anyhow::Result<tokio::runtime::Runtime> {
    // One crypto provider in the whole process: installed first, before anything can pick another.
    let _installed_before = rustls::crypto::aws_lc_rs::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime cannot be started")
}
