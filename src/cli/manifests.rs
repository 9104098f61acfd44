//! `towline manifests`: what somebody applies before Towline can run. Text from flags, and nothing else.

mod rbac;

use super::{
    args::{Iam, Manifests, Print, RolePart},
    output,
};
use crate::aws::iam::{
    IamError, Topology,
    access::{self, ClusterAccess},
    cloudformation,
    roles::{self, Role},
    terraform,
};
use anyhow::Result;
use serde::Serialize;
use std::process::ExitCode;

/// All of it in one document.
#[derive(Serialize)]
struct Bundle {
    hub: Role,
    followers: Vec<Role>,
    access: Vec<ClusterAccess>,
    /// YAML for `kubectl apply`.
    rbac: String,
}

/// Prints.
pub fn manifests(manifests: &Manifests) -> Result<ExitCode> {
    let Manifests::Iam(iam) = manifests;
    output::print(&text(iam)?)?;
    Ok(ExitCode::SUCCESS)
}

fn text(iam: &Iam) -> Result<String, IamError> {
    let topology = &iam.topology;
    match iam.print {
        Print::Rbac => Ok(rbac::rbac(&iam.target_namespaces)),
        Print::Json(None) => json(&bundle(iam)),
        Print::Json(Some(part)) => json_part(topology, part),
        Print::Terraform(None) => terraform::all(topology),
        Print::Terraform(Some(RolePart::Hub)) => terraform::hub(topology),
        Print::Terraform(Some(RolePart::Followers)) => terraform::followers(topology),
        Print::Terraform(Some(RolePart::Access)) => Ok(terraform::access(topology)),
        Print::CloudFormation(RolePart::Hub) => cloudformation::hub(topology),
        Print::CloudFormation(RolePart::Followers) => cloudformation::followers(topology),
        Print::CloudFormation(RolePart::Access) => cloudformation::access(topology),
    }
}

fn bundle(iam: &Iam) -> Bundle {
    let topology = &iam.topology;
    Bundle {
        hub: roles::hub(topology),
        followers: roles::followers(topology),
        access: access::access(topology),
        rbac: rbac::rbac(&iam.target_namespaces),
    }
}

fn json_part(topology: &Topology, part: RolePart) -> Result<String, IamError> {
    match part {
        RolePart::Hub => json(&roles::hub(topology)),
        RolePart::Followers => json(&roles::followers(topology)),
        RolePart::Access => json(&access::access(topology)),
    }
}

fn json(value: &impl Serialize) -> Result<String, IamError> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
