//! The files of a cluster.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{new_token, url};
use crate::certificates::Certificates;
use crate::port::ReservedPort;

/// Metadata of every request, at every stage, but for the server's own and for probes.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  users: [system:apiserver]
- level: None
  nonResourceURLs: [/readyz*, /livez*, /healthz*]
- level: Metadata
";

/// Writes what kube-apiserver, kube-controller-manager and kubectl read.
pub(super) fn write(folder: &Path, certificates: &Certificates, admin_token: &str, port: &ReservedPort) -> Result<()> {
    let controllers_token = new_token();
    let tokens = format!(
        "{admin_token},admin,admin,system:masters\n{controllers_token},controllers,controllers,system:masters\n"
    );
    let server = url(port.address());
    let kubeconfig = |token: &str| kubeconfig("cluster", &server, &certificates.authority.pem, token);
    let files = [
        ("ca.crt", certificates.authority.pem.clone()),
        ("server.crt", certificates.server.clone()),
        ("server.key", certificates.server_key.clone()),
        ("service-accounts.key", certificates.service_account_key.clone()),
        ("service-accounts.pub", certificates.service_account_public_key.clone()),
        ("tokens.csv", tokens),
        ("audit-policy.yaml", AUDIT_POLICY.to_owned()),
        ("admin.kubeconfig", kubeconfig(admin_token)),
        ("controllers.kubeconfig", kubeconfig(&controllers_token)),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// A kubeconfig with one context. JSON is YAML, and quotes whatever needs it.
pub(super) fn kubeconfig(name: &str, server: &str, authority: &str, token: &str) -> String {
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    format!("{kubeconfig:#}\n")
}
