use super::*;
use serde_json::{Value, json};

fn objects(text: &str) -> Vec<Value> {
    text.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

fn title(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("-");
    format!("{} {namespace} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

fn everyone_is_the_group(objects: &[Value]) {
    let group = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "towline"}]);
    for object in objects.iter().filter(|object| object["kind"].as_str().unwrap().ends_with("Binding")) {
        assert_eq!(object["subjects"], group, "{object}");
    }
}

fn namespaces(names: &[&str]) -> BTreeSet<Namespace> {
    names.iter().copied().map(Namespace::from).collect()
}

#[test]
fn everywhere_the_group_has_the_rules_of_the_service_account_and_nothing_else_is_made() {
    let text = rbac(&BTreeSet::new());
    let found = objects(&text);
    assert_eq!(
        found.iter().map(title).collect::<Vec<_>>(),
        ["ClusterRole - towline-follower", "ClusterRoleBinding - towline-follower"]
    );
    everyone_is_the_group(&found);
    let original = objects(EVERYWHERE);
    let role = original.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
    assert_eq!(&found[0], role);
    assert!(!text.contains("ServiceAccount") && !text.contains("system:masters"), "{text}");
}

#[test]
fn with_namespaces_the_group_has_rights_in_these_alone() {
    let text = rbac(&namespaces(&["web", "certs"]));
    let found = objects(&text);
    assert_eq!(
        found.iter().map(title).collect::<Vec<_>>(),
        [
            "ClusterRole - towline-follower-namespaces",
            "ClusterRoleBinding - towline-follower-namespaces",
            "Role certs towline-follower",
            "RoleBinding certs towline-follower",
            "Role web towline-follower",
            "RoleBinding web towline-follower",
        ]
    );
    everyone_is_the_group(&found);
    let seen = json!(["kube-system", "certs", "web"]);
    assert_eq!(found[0]["rules"][0]["resourceNames"], seen);
    assert!(!text.contains("ServiceAccount") && !text.contains(EXAMPLE), "{text}");
}

#[test]
fn a_namespace_that_is_named_like_the_example_is_no_special_case() {
    let found = objects(&rbac(&namespaces(&["ingress", "web"])));
    let places: Vec<&Value> = found[2..].iter().map(|object| &object["metadata"]["namespace"]).collect();
    assert_eq!(places, ["ingress", "ingress", "web", "web"]);
    assert_eq!(found[0]["rules"][0]["resourceNames"], json!(["kube-system", "ingress", "web"]));
}
