//! `towline token`.

use super::heading;
use crate::{
    api::follower,
    aws::{chain::Role, settings::NodeRole},
};
use clap::{ArgGroup, Args, builder::BoolishValueParser};

/// No variables: an entry of a kubeconfig must mean the same in every environment, and TOWLINE_CLUSTER_NAME is the name of the
/// management cluster.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("cluster").required(true).args(["cluster_name", "cluster_id"]),
    next_help_heading = heading::TOKEN,
    after_long_help = concat!(
        "Example, a user of a kubeconfig:\n",
        "  exec:\n",
        "    apiVersion: client.authentication.k8s.io/v1\n",
        "    command: towline\n",
        "    args: [token, --cluster-name, prod, --region, eu-west-1]\n",
        "    interactiveMode: Never",
    )
)]
pub(super) struct TokenFlags {
    /// Name of the EKS cluster
    #[arg(long, value_name = "NAME", value_parser = follower::cluster_name)]
    cluster_name: Option<String>,

    /// Id of a cluster: of a local one on an Outpost, or what an authenticator's webhook expects
    #[arg(long, value_name = "ID", value_parser = follower::cluster_id)]
    cluster_id: Option<String>,

    /// Region whose STS checks the token; as AWS_REGION or the profile says by default
    #[arg(long, value_name = "REGION", value_parser = follower::region)]
    region: Option<String>,

    /// Role to assume first
    #[arg(long, value_name = "ARN", value_parser = follower::role_arn)]
    role_arn: Option<String>,

    /// What the role's trust policy asks for
    #[arg(long, value_name = "ID", requires = "role_arn", value_parser = follower::external_id)]
    external_id: Option<String>,

    /// How CloudTrail calls the role's session
    #[arg(long, value_name = "NAME", requires = "role_arn", value_parser = follower::session_name)]
    session_name: Option<String>,

    /// Profile of the shared AWS files; it wins over AWS_PROFILE
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Take the node's role where nothing else says who we are
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = BoolishValueParser::new()
    )]
    aws_allow_node_role: bool,
}

/// `towline token`, checked.
#[derive(Debug, PartialEq, Eq)]
pub struct Token {
    /// `--cluster-name` or `--cluster-id`.
    pub cluster: String,
    /// `--region`.
    pub region: Option<String>,
    /// `--role-arn`, `--external-id`, `--session-name`.
    pub role: Option<Role>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--aws-allow-node-role`.
    pub node_role: NodeRole,
}

impl TokenFlags {
    pub(super) fn check(self) -> Token {
        let (external_id, session_name) = (self.external_id, self.session_name.into());
        Token {
            // clap sees to it that it is one of the two.
            cluster: self.cluster_id.or(self.cluster_name).unwrap_or_default(),
            region: self.region,
            role: self.role_arn.map(|arn| Role { external_id, session_name, ..Role::new(arn) }),
            profile: self.profile.filter(|profile| !profile.is_empty()),
            node_role: if self.aws_allow_node_role { NodeRole::Allowed } else { NodeRole::Refused },
        }
    }
}
