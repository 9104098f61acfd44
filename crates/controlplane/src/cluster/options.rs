//! How a cluster is to be started.

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

    /// How long it may take to be ready (120 s by default).
    pub fn ready_within(mut self, cap: Duration) -> Self {
        self.ready_within = cap;
        self
    }
}
