//! Programs that are started with more than arguments.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use controlplane::{Process, Scratch, eventually};

#[tokio::test]
async fn a_program_gets_the_environment_that_it_is_given_and_our_own() -> Result<()> {
    let scratch = Scratch::new("process")?;
    let arguments = ["-c".to_owned(), "echo \"$GREETING, ${PATH:+path}\"".to_owned()];
    let greeting = [("GREETING", "hello".to_owned())];
    let log = scratch.path().join("log");
    let process = Process::start_in(&greeting, Path::new("/bin/sh"), &arguments, log)?;
    let said = async || Ok((process.log() == "hello, path\n").then_some(()));
    eventually("its greeting", Duration::from_secs(10), said).await
}
