//! What developers run: `cargo xtask --help`. One file per command.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer at a terminal is the only user")]

mod bench;
mod controlplane;
mod demo;
mod eye;
mod kubeconfig;
mod lab;
mod progress;
mod python;
mod test;
mod towline;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What developers of Towline run.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure Towline against a bare client, on real control planes
    Bench(bench::Arguments),
    /// Build the programs of a real control plane (etcd, kube-apiserver, …) and print the folder they are in
    ///
    /// Built from Go sources once, which takes about ten minutes, and kept outside `target`. Needs Go, or
    /// KUBEBUILDER_ASSETS: a folder that has the programs already.
    Controlplane,
    /// See Towline at work on four real control planes, and play with it
    Demo(demo::Arguments),
    /// Run all tests, against real control planes where they need them
    Test(test::Arguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse().command).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Bench(arguments) => bench::run(arguments).await,
        Command::Controlplane => controlplane::run().await,
        Command::Demo(arguments) => demo::run(arguments).await,
        Command::Test(arguments) => test::run(arguments).await,
    }
}
