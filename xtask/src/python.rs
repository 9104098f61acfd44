//! Judges that come from PyPI: each in a virtual environment of its own, made once, kept in the cache folder.
//!
//! One more: a file with all its versions in `xtask/python/`, and a line in [`TOOLS`].

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use controlplane::binaries;
use tokio::process::Command;

/// A program from PyPI.
pub(crate) struct Tool {
    /// Its name, and that of its requirements file.
    name: &'static str,
    /// The program in the `bin` of its environment.
    program: &'static str,
    /// The variable that tells tests where it is. If it is set before, nothing is installed.
    pub(crate) variable: &'static str,
    /// Exact versions of it and of all that it needs.
    requirements: &'static str,
}

/// All that tests use.
pub(crate) const TOOLS: [Tool; 4] = [
    Tool {
        name: "parliament",
        program: "parliament",
        variable: "TEST_PARLIAMENT",
        requirements: include_str!("../python/parliament.txt"),
    },
    Tool {
        name: "cfn-lint",
        program: "cfn-lint",
        variable: "TEST_CFN_LINT",
        requirements: include_str!("../python/cfn-lint.txt"),
    },
    Tool { name: "awscli", program: "aws", variable: "TEST_AWS", requirements: include_str!("../python/awscli.txt") },
    Tool {
        name: "moto",
        program: "moto_server",
        variable: "TEST_MOTO_SERVER",
        requirements: include_str!("../python/moto.txt"),
    },
];

/// Written last: an environment without it was not finished.
const MADE: &str = "made";

impl Tool {
    /// The program: as its variable says, in the cache, or installed into it now. Others who ask meanwhile wait.
    pub(crate) async fn provide(&self) -> Result<PathBuf> {
        if let Some(given) = std::env::var_os(self.variable).filter(|value| !value.is_empty()) {
            return Ok(given.into());
        }
        let folder = self.folder()?;
        if !folder.join(MADE).is_file() {
            self.make(&folder).await.with_context(|| format!("cannot install {} from PyPI", self.name))?;
        }
        Ok(folder.join("bin").join(self.program))
    }

    /// Other versions are another folder. The hash may change with Rust, which costs an installation.
    fn folder(&self) -> Result<PathBuf> {
        let mut hasher = DefaultHasher::new();
        self.requirements.hash(&mut hasher);
        Ok(binaries::cache_root()?.join("python").join(format!("{}-{:016x}", self.name, hasher.finish())))
    }

    /// Installs in the final place: the programs of an environment hold its path.
    async fn make(&self, folder: &Path) -> Result<()> {
        let name = self.name;
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let _lock = self.lock(&folder.with_extension("lock")).await?;
        // Somebody else may have made it while we waited for the lock.
        if folder.join(MADE).is_file() {
            return Ok(());
        }
        eprintln!("{name}: installing from PyPI (once) …");
        let began = Instant::now();
        let list = folder.join("requirements.txt");
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder)).await?;
        fs::write(&list, self.requirements)?;
        // Only what is listed, and nothing that would be compiled or run at installation.
        let pip = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--no-deps"];
        let inside = folder.join("bin/python");
        run(Command::new(&inside).args(pip).args(["--only-binary", ":all:", "--requirement"]).arg(&list)).await?;
        run(Command::new(&inside).args(["-m", "pip", "--disable-pip-version-check", "check"])).await?;
        fs::write(folder.join(MADE), "")?;
        eprintln!("{name}: installed in {} s", began.elapsed().as_secs());
        Ok(())
    }

    /// Holds the lock file until the result is dropped; the kernel releases it if we are killed.
    async fn lock(&self, path: &Path) -> Result<File> {
        let file = File::create(path).with_context(|| format!("cannot open {}", path.display()))?;
        if file.try_lock().is_ok() {
            return Ok(file);
        }
        eprintln!("{}: waiting for another process that installs it …", self.name);
        tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await?.context("cannot lock")
    }
}

async fn run(command: &mut Command) -> Result<()> {
    let shown = command.as_std().get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output =
        output.with_context(|| format!("cannot run {shown}: Python 3.11 or later is needed (PYTHON names it)"))?;
    if !output.status.success() {
        let told = [output.stdout, output.stderr].concat();
        bail!("{shown} failed ({}):\n{}", output.status, String::from_utf8_lossy(&told));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_one_exact_version() {
        for tool in TOOLS {
            let lines: Vec<&str> = tool.requirements.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(lines.iter().any(|line| line.starts_with(&format!("{}==", tool.name))), "{}", tool.name);
            for line in lines {
                let (name, version) = line.split_once("==").unwrap_or_default();
                assert!(!name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit()), "{}: {line}", tool.name);
                assert!(!version.contains(['*', ',', ' ', ';']), "{}: {line}", tool.name);
            }
        }
    }
}
