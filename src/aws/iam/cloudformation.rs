//! The same as CloudFormation templates: one for the hub account, two for StackSets over the follower accounts.
//!
//! One template serves all follower accounts: by the account (and region) that it runs in, it finds the clusters that are
//! meant. So a StackSet needs no parameter of its own for any account.

mod template;

use super::{
    IamError, Topology,
    access::{self, ClusterAccess},
    policies::{self, Caller},
    roles::{self, FOLLOWER_POLICY},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use template::{Entry, Policy, Resource, Role, Template};

/// Accounts in one mapping.
const MOST_ACCOUNTS: usize = 200;
/// Resources in one template.
const MOST_ENTRIES: usize = 500;

/// The template of the hub account.
pub fn hub(topology: &Topology) -> Result<String, IamError> {
    let roles::Role { path, role_name, description, trust_policy, policies, .. } = roles::hub(topology);
    let named = |(policy_name, policy_document)| Policy { policy_name, policy_document };
    let role = Role {
        path,
        role_name,
        description,
        assume_role_policy_document: trust_policy,
        policies: policies.into_iter().map(named).collect(),
    };
    let text = "The hub role of Towline, which its pod starts as. Deploy once, in the hub account.";
    role_template(text, "HubRole", role).write()
}

/// The template of the follower accounts: the role. IAM is global: deploy it in one region of each account.
pub fn followers(topology: &Topology) -> Result<String, IamError> {
    let accounts: Map<String, Value> =
        topology.cluster_arns().map(|(account, arns)| (account.to_string(), json!({"Arns": arns}))).collect();
    fits("template of the follower roles", accounts.len(), "accounts", MOST_ACCOUNTS)?;
    let clusters = json!({"Fn::FindInMap": ["Clusters", {"Ref": "AWS::AccountId"}, "Arns"]});
    let policy = Policy { policy_name: FOLLOWER_POLICY, policy_document: policies::follower_policy(clusters) };
    let role = Role {
        path: topology.followers.role.path().to_owned(),
        role_name: topology.followers.role.name().to_owned(),
        description: roles::FOLLOWER_DESCRIPTION,
        assume_role_policy_document: policies::trust_in(topology, &caller(topology)),
        policies: vec![policy],
    };
    let text = "The follower role of Towline. Deploy in one region of each follower account.";
    let mut template = role_template(text, "FollowerRole", role);
    template.parameters = parameters(topology);
    template.mappings = named("Clusters", Value::Object(accounts));
    template.write()
}

fn role_template(description: &'static str, name: &str, role: Role) -> Template<Role> {
    let resource = Resource { kind: "AWS::IAM::Role", condition: None, properties: role };
    let mut template = Template::of(description, BTreeMap::from([(name.to_owned(), resource)]));
    template.outputs = named("RoleArn", json!({"Value": {"Fn::GetAtt": [name, "Arn"]}}));
    template
}

/// The template of the access entries. They are regional: deploy it in all regions of each follower account that have
/// clusters; each stack makes those of its own account and region.
pub fn access(topology: &Topology) -> Result<String, IamError> {
    let all = access::access(topology);
    fits("template of the access entries", all.len(), "clusters", MOST_ENTRIES)?;
    let conditions = all.iter().map(|access| (condition(access), is_here(access))).collect();
    let text = "Lets the follower role of Towline into its clusters. Deploy in each account and region that has some.";
    let mut template = Template::of(text, all.into_iter().map(|access| (logical_id(&access), entry(access))).collect());
    template.conditions = conditions;
    template.write()
}

fn entry(access: ClusterAccess) -> Resource<Entry> {
    let condition = Some(condition(&access));
    Resource { kind: "AWS::EKS::AccessEntry", condition, properties: Entry(access.access_entry) }
}

fn is_here(access: &ClusterAccess) -> Value {
    json!({"Fn::And": [
        {"Fn::Equals": [{"Ref": "AWS::AccountId"}, access.account]},
        {"Fn::Equals": [{"Ref": "AWS::Region"}, access.region]},
    ]})
}

fn condition(access: &ClusterAccess) -> String {
    format!("In{}{}", access.account, alphanumeric(access.region.as_str()))
}

/// Made of the place alone, not of its position: one more cluster in the list must not replace another one's entry.
fn logical_id(access: &ClusterAccess) -> String {
    let (region, name) = (access.region.as_str(), access.access_entry.cluster_name.as_str());
    format!("Entry{}{}Zs{}", access.account, alphanumeric(region), alphanumeric(name))
}

/// Letters and digits that no other name is turned into.
fn alphanumeric(name: &str) -> String {
    name.replace('Z', "ZZ").replace('-', "Zd").replace('_', "Zu")
}

fn parameters(topology: &Topology) -> Map<String, Value> {
    let role = json!({
        "Type": "String",
        "Description": "The role that Towline's pod starts as",
        "Default": topology.hub_role(),
        "AllowedPattern": "arn:[a-z-]+:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+",
    });
    let mut parameters = named("HubRoleArn", role);
    if let Some(id) = &topology.followers.external_id {
        let id = json!({
            "Type": "String",
            "Description": "What Towline must say to assume the role",
            "Default": id,
            "AllowedPattern": "[A-Za-z0-9+=,.@:/_-]{2,1224}",
        });
        parameters.insert("ExternalId".to_owned(), id);
    }
    parameters
}

fn caller(topology: &Topology) -> Caller {
    let role = json!({"Ref": "HubRoleArn"});
    let account = json!({"Fn::Select": [4, {"Fn::Split": [":", role]}]});
    let root = "arn:${AWS::Partition}:iam::${Account}:root";
    Caller {
        account: json!({"Fn::Sub": [root, {"Account": account}]}),
        role,
        external_id: topology.followers.external_id.as_ref().map(|_| json!({"Ref": "ExternalId"})),
    }
}

fn fits(what: &str, size: usize, unit: &'static str, most: usize) -> Result<(), IamError> {
    if size > most {
        let advice = "name fewer at a time, and deploy several templates";
        return Err(IamError::TooLarge { what: what.to_owned(), size, unit, most, advice });
    }
    Ok(())
}

fn named(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}
