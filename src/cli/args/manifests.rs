//! `towline manifests`.

mod print;

pub use print::{Print, RolePart};

use super::{Surroundings, heading, home::HomeFlags, values};
use crate::{
    api::names::Namespace,
    aws::iam::{
        self, Cluster, Hub, Identity, Topology, Trust,
        names::{
            AccountId, Audience, ClusterName, ExternalId, Issuer, Partition, Region, RoleName, ServiceAccountName,
        },
        policies,
    },
};
use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use print::OutputFlags;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Subcommand)]
pub(super) enum ManifestsFlags {
    /// Print the IAM roles, access entries and RBAC that Towline needs on AWS, and no more
    ///
    /// Nothing is asked of AWS and nothing is changed. A hub role, which Towline's pod starts as, may assume a follower role in
    /// each account, which may look up the clusters named and is let into them as member of the group `towline`.
    #[command(
        after_help = with_environment!(),
        after_long_help = with_environment!(
            "Examples:\n",
            "  # All of it, Towline running with EKS Pod Identity\n",
            "  towline manifests iam --hub-account 111111111111 \\\n",
            "    --follower 222222222222/eu-west-1/prod --follower 333333333333/us-east-1/dev\n\n",
            "  # With IAM roles for service accounts, as a Terraform module\n",
            "  towline manifests iam --hub-account 111111111111 \\\n",
            "    --irsa-issuer https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF \\\n",
            "    --follower 222222222222/eu-west-1/prod --output terraform > main.tf\n\n",
            "  # The group's rights, for each follower\n",
            "  towline manifests iam … --part rbac > rbac.yaml\n",
            "  kubectl --context FOLLOWER apply -f rbac.yaml\n\n",
        )
    )]
    Iam(Box<IamFlags>),
}

#[derive(Debug, Args)]
pub(super) struct IamFlags {
    #[command(flatten)]
    hub: HubRoleFlags,
    #[command(flatten)]
    followers: FollowerRoleFlags,
    #[command(flatten)]
    home: HomeFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Debug, Args)]
#[command(next_help_heading = heading::HUB_ROLE)]
struct HubRoleFlags {
    /// Account of the hub role
    ///
    /// For IRSA the account of the IAM OIDC provider, for Pod Identity that of the management cluster.
    #[arg(long, env = "TOWLINE_HUB_ACCOUNT", value_name = "ACCOUNT", value_parser = AccountId::parse)]
    hub_account: AccountId,

    /// Name of the role that Towline's pod starts as, with its path if it has one
    #[arg(
        long,
        env = "TOWLINE_HUB_ROLE",
        value_name = "[PATH/]NAME",
        default_value = "towline",
        value_parser = RoleName::parse
    )]
    hub_role: RoleName,

    /// How the pod comes by it: irsa if --irsa-issuer is given, else pod-identity
    #[arg(long, env = "TOWLINE_IDENTITY", value_name = "WAY", value_enum)]
    identity: Option<Way>,

    /// OIDC issuer of the management cluster; IAM must know it as a provider
    ///
    /// aws eks describe-cluster --name NAME --query cluster.identity.oidc.issuer
    #[arg(long, env = "TOWLINE_IRSA_ISSUER", value_name = "URL", value_parser = Issuer::parse)]
    irsa_issuer: Option<Issuer>,

    /// Whom the pod's web identity token is for, if its ServiceAccount does not leave that to EKS
    ///
    /// The same in all partitions, unless the ServiceAccount is annotated eks.amazonaws.com/audience.
    #[arg(
        long,
        env = "TOWLINE_IRSA_AUDIENCE",
        value_name = "AUDIENCE",
        default_value = "sts.amazonaws.com",
        value_parser = Audience::parse
    )]
    irsa_audience: Audience,

    /// The only cluster whose pods may have the role (Pod Identity); any of the account by default
    #[arg(long, env = "TOWLINE_HUB_CLUSTER", value_name = "REGION/CLUSTER", value_parser = cluster)]
    hub_cluster: Option<Cluster>,

    /// Towline's ServiceAccount
    #[arg(
        long,
        env = "TOWLINE_SERVICE_ACCOUNT",
        value_name = "NAME",
        default_value = "towline",
        value_parser = ServiceAccountName::parse
    )]
    service_account: ServiceAccountName,
}

#[derive(Debug, Args)]
#[command(next_help_heading = heading::FOLLOWER_ROLES)]
struct FollowerRoleFlags {
    /// An EKS cluster that copies go to; repeat it, or separate several by commas
    #[arg(
        long,
        env = "TOWLINE_FOLLOWER",
        value_name = "ACCOUNT/REGION/CLUSTER",
        required = true,
        value_delimiter = ',',
        value_parser = Follower::parse
    )]
    follower: Vec<Follower>,

    /// Name of the role in each follower account, with its path if it has one
    #[arg(
        long,
        env = "TOWLINE_FOLLOWER_ROLE",
        value_name = "[PATH/]NAME",
        default_value = "towline-follower",
        value_parser = RoleName::parse
    )]
    follower_role: RoleName,

    /// Whom the follower roles trust
    #[arg(
        long,
        env = "TOWLINE_FOLLOWER_TRUST",
        value_name = "WHOM",
        value_enum,
        default_value_t = Trusted::HubRole
    )]
    follower_trust: Trusted,

    /// External ID that Towline must give to assume the follower roles; none by default
    #[arg(long, env = "TOWLINE_EXTERNAL_ID", value_name = "ID", value_parser = ExternalId::parse)]
    external_id: Option<ExternalId>,

    /// Partition of all accounts: aws, aws-cn, aws-us-gov …; that of the regions by default
    #[arg(long, env = "TOWLINE_PARTITION", value_name = "NAME", value_parser = Partition::parse)]
    partition: Option<Partition>,

    /// Namespaces of followers that copies may be in, by name; rights are granted there only
    ///
    /// All namespaces by default. Give the same to `towline run`.
    #[arg(
        long,
        env = "TOWLINE_TARGET_NAMESPACES",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = values::namespace
    )]
    target_namespaces: Vec<Namespace>,
}

/// `towline manifests`, checked.
#[derive(Debug)]
pub enum Manifests {
    /// `towline manifests iam`.
    Iam(Box<Iam>),
}

/// `towline manifests iam`, checked: it fits into what IAM takes.
#[derive(Debug)]
pub struct Iam {
    /// Who is who.
    pub topology: Topology,
    /// `--target-namespaces`; none: all.
    pub target_namespaces: BTreeSet<Namespace>,
    /// `--output` and `--part`.
    pub print: Print,
}

/// How a pod comes by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    /// IAM roles for service accounts
    Irsa,
    /// EKS Pod Identity
    PodIdentity,
}

/// Whom the follower roles trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Trusted {
    /// The hub role, which must exist before them
    HubRole,
    /// The hub account, on condition that the hub role asks: outlives that role
    HubAccount,
}

/// `ACCOUNT/REGION/CLUSTER`.
#[derive(Clone, Debug)]
struct Follower {
    account: AccountId,
    cluster: Cluster,
}

impl Follower {
    fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.trim().split('/').collect();
        let [account, region, name] = parts.as_slice() else {
            return Err("allowed is ACCOUNT/REGION/CLUSTER, such as 222222222222/eu-west-1/prod".to_owned());
        };
        let cluster = Cluster { region: Region::parse(region)?, name: ClusterName::parse(name)? };
        Ok(Self { account: AccountId::parse(account)?, cluster })
    }
}

fn cluster(text: &str) -> Result<Cluster, String> {
    let parts = text.split_once('/').ok_or("allowed is REGION/CLUSTER, such as eu-west-1/management")?;
    Ok(Cluster { region: Region::parse(parts.0)?, name: ClusterName::parse(parts.1)? })
}

impl ManifestsFlags {
    pub(super) fn check(self, around: &Surroundings) -> Result<Manifests> {
        match self {
            Self::Iam(flags) => Ok(Manifests::Iam(Box::new(flags.check(around)?))),
        }
    }
}

impl IamFlags {
    fn check(self, around: &Surroundings) -> Result<Iam> {
        let print = self.output.check()?;
        let partition = self.partition()?;
        let target_namespaces = self.followers.target_namespaces.iter().cloned().collect();
        let hub = self.hub.check(self.home.check(around)?)?;
        let topology = Topology { partition, hub, followers: self.followers.check() };
        let Topology { hub, followers, .. } = &topology;
        if followers.clusters.contains_key(&hub.account) && followers.role.name() == hub.role.name() {
            bail!(
                "account {} cannot have two roles {}: change --hub-role or --follower-role",
                hub.account,
                hub.role.name()
            );
        }
        policies::check_sizes(&topology)?;
        Ok(Iam { topology, target_namespaces, print })
    }

    /// No role can be assumed across partitions, so all regions must be in one.
    fn partition(&self) -> Result<Partition> {
        let clusters = self.followers.follower.iter().map(|follower| &follower.cluster);
        let mut regions = clusters.chain(&self.hub.hub_cluster).map(|cluster| &cluster.region);
        let partition = self.followers.partition.or_else(|| regions.clone().next().map(Partition::of));
        let partition = partition.unwrap_or(Partition::AWS);
        if let Some(region) = regions.find(|region| Partition::of(region) != partition) {
            let other = Partition::of(region);
            bail!(
                "region {region} is in partition {other}, not in {partition}: no role can be assumed across partitions, \
                 so name followers of one only"
            );
        }
        Ok(partition)
    }
}

impl HubRoleFlags {
    fn check(self, namespace: Namespace) -> Result<Hub> {
        let identity = match (self.identity, self.irsa_issuer, self.hub_cluster) {
            (Some(Way::PodIdentity), Some(_), _) => {
                bail!("--identity pod-identity and --irsa-issuer contradict each other: leave one out")
            }
            (Some(Way::Irsa), None, _) => bail!("--identity irsa needs --irsa-issuer"),
            (_, Some(_), Some(_)) => {
                bail!("--hub-cluster is for Pod Identity: --irsa-issuer already stands for one cluster")
            }
            (_, Some(issuer), None) => Identity::Irsa { issuer, audience: self.irsa_audience },
            (_, None, cluster) => Identity::PodIdentity { cluster },
        };
        let Self { hub_account: account, hub_role: role, service_account, .. } = self;
        Ok(Hub { account, role, identity, namespace, service_account })
    }
}

impl FollowerRoleFlags {
    fn check(self) -> iam::Followers {
        let mut clusters: BTreeMap<AccountId, BTreeSet<Cluster>> = BTreeMap::new();
        for Follower { account, cluster } in self.follower {
            clusters.entry(account).or_default().insert(cluster);
        }
        let trust = match self.follower_trust {
            Trusted::HubRole => Trust::Role,
            Trusted::HubAccount => Trust::Account,
        };
        iam::Followers { role: self.follower_role, external_id: self.external_id, trust, clusters }
    }
}
