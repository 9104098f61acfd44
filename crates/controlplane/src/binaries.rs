//! Where the programs come from: built once from the Go sources in this crate, then kept in the cache folder.
//!
//! No package registry offers a kube-apiserver, but the Go modules of Kubernetes and etcd build.

mod build;
mod programs;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use build::GoProgram;

/// The version of Kubernetes whose programs are used; also the name of the cache folder.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// The programs of a control plane.
#[derive(Clone)]
pub struct Binaries {
    /// etcd
    pub etcd: PathBuf,
    /// kube-apiserver
    pub kube_apiserver: PathBuf,
    /// kube-controller-manager
    pub kube_controller_manager: PathBuf,
    /// kubectl
    pub kubectl: PathBuf,
}

impl Binaries {
    /// Finds the programs in `KUBEBUILDER_ASSETS` or the cache, and builds those that are in neither, which takes minutes.
    /// `progress` is told what is going on then. Others who ask meanwhile wait for the same build.
    pub async fn provide(progress: &(dyn Fn(&str) + Sync)) -> Result<Self> {
        Ok(Self {
            etcd: provide(&programs::ETCD, progress).await?,
            kube_apiserver: provide(&programs::KUBE_APISERVER, progress).await?,
            kubectl: provide(&programs::KUBECTL, progress).await?,
            kube_controller_manager: provide(&programs::KUBE_CONTROLLER_MANAGER, progress).await?,
        })
    }
}

async fn provide(program: &GoProgram, progress: &(dyn Fn(&str) + Sync)) -> Result<PathBuf> {
    match provided(program.name) {
        Some(path) => Ok(path),
        None => program.find_or_build(progress).await,
    }
}

/// The folder that keeps the built programs: `controlplane/VERSION` in [`cache_root`].
pub fn cache_folder() -> Result<PathBuf> {
    Ok(cache_root()?.join("controlplane").join(KUBERNETES_VERSION))
}

/// The folder of all that is made once: `$XDG_CACHE_HOME` (else `~/.cache`) `/towline`.
/// Outside `target/`, so that `cargo clean` does not cost ten minutes.
pub fn cache_root() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set: no place to keep what is made once")?;
    Ok(cache.join("towline"))
}

/// The program in the folder that `KUBEBUILDER_ASSETS` names, if it is there (envtest has no kube-controller-manager).
fn provided(program: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("KUBEBUILDER_ASSETS")?;
    Some(Path::new(&folder).join(program)).filter(|path| path.is_file())
}
