//! What is granted, to whom, on what: policy documents as values.
//!
//! Principals, resources and conditions are JSON values, because a template puts a function of its own (`{"Ref": …}`) where
//! the other formats have the text.

use super::{Cluster, IamError, Identity, Topology, Trust};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A policy document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Document {
    version: &'static str,
    statement: Vec<Statement>,
}

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Statement {
    sid: &'static str,
    effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Value>,
    action: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    condition: Map<String, Value>,
}

/// What the trust of a follower role is about: texts, or functions of a template.
pub(super) struct Caller {
    /// The ARN of the hub role.
    pub(super) role: Value,
    /// The ARN of its account's root.
    pub(super) account: Value,
    /// The external ID, if it must say one.
    pub(super) external_id: Option<Value>,
}

/// Characters of all policies inside one role, blanks not counted.
const LARGEST_POLICY: usize = 10_240;
/// Characters of a trust policy, unless AWS was asked for more.
const LARGEST_TRUST: usize = 2_048;

/// Who may be the hub role: Towline's ServiceAccount of one cluster.
pub fn hub_trust(topology: &Topology) -> Document {
    let hub = &topology.hub;
    let statement = match &hub.identity {
        Identity::Irsa { issuer, audience } => {
            let issuer = issuer.as_str();
            let provider = format!("arn:{}:iam::{}:oidc-provider/{issuer}", topology.partition, hub.account);
            let subject = format!("system:serviceaccount:{}:{}", hub.namespace, hub.service_account);
            Statement::allow("StartAsServiceAccount", vec!["sts:AssumeRoleWithWebIdentity"])
                .to(json!({ "Federated": provider }))
                .only_if("StringEquals", &format!("{issuer}:aud"), audience.as_str())
                .only_if("StringEquals", &format!("{issuer}:sub"), subject)
        }
        Identity::PodIdentity { cluster } => {
            // Whoever may make associations in the account could give the role to any pod: the tags say which pod it is.
            let statement = Statement::allow("StartAsServiceAccount", vec!["sts:AssumeRole", "sts:TagSession"])
                .to(json!({ "Service": "pods.eks.amazonaws.com" }))
                .only_if("StringEquals", "aws:RequestTag/kubernetes-namespace", hub.namespace.as_str())
                .only_if("StringEquals", "aws:RequestTag/kubernetes-service-account", hub.service_account.as_str());
            with_cluster(statement, topology, cluster.as_ref())
        }
    };
    Document::of(vec![statement])
}

fn with_cluster(statement: Statement, topology: &Topology, cluster: Option<&Cluster>) -> Statement {
    let Some(cluster) = cluster else { return statement };
    let arn = topology.cluster(&topology.hub.account, cluster);
    statement.only_if("StringEquals", "aws:RequestTag/eks-cluster-arn", arn)
}

/// What the hub role may do: become exactly the follower roles.
pub fn hub_policy(topology: &Topology) -> Document {
    let mut actions = vec!["sts:AssumeRole"];
    if topology.tags_sessions() {
        actions.push("sts:TagSession");
    }
    let roles: Vec<String> =
        topology.followers.clusters.keys().map(|account| topology.follower_role(account)).collect();
    Document::of(vec![Statement::allow("AssumeFollowerRoles", actions).on(json!(roles))])
}

/// Who may become a follower role: the hub role.
pub fn follower_trust(topology: &Topology) -> Document {
    let account = format!("arn:{}:iam::{}:root", topology.partition, topology.hub.account);
    let caller = Caller {
        role: json!(topology.hub_role()),
        account: json!(account),
        external_id: topology.followers.external_id.as_ref().map(|id| json!(id.as_str())),
    };
    trust_in(topology, &caller)
}

/// The same with other spellings of who asks.
pub(super) fn trust_in(topology: &Topology, caller: &Caller) -> Document {
    let allow = |sid, action| {
        let statement = Statement::allow(sid, vec![action]);
        match topology.followers.trust {
            Trust::Role => statement.to(json!({ "AWS": caller.role })),
            Trust::Account => statement.to(json!({ "AWS": caller.account })).only_if(
                "ArnEquals",
                "aws:PrincipalArn",
                caller.role.clone(),
            ),
        }
    };
    let assume = allow("AssumeFromHub", "sts:AssumeRole");
    let assume = match &caller.external_id {
        Some(id) => assume.only_if("StringEquals", "sts:ExternalId", id.clone()),
        None => assume,
    };
    let mut statements = vec![assume];
    if topology.tags_sessions() {
        // By itself it gives nothing; the external ID belongs to AssumeRole alone.
        statements.push(allow("TagFromHub", "sts:TagSession"));
    }
    Document::of(statements)
}

/// What a follower role may do: look up exactly these clusters, given by ARN.
pub fn follower_policy(clusters: Value) -> Document {
    Document::of(vec![Statement::allow("DescribeFollowers", vec!["eks:DescribeCluster"]).on(clusters)])
}

/// Whether IAM takes all documents as large as they are.
pub fn check_sizes(topology: &Topology) -> Result<(), IamError> {
    const SPLIT: &str = "name fewer accounts, and give the others to a second hub role";
    fits("policy of the hub role", &hub_policy(topology), LARGEST_POLICY, SPLIT)?;
    fits("trust policy of the hub role", &hub_trust(topology), LARGEST_TRUST, "shorten names")?;
    let trust = follower_trust(topology);
    fits(
        "trust policy of the follower roles",
        &trust,
        LARGEST_TRUST,
        "shorten the external ID or the hub role's path",
    )?;
    for (account, clusters) in topology.cluster_arns() {
        let what = format!("policy of the follower role in {account}");
        fits(&what, &follower_policy(json!(clusters)), LARGEST_POLICY, "give some clusters to a second follower role")?;
    }
    Ok(())
}

fn fits(what: &str, document: &Document, most: usize, advice: &'static str) -> Result<(), IamError> {
    let size = serde_json::to_string(document)?.len();
    if size > most {
        return Err(IamError::TooLarge { what: what.to_owned(), size, unit: "characters", most, advice });
    }
    Ok(())
}

impl Document {
    fn of(statement: Vec<Statement>) -> Self {
        Self { version: "2012-10-17", statement }
    }
}

impl Statement {
    fn allow(sid: &'static str, action: Vec<&'static str>) -> Self {
        Self { sid, effect: "Allow", principal: None, action, resource: None, condition: Map::new() }
    }

    fn to(self, principal: Value) -> Self {
        Self { principal: Some(principal), ..self }
    }

    fn on(self, resource: Value) -> Self {
        Self { resource: Some(resource), ..self }
    }

    fn only_if(mut self, operator: &str, key: &str, value: impl Into<Value>) -> Self {
        let tests = self.condition.entry(operator).or_insert_with(|| json!({}));
        if let Some(tests) = tests.as_object_mut() {
            tests.insert(key.to_owned(), value.into());
        }
        self
    }
}
