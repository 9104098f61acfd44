//! A program that was started here and ends with its owner.

use std::fs::{self, OpenOptions};
use std::future::ready;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::eventually::eventually;
use crate::supervisor::Supervisor;

/// How many lines of a program's log go into an error message.
const TAIL: usize = 12;

/// A running program. Killed when dropped, and by the supervisor if that never happens.
pub struct Process {
    child: Child,
    log: PathBuf,
    registration: PathBuf,
}

impl Process {
    /// Starts `program`; all it prints is appended to `log`.
    pub fn start(program: &Path, arguments: &[String], log: PathBuf) -> Result<Self> {
        Self::start_in(&[], program, arguments, log)
    }

    /// The same with environment variables in addition to our own.
    pub fn start_in(
        environment: &[(&str, String)],
        program: &Path,
        arguments: &[String],
        log: PathBuf,
    ) -> Result<Self> {
        let output = OpenOptions::new().create(true).append(true).open(&log)?;
        let supervisor = Supervisor::of_this_process()?;
        let child = supervisor
            .command(program)
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let registration = supervisor.registration(child.id());
        Ok(Self { child, log, registration })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal).context("cannot signal a program")
    }

    /// Fails if it is no longer running.
    pub fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("it ended early ({status})"),
        }
    }

    /// Asks it to end, and kills it after `grace`.
    pub async fn stop(mut self, grace: Duration) -> Result<()> {
        self.signal(Signal::TERM)?;
        let ended = eventually("a program to end", grace, || ready(self.child.try_wait().map_err(Into::into))).await;
        drop(self);
        ended.map(|_| ()).or(Ok(()))
    }

    /// All that it has printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The last lines of its log, for an error message.
    pub fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default();
        format!("the end of {}:\n{}", self.log.display(), tail.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.registration);
    }
}
