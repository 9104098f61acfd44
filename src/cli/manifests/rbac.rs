//! The rights of the group `towline` in a follower: those of `deploy/rbac`, with the group in place of the ServiceAccount.
//!
//! The rules, and the comments that say what they are for, have one source.

use crate::{api::names::Namespace, aws::iam::access::GROUP};
use std::collections::BTreeSet;

const EVERYWHERE: &str = include_str!("../../../deploy/rbac/follower.yaml");
const NAMED: &str = include_str!("../../../deploy/rbac/follower-namespaced.yaml");

/// The subject in these files.
const SERVICE_ACCOUNT: &str = "- kind: ServiceAccount\n  name: towline\n  namespace: towline";
/// The namespace in the second one.
const EXAMPLE: &str = "ingress";

/// YAML for `kubectl apply`: cluster-wide, or in these namespaces only.
pub(super) fn rbac(namespaces: &BTreeSet<Namespace>) -> String {
    let documents = if namespaces.is_empty() { everywhere() } else { named(namespaces) };
    let head = "# Rights of Towline in a follower cluster, for the group that its AWS role is mapped to.\n";
    head.to_owned() + &documents.join("---\n")
}

fn everywhere() -> Vec<String> {
    rules(EVERYWHERE).map(for_group).collect()
}

/// What is in the example's namespace, for each namespace; what is cluster-wide, once and with all their names.
fn named(namespaces: &BTreeSet<Namespace>) -> Vec<String> {
    let place = format!("  namespace: {EXAMPLE}\n");
    let (inside, outside): (Vec<&str>, Vec<&str>) = rules(NAMED).partition(|document| document.contains(&place));
    let names: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
    let listed = |document: String| document.replace(&format!(", {EXAMPLE}]"), &format!(", {}]", names.join(", ")));
    let outside = outside.into_iter().map(for_group).map(listed);
    let placed = |name: &str| {
        let line = format!("  namespace: {name}\n");
        inside.iter().map(|document| for_group(document).replace(&place, &line)).collect::<Vec<_>>()
    };
    outside.chain(names.iter().flat_map(|name| placed(name))).collect()
}

/// The documents that grant something: nobody needs a ServiceAccount, or a namespace for it, who comes as a group.
fn rules(manifest: &str) -> impl Iterator<Item = &str> {
    manifest.split("---\n").filter(|document| document.contains("apiVersion: rbac.authorization.k8s.io/v1\n"))
}

fn for_group(document: &str) -> String {
    let group = format!("- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: {GROUP}");
    document.replace(SERVICE_ACCOUNT, &group)
}

#[cfg(test)]
mod tests;
