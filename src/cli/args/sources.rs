//! Which objects are sources, and what of them is copied.

use super::{heading, values};
use crate::api::{
    metadata::{CopyAll, MetadataFilter},
    names::Namespace,
    patterns::Patterns,
};
use anyhow::{Result, anyhow, bail};
use clap::{Args, builder::BoolishValueParser};
use std::{collections::BTreeSet, sync::Arc};

#[derive(Debug, Args)]
#[command(next_help_heading = heading::SOURCES)]
pub(super) struct SourceFlags {
    /// Namespaces whose ConfigMaps and Secrets are read; all by default
    ///
    /// Example: --source-namespaces certs,shared. Rights in these namespaces are enough then. Copies of sources from other
    /// namespaces are left as they are.
    #[arg(
        long,
        env = "TOWLINE_SOURCE_NAMESPACES",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = values::namespace
    )]
    source_namespaces: Vec<Namespace>,

    /// kubed's name for --source-namespaces, of one namespace; empty is all
    #[arg(
        long,
        env = "TOWLINE_CONFIG_SOURCE_NAMESPACE",
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    config_source_namespace: String,

    /// Secret types to copy that are refused otherwise
    ///
    /// Allowed are bootstrap.kubernetes.io/token and helm.sh/release.v1. Tokens of service accounts are never copied: no
    /// other cluster accepts them.
    #[arg(
        long,
        env = "TOWLINE_ALLOW_TYPES",
        value_name = "TYPES",
        value_delimiter = ',',
        value_parser = allowed_type
    )]
    allow_types: Vec<String>,

    /// Labels and annotations that copies never carry: keys, globs, and `!` for exceptions
    ///
    /// Example: --exclude-metadata 'team, example.com/*, !example.com/tier'.
    #[arg(long, env = "TOWLINE_EXCLUDE_METADATA", value_name = "KEYS")]
    exclude_metadata: Option<Patterns>,

    /// Labels and annotations to copy although some tool knows its own objects by them
    ///
    /// Marks of Argo CD, Helm, Flux, cert-manager and others stay behind by default: on a copy they would make that tool
    /// adopt or prune it. Example: --include-metadata 'helm.sh/chart'.
    #[arg(long, env = "TOWLINE_INCLUDE_METADATA", value_name = "KEYS")]
    include_metadata: Option<Patterns>,

    /// Copy all labels and annotations
    ///
    /// All but Towline's and kubed's own and kubectl's last-applied-configuration.
    #[arg(
        long,
        env = "TOWLINE_COPY_ALL_METADATA",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = BoolishValueParser::new()
    )]
    copy_all_metadata: bool,
}

/// Which objects are sources, and what of them is copied.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Where sources are read.
    pub namespaces: SourceNamespaces,
    /// Which labels and annotations travel.
    pub metadata: Arc<MetadataFilter>,
    /// `--allow-types`.
    pub allowed_types: Arc<[String]>,
}

/// Where sources are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceNamespaces {
    /// Everywhere: one cluster-wide watch per kind.
    All,
    /// In these, each by watches of its own.
    Only(BTreeSet<Namespace>),
}

const REFUSABLE: [&str; 2] = ["bootstrap.kubernetes.io/token", "helm.sh/release.v1"];
const NEVER: &str = "kubernetes.io/service-account-token";

fn allowed_type(text: &str) -> Result<String, String> {
    match text.trim() {
        NEVER => Err("tokens of service accounts are never copied: no other cluster accepts them".to_owned()),
        text if REFUSABLE.contains(&text) => Ok(text.to_owned()),
        _ => Err(format!("allowed are {}: all other types are copied anyway", REFUSABLE.join(" and "))),
    }
}

impl SourceFlags {
    pub(super) fn check(self) -> Result<Sources> {
        if self.copy_all_metadata && self.exclude_metadata.is_some() {
            bail!("--copy-all-metadata and --exclude-metadata contradict each other: leave one of them out");
        }
        let copy_all = if self.copy_all_metadata { CopyAll::Yes } else { CopyAll::No };
        Ok(Sources {
            namespaces: source_namespaces(self.source_namespaces, &self.config_source_namespace)?,
            metadata: Arc::new(MetadataFilter::new(self.exclude_metadata, self.include_metadata, copy_all)),
            allowed_types: self.allow_types.into(),
        })
    }
}

fn source_namespaces(ours: Vec<Namespace>, kubeds: &str) -> Result<SourceNamespaces> {
    let ours: BTreeSet<_> = ours.into_iter().collect();
    let kubeds = match kubeds.trim() {
        "" => BTreeSet::new(),
        name => [values::namespace(name).map_err(|allowed| anyhow!("--config-source-namespace: {allowed}"))?].into(),
    };
    match (ours.is_empty(), kubeds.is_empty()) {
        (true, true) => Ok(SourceNamespaces::All),
        (false, true) => Ok(SourceNamespaces::Only(ours)),
        (true, false) => Ok(SourceNamespaces::Only(kubeds)),
        (false, false) if ours == kubeds => Ok(SourceNamespaces::Only(ours)),
        (false, false) => bail!(
            "--source-namespaces ({}) and --config-source-namespace ({}) contradict each other: leave the latter out",
            values::join(&ours),
            values::join(&kubeds)
        ),
    }
}
