//! The command line: what was typed (`…Flags`, clap) and what it means (checked, in the words of the other rooms).
//!
//! ```text
//! argv, TOWLINE_* ──clap──▶ Cli { RunFlags | PlanFlags | … } ──check──▶ Task { Run | Plan | … }
//! ```
//! Architecture invariant: nobody but `check` reads a flag's text; all rooms get validated values. The only file that is
//! read here is the policy file.

/// The end of a command's help, after its examples.
macro_rules! with_environment {
    ($($example:expr),* $(,)?) => {
        concat!(
            $($example,)*
            "Each flag can be set in the environment: --namespace is TOWLINE_NAMESPACE.\n",
            "A flag wins over its variable; an empty variable is not set."
        )
    };
}

mod aws;
mod check;
mod chosen;
mod deletions;
mod followers;
mod guard;
mod home;
mod kubeconfig;
mod kubed;
mod manifests;
mod plan;
mod run;
mod sources;
mod token;
mod values;

pub use aws::AwsIdentity;
pub use check::Check;
pub use chosen::Chosen;
pub use deletions::{Approve, BatchDigest, Deletions, List, ServerUrl};
pub use followers::Followers;
pub use guard::Guard;
pub use home::{Hub, Identity, Surroundings};
pub use kubeconfig::{AwsTools, Kubeconfig};
pub use kubed::WriteRate;
pub use manifests::{Iam, Manifests, Print, RolePart};
pub use plan::{Output, Plan};
pub use run::{AuditLog, Job, LogFormat, Logging, Run, WriteMode};
pub use sources::{SourceNamespaces, Sources};
pub use token::Token;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};
use std::ffi::{OsStr, OsString};

/// Keeps ConfigMaps and Secrets of one management cluster in step with their copies in many follower clusters
#[derive(Debug, Parser)]
#[command(name = "towline", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    ignored: kubed::Ignored,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Copy, and keep all copies in step, until told to stop
    Run(Box<run::RunFlags>),
    /// Print what `run` would do now with the same flags, and change nothing
    Plan(Box<plan::PlanFlags>),
    /// Check each follower step by step, from who we are to the rights there, and say what to change
    Check(Box<check::CheckFlags>),
    /// See and approve deletions that `run` holds back because they look like a mistake
    #[command(subcommand)]
    Deletions(deletions::DeletionsFlags),
    /// Print a token for a cluster, as kubectl asks its plugins for one
    ///
    /// In a kubeconfig it takes the place of `aws eks get-token` and `aws-iam-authenticator token`: an ExecCredential on
    /// standard output, and nothing else there.
    Token(token::TokenFlags),
    /// Write a kubeconfig of followers, whose tokens `towline token` makes
    Kubeconfig(Box<kubeconfig::KubeconfigFlags>),
    /// Print what must be applied before Towline can run
    #[command(subcommand)]
    Manifests(manifests::ManifestsFlags),
}

/// What to do, checked.
#[derive(Debug)]
pub enum Task {
    /// `towline run`.
    Run(Box<Run>),
    /// `towline plan`.
    Plan(Box<Plan>),
    /// `towline check`.
    Check(Box<Check>),
    /// `towline deletions`.
    Deletions(Deletions),
    /// `towline token`.
    Token(Token),
    /// `towline kubeconfig`.
    Kubeconfig(Box<Kubeconfig>),
    /// `towline manifests`.
    Manifests(Manifests),
}

/// Reads the command line and the environment.
///
/// What comes back as an error is also what `--help` and `--version` print: `print` it and leave with its `exit_code`
/// (2 for a mistake).
pub fn read(
    argv: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    around: &Surroundings,
) -> Result<Task, clap::Error> {
    let matches = command(|name| std::env::var_os(name)).try_get_matches_from(argv)?;
    let cli = Cli::from_arg_matches(&matches)?;
    cli.check(around).map_err(as_usage)
}

/// The same face for both kinds of mistake.
fn as_usage(error: anyhow::Error) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{error:#}\n"))
}

impl Cli {
    fn check(self, around: &Surroundings) -> anyhow::Result<Task> {
        match self.command {
            Command::Run(flags) => Ok(Task::Run(Box::new(flags.check(self.ignored, around)?))),
            Command::Plan(flags) => Ok(Task::Plan(Box::new(flags.check(self.ignored, around)?))),
            Command::Check(flags) => Ok(Task::Check(Box::new(flags.check(self.ignored, around)?))),
            Command::Deletions(flags) => flags.check(around).map(Task::Deletions),
            Command::Token(flags) => Ok(Task::Token(flags.check())),
            Command::Kubeconfig(flags) => Ok(Task::Kubeconfig(Box::new(flags.check(self.ignored, around)?))),
            Command::Manifests(flags) => flags.check(around).map(Task::Manifests),
        }
    }
}

/// The grammar. An empty variable is one that is not set: charts render them so.
fn command(environment: impl Fn(&OsStr) -> Option<OsString>) -> clap::Command {
    let empty = |arg: &clap::Arg| arg.get_env().and_then(&environment).is_some_and(|value| value.is_empty());
    refine(Cli::command(), &|arg| {
        let arg = if empty(&arg) { arg.env(None) } else { arg };
        // One sentence at the end says it for all of them.
        arg.hide_env(true)
    })
}

fn refine(command: clap::Command, change: &dyn Fn(clap::Arg) -> clap::Arg) -> clap::Command {
    command.mut_args(change).mut_subcommands(|command| refine(command, change))
}

/// Of the flags that `run` takes, too, only those about followers are shown. The others are taken and mean nothing here.
fn only_followers(arg: clap::Arg) -> clap::Arg {
    const OTHERS: [Option<&str>; 4] =
        [Some(heading::HUB), Some(heading::SOURCES), Some(heading::GUARD), Some(heading::KUBED)];
    if OTHERS.contains(&arg.get_help_heading()) { arg.hide(true) } else { arg }
}

/// Where flags stand in the help.
mod heading {
    pub(super) const HUB: &str = "Management cluster";
    pub(super) const SOURCES: &str = "What is copied";
    pub(super) const FOLLOWERS: &str = "Where it is copied to";
    pub(super) const AWS: &str = "AWS";
    pub(super) const GUARD: &str = "Deletions";
    pub(super) const KUBED: &str = "Coming from kubed";
    pub(super) const PROCESS: &str = "Process";
    pub(super) const TOKEN: &str = "What the token is for";
    pub(super) const HUB_ROLE: &str = "Hub role";
    pub(super) const FOLLOWER_ROLES: &str = "Followers";
    pub(super) const OUTPUT: &str = "Output";
    pub(super) const SERVER: &str = "Running Towline";
}

#[cfg(test)]
mod tests;
