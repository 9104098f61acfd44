//! `towline run`.

use super::{
    Followers, Guard, Hub, Identity, Sources, Surroundings, WriteRate,
    followers::FollowerFlags,
    guard::GuardFlags,
    heading,
    home::{HubFlags, IdentityFlags},
    kubed::{Ignored, KubedFlags},
    sources::SourceFlags,
};
use crate::{
    api::names::ClusterUid,
    mirror::{request::KubedMarks, state::AdoptBy},
};
use anyhow::Result;
use clap::{Args, ValueEnum, builder::BoolishValueParser};
use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = with_environment!(),
    after_long_help = with_environment!(
        "Examples:\n",
        "  Copy to every cluster of a kubeconfig, as kubed does:\n",
        "    towline run --cluster-name mgmt --kubeconfig-file /srv/kubed/kubeconfig\n",
        "  See first what would happen, then begin with a few clusters:\n",
        "    towline plan --kubeconfig-file clusters.yaml\n",
        "    towline run --kubeconfig-file clusters.yaml --only-followers 'dev-*'\n",
        "  Read one namespace only:\n",
        "    towline run --kubeconfig-file clusters.yaml --source-namespaces certs\n\n",
    )
)]
pub(super) struct RunFlags {
    #[command(flatten)]
    shared: SharedFlags,
    #[command(flatten)]
    process: ProcessFlags,
}

/// What decides which copies there should be: the same for `run` and `plan`.
#[derive(Debug, Args)]
pub(super) struct SharedFlags {
    #[command(flatten)]
    hub: HubFlags,
    #[command(flatten)]
    identity: IdentityFlags,
    #[command(flatten)]
    sources: SourceFlags,
    #[command(flatten)]
    followers: FollowerFlags,
    #[command(flatten)]
    guard: GuardFlags,
    #[command(flatten)]
    kubed: KubedFlags,
    #[command(flatten)]
    ignored: Ignored,
}

#[derive(Debug, Args)]
#[command(next_help_heading = heading::PROCESS)]
struct ProcessFlags {
    /// Do everything but write: log what would be done
    #[arg(
        long,
        env = "TOWLINE_DRY_RUN",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = BoolishValueParser::new()
    )]
    dry_run: bool,

    /// Address of /healthz, /readyz, /metrics and /api/v1
    ///
    /// Plain HTTP; names are shown there, data never. All addresses of the pod by default, because the kubelet and
    /// Prometheus come from outside it. With IPv6 only: `--listen [::]:8080`. Port 0 takes a free one and logs it.
    #[arg(long, env = "TOWLINE_LISTEN", value_name = "ADDRESS", default_value = "0.0.0.0:8080", value_parser = listen)]
    listen: SocketAddr,

    /// What is logged: error, warn, info, debug or trace, also per module
    ///
    /// Example: --log info,towline::cluster=debug. No level shows a byte of data.
    #[arg(long, env = "TOWLINE_LOG", value_name = "FILTER", default_value = "info", value_parser = filter)]
    log: String,

    /// How log lines look
    #[arg(long, env = "TOWLINE_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value_t = LogFormat::Plain)]
    log_format: LogFormat,

    /// File that gets one JSON line per write, appended; - is standard output
    #[arg(long, env = "TOWLINE_AUDIT_LOG", value_name = "FILE")]
    audit_log: Option<PathBuf>,
}

/// `towline run`, checked.
#[derive(Debug)]
pub struct Run {
    /// What decides which copies there should be.
    pub job: Job,
    /// `--qps`, `--burst`: no limit if `None`.
    pub rate: Option<WriteRate>,
    /// `--dry-run`.
    pub mode: WriteMode,
    /// `--listen`.
    pub listen: SocketAddr,
    /// `--log`, `--log-format`.
    pub logging: Logging,
    /// `--audit-log`.
    pub audit_log: Option<AuditLog>,
    /// To be logged once, when there is a log.
    pub warnings: Vec<String>,
}

/// What decides which copies there should be.
#[derive(Debug)]
pub struct Job {
    /// The management cluster.
    pub hub: Hub,
    /// Who Towline is in it.
    pub identity: Identity,
    /// Which objects are sources.
    pub sources: Sources,
    /// Which followers there are.
    pub followers: Followers,
    /// The guard against mistaken deletions.
    pub guard: Guard,
    /// `--adopt-kubed`.
    pub adoption: AdoptBy,
    /// `--adopt-origin`.
    pub old_hubs: Arc<BTreeSet<ClusterUid>>,
    /// `--keep-kubed-marks`.
    pub kubed_marks: KubedMarks,
}

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Yes.
    Live,
    /// Nothing of any kind.
    DryRun,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// Directives that tracing's `EnvFilter` reads.
    pub filter: String,
    /// How lines look.
    pub format: LogFormat,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Plain,
    /// For machines
    Json,
}

/// Where the audit log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditLog {
    /// `-`.
    StandardOutput,
    /// Appended to this file.
    File(PathBuf),
}

/// `:8080` is every address, as in Go.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').and_then(|port| port.parse().ok());
    let every = port.map(|port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
    every.or_else(|| text.parse().ok()).ok_or_else(|| {
        "allowed is an IP address and a port: 0.0.0.0:8080, 127.0.0.1:8080, [::]:8080 or :8080".to_owned()
    })
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// `EnvFilter` takes a misspelt level as the name of a module, and then logs nothing.
fn filter(text: &str) -> Result<String, String> {
    let is_level = |word: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let mut words = text.split(',').map(str::trim).filter(|word| !word.contains(['=', '[']));
    let parsed = tracing_subscriber::EnvFilter::try_new(text).is_ok();
    if parsed && words.all(is_level) {
        return Ok(text.to_owned());
    }
    Err(format!("allowed are {} and MODULE=LEVEL, with commas between", LEVELS.join(", ")))
}

impl SharedFlags {
    pub(super) fn check(
        self,
        before: Ignored,
        around: &Surroundings,
        warnings: &mut Vec<String>,
    ) -> Result<(Job, Option<WriteRate>)> {
        self.ignored.warn(before, warnings);
        let identity = self.identity.check(around)?;
        let followers = self.followers.check(&identity, warnings)?;
        let kubed = self.kubed.check(warnings);
        let job = Job {
            hub: self.hub.check(),
            identity,
            sources: self.sources.check()?,
            followers,
            guard: self.guard.check(),
            old_hubs: kubed.old_hubs,
            adoption: kubed.adoption,
            kubed_marks: kubed.marks,
        };
        Ok((job, kubed.rate))
    }
}

impl RunFlags {
    pub(super) fn check(self, before: Ignored, around: &Surroundings) -> Result<Run> {
        let mut warnings = Vec::new();
        let (job, rate) = self.shared.check(before, around, &mut warnings)?;
        let ProcessFlags { dry_run, listen, log, log_format, audit_log } = self.process;
        let audit_log = audit_log.map(|path| match path.to_str() {
            Some("-") => AuditLog::StandardOutput,
            _ => AuditLog::File(path),
        });
        let mode = if dry_run { WriteMode::DryRun } else { WriteMode::Live };
        let logging = Logging { filter: log, format: log_format };
        Ok(Run { job, rate, mode, listen, logging, audit_log, warnings })
    }
}
