//! Admission policies of a follower that hold in one world's namespace only.

use super::world::{CAP, World, collection};
use controlplane::eventually;
use serde_json::{Value, json};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// Refuses ConfigMaps and Secrets for which a CEL expression is false. In force when this returns.
pub async fn refuse(world: &World, follower: usize, expression: &str) {
    let spec = json!({
        "failurePolicy": "Fail",
        "matchConstraints": constraints(world),
        "validations": [{"expression": format!("object.metadata.name != 'probe' && ({expression})")}],
    });
    install(world, follower, "Validating", spec, json!(["Deny"])).await;
    in_force(world, follower, |answer| answer.is_err()).await;
}

/// Sets a label on ConfigMaps and Secrets whenever they are written. In force when this returns.
pub async fn label(world: &World, follower: usize, key: &str, value: &str) {
    let expression = format!("Object{{metadata: Object.metadata{{labels: {{'{key}': '{value}'}}}}}}");
    let spec = json!({
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": constraints(world),
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    });
    install(world, follower, "Mutating", spec, Value::Null).await;
    in_force(world, follower, |answer| answer.is_ok_and(|object| object["metadata"]["labels"][key] == value)).await;
}

fn constraints(world: &World) -> Value {
    json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.name}},
        "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
            "resources": ["secrets", "configmaps"],
        }],
    })
}

async fn install(world: &World, follower: usize, kind: &str, spec: Value, actions: Value) {
    let (api, lower) = (world.somebody(follower), kind.to_lowercase());
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}AdmissionPolicy"),
        "metadata": {"name": world.name}, "spec": spec,
    });
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}AdmissionPolicyBinding"),
        "metadata": {"name": world.name}, "spec": {"policyName": world.name},
    });
    if !actions.is_null() {
        binding["spec"]["validationActions"] = actions;
    }
    api.create(&format!("{GROUP}/{lower}admissionpolicies"), &policy).await.unwrap();
    api.create(&format!("{GROUP}/{lower}admissionpolicybindings"), &binding).await.unwrap();
}

/// A policy takes effect a moment after it was made.
async fn in_force(world: &World, follower: usize, shows: impl Fn(anyhow::Result<Value>) -> bool) {
    let path = format!("{}?dryRun=All", collection("ConfigMap", &world.name));
    let probe = json!({"metadata": {"name": "probe"}});
    let look = async || Ok(shows(world.somebody(follower).create(&path, &probe).await).then_some(()));
    eventually("the policy to be in force", CAP, look).await.unwrap();
}

/// Refuses ConfigMaps and Secrets with these keys in a message that quotes their values, as webhooks do. In force when this
/// returns.
pub async fn refuse_and_quote(world: &World, follower: usize, key: &str) {
    let quoted = format!("'refused because of ' + string(dyn(object).data['{key}'])");
    let has_it = format!("has(dyn(object).data) && '{key}' in dyn(object).data");
    let spec = json!({
        "failurePolicy": "Fail",
        "matchConstraints": constraints(world),
        "validations": [{
            "expression": format!("object.metadata.name != 'probe' && !({has_it})"),
            "messageExpression": format!("{has_it} ? {quoted} : 'probe'"),
        }],
    });
    install(world, follower, "Validating", spec, json!(["Deny"])).await;
    in_force(world, follower, |answer| answer.is_err()).await;
}
