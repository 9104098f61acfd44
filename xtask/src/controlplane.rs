//! `cargo xtask controlplane`: builds the programs of a real control plane.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use controlplane::Binaries;

/// Builds what is missing and prints the folder of the programs: two, if `KUBEBUILDER_ASSETS` has only some of them.
pub(crate) async fn run() -> Result<ExitCode> {
    let binaries = provide().await?;
    let programs = [&binaries.etcd, &binaries.kube_apiserver, &binaries.kube_controller_manager, &binaries.kubectl];
    let folders: BTreeSet<_> = programs.iter().filter_map(|program| program.parent()).collect();
    folders.iter().for_each(|folder| println!("{}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Builds what is missing, and says so while it goes on.
pub(crate) async fn provide() -> Result<Binaries> {
    Binaries::provide(&|line| eprintln!("{line}")).await
}
