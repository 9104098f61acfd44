//! `towline deletions list` and `towline deletions approve`.

use super::{
    Hub, Output, Surroundings, heading,
    home::{HomeFlags, HubFlags},
    plan::OutputFlags,
};
use crate::api::names::Namespace;
use anyhow::Result;
use clap::{Args, Subcommand};
use std::fmt;

#[derive(Debug, Subcommand)]
pub(super) enum DeletionsFlags {
    /// List what is held: a batch for each follower, with the digest that approves it
    #[command(after_help = with_environment!())]
    List(ListFlags),
    /// Let batches go: exactly the copies that `list` shows under these digests
    ///
    /// Reads the batches from the running Towline and writes them to the ConfigMap `towline-approvals` in its namespace. A
    /// batch that has changed since has another digest.
    #[command(
        after_help = with_environment!(),
        after_long_help = with_environment!(
            "Example:\n",
            "  kubectl --namespace towline port-forward deployment/towline 8080 &\n",
            "  towline deletions list\n",
            "  towline deletions approve 0123456789abcdef\n\n",
        )
    )]
    Approve(ApproveFlags),
}

#[derive(Debug, Args)]
pub(super) struct ListFlags {
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Debug, Args)]
pub(super) struct ApproveFlags {
    /// Digests as `towline deletions list` shows them
    #[arg(value_name = "DIGEST", required = true, value_parser = BatchDigest::parse)]
    digests: Vec<BatchDigest>,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    hub: HubFlags,
    #[command(flatten)]
    home: HomeFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = heading::SERVER)]
struct ServerFlags {
    /// Where the running Towline listens (its --listen), for example through `kubectl port-forward`
    #[arg(
        long,
        env = "TOWLINE_ADDRESS",
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        value_parser = ServerUrl::parse
    )]
    address: ServerUrl,
}

/// `towline deletions`, checked.
#[derive(Debug)]
pub enum Deletions {
    /// Print what is held.
    List(List),
    /// Approve some of it.
    Approve(Approve),
}

/// `towline deletions list`.
#[derive(Debug)]
pub struct List {
    /// The running Towline.
    pub address: ServerUrl,
    /// `--output`.
    pub output: Output,
}

/// `towline deletions approve`.
#[derive(Debug)]
pub struct Approve {
    /// What to approve: at least one, in the order given.
    pub digests: Vec<BatchDigest>,
    /// The running Towline, which knows what the digests stand for.
    pub address: ServerUrl,
    /// The management cluster.
    pub hub: Hub,
    /// Where the ConfigMap `towline-approvals` is written.
    pub namespace: Namespace,
}

/// A batch of held deletions: the first 16 hex digits of a SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchDigest(String);

impl BatchDigest {
    fn parse(text: &str) -> Result<Self, String> {
        let fits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if fits {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err("allowed are the 16 hex digits that `towline deletions list` shows".to_owned())
        }
    }

    /// In lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BatchDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Scheme and authority of a running Towline: `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    fn parse(text: &str) -> Result<Self, String> {
        let uri = text.parse::<http::Uri>().ok();
        let plain = uri.filter(|uri| uri.scheme_str() == Some("http") && uri.path() == "/" && uri.query().is_none());
        match plain.as_ref().and_then(http::Uri::authority) {
            Some(authority) if !authority.host().is_empty() && !authority.as_str().contains('@') => {
                Ok(Self(format!("http://{authority}")))
            }
            _ => Err("allowed is an address such as http://127.0.0.1:8080".to_owned()),
        }
    }

    /// Without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl DeletionsFlags {
    pub(super) fn check(self, around: &Surroundings) -> Result<Deletions> {
        match self {
            Self::List(flags) => {
                Ok(Deletions::List(List { address: flags.server.address, output: flags.output.output }))
            }
            Self::Approve(flags) => Ok(Deletions::Approve(Approve {
                digests: flags.digests,
                address: flags.server.address,
                hub: flags.hub.check(),
                namespace: flags.home.check(around)?,
            })),
        }
    }
}
