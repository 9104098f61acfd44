//! The programs of a control plane, as Go modules of this crate.

use super::KUBERNETES_VERSION;
use super::build::GoProgram;

pub(super) const ETCD: GoProgram = GoProgram {
    name: "etcd",
    module: &[
        ("go.mod", include_str!("../../etcd/go.mod")),
        ("go.sum", include_str!("../../etcd/go.sum")),
        ("main.go", include_str!("../../etcd/main.go")),
    ],
    package: ".",
    expectation: "about a minute the first time",
    ..KUBERNETES
};

pub(super) const KUBE_APISERVER: GoProgram = GoProgram {
    name: "kube-apiserver",
    package: "k8s.io/kubernetes/cmd/kube-apiserver",
    expectation: "about 5 minutes the first time",
    ..KUBERNETES
};

pub(super) const KUBE_CONTROLLER_MANAGER: GoProgram = GoProgram {
    name: "kube-controller-manager",
    package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    ..KUBERNETES
};

pub(super) const KUBECTL: GoProgram =
    GoProgram { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl", ..KUBERNETES };

/// What the programs of Kubernetes have in common.
const KUBERNETES: GoProgram = GoProgram {
    name: "",
    module: &[
        ("go.mod", include_str!("../../kubernetes/go.mod")),
        ("go.sum", include_str!("../../kubernetes/go.sum")),
        ("tools.go", include_str!("../../kubernetes/tools.go")),
    ],
    package: "",
    version: ("k8s.io/component-base/version.gitVersion", KUBERNETES_VERSION),
    expectation: "about 2 minutes the first time",
    way_out: "set KUBEBUILDER_ASSETS to a folder that has the programs of a control plane",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_the_module_requires() {
        let text = KUBERNETES.module[0].1;
        assert!(text.contains(&format!("require k8s.io/kubernetes {KUBERNETES_VERSION}\n")));
    }
}
