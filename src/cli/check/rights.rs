//! Which rights Towline needs in a follower, and which would only do harm in the wrong hands. Pure; a test compares the former
//! with deploy/rbac.

use super::{
    access::User,
    step::{Kind, Step},
};
use crate::api::patterns::Patterns;
use serde::{Deserialize, Serialize};

/// What to do about a right that is missing.
pub(super) const GRANT: &str = "apply deploy/rbac/follower.yaml, or follower-namespaced.yaml with --target-namespaces; for an AWS role: towline manifests iam --part rbac";
const LESS: &str = "bind only the rights of deploy/rbac, to a user or a group of its own (towline manifests iam --part rbac: group towline)";
const MASTERS: &str = "system:masters";
const COPIES: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
const READS: [&str; 3] = ["get", "list", "watch"];
const RESOURCES: [&str; 2] = ["secrets", "configmaps"];

/// Where Towline makes copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// Wherever a source asks for it.
    Everywhere,
    /// In these namespaces.
    Named(Vec<String>),
}

/// One thing that somebody may do; the attributes of a `SelfSubjectAccessReview`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Right {
    pub(super) verb: &'static str,
    pub(super) group: &'static str,
    pub(super) resource: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) subresource: &'static str,
    /// Empty: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    /// Empty: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
}

/// Rights that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// What they are for.
    pub(super) subject: String,
    pub(super) rights: Vec<Right>,
}

/// A right that Towline never uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excess {
    pub(super) right: Right,
    /// In words.
    pub(super) words: &'static str,
}

/// A `SelfSubjectAccessReview` to be sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessReview<'a> {
    api_version: &'static str,
    kind: &'static str,
    spec: AccessSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessSpec<'a> {
    resource_attributes: &'a Right,
}

/// What a server says to one. Its reason is a text that it chose, and not read.
#[derive(Deserialize)]
pub(super) struct AccessAnswer {
    status: AccessStatus,
}

#[derive(Deserialize)]
struct AccessStatus {
    #[serde(default)]
    allowed: bool,
}

impl AccessAnswer {
    pub(super) fn is_allowed(&self) -> bool {
        self.status.allowed
    }
}

impl Places {
    /// Of `--target-namespaces`: rights in namespaces are enough where all of them are names.
    pub(super) fn of(targets: Option<&Patterns>) -> Self {
        match targets.filter(|targets| targets.is_literal_only()) {
            Some(targets) => Self::Named(targets.literals().map(str::to_owned).collect()),
            None => Self::Everywhere,
        }
    }
}

impl Right {
    /// To ask a server by.
    pub(super) fn review(&self) -> AccessReview<'_> {
        let spec = AccessSpec { resource_attributes: self };
        AccessReview { api_version: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec }
    }
}

/// All that is needed.
pub(super) fn needed(places: &Places) -> Vec<Need> {
    let need = |subject: String, verbs: &[&'static str], resource, namespace: &str, name: &str| {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let right = |verb: &&'static str| Right {
            verb,
            resource,
            namespace: namespace.clone(),
            name: name.clone(),
            ..Right::default()
        };
        Need { subject, rights: verbs.iter().map(right).collect() }
    };
    match places {
        Places::Everywhere => RESOURCES
            .iter()
            .map(|resource| need(format!("{resource} in all namespaces"), &COPIES, resource, "", ""))
            .chain([need("namespaces".to_owned(), &READS, "namespaces", "", "")])
            .collect(),
        Places::Named(names) => {
            let copies = names.iter().flat_map(|namespace| {
                let in_namespace = |resource: &&'static str| {
                    need(format!("{resource} in {namespace}"), &COPIES, resource, namespace, "")
                };
                RESOURCES.iter().map(in_namespace).collect::<Vec<_>>()
            });
            let itself = |name: &str| need(format!("namespace {name}"), &READS, "namespaces", name, name);
            copies.chain(std::iter::once("kube-system").chain(names.iter().map(String::as_str)).map(itself)).collect()
        }
    }
}

/// Whether a need is met: one answer for each of its rights.
pub(super) fn judge(need: &Need, allowed: &[bool]) -> Step {
    let missing = need.rights.iter().zip(allowed).filter(|(_, allowed)| !**allowed).map(|(right, _)| right.verb);
    let missing: Vec<&str> = missing.collect();
    let step = if missing.is_empty() && allowed.len() == need.rights.len() {
        let verbs: Vec<&str> = need.rights.iter().map(|right| right.verb).collect();
        Step::passed(Kind::Rights, verbs.join(", "))
    } else {
        Step::failed(Kind::Rights, format!("missing {}", missing.join(", ")), GRANT)
    };
    step.about(&*need.subject)
}

/// What to look for that is not needed: each of them lets somebody become more than they are, or read all secrets.
pub(super) fn needless(places: &Places) -> Vec<Excess> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let excess = |verb, group, resource, subresource, words| Excess {
        right: Right { verb, group, resource, subresource, ..Right::default() },
        words,
    };
    let mut found = vec![
        excess("*", "*", "*", "", EVERYTHING),
        excess("impersonate", "", "users", "", "impersonate users"),
        excess("impersonate", "", "groups", "", "impersonate groups"),
        excess("escalate", RBAC, "clusterroles", "", "escalate clusterroles"),
        excess("bind", RBAC, "clusterroles", "", "bind clusterroles"),
        excess("create", RBAC, "clusterrolebindings", "", "create clusterrolebindings"),
        excess("create", "", "pods", "", "create pods"),
        excess("create", "", "pods", "exec", "create pods/exec"),
        excess("create", "", "serviceaccounts", "token", "create serviceaccounts/token"),
        excess("get", "", "nodes", "proxy", "get nodes/proxy"),
        excess(
            "create",
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            "",
            "create mutatingwebhookconfigurations",
        ),
    ];
    if matches!(places, Places::Named(_)) {
        found.push(excess("get", "", "secrets", "", "get secrets in all namespaces"));
        found.push(excess("delete", "", "secrets", "", "delete secrets in all namespaces"));
    }
    found
}

const EVERYTHING: &str = "do everything (* on *)";

/// Whether somebody may do too much: `held` are those rights of [`needless`] that they have, in words.
pub(super) fn judge_excess(user: Option<&User>, held: &[&str], places: &Places) -> Step {
    let is_master = user.is_some_and(|user| user.groups.iter().any(|group| group == MASTERS));
    let what = if is_master {
        format!("is in {MASTERS}, whom nothing limits")
    } else if held.contains(&EVERYTHING) {
        format!("may {EVERYTHING}")
    } else if held.is_empty() {
        return Step::passed(Kind::Excess, "none of those that would do harm");
    } else {
        format!("may {}", held.join(", "))
    };
    Step::failed(Kind::Excess, format!("this identity {what}; Towline needs {}", summary(places)), LESS)
}

fn summary(places: &Places) -> String {
    let place = match places {
        Places::Everywhere => "all namespaces".to_owned(),
        Places::Named(names) if names.len() == 1 => "1 namespace".to_owned(),
        Places::Named(names) => format!("{} namespaces", names.len()),
    };
    format!("{} verbs on {} in {place}, and {} on namespaces", COPIES.len(), RESOURCES.join(" and "), READS.len())
}

#[cfg(test)]
mod tests;
