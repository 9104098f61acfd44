//! `towline kubeconfig`.

use super::{
    Chosen, Surroundings,
    chosen::named_somewhere,
    heading,
    kubed::Ignored,
    only_followers,
    run::{Job, SharedFlags},
};
use anyhow::Result;
use clap::{Args, builder::BoolishValueParser};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    mut_args(only_followers),
    after_help = with_environment!(),
    after_long_help = with_environment!(
        "Examples:\n",
        "  towline kubeconfig --followers-file eks.yaml > followers.kubeconfig\n",
        "  towline kubeconfig 'prod-*' --followers-file eks.yaml --output prod.kubeconfig\n\n",
        "Takes kubed's flags, too. EKS is asked where its clusters are.\n\n",
    )
)]
pub(super) struct KubeconfigFlags {
    /// Followers to write: names and globs; all by default
    #[arg(value_name = "FOLLOWER")]
    followers: Vec<String>,

    /// File to write, for its owner's eyes only (mode 0600); standard output by default
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,

    /// In contexts of --kubeconfig-file, put `towline token` in the place of AWS's tools
    ///
    /// Of `aws eks get-token` and `aws-iam-authenticator token`. Without it, contexts are written as they are.
    #[arg(
        long,
        env = "TOWLINE_REPLACE_EXEC",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = heading::OUTPUT,
        value_parser = BoolishValueParser::new()
    )]
    replace_exec: bool,

    #[command(flatten)]
    shared: SharedFlags,
}

/// `towline kubeconfig`, checked.
#[derive(Debug)]
pub struct Kubeconfig {
    /// Which followers to write.
    pub chosen: Chosen,
    /// `--output`.
    pub output: Option<PathBuf>,
    /// `--replace-exec`.
    pub aws_tools: AwsTools,
    /// Which followers there are, and as whom AWS is asked.
    pub job: Job,
    /// To be told once, on standard error.
    pub warnings: Vec<String>,
}

/// What becomes of AWS's tools in a context that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwsTools {
    /// They stay.
    Keep,
    /// `towline token` takes their place.
    Replace,
}

impl KubeconfigFlags {
    pub(super) fn check(self, before: Ignored, around: &Surroundings) -> Result<Kubeconfig> {
        let mut warnings = Vec::new();
        let (job, _) = self.shared.check(before, around, &mut warnings)?;
        named_somewhere(&job)?;
        let aws_tools = if self.replace_exec { AwsTools::Replace } else { AwsTools::Keep };
        Ok(Kubeconfig { chosen: Chosen::parse(&self.followers)?, output: self.output, aws_tools, job, warnings })
    }
}
