//! `towline check`.

use super::{
    Chosen, Output, Surroundings,
    chosen::named_somewhere,
    kubed::Ignored,
    only_followers,
    plan::OutputFlags,
    run::{Job, SharedFlags},
};
use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    mut_args(only_followers),
    after_help = with_environment!(),
    after_long_help = with_environment!(
        "Examples:\n",
        "  towline check --followers-file eks.yaml\n",
        "  towline check prod-eu 'dev-*' --kubeconfig-file clusters.yaml --output json\n\n",
        "Takes kubed's flags, too. Nothing is written anywhere. Exit code 0: all is good; 1: something is\n",
        "not; 2: a mistake in what was typed.\n\n",
    )
)]
pub(super) struct CheckFlags {
    /// Followers to check: names and globs; all by default
    #[arg(value_name = "FOLLOWER")]
    followers: Vec<String>,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    shared: SharedFlags,
}

/// `towline check`, checked.
#[derive(Debug)]
pub struct Check {
    /// Which followers to check.
    pub chosen: Chosen,
    /// `--output`.
    pub output: Output,
    /// Which followers there are, and what Towline would do there.
    pub job: Job,
    /// To be told once, on standard error.
    pub warnings: Vec<String>,
}

impl CheckFlags {
    pub(super) fn check(self, before: Ignored, around: &Surroundings) -> Result<Check> {
        let mut warnings = Vec::new();
        let (job, _) = self.shared.check(before, around, &mut warnings)?;
        named_somewhere(&job)?;
        Ok(Check { chosen: Chosen::parse(&self.followers)?, output: self.output.output, job, warnings })
    }
}
