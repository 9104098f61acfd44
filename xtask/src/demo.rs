//! `cargo xtask demo`: four real control planes, two AWS accounts, Towline, and a story of what it does.

mod accounts;
mod certificate;
mod play;
mod scene;
mod stage;
mod story;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use self::scene::Scene;
use self::stage::Stage;
use crate::controlplane;
use crate::progress::{say, waiting};
use crate::towline::{self, Profile};

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
    say("Towline's demo: a management cluster and three followers in two AWS accounts, all on this machine.");
    say(
        "The clusters are real, and so is the aws-iam-authenticator that judges who comes. STS and EKS are stand-ins that",
    );
    say("check every signature and every policy.\n");
    say("building Towline (dev profile; a minute or two the first time)");
    let program = towline::build(Profile::Dev).await?;
    controlplane::provide().await?;
    sandbox::provide_authenticator(&|line| eprintln!("{line}")).await?;
    let stage = waiting("starting AWS and four control planes", Stage::build(&program)).await?;
    let scene = waiting("making namespaces", Scene::set(&stage.lab)).await?;
    let towline = waiting("starting Towline with a web identity token", stage.start_towline(&program)).await?;
    story::introduce(&stage)?;
    story::tell(&scene).await?;
    if arguments.once {
        towline.stop().await?;
        say("\nThat was it: clusters and files are gone.");
        return Ok(());
    }
    play::invite(&stage.lab, &towline)?;
    std::future::pending().await
}
