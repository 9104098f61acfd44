//! Towline itself: built by cargo, run as a user would run it.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use controlplane::{Process, eventually};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

/// How long it may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// How it is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quickly.
    Dev,
    /// As users get it.
    Release,
}

/// Builds Towline and answers where it is. Cargo shows its progress.
pub(crate) async fn build(profile: Profile) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--package", "towline", "--bin", "towline"]);
    command.arg("--message-format=json-render-diagnostics").current_dir(root());
    if profile == Profile::Release {
        command.arg("--release");
    }
    // Not `output()`: tokio's takes stderr, too, and with it the progress.
    let cargo = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().context("cannot run cargo")?;
    let output = cargo.wait_with_output().await?;
    if !output.status.success() {
        bail!("Towline does not build");
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.lines().filter_map(executable).next_back();
    executable.context("cargo did not say where it put Towline")
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().unwrap_or(root)
}

fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    Some(message.get("executable")?.as_str()?.into())
}

/// A running Towline. Killed when dropped, and when this process ends in any way.
pub(crate) struct Towline {
    process: Process,
    log: PathBuf,
    pages: String,
}

impl Towline {
    /// Starts `towline run` on a free port and waits for its pages.
    pub(crate) async fn start(program: &Path, log: PathBuf, flags: &[&str]) -> Result<Self> {
        Self::start_in(&[], program, log, flags).await
    }

    /// The same with environment variables in addition to our own.
    pub(crate) async fn start_in(
        environment: &[(&str, String)],
        program: &Path,
        log: PathBuf,
        flags: &[&str],
    ) -> Result<Self> {
        let mut arguments: Vec<String> = vec!["run".into(), "--listen=127.0.0.1:0".into()];
        arguments.extend(flags.iter().map(ToString::to_string));
        let _first_run = std::fs::remove_file(&log);
        let mut process = Process::start_in(environment, program, &arguments, log.clone())?;
        let pages = eventually("Towline's pages", PATIENCE, || ready(pages(&mut process, &log))).await?;
        Ok(Self { process, log, pages: format!("http://{pages}") })
    }

    /// Where its pages are: `http://ADDRESS`.
    pub(crate) fn pages(&self) -> &str {
        &self.pages
    }

    /// Its log.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The value of a metric's series, given as on the page up to the value.
    pub(crate) async fn metric(&self, series: &str) -> Result<Option<f64>> {
        let page = self.page("/metrics").await?;
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        Ok(line.and_then(|line| line.split(' ').next()?.parse().ok()))
    }

    /// Waits until so many followers have so many copies in step.
    pub(crate) async fn in_step(&self, followers: &[&str], copies: u32) -> Result<()> {
        for follower in followers {
            let series = format!(r#"towline_copies{{follower="{follower}",state="InStep"}}"#);
            let what = format!("{copies} copies in step on {follower}");
            let look = async || Ok(self.metric(&series).await?.filter(|count| *count == f64::from(copies)).map(drop));
            eventually(&what, PATIENCE, look).await?;
        }
        Ok(())
    }

    /// Waits until these followers are connected and their copies are known.
    pub(crate) async fn connected(&self, followers: &[&str]) -> Result<()> {
        for follower in followers {
            let series = format!(r#"towline_follower_up{{follower="{follower}"}}"#);
            let look = async || Ok(self.metric(&series).await?.filter(|up| *up == 1.0).map(drop));
            let connected = eventually(&format!("connection to {follower}"), PATIENCE, look).await;
            connected.with_context(|| self.process.last_words())?;
        }
        Ok(())
    }

    /// A line of `/proc/PID/status` that counts kB: `VmRSS`, `RssAnon`.
    pub(crate) fn memory_kib(&self, field: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.with_context(|| format!("no {field} in /proc: is this Linux?"))
    }

    /// Stops it in an orderly way.
    pub(crate) async fn stop(self) -> Result<()> {
        self.process.stop(PATIENCE).await
    }

    async fn page(&self, path: &str) -> Result<String> {
        let address = self.pages.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.context("Towline's pages")?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

fn pages(process: &mut Process, log: &Path) -> Result<Option<String>> {
    if let Err(error) = process.check_running() {
        bail!("Towline does not run: {error}; {}", process.last_words());
    }
    Ok(address(&std::fs::read_to_string(log)?))
}

fn address(log: &str) -> Option<String> {
    let (_, rest) = log.rsplit_once("pages are served address=")?;
    Some(rest.lines().next()?.trim().to_owned())
}
