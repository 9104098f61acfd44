//! How a cluster is to be started.

use std::path::Path;
use std::time::Duration;

/// What a cluster needs beyond a plain API server. The default is nothing.
///
/// Nobody aggregates ClusterRoles here: `admin`, `edit` and `view` grant nothing, bind roles of your own. Admission policies,
/// mutating and validating, work without any option.
#[derive(Clone)]
pub struct Options {
    pub(super) controller_manager: bool,
    pub(super) arguments: Vec<String>,
    pub(super) ready_within: Duration,
}

impl Default for Options {
    fn default() -> Self {
        // A cold machine with two cores that starts five of them needs thirty seconds.
        Self { controller_manager: false, arguments: Vec::new(), ready_within: Duration::from_secs(120) }
    }
}

impl Options {
    /// Also runs the namespace and garbage-collector controllers. Without them a deleted namespace stays `Terminating`, and
    /// ownerReferences do nothing.
    pub fn with_controller_manager(mut self) -> Self {
        self.controller_manager = true;
        self
    }

    /// One more flag for kube-apiserver, `--name=value`.
    pub fn with_argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Asks a webhook who a bearer token belongs to, as its `kubeconfig` says. The file is read when the server starts. What it
    /// answers counts for a second only: a test that changes what the webhook says need not wait for two minutes.
    pub fn with_token_webhook(self, kubeconfig: &Path) -> Self {
        self.with_argument(&format!("--authentication-token-webhook-config-file={}", kubeconfig.display()))
            .with_argument("--authentication-token-webhook-version=v1beta1")
            .with_argument("--authentication-token-webhook-cache-ttl=1s")
    }

    /// How long it may take to be ready (120 s by default).
    pub fn ready_within(mut self, cap: Duration) -> Self {
        self.ready_within = cap;
        self
    }
}
