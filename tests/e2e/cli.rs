//! The other commands of the real binary: run to their end.

use super::{canary, world::World};
use std::process::Stdio;
use tokio::process::Command;

/// What a command came to.
pub struct Answer {
    pub code: i32,
    pub out: String,
    /// Standard error.
    pub complaints: String,
}

/// Runs `towline` with these words. Nothing that it prints may be a value of any object.
pub async fn towline(words: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towline"));
    command.args(words).env_remove("KUBECONFIG").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, complaints) = (text(output.stdout), text(output.stderr));
    canary::silent("standard output", &out);
    canary::silent("standard error", &complaints);
    Answer { code: output.status.code().unwrap(), out, complaints }
}

/// Runs a command that also needs the management cluster, as the world's account.
pub async fn with_hub(world: &World, words: &[&str]) -> Answer {
    let hub = world.hub_kubeconfig();
    let mut all = words.to_vec();
    all.extend(["--kubeconfig", hub.to_str().unwrap(), "--namespace", &world.name]);
    towline(&all).await
}
