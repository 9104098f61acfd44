//! The demo as a stranger runs it, but for the terminal.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use controlplane::eventually;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

/// It may have to build Towline first.
const CAP: Duration = Duration::from_secs(900);

#[tokio::test]
async fn the_demo_tells_its_story_stays_up_and_leaves_nothing_behind() -> Result<()> {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("demo")
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    // Kept to the end: what is printed last must find a reader.
    let mut lines = BufReader::new(demo.stdout.take().context("no output")?).lines();
    let told = timeout(CAP, told(&mut lines)).await??;
    for chapter in
        ["0. Who is who", "1. Copies arrive", "2. The certificate", "3. Copies heal", "4. Copies go", "5. Your turn"]
    {
        ensure!(told.contains(chapter), "no {chapter:?} in:\n{told}");
    }
    let ways =
        [("alpha", "prod-eu", "222222222222"), ("beta", "prod-us", "222222222222"), ("gamma", "dev", "333333333333")];
    for (follower, cluster, account) in ways {
        let place = format!("{follower} is cluster {cluster} of account {account}");
        let role = format!("arn:aws:iam::{account}:role/towline-follower");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, rest) = words.split_once(&place).with_context(|| format!("no {place:?} in:\n{told}"))?;
        let reached = rest.split_once("reached by role ").is_some_and(|(_, rest)| rest.starts_with(&role));
        ensure!(reached, "no role for {follower} in:\n{told}");
    }
    // One for Towline, one for each account, one for each cluster.
    for (operation, count) in [("AssumeRoleWithWebIdentity", "1"), ("AssumeRole", "2"), ("DescribeCluster", "3")] {
        let words = |line: &str| line.split_whitespace().take(2).eq([operation, count]);
        ensure!(told.lines().any(words), "not {count} times {operation} in:\n{told}");
    }
    ensure!(!told.contains("PRIVATE KEY") && !told.contains("LS0t"), "the demo shows a key:\n{told}");
    let kubeconfig = told.split_whitespace().find_map(|word| word.strip_prefix("KUBECONFIG="));
    let kubeconfig = Path::new(kubeconfig.context("no KUBECONFIG to use")?);
    ensure!(kubeconfig.is_file());

    let pid = demo.id().context("the demo does not stay up")?.to_string();
    Command::new("kill").args(["-INT", &pid]).status().await?;
    ensure!(timeout(CAP, demo.wait()).await??.success());
    let root = kubeconfig.ancestors().nth(2).context("no folder")?;
    // Programs are registered in there until they have ended.
    eventually("the demo's files to go", CAP, async || Ok((!root.exists()).then_some(()))).await
}

/// What it prints until it stays up.
async fn told(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<String> {
    let mut told = String::new();
    while let Some(line) = lines.next_line().await? {
        told += &line;
        told += "\n";
        if line.starts_with("Ctrl-C ends it all") {
            return Ok(told);
        }
    }
    anyhow::bail!("the demo ended by itself:\n{told}")
}
