//! `cargo xtask controlplane`: builds the programs of a real control plane.

use std::process::ExitCode;

use anyhow::Result;
use controlplane::Binaries;

/// Builds what is missing and prints where it is.
pub(crate) async fn run() -> Result<ExitCode> {
    let binaries = provide().await?;
    for program in [binaries.etcd, binaries.kube_apiserver, binaries.kube_controller_manager, binaries.kubectl] {
        println!("{}", program.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds what is missing, and says so while it goes on.
pub(crate) async fn provide() -> Result<Binaries> {
    Binaries::provide(&|line| eprintln!("{line}")).await
}
