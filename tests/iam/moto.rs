//! The AWS CLI, and an AWS for it: moto.

use controlplane::{Process, Scratch, eventually};
use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Duration,
};

const CAP: Duration = Duration::from_secs(60);

/// A program that `cargo xtask test` has installed.
pub fn installed(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    PathBuf::from(path.unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`")))
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

/// The AWS CLI, whose AWS is moto on loopback.
pub struct AwsCli {
    /// Where moto is.
    pub endpoint: String,
    _moto: Process,
    // Last, so that it goes last.
    folder: Scratch,
}

impl AwsCli {
    pub async fn start() -> Self {
        let folder = Scratch::new("moto").unwrap();
        let log = folder.path().join("log");
        let arguments = ["-H", "127.0.0.1", "-p", "0"].map(str::to_owned);
        let mut moto = Process::start(&installed("TEST_MOTO_SERVER"), &arguments, log.clone()).unwrap();
        let endpoint = eventually("moto to listen", CAP, || {
            let running = moto.check_running();
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            // It says so when it does, with the port that it got. A line without an end is not all of it.
            let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
            let address = lines.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
            std::future::ready(running.map(|()| address.map(str::to_owned)))
        });
        Self { endpoint: endpoint.await.unwrap(), _moto: moto, folder }
    }

    /// Runs `aws`; answers what it prints, or what it complains about.
    pub fn run(&self, words: &[&str]) -> Result<String, String> {
        let output = run(Command::new(installed("TEST_AWS"))
            .args(["--endpoint-url", &self.endpoint])
            .args(words)
            // No profile, region or proxy of whoever runs the tests.
            .env_clear()
            .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "eu-west-1")])
            .envs([("AWS_EC2_METADATA_DISABLED", "true"), ("AWS_DEFAULT_REGION", "eu-west-1")])
            .env("HOME", self.folder.path()));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}
