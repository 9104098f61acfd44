//! The flags of kube-apiserver and kube-controller-manager.

use std::path::Path;

use super::Cluster;

impl Cluster {
    /// The flags of its API server.
    pub(super) fn server_flags(&self, etcd_prefix: &str) -> Vec<String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        let mut flags = vec![
            format!("--etcd-servers={}", self.etcd_url),
            format!("--etcd-prefix={etcd_prefix}"),
            "--bind-address=127.0.0.1".into(),
            // Only told to others, of whom there are none; not guessed from an interface that may be missing.
            "--advertise-address=192.0.2.1".into(),
            "--external-hostname=127.0.0.1".into(),
            format!("--secure-port={}", self.port.number()),
            // The port stays reserved beside the server: see `port`.
            "--permit-port-sharing=true".into(),
            format!("--tls-cert-file={}", file("server.crt")),
            format!("--tls-private-key-file={}", file("server.key")),
            format!("--token-auth-file={}", file("tokens.csv")),
            // One authority is enough for both sides.
            format!("--client-ca-file={}", file("ca.crt")),
            "--authorization-mode=RBAC".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            format!("--service-account-key-file={}", file("service-accounts.pub")),
            format!("--service-account-signing-key-file={}", file("service-accounts.key")),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
            // Nobody reaches `kubernetes.default`, and leases for it would only make noise.
            "--endpoint-reconciler-type=none".into(),
            // Without it a watch holds up an orderly stop for a minute.
            "--shutdown-watch-termination-grace-period=1s".into(),
            // Throttling by the server would be measured instead of Towline.
            "--enable-priority-and-fairness=false".into(),
            "--max-requests-inflight=0".into(),
            "--max-mutating-requests-inflight=0".into(),
            "--profiling=false".into(),
        ];
        flags.extend(audit_flags(&self.folder));
        flags.extend(self.options.arguments.iter().cloned());
        flags
    }

    /// The flags of its controller manager: just what deletes namespaces and orphans.
    pub(super) fn controller_flags(&self) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", self.folder.join("controllers.kubeconfig").display()),
            "--controllers=namespace-controller,garbage-collector-controller".into(),
            "--use-service-account-credentials=false".into(),
            "--leader-elect=false".into(),
            "--secure-port=0".into(),
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
        ]
    }
}

fn audit_flags(folder: &Path) -> [String; 4] {
    [
        format!("--audit-policy-file={}", folder.join("audit-policy.yaml").display()),
        format!("--audit-log-path={}", folder.join("audit.log").display()),
        // Counts must be exact: a line is written before the request goes on.
        "--audit-log-mode=blocking".into(),
        // A rotated log would be a lost one; this many megabytes are not reached.
        "--audit-log-maxsize=100000".into(),
    ]
}
