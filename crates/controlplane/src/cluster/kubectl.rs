//! The real kubectl, as the admin.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::Cluster;

impl Cluster {
    /// Runs kubectl and answers what it printed; fails with what it complained about.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(arguments, "").await
    }

    /// Applies a YAML file of one or more objects (server-side, taking over whatever field somebody else owns).
    pub async fn apply_yaml(&self, text: &str) -> Result<String> {
        self.kubectl_with_input(&["apply", "--server-side", "--force-conflicts", "-f", "-"], text).await
    }

    /// The programs' place, for a test that runs kubectl in its own way.
    pub fn kubectl_path(&self) -> &Path {
        &self.binaries.kubectl
    }

    async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = Command::new(&self.binaries.kubectl)
            .env("KUBECONFIG", self.folder.join("admin.kubeconfig"))
            .arg("--cache-dir")
            .arg(self.folder.join("kubectl-cache"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start kubectl")?;
        let mut stdin = child.stdin.take().context("kubectl has no input")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        let output = child.wait_with_output().await?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {} on {} failed: {complaint}", arguments.join(" "), self.name);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
