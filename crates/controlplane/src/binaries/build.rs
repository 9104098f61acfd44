//! Building one program with Go.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tokio::process::Command;

use super::{KUBERNETES_VERSION, provided};

/// A Go module, as files of this crate. They are copied before the build: Go may write to its folder.
struct Module {
    files: &'static [(&'static str, &'static str)],
}

const KUBERNETES: Module = Module {
    files: &[
        ("go.mod", include_str!("../../kubernetes/go.mod")),
        ("go.sum", include_str!("../../kubernetes/go.sum")),
        ("tools.go", include_str!("../../kubernetes/tools.go")),
    ],
};

const ETCD: Module = Module {
    files: &[
        ("go.mod", include_str!("../../etcd/go.mod")),
        ("go.sum", include_str!("../../etcd/go.sum")),
        ("main.go", include_str!("../../etcd/main.go")),
    ],
};

/// How often a sign of life is given.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// The path of `program`: provided, in `cache`, or built into it now.
pub(super) async fn find_or_build(program: &str, cache: &Path, progress: &(dyn Fn(&str) + Sync)) -> Result<PathBuf> {
    let built = cache.join(program);
    if let Some(path) = provided(program).or_else(|| built.is_file().then(|| built.clone())) {
        return Ok(path);
    }
    fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let _lock = lock(cache.join("lock"), progress).await?;
    // Somebody else may have built it while we waited for the lock.
    if !built.is_file() {
        build(program, &built, progress).await.with_context(|| format!("cannot build {program}"))?;
    }
    Ok(built)
}

/// Holds the lock file until the result is dropped; the kernel releases it if we are killed.
async fn lock(path: PathBuf, progress: &(dyn Fn(&str) + Sync)) -> Result<File> {
    let file = File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.try_lock().is_ok() {
        return Ok(file);
    }
    progress("waiting for another process that builds the control planes …");
    tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await?.context("cannot lock")
}

/// Builds beside the final place and renames, so that a half-written program is never taken for one.
async fn build(program: &str, built: &Path, progress: &(dyn Fn(&str) + Sync)) -> Result<()> {
    let sources = built.with_file_name(format!("{program}.source"));
    let unfinished = built.with_file_name(format!("{program}.unfinished"));
    let package = unpack(program, &sources)?;
    progress(&format!("building {program} ({}) …", expectation(program)));
    let began = Instant::now();
    let output = watched(program, go(&sources, &unfinished, &package), progress).await?;
    if !output.status.success() {
        bail!("go build failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    progress(&format!("built {program} in {} s", began.elapsed().as_secs()));
    fs::rename(&unfinished, built)?;
    fs::remove_dir_all(&sources)?;
    Ok(())
}

/// Writes the sources; answers the package to build.
fn unpack(program: &str, sources: &Path) -> Result<String> {
    let (module, package) = match program {
        "etcd" => (ETCD, ".".to_owned()),
        _ => (KUBERNETES, format!("k8s.io/kubernetes/cmd/{program}")),
    };
    fs::create_dir_all(sources)?;
    for (name, text) in module.files {
        fs::write(sources.join(name), text)?;
    }
    Ok(package)
}

fn go(sources: &Path, output: &Path, package: &str) -> Command {
    let version = format!("-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES_VERSION}");
    let mut command = Command::new("go");
    command
        .args(["build", "-mod=readonly", "-trimpath", "-ldflags", &version, "-o"])
        .arg(output)
        .arg(package)
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
async fn watched(program: &str, mut command: Command, progress: &(dyn Fn(&str) + Sync)) -> Result<Output> {
    let began = Instant::now();
    let mut finished = Box::pin(command.output());
    loop {
        match tokio::time::timeout(SIGN_OF_LIFE, &mut finished).await {
            Ok(output) => return output.map_err(explain),
            Err(_) => progress(&format!("building {program}: {} s …", began.elapsed().as_secs())),
        }
    }
}

fn explain(error: std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound => anyhow!(
            "there is no `go` on the PATH. The control planes are built from source: install Go 1.26 or later, \
             or set KUBEBUILDER_ASSETS to a folder that has the programs"
        ),
        _ => anyhow!(error).context("cannot run go"),
    }
}

fn expectation(program: &str) -> &'static str {
    match program {
        "kube-apiserver" => "about 5 minutes the first time",
        "etcd" => "about a minute the first time",
        _ => "about 2 minutes the first time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_the_module_requires() {
        let text = KUBERNETES.files[0].1;
        assert!(text.contains(&format!("require k8s.io/kubernetes {KUBERNETES_VERSION}\n")));
    }
}
