//! The daemon under test: the real binary, its log, its pages.

use super::{
    canary,
    world::{CAP, World},
};
use controlplane::eventually;
use serde_json::Value;
use std::{
    fs::File,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How many daemons were started: each has a log of its own.
static STARTS: AtomicUsize = AtomicUsize::new(0);

/// How many lines of the log a failed test shows.
const LAST_WORDS: usize = 60;

/// A running daemon; killed when it is dropped. Then its log must not hold a value of any object.
pub struct Towline {
    child: Child,
    /// Its standard error, at TRACE.
    pub log: PathBuf,
}

impl Towline {
    /// Starts `towline run` for the sources of the world's namespace, with the followers of `kubeconfig`.
    pub fn start(world: &World, kubeconfig: &str, flags: &[&str]) -> Self {
        let file = world.file("followers.kubeconfig", kubeconfig);
        let mut all = vec!["--kubeconfig-file", file.to_str().unwrap(), "--source-namespaces", &world.name];
        all.extend(flags);
        Self::run(world, &all)
    }

    /// Starts `towline run` with just these flags beside those of the management cluster.
    pub fn run(world: &World, flags: &[&str]) -> Self {
        Self::run_as(world, flags, |_| ())
    }

    /// The same in an environment that `prepare` makes.
    pub fn run_as(world: &World, flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let log = world.scratch.path().join(format!("towline-{}.log", STARTS.fetch_add(1, Ordering::Relaxed)));
        let file = File::create(&log).unwrap();
        let hub = world.hub_kubeconfig();
        let local =
            if flags.iter().any(|flag| flag.starts_with("--local-sync")) { None } else { Some("--local-sync=false") };
        let mut command = Command::new(env!("CARGO_BIN_EXE_towline"));
        prepare(&mut command);
        let child = command
            .args(["run", "--kubeconfig", hub.to_str().unwrap(), "--namespace", &world.name])
            .args(["--listen", "127.0.0.1:0", "--log", "trace"])
            .args(local)
            .args(flags)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits.
    pub async fn stop(&mut self) -> ExitStatus {
        Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().unwrap();
        self.ended().await
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        let child = std::sync::Mutex::new(&mut self.child);
        let look = async || Ok(child.lock().unwrap().try_wait()?);
        eventually("towline ends", CAP, look).await.unwrap()
    }

    /// What it logged so far.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has logged this.
    pub async fn logs(&self, text: &str) {
        let look = async || Ok(self.logged().contains(text).then_some(()));
        eventually(&format!("log of {text:?}"), CAP, look).await.unwrap();
    }

    /// Where its pages are, as it logs it.
    pub async fn address(&self) -> String {
        eventually("the address of the pages", CAP, async || Ok(self.logged_address())).await.unwrap()
    }

    /// A page, once it is served.
    pub async fn page(&self, path: &str) -> String {
        get(&self.address().await, path).await
    }

    /// A page as JSON.
    pub async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path).await).unwrap()
    }

    /// Waits until a target is in a state, as `/api/v1/followers` tells it: `InStep` is one that it does not list.
    pub async fn shows(&self, follower: &str, target: &str, state: &str) {
        let what = format!("{target} on {follower} {state}");
        let look = async || Ok((self.state(follower, target).await == state).then_some(()));
        eventually(&what, CAP, look).await.unwrap();
    }

    /// The state of a target, `Kind/namespace/name`.
    pub async fn state(&self, follower: &str, target: &str) -> String {
        let page = self.json("/api/v1/followers").await;
        let report = page["items"].as_array().unwrap().iter().find(|item| item["follower"] == follower);
        let Some(report) = report.filter(|report| report["connected"] == true) else { return "Unknown".to_owned() };
        let is_target = |row: &&Value| {
            let field = |key: &str| row[key].as_str().unwrap().to_owned();
            format!("{}/{}/{}", field("kind"), field("namespace"), field("name")) == target
        };
        let row = report["rows"].as_array().unwrap().iter().find(is_target);
        row.map_or("InStep", |row| row["action"].as_str().unwrap()).to_owned()
    }

    /// The value of a metric's series, given as on the page up to the value.
    pub async fn metric(&self, series: &str) -> Option<f64> {
        let page = self.page("/metrics").await;
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
        line.split(' ').next()?.parse().ok()
    }

    /// Waits until a series has such a value: counts are told a moment after they change.
    pub async fn counts(&self, series: &str, holds: impl Fn(f64) -> bool) {
        let look = async || Ok(self.metric(series).await.is_some_and(&holds).then_some(()));
        eventually(series, CAP, look).await.unwrap();
    }

    /// Waits until `/api/v1` tells a target of a follower in a state, or what will be done about it; the row.
    pub async fn row(&self, follower: &str, name: &str, state: &str) -> Value {
        let is_it = |row: &Value| row["name"] == name && row["action"] == state;
        let look = async || {
            let page = self.json(&format!("/api/v1/followers?follower={follower}&name={name}")).await;
            Ok(page["items"][0]["rows"].as_array().and_then(|rows| rows.iter().find(|row| is_it(row)).cloned()))
        };
        eventually(&format!("{name} on {follower} being {state}"), CAP, look).await.unwrap()
    }

    /// Waits until so many copies of a follower are held; the batch.
    pub async fn held(&self, follower: &str, copies: usize) -> Value {
        let is_it =
            |batch: &Value| batch["follower"] == follower && batch["copies"].as_array().unwrap().len() == copies;
        let look = async || {
            let page = self.json("/api/v1/deletions").await;
            Ok(page["items"].as_array().and_then(|batches| batches.iter().find(|batch| is_it(batch)).cloned()))
        };
        eventually(&format!("{copies} copies held on {follower}"), CAP, look).await.unwrap()
    }

    fn logged_address(&self) -> Option<String> {
        let log = self.logged();
        let rest = log.rsplit("pages are served address=").next().filter(|rest| rest.len() < log.len())?;
        Some(rest.split_whitespace().next()?.to_owned())
    }
}

impl Drop for Towline {
    fn drop(&mut self) {
        let _ended_before = self.child.kill();
        let _reaped = self.child.wait();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        if std::thread::panicking() {
            // The scratch folder goes with the test.
            let said = log.lines().filter(|line| ![" TRACE ", " DEBUG "].iter().any(|level| line.contains(level)));
            let said: Vec<&str> = said.collect();
            println!("towline's last words:\n{}", said[said.len().saturating_sub(LAST_WORDS)..].join("\n"));
        } else {
            canary::silent("the log", &log);
        }
    }
}

/// Runs `towline` with these flags, which must end it: its code, and what it said.
pub async fn refused(flags: &[&str]) -> (Option<i32>, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_towline"));
    command.args(flags).env_remove("KUBECONFIG").stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(CAP, command.output()).await;
    let output = ended.unwrap_or_else(|_| panic!("{flags:?} does not end")).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    canary::silent("a complaint", &said);
    (output.status.code(), said)
}

async fn get(address: &str, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    canary::silent(path, &answer);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}
