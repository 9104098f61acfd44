//! As whom AWS is asked.

use super::heading;
use crate::{
    api::{follower::session_name, patterns::Patterns},
    aws::settings::NodeRole,
};
use clap::{Args, builder::BoolishValueParser};
use std::sync::Arc;

#[derive(Debug, Args)]
#[command(next_help_heading = heading::AWS)]
pub(super) struct AwsFlags {
    /// Take the node's role where nothing else says who Towline is
    ///
    /// Every pod of the node has that role, so it is hardly ever what is meant. Without this flag Towline takes the keys in
    /// the environment, AWS_PROFILE, IRSA or EKS Pod Identity, in this order.
    #[arg(
        long,
        env = "TOWLINE_AWS_ALLOW_NODE_ROLE",
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

    /// Roles that --followers-file may name: ARNs, globs, and `!`; all by default
    ///
    /// Example: --allowed-role-arns 'arn:aws:iam::*:role/towline-follower'.
    #[arg(long, env = "TOWLINE_ALLOWED_ROLE_ARNS", value_name = "ARNS")]
    allowed_role_arns: Option<Patterns>,

    /// Source identity of the roles that --followers-file names
    ///
    /// It stays with whatever is done as them, in CloudTrail. Their trust policies must allow sts:SetSourceIdentity; none is set by
    /// default.
    #[arg(long, env = "TOWLINE_AWS_SOURCE_IDENTITY", value_name = "NAME", value_parser = session_name)]
    aws_source_identity: Option<String>,
}

/// As whom AWS is asked.
#[derive(Clone, Debug)]
pub struct AwsIdentity {
    /// `--aws-allow-node-role`.
    pub node_role: NodeRole,
    /// `--allowed-role-arns`.
    pub allowed_roles: Option<Arc<Patterns>>,
    /// `--aws-source-identity`.
    pub source_identity: Option<String>,
}

impl AwsFlags {
    pub(super) fn check(self) -> AwsIdentity {
        let node_role = if self.aws_allow_node_role { NodeRole::Allowed } else { NodeRole::Refused };
        let allowed_roles = self.allowed_role_arns.map(Arc::new);
        AwsIdentity { node_role, allowed_roles, source_identity: self.aws_source_identity }
    }
}
