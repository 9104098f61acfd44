//! `cargo xtask demo`: four real control planes, Towline, and a story of what it does.

mod certificate;
mod play;
mod scene;
mod story;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::lab::Lab;
use crate::progress::{say, waiting};
use crate::towline::{self, Profile, Towline};
use crate::{controlplane, demo::scene::Scene};

/// The followers' names.
const FOLLOWERS: [&str; 3] = ["alpha", "beta", "gamma"];
const HUB: &str = "demo-hub";

/// What `cargo xtask demo` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// End after the story instead of staying up
    #[arg(long)]
    once: bool,
}

/// Tells the story, then stays up. A signal ends it at any time; whatever was started ends with it.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        told = tell(&arguments) => told?,
        _ = tokio::signal::ctrl_c() => say("\nstopped: clusters and files are gone"),
        _ = terminate.recv() => say("\nstopped: clusters and files are gone"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn tell(arguments: &Arguments) -> Result<()> {
    say("Towline's demo: one management cluster, three followers, all real, all on this machine.\n");
    say("building Towline (dev profile; a minute or two the first time)");
    let program = towline::build(Profile::Dev).await?;
    controlplane::provide().await?;
    let lab = waiting("starting four control planes", Lab::start("demo", FOLLOWERS.len())).await?;
    let hub = lab.hub_kubeconfig()?;
    let followers = lab.followers_kubeconfig(&FOLLOWERS)?;
    let scene = waiting("making namespaces", Scene::set(&lab)).await?;
    let flags = [
        &format!("--kubeconfig={}", hub.display()),
        &format!("--kubeconfig-file={}", followers.display()),
        "--cluster-name=demo-hub",
        "--deletion-delay=3s",
    ];
    let towline = Towline::start(&program, lab.folder().join("towline.log"), &flags);
    let towline = waiting("starting Towline with the rights of deploy/rbac, no more", towline).await?;
    story::tell(&scene).await?;
    if arguments.once {
        towline.stop().await?;
        say("\nThat was it: clusters and files are gone.");
        return Ok(());
    }
    play::invite(&lab, &towline)?;
    std::future::pending().await
}
