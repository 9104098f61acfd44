//! A kubeconfig of several contexts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use controlplane::Cluster;
use serde_json::{Value, json};

/// One context: a cluster, where it is reached, and as whom.
pub(crate) struct Context<'a> {
    pub(crate) name: &'a str,
    pub(crate) cluster: &'a Cluster,
    pub(crate) server: String,
    pub(crate) token: &'a str,
}

/// Its text. JSON is YAML, and quotes whatever needs it. The first context is the current one.
pub(crate) fn kubeconfig(contexts: &[Context]) -> String {
    let each = |part: &dyn Fn(&Context) -> Value| contexts.iter().map(part).collect::<Vec<_>>();
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": each(&|context| json!({"name": context.name, "cluster": {
            "server": context.server,
            "certificate-authority-data": STANDARD.encode(context.cluster.ca_pem()),
        }})),
        "users": each(&|context| json!({"name": context.name, "user": {"token": context.token}})),
        "contexts": each(&|context| json!({"name": context.name, "context": {"cluster": context.name, "user": context.name}})),
        "current-context": contexts.first().map(|context| context.name),
    });
    format!("{document:#}\n")
}
