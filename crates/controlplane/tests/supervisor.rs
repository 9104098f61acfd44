//! Nothing is left of a test process that was killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use controlplane::{Etcd, Scratch, eventually};

/// Set for the process that is going to be killed.
const VICTIM: &str = "CONTROLPLANE_TEST_VICTIM";

#[tokio::test]
async fn a_killed_process_leaves_nothing_behind() -> Result<()> {
    let mut victim = Command::new(std::env::current_exe()?)
        .args(["--exact", "the_victim", "--nocapture"])
        .env(VICTIM, "yes")
        .stdout(Stdio::piped())
        .spawn()?;
    let output = BufReader::new(victim.stdout.take().context("no output")?);
    let line = output.lines().find_map(|line| Some(line.ok()?.split_once("files in ")?.1.to_owned()));
    let folder = line.context("the victim did not say where its files are")?;
    let folder = Path::new(&folder);
    ensure!(folder.join("etcd.log").exists() && running(folder)? == 1);

    victim.kill()?;
    victim.wait()?;
    let gone = async || Ok((!folder.exists() && running(folder)? == 0).then_some(()));
    eventually("everything to be gone", Duration::from_secs(10), gone).await
}

/// Not a test of its own: starts an etcd and waits to be killed.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "this is how it tells the process that started it")]
async fn the_victim() -> Result<()> {
    if std::env::var_os(VICTIM).is_none() {
        return Ok(());
    }
    let scratch = Scratch::new("victim")?;
    let _etcd = Etcd::start(scratch.path()).await?;
    println!("files in {}", scratch.path().display());
    std::future::pending().await
}

/// How many programs have this folder in their command line.
fn running(folder: &Path) -> Result<usize> {
    let output = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output()?;
    let needle = format!("--data-dir={}", folder.display());
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(&needle)).count())
}
