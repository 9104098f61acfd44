//! `towline plan`.

use super::{
    Surroundings, heading,
    kubed::Ignored,
    run::{Job, SharedFlags},
    values,
};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::time::Duration;

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    after_help = with_environment!(),
    after_long_help = with_environment!(
        "Examples:\n",
        "  towline plan --kubeconfig-file clusters.yaml\n",
        "  towline plan --kubeconfig-file clusters.yaml --only-followers 'dev-*' --output json\n\n",
        "Takes kubed's flags, too: give it the arguments of your Deployment.\n\n",
    ),
    mut_arg("qps", |arg| arg.hide(true)),
    mut_arg("burst", |arg| arg.hide(true))
)]
pub(super) struct PlanFlags {
    #[command(flatten)]
    output: OutputFlags,
    /// How long to wait for clusters; those that have not answered by then are named
    #[arg(
        long,
        env = "TOWLINE_TIMEOUT",
        value_name = "DURATION",
        default_value = "30s",
        help_heading = heading::OUTPUT,
        value_parser = values::duration
    )]
    timeout: Duration,
    #[command(flatten)]
    shared: SharedFlags,
}

#[derive(Debug, Args)]
pub(super) struct OutputFlags {
    /// How the answer is printed
    #[arg(
        long,
        short,
        env = "TOWLINE_OUTPUT",
        value_name = "FORMAT",
        value_enum,
        default_value_t = Output::Table,
        help_heading = heading::OUTPUT
    )]
    pub(super) output: Output,
}

/// `towline plan`, checked.
#[derive(Debug)]
pub struct Plan {
    /// What decides which copies there should be.
    pub job: Job,
    /// `--output`.
    pub output: Output,
    /// `--timeout`.
    pub timeout: Duration,
    /// To be told once, on standard error.
    pub warnings: Vec<String>,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Table,
    /// For machines
    Json,
}

impl PlanFlags {
    pub(super) fn check(self, before: Ignored, around: &Surroundings) -> Result<Plan> {
        if self.timeout.is_zero() {
            bail!("--timeout: allowed is a duration above 0, such as 30s");
        }
        let mut warnings = Vec::new();
        let (job, _) = self.shared.check(before, around, &mut warnings)?;
        Ok(Plan { job, output: self.output.output, timeout: self.timeout, warnings })
    }
}
