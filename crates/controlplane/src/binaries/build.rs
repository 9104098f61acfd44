//! Building one program with Go.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tokio::process::Command;

/// A program that is built with Go from a module of ours, which pins it and all that it needs.
pub struct GoProgram {
    /// Its name in the cache folder, which must change when its version does.
    pub name: &'static str,
    /// The module: names of files, and what is in them. They are copied before the build: Go may write to its folder.
    pub module: &'static [(&'static str, &'static str)],
    /// The package to build, as seen from the module.
    pub package: &'static str,
    /// A variable of the program, and the version that it is to hold.
    pub version: (&'static str, &'static str),
    /// How long a build takes, for people who wait.
    pub expectation: &'static str,
    /// What to set for somebody who has the program and no Go.
    pub way_out: &'static str,
}

/// How often a sign of life is given.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

impl GoProgram {
    /// The path of the program in [`super::cache_folder`], built into it now if it is not there. `progress` is told what is
    /// going on then. Others who ask meanwhile wait for the same build.
    pub async fn find_or_build(&self, progress: &(dyn Fn(&str) + Sync)) -> Result<PathBuf> {
        let cache = super::cache_folder()?;
        let built = cache.join(self.name);
        if built.is_file() {
            return Ok(built);
        }
        fs::create_dir_all(&cache).with_context(|| format!("cannot create {}", cache.display()))?;
        let _lock = lock(cache.join("lock"), progress).await?;
        // Somebody else may have built it while we waited for the lock.
        if !built.is_file() {
            self.build(&built, progress).await.with_context(|| format!("cannot build {}", self.name))?;
        }
        Ok(built)
    }

    /// Builds beside the final place and renames, so that a half-written program is never taken for one.
    async fn build(&self, built: &Path, progress: &(dyn Fn(&str) + Sync)) -> Result<()> {
        let sources = built.with_file_name(format!("{}.source", self.name));
        let unfinished = built.with_file_name(format!("{}.unfinished", self.name));
        self.unpack(&sources)?;
        progress(&format!("building {} ({}) …", self.name, self.expectation));
        let began = Instant::now();
        let output = self.watched(self.go(&sources, &unfinished), progress).await?;
        if !output.status.success() {
            bail!("go build failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        progress(&format!("built {} in {} s", self.name, began.elapsed().as_secs()));
        fs::rename(&unfinished, built)?;
        fs::remove_dir_all(&sources)?;
        Ok(())
    }

    fn unpack(&self, sources: &Path) -> Result<()> {
        fs::create_dir_all(sources)?;
        for (name, text) in self.module {
            fs::write(sources.join(name), text)?;
        }
        Ok(())
    }

    fn go(&self, sources: &Path, output: &Path) -> Command {
        let (variable, version) = self.version;
        let mut command = Command::new("go");
        command
            .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &format!("-s -w -X {variable}={version}"), "-o"])
            .arg(output)
            .arg(self.package)
            .current_dir(sources)
            // A workspace file further up, or a caller's flags, must not change what is built.
            .env("GOWORK", "off")
            .env("GOFLAGS", "")
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Runs the command to its end and gives signs of life meanwhile.
    async fn watched(&self, mut command: Command, progress: &(dyn Fn(&str) + Sync)) -> Result<Output> {
        let began = Instant::now();
        let mut finished = Box::pin(command.output());
        loop {
            match tokio::time::timeout(SIGN_OF_LIFE, &mut finished).await {
                Ok(output) => return output.map_err(|error| self.explain(error)),
                Err(_) => progress(&format!("building {}: {} s …", self.name, began.elapsed().as_secs())),
            }
        }
    }

    fn explain(&self, error: std::io::Error) -> anyhow::Error {
        match error.kind() {
            ErrorKind::NotFound => anyhow!(
                "there is no `go` on the PATH. {} is built from source: install Go 1.26 or later, or {}",
                self.name,
                self.way_out
            ),
            _ => anyhow!(error).context("cannot run go"),
        }
    }
}

/// Holds the lock file until the result is dropped; the kernel releases it if we are killed.
async fn lock(path: PathBuf, progress: &(dyn Fn(&str) + Sync)) -> Result<File> {
    let file = File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.try_lock().is_ok() {
        return Ok(file);
    }
    progress("waiting for another process that builds programs …");
    tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await?.context("cannot lock")
}
