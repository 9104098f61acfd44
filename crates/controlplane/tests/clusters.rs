//! One fleet, shared by all tests of this file, as the tests of Towline do it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use controlplane::{Fleet, Options, Scratch, eventually, status_code};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

const CAP: Duration = Duration::from_secs(30);

static SHARED: OnceCell<(Fleet, Scratch)> = OnceCell::const_new();

/// A management cluster and one follower, started by the first test that asks.
async fn fleet() -> Result<&'static Fleet> {
    let start = async || -> Result<_> {
        let (scratch, began) = (Scratch::new("clusters")?, Instant::now());
        let fleet = Fleet::start_with(1, scratch.path(), Options::default().with_controller_manager()).await?;
        report(&format!("two clusters were ready after {:.1} s", began.elapsed().as_secs_f32()));
        Ok((fleet, scratch))
    };
    Ok(&SHARED.get_or_try_init(start).await?.0)
}

#[allow(clippy::print_stderr, reason = "start-up times are worth knowing")]
fn report(line: &str) {
    eprintln!("{line}");
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"key": "value"}})
}

#[tokio::test]
async fn clusters_keep_apart() -> Result<()> {
    let fleet = fleet().await?;
    let follower = fleet.follower(1)?;
    let path = "/api/v1/namespaces/default/configmaps";
    fleet.management.create(path, &config_map("apart")).await?;
    ensure!(fleet.management.uid().await? != follower.uid().await?);
    ensure!(fleet.management.get_opt(&format!("{path}/apart")).await?.is_some());
    ensure!(follower.get_opt(&format!("{path}/apart")).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn the_audit_log_counts_exactly() -> Result<()> {
    let management = &fleet().await?.management;
    let token = management.service_account_token("counting", "counter").await?;
    let role = json!({
        "metadata": {"name": "counter"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
    });
    management.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await?;
    let rights = json!({
        "metadata": {"name": "counter"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "counter"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "counting", "name": "counter"}],
    });
    management.create("/apis/rbac.authorization.k8s.io/v1/namespaces/counting/rolebindings", &rights).await?;
    let counter = management.api_with(&token).await?;
    let path = "/api/v1/namespaces/counting/configmaps";
    eventually("the role binding to work", CAP, async || Ok(counter.list(path).await.ok())).await?;

    let mark = management.audit().mark();
    for number in 0..50 {
        counter.create(path, &config_map(&format!("map-{number}"))).await?;
        counter.get(&format!("{path}/map-{number}")).await?;
    }
    let refused = counter.create("/api/v1/namespaces", &config_map("refused")).await;
    ensure!(refused.is_err_and(|error| status_code(&error) == Some(403)));

    let seen = management.audit().since(mark).await?.by("system:serviceaccount:counting:counter");
    ensure!(seen.len() == 101, "{seen}");
    ensure!(seen.writes().len() == 51, "{seen}");
    ensure!(seen.matching(|request| request.code == 403).len() == 1, "{seen}");
    ensure!(seen.in_namespace("counting").verb("get").len() == 50, "{seen}");
    Ok(())
}

#[tokio::test]
async fn a_watch_counts_when_it_begins() -> Result<()> {
    let management = &fleet().await?.management;
    let mark = management.audit().mark();
    let path = "/api/v1/namespaces/default/configmaps";
    management.kubectl(&["get", "--raw", &format!("{path}?watch=true&timeoutSeconds=1")]).await?;
    let seen = management.audit().since(mark).await?;
    ensure!(seen.verb("watch").by("admin").len() == 1, "{seen}");
    Ok(())
}

#[tokio::test]
async fn a_deleted_namespace_goes_away() -> Result<()> {
    let management = &fleet().await?.management;
    management
        .apply_yaml(
            "{apiVersion: v1, kind: Namespace, metadata: {name: leaving}}\n---\n\
         {apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: leaving}}\n",
        )
        .await?;
    management.delete("/api/v1/namespaces/leaving").await?;
    let gone = async || Ok(management.get_opt("/api/v1/namespaces/leaving").await?.is_none().then_some(()));
    eventually("the namespace to go", CAP, gone).await
}

const LABELLER: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: labeller}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: changed}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"changed": "yes"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: labeller}
spec: {policyName: labeller}
---
apiVersion: v1
kind: Namespace
metadata: {name: changed}
"#;

#[tokio::test]
async fn a_mutating_admission_policy_changes_what_is_created() -> Result<()> {
    let management = &fleet().await?.management;
    management.apply_yaml(LABELLER).await?;
    let attempt = async || {
        let made = json!({"metadata": {"generateName": "map-"}});
        let answer = management.create("/api/v1/namespaces/changed/configmaps", &made).await?;
        Ok((answer.pointer("/metadata/labels/changed") == Some(&json!("yes"))).then_some(()))
    };
    eventually("the policy to be in force", CAP, attempt).await
}

const REFUSER: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuser}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: refused}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "false", message: never}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuser}
spec: {policyName: refuser, validationActions: [Deny]}
---
apiVersion: v1
kind: Namespace
metadata: {name: refused}
"#;

#[tokio::test]
async fn a_validating_admission_policy_refuses() -> Result<()> {
    let management = &fleet().await?.management;
    management.apply_yaml(REFUSER).await?;
    let attempt = async || {
        let made = json!({"metadata": {"generateName": "map-"}});
        let answer = management.create("/api/v1/namespaces/refused/configmaps", &made).await;
        Ok(answer.err().map(|error| status_code(&error)))
    };
    let code = eventually("the policy to be in force", CAP, attempt).await?;
    ensure!(code == Some(422), "{code:?}");
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_works_for_kubectl_and_for_kube() -> Result<()> {
    let management = &fleet().await?.management;
    ensure!(management.kubectl(&["get", "namespaces", "-o", "name"]).await?.contains("namespace/kube-system"));
    let client = management.client(management.admin_token())?;
    let version = client.apiserver_version().await.context("a client on the runtime of this test")?;
    ensure!(version.git_version == controlplane::KUBERNETES_VERSION);
    Ok(())
}
