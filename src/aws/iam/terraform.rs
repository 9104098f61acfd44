//! The same as a Terraform module.
//!
//! Which credentials lead to which account is the caller's business: the module names a provider for each account and
//! declares none. Resources carry their region, so one provider for an account is enough (AWS provider 6).

use super::{
    IamError, Topology,
    access::{self, ClusterAccess},
    names::AccountId,
    policies::Document,
    roles::{self, Role},
};
use std::collections::BTreeSet;

/// Everything in one module.
pub fn all(topology: &Topology) -> Result<String, IamError> {
    let hub = roles::hub(topology);
    // AWS refuses a trust policy that names a role which is not there yet.
    let after = format!("aws_iam_role.{HUB}");
    let parts = [
        settings(accounts(topology).map(provider).chain([provider_of_hub()])),
        role(HUB, &provider_of_hub(), &hub, None)?,
        follower_roles(topology, Some(&after))?,
        access_entries(topology, |access| format!("aws_iam_role.{}.arn", follower(&access.account))),
    ];
    Ok(parts.join("\n"))
}

/// The hub role.
pub fn hub(topology: &Topology) -> Result<String, IamError> {
    let role = role(HUB, &provider_of_hub(), &roles::hub(topology), None)?;
    Ok([settings([provider_of_hub()]), role].join("\n"))
}

/// The follower roles.
pub fn followers(topology: &Topology) -> Result<String, IamError> {
    Ok([settings(accounts(topology).map(provider)), follower_roles(topology, None)?].join("\n"))
}

/// The access entries.
pub fn access(topology: &Topology) -> String {
    [
        settings(accounts(topology).map(provider)),
        access_entries(topology, |access| format!("\"{}\"", access.access_entry.principal_arn)),
    ]
    .join("\n")
}

const HUB: &str = "towline_hub";

fn accounts(topology: &Topology) -> impl Iterator<Item = &AccountId> {
    topology.followers.clusters.keys()
}

fn provider_of_hub() -> String {
    "aws.hub".to_owned()
}

fn provider(account: &AccountId) -> String {
    format!("aws.follower_{account}")
}

fn follower(account: &AccountId) -> String {
    format!("towline_follower_{account}")
}

/// What the module asks of its caller.
fn settings(providers: impl IntoIterator<Item = String>) -> String {
    let providers: BTreeSet<String> = providers.into_iter().collect();
    let call: String = providers.iter().map(|name| format!("#     {name} = {name}\n")).collect();
    let aliases: String = providers.iter().map(|name| format!("        {name},\n")).collect();
    format!(
        "\
# A module. Call it with a provider for each account:
#
# module \"towline\" {{
#   source = \"./towline\"
#   providers = {{
{call}#   }}
# }}

terraform {{
  required_providers {{
    aws = {{
      source  = \"hashicorp/aws\"
      version = \">= 6.0\"
      configuration_aliases = [
{aliases}      ]
    }}
  }}
}}
"
    )
}

fn follower_roles(topology: &Topology, after: Option<&str>) -> Result<String, IamError> {
    let roles = roles::followers(topology);
    let roles = roles.iter().map(|one| role(&follower(&one.account), &provider(&one.account), one, after));
    Ok(roles.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn role(label: &str, provider: &str, role: &Role, after: Option<&str>) -> Result<String, IamError> {
    let after = after.map_or(String::new(), |resource| format!("\n  depends_on = [{resource}]\n"));
    let trust = expression(&role.trust_policy)?;
    let Role { path, role_name, description, .. } = role;
    let mut text = format!(
        "\
resource \"aws_iam_role\" \"{label}\" {{
  provider    = {provider}
  name        = \"{role_name}\"
  path        = \"{path}\"
  description = \"{description}\"

  assume_role_policy = {trust}
{after}}}
"
    );
    for (name, policy) in &role.policies {
        let policy = expression(policy)?;
        text.push_str(&format!(
            "
resource \"aws_iam_role_policy\" \"{label}\" {{
  provider = {provider}
  name     = \"{name}\"
  role     = aws_iam_role.{label}.name

  policy = {policy}
}}
"
        ));
    }
    Ok(text)
}

/// JSON is an expression of Terraform, as long as no text in it has `${`: no name can hold one.
fn expression(document: &Document) -> Result<String, IamError> {
    Ok(format!("jsonencode({})", serde_json::to_string_pretty(document)?.replace('\n', "\n  ")))
}

fn access_entries(topology: &Topology, principal: impl Fn(&ClusterAccess) -> String) -> String {
    let entries = access::access(topology);
    let entries: Vec<String> = entries.iter().map(|access| access_entry(access, &principal(access))).collect();
    let note = "\
# A cluster that authenticates by aws-auth alone (authentication mode CONFIG_MAP) takes no access entry: leave its out, and add
# to mapRoles of its ConfigMap kube-system/aws-auth what `towline manifests iam --part access --output json` shows.
";
    format!("{note}{}", entries.join("\n"))
}

fn access_entry(access: &ClusterAccess, principal: &str) -> String {
    let ClusterAccess { account, region, access_entry: entry, .. } = access;
    let groups = entry.kubernetes_groups.map(|group| format!("\"{group}\"")).join(", ");
    format!(
        "\
resource \"aws_eks_access_entry\" \"towline_{account}_{region}_{name}\" {{
  provider          = {provider}
  region            = \"{region}\"
  cluster_name      = \"{name}\"
  principal_arn     = {principal}
  kubernetes_groups = [{groups}]
  type              = \"{kind}\"
}}
",
        name = entry.cluster_name,
        provider = provider(account),
        kind = entry.kind,
    )
}
