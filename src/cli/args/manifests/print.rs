//! What is printed, and how.

use super::super::heading;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = heading::OUTPUT)]
pub(super) struct OutputFlags {
    /// What is printed: a document, a Terraform module, or a CloudFormation template
    #[arg(long, short, env = "TOWLINE_OUTPUT", value_name = "FORMAT", value_enum, default_value_t = Format::Json)]
    output: Format,

    /// Print one part; all by default
    #[arg(long, env = "TOWLINE_PART", value_name = "PART", value_enum)]
    part: Option<Part>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// RBAC, which is for kubectl in any case.
    Rbac,
    /// One part, or all, as JSON.
    Json(Option<RolePart>),
    /// One part, or all but RBAC, as a Terraform module.
    Terraform(Option<RolePart>),
    /// One CloudFormation template.
    CloudFormation(RolePart),
}

/// A part that AWS is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolePart {
    /// The hub role.
    Hub,
    /// The follower roles.
    Followers,
    /// The access to clusters.
    Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Policies by name, commands, aws-auth lines, RBAC
    Json,
    /// A module that takes a provider for each account
    Terraform,
    /// One template: add --part
    #[value(name = "cloudformation")]
    CloudFormation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The hub role
    Hub,
    /// The follower roles
    Followers,
    /// What lets the follower roles into their clusters
    Access,
    /// The group's rights in followers, as YAML for kubectl in any format
    Rbac,
}

impl OutputFlags {
    pub(super) fn check(&self) -> Result<Print> {
        let part = match self.part {
            Some(Part::Rbac) => return Ok(Print::Rbac),
            Some(Part::Hub) => Some(RolePart::Hub),
            Some(Part::Followers) => Some(RolePart::Followers),
            Some(Part::Access) => Some(RolePart::Access),
            None => None,
        };
        match (self.output, part) {
            (Format::Json, part) => Ok(Print::Json(part)),
            (Format::Terraform, part) => Ok(Print::Terraform(part)),
            (Format::CloudFormation, Some(part)) => Ok(Print::CloudFormation(part)),
            (Format::CloudFormation, None) => bail!(
                "--output cloudformation prints one template: add --part hub (for the hub account), followers (for one region \
                 of each follower account) or access (for each of their regions)"
            ),
        }
    }
}
