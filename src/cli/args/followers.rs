//! Which followers there are, and what may go where in them.

use super::{AwsIdentity, Identity, aws::AwsFlags, heading, values};
use crate::api::{names::Namespace, patterns::Patterns, policy::Policy};
use anyhow::{Result, anyhow, bail};
use clap::{Args, builder::BoolishValueParser};
use std::{
    collections::BTreeSet,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Debug, Args)]
#[command(next_help_heading = heading::FOLLOWERS)]
pub(super) struct FollowerFlags {
    /// Kubeconfig of the followers: each context is one
    ///
    /// kubed's flag. A follower is named like its context. The namespace of a context, if it has one, is where its copies go; else they go into the namespace that
    /// is named like the source's. Read again when it changes; a context that was removed leaves its copies.
    #[arg(long, env = "TOWLINE_KUBECONFIG_FILE", value_name = "FILE", default_value = "", hide_default_value = true)]
    kubeconfig_file: String,

    /// Followers with labels and policies of their own: a YAML list of name, labels and spec
    ///
    /// For clusters that are reached by AWS credentials. Read again when it changes: a mistake in an entry leaves that
    /// follower as it was, and one that was removed keeps its copies. A context of --kubeconfig-file wins its name.
    #[arg(long, env = "TOWLINE_FOLLOWERS_FILE", value_name = "FILE")]
    followers_file: Option<PathBuf>,

    /// Followers to serve: names, globs, and `!` for exceptions; all by default
    ///
    /// The others are not connected to, and their copies stay as they are. Example: --only-followers 'dev-*, !dev-old'.
    #[arg(long, env = "TOWLINE_ONLY_FOLLOWERS", value_name = "NAMES")]
    only_followers: Option<Patterns>,

    /// Serve kubed.appscode.com/sync: copies inside the management cluster
    #[arg(
        long,
        env = "TOWLINE_LOCAL_SYNC",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "true",
        hide_possible_values = true,
        value_parser = BoolishValueParser::new()
    )]
    local_sync: bool,

    /// Namespaces of followers that copies may be in: names, globs, and `!`; all by default
    ///
    /// Nothing is made anywhere else. Where all of them are names, rights in these namespaces are enough. Example:
    /// --target-namespaces ingress,web.
    #[arg(long, env = "TOWLINE_TARGET_NAMESPACES", value_name = "NAMES")]
    target_namespaces: Option<Patterns>,

    /// Policy: which sources may use the privileged annotations, and where (YAML)
    ///
    /// Without one, a source is copied under its own name into the namespace that is named like its own (or the context's),
    /// and never over an object that Towline did not make.
    #[arg(long, env = "TOWLINE_POLICY_FILE", value_name = "FILE")]
    policy_file: Option<PathBuf>,

    /// Namespaces that Towline's annotations reach only where a policy rule names them
    ///
    /// Default: kube-system,kube-public,kube-node-lease and Towline's own. A list takes the place of all four.
    #[arg(
        long,
        env = "TOWLINE_PROTECTED_NAMESPACES",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = values::namespace
    )]
    protected_namespaces: Vec<Namespace>,

    #[command(flatten)]
    aws: AwsFlags,
}

/// Which followers there are, and what may go where in them.
#[derive(Clone, Debug)]
pub struct Followers {
    /// As whom AWS is asked.
    pub aws: AwsIdentity,
    /// `--kubeconfig-file`.
    pub kubeconfig_file: Option<PathBuf>,
    /// `--followers-file`.
    pub followers_file: Option<PathBuf>,
    /// `--only-followers`.
    pub only: Option<Patterns>,
    /// `--local-sync`: the management cluster is a follower of itself.
    pub local_sync: bool,
    /// `--target-namespaces`.
    pub target_namespaces: Option<Arc<Patterns>>,
    /// The policy of all followers: `--policy-file`, or no rule and open base routes.
    pub policy: Arc<Policy>,
    /// `--protected-namespaces`.
    pub protected: Arc<BTreeSet<Namespace>>,
}

const SYSTEM: &str = "kube-system";
const PROTECTED: [&str; 3] = [SYSTEM, "kube-public", "kube-node-lease"];
/// Far more than anybody writes, far less than a file that somebody named by mistake may hold.
const LONGEST_POLICY: u64 = 1 << 20;

impl FollowerFlags {
    pub(super) fn check(self, identity: &Identity, warnings: &mut Vec<String>) -> Result<Followers> {
        let kubeconfig_file = Some(self.kubeconfig_file).filter(|path| !path.is_empty()).map(PathBuf::from);
        let none = kubeconfig_file.is_none() && self.followers_file.is_none();
        if none && !self.local_sync {
            bail!(
                "there is nowhere to copy to: give --kubeconfig-file or --followers-file, or leave out --local-sync=false"
            );
        }
        if none && self.only_followers.is_some() {
            bail!("--only-followers needs --kubeconfig-file or --followers-file: without one there are no followers");
        }
        let policy = self.policy_file.as_deref().map(read_policy).transpose()?;
        Ok(Followers {
            kubeconfig_file,
            aws: self.aws.check(),
            followers_file: self.followers_file,
            only: self.only_followers,
            local_sync: self.local_sync,
            target_namespaces: self.target_namespaces.map(Arc::new),
            policy: Arc::new(policy.unwrap_or_default()),
            protected: Arc::new(protected(self.protected_namespaces, &identity.namespace, warnings)),
        })
    }
}

fn protected(named: Vec<Namespace>, own: &Namespace, warnings: &mut Vec<String>) -> BTreeSet<Namespace> {
    if named.is_empty() {
        return PROTECTED.into_iter().map(Namespace::from).chain([own.clone()]).collect();
    }
    if !named.iter().any(|namespace| namespace.as_str() == SYSTEM) {
        warnings.push(format!("--protected-namespaces does not name {SYSTEM}: sources may be copied into it"));
    }
    named.into_iter().collect()
}

fn read_policy(path: &Path) -> Result<Policy> {
    let place = path.display();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST_POLICY + 1).read_to_string(&mut text))
        .map_err(|error| anyhow!("--policy-file {place}: {}", error.kind()))?;
    if text.len() as u64 > LONGEST_POLICY {
        bail!("--policy-file {place}: more than 1 MiB is not a policy");
    }
    Policy::parse(&text).map_err(|mistake| match mistake.line {
        0 => anyhow!("{place}: {}", mistake.problem),
        line => anyhow!("{place}:{line}:{}: {}", mistake.column, mistake.problem),
    })
}
