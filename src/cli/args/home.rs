//! The management cluster, and who Towline is in it.

use super::{heading, values};
use crate::api::names::Namespace;
use anyhow::{Result, anyhow};
use clap::Args;
use std::path::PathBuf;

/// How the management cluster is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::HUB)]
pub(super) struct HubFlags {
    /// Kubeconfig of the management cluster
    ///
    /// Found as kubectl finds it: this flag, KUBECONFIG, ~/.kube/config; without any of them, Towline takes the cluster
    /// that it runs in.
    #[arg(long, env = "TOWLINE_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of that kubeconfig; its current one by default
    #[arg(long, env = "TOWLINE_CONTEXT", value_name = "NAME")]
    context: Option<String>,
}

/// Who Towline is.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::HUB)]
pub(super) struct IdentityFlags {
    /// Name of the management cluster, for people and for kubed's copies
    ///
    /// kubed's flag: keep the name that kubed had. Copies made by Towline are recognised by the cluster's UID instead.
    #[arg(long, env = "TOWLINE_CLUSTER_NAME", value_name = "NAME", default_value = "", hide_default_value = true)]
    cluster_name: String,

    #[command(flatten)]
    home: HomeFlags,

    /// Name of this instance, for people; Towline's namespace by default
    ///
    /// It stands in the marks of copies and tells two instances on one management cluster apart.
    #[arg(long, env = "TOWLINE_INSTANCE", value_name = "NAME", value_parser = values::label)]
    instance: Option<String>,
}

/// Where Towline lives.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::HUB)]
pub(super) struct HomeFlags {
    /// Towline's own namespace: the one it runs in, or `towline`
    ///
    /// Taken from this flag, else POD_NAMESPACE, else the service account's files, else `towline`. The ConfigMap
    /// `towline-approvals` lives there.
    #[arg(long, env = "TOWLINE_NAMESPACE", value_name = "NAMESPACE", value_parser = values::namespace)]
    namespace: Option<Namespace>,
}

/// How the management cluster is reached; neither: as kubectl, else in-cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hub {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`.
    pub context: Option<String>,
}

/// Who Towline is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `--cluster-name`.
    pub cluster_name: Option<String>,
    /// `--namespace`, or where this process runs.
    pub namespace: Namespace,
    /// `--instance`.
    pub instance: String,
}

/// What a process can read about the pod that it runs in.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `POD_NAMESPACE`.
    pub pod_namespace: Option<String>,
    /// The namespace file of the service account.
    pub service_account_namespace: Option<String>,
}

const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
const NAMESPACE: &str = "towline";

impl Surroundings {
    /// As they are.
    pub fn read() -> Self {
        let pod_namespace = std::env::var("POD_NAMESPACE").ok();
        Self { pod_namespace, service_account_namespace: std::fs::read_to_string(NAMESPACE_FILE).ok() }
    }
}

impl HubFlags {
    pub(super) fn check(self) -> Hub {
        Hub { kubeconfig: self.kubeconfig, context: self.context.filter(|context| !context.is_empty()) }
    }
}

impl HomeFlags {
    pub(super) fn check(self, around: &Surroundings) -> Result<Namespace> {
        let named = [("POD_NAMESPACE", &around.pod_namespace), (NAMESPACE_FILE, &around.service_account_namespace)];
        let found = named.into_iter().find_map(|(place, text)| {
            let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
            Some(values::namespace(text).map_err(|allowed| anyhow!("{place}: {allowed}")))
        });
        match (self.namespace, found) {
            (Some(namespace), _) => Ok(namespace),
            (None, Some(found)) => found,
            (None, None) => Ok(Namespace::from(NAMESPACE)),
        }
    }
}

impl IdentityFlags {
    pub(super) fn check(self, around: &Surroundings) -> Result<Identity> {
        let cluster_name = match self.cluster_name.as_str() {
            "" => None,
            name => Some(values::label(name).map_err(|allowed| anyhow!("--cluster-name: {allowed}"))?),
        };
        let namespace = self.home.check(around)?;
        let instance = self.instance.unwrap_or_else(|| namespace.to_string());
        Ok(Identity { cluster_name, namespace, instance })
    }
}
