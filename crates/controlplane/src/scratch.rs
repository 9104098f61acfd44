//! Folders that are gone when the process is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::supervisor::Supervisor;

/// A new, empty folder under [`std::env::temp_dir`]; removed when dropped, or at the end of the process, even a killed one.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a folder with `name` somewhere in its name.
    pub fn new(name: &str) -> Result<Self> {
        let path = Supervisor::of_this_process()?.root().join(format!("{name}-{:08x}", fastrand::u32(..)));
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now goes with the root folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}
