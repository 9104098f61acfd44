//! `cargo xtask test`: all tests, with control planes and judges from PyPI at hand.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use tokio::process::Command;

use crate::{controlplane, python};

/// What `cargo xtask test` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Only tests with this in their name
    filter: Option<String>,
    /// Only this package (all by default)
    #[arg(long, short)]
    package: Option<String>,
    /// For the test programs, after `--`: `-- --nocapture`
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Makes the control planes and the other judges first, so that no test seems to hang for minutes, then runs cargo.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let began = Instant::now();
    eprintln!("control planes: checking that they are built …");
    controlplane::provide().await?;
    sandbox::provide_authenticator(&|line| eprintln!("{line}")).await?;
    let mut cargo = Command::new("cargo");
    for tool in python::TOOLS {
        cargo.env(tool.variable, tool.provide().await?);
    }
    let command = cargo_arguments(&arguments);
    eprintln!("running: cargo {}", command.join(" "));
    let status = cargo.args(&command).status().await.context("cannot run cargo")?;
    let verdict = if status.success() { "passed" } else { "FAILED" };
    eprintln!("tests {verdict} after {} s", began.elapsed().as_secs());
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cargo_arguments(arguments: &Arguments) -> Vec<String> {
    let mut command = vec!["test".to_owned(), "--locked".to_owned()];
    match &arguments.package {
        Some(package) => command.extend(["--package".to_owned(), package.clone()]),
        None => command.push("--workspace".to_owned()),
    }
    command.extend(arguments.filter.clone());
    if !arguments.rest.is_empty() {
        command.push("--".to_owned());
        command.extend(arguments.rest.iter().cloned());
    }
    command
}
