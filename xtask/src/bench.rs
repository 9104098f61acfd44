//! `cargo xtask bench`: the figures of DESIGN §13, on real control planes, beside floors that are measured in the same run.

mod floor;
mod ground;
mod latency;
mod machine;
mod memory;
mod picture;
mod quiet;
mod start;
mod table;
mod timeline;
mod trouble;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::process::Command;

use crate::bench::ground::{FOLLOWERS, Ground};
use crate::bench::machine::Machine;
use crate::bench::table::Figure;
use crate::controlplane;
use crate::progress::{say, waiting};
use crate::towline::{self, Profile};

/// What `cargo xtask bench` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many times a source is created and updated
    #[arg(long, default_value_t = 40)]
    rounds: usize,
    /// How many sources wait for a start, and are held in memory
    #[arg(long, default_value_t = 200)]
    sources: u32,
    /// Measure these only
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Subject>,
    /// Measure this program instead of building Towline
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Where the figures are written as JSON [default: bench.json in the target folder]
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Also draw them
    #[arg(long, value_name = "PATH.svg")]
    picture: Option<PathBuf>,
}

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// One source, created and updated
    Latency,
    /// A start with many sources waiting
    Start,
    /// What should cost nothing
    Quiet,
    /// Resident memory
    Memory,
    /// Memory of one more follower
    Followers,
    /// A follower that says nothing
    Trouble,
}

/// Measures, prints the table, writes the files.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        return again_in_release().await;
    }
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => {
            say("building Towline (release profile; some minutes the first time)");
            towline::build(Profile::Release).await?
        }
    };
    controlplane::provide().await?;
    let machine = Machine::look();
    let mut ground = waiting("starting five control planes", Ground::lay(&program)).await?;
    let mut figures = Vec::new();
    let measured = measure(&mut ground, &arguments, &mut figures).await;
    // What was measured before something failed took minutes, too.
    say(format!("\n{}\n\n{}", machine.line(), table::table(&figures)));
    say(
        "Floor: a bare keep-alive client that writes the same objects straight to all followers, in turns with Towline.",
    );
    say("Ratios can be compared between machines; seconds cannot.");

    let path = arguments.json.unwrap_or_else(|| target(&program).join("bench.json"));
    save(&path, &format!("{:#}\n", json!({"machine": machine, "figures": figures})))?;
    if let Some(path) = arguments.picture {
        save(&path, &picture::draw(&figures, &machine.line()))?;
    }
    measured.map(|()| ExitCode::SUCCESS)
}

/// The floor's client must be as fast as Towline's, or the ratios would flatter it.
async fn again_in_release() -> Result<ExitCode> {
    say("building the bench (release profile; some minutes the first time)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--locked", "--release", "--package", "xtask", "--"]).args(std::env::args_os().skip(1));
    let status = command.status().await.context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure(ground: &mut Ground, arguments: &Arguments, figures: &mut Vec<Figure>) -> Result<()> {
    let all = Subject::value_variants();
    let subjects = if arguments.only.is_empty() { all } else { &*arguments.only };
    let wanted = |subject| subjects.contains(&subject);
    let sources = arguments.sources;
    if wanted(Subject::Latency) {
        let towline = ground.towline(&FOLLOWERS).await?;
        figures.extend(waiting("one source at a time", latency::measure(ground, arguments.rounds)).await?);
        towline.stop().await?;
        ground.clear().await?;
    }
    if wanted(Subject::Start) {
        figures.extend(waiting("starts with sources waiting", start::measure(ground, sources)).await?);
    }
    if [Subject::Quiet, Subject::Memory, Subject::Followers].into_iter().any(wanted) {
        figures.extend(at_rest(ground, sources, subjects).await?);
        ground.clear().await?;
    }
    if wanted(Subject::Trouble) {
        figures.extend(waiting("a silent follower", trouble::measure(ground, arguments.rounds)).await?);
    }
    Ok(())
}

/// What is measured while many copies are in step.
async fn at_rest(ground: &mut Ground, sources: u32, subjects: &[Subject]) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    ground.create_sources(sources).await?;
    let mut towline = ground.towline(&FOLLOWERS).await?;
    ground.settled(&towline, sources, "witness").await?;
    let mut there = sources + 1;
    if subjects.contains(&Subject::Memory) {
        figures.extend(waiting("resident memory, for a minute", memory::resident(&towline, sources)).await?);
    }
    if subjects.contains(&Subject::Quiet) {
        figures.extend(waiting("objects that are no sources", quiet::bystanders(ground)).await?);
        let (restarted, counted) = waiting("a restart", quiet::restart(ground, towline, there + 1)).await?;
        figures.extend(counted);
        (towline, there) = (restarted, there + 2);
    }
    towline.stop().await?;
    if subjects.contains(&Subject::Followers) {
        figures.extend(waiting("four more followers", memory::per_follower(ground, there)).await?);
    }
    Ok(figures)
}

/// The target folder, two above a program that cargo built.
fn target(program: &Path) -> PathBuf {
    program.ancestors().nth(2).map_or_else(|| towline::root().join("target"), Path::to_owned)
}

fn save(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    say(format!("written: {}", path.display()));
    Ok(())
}
