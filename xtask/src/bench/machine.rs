//! What the figures were taken on.

use std::process::Command;

use serde::Serialize;

/// Facts without which a figure says little.
#[derive(Serialize)]
pub(super) struct Machine {
    cores: usize,
    processor: String,
    memory_gib: u64,
    kernel: String,
    kubernetes: &'static str,
    rustc: String,
    towline: String,
    /// Load of the last minute before the first measurement: others at work spoil times, less so ratios.
    load: String,
}

impl Machine {
    /// This one, now.
    pub(super) fn look() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: field("/proc/cpuinfo", "model name"),
            memory_gib: field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0) >> 20,
            kernel: read("/proc/sys/kernel/osrelease"),
            kubernetes: controlplane::KUBERNETES_VERSION,
            rustc: said("rustc", &["--version"]),
            towline: said("git", &["describe", "--always", "--dirty"]),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// In a line or two.
    pub(super) fn line(&self) -> String {
        let Self { cores, processor, memory_gib, kernel, kubernetes, rustc, towline, load } = self;
        format!(
            "{cores} cores ({processor}), {memory_gib} GiB, Linux {kernel}, load {load};\n\
             kube-apiserver {kubernetes}, {rustc}, Towline {towline} (release)"
        )
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn field(path: &str, name: &str) -> String {
    let text = read(path);
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_once(':'));
    value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(crate::towline::root()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
