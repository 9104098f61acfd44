//! Which labels and annotations of a source its copies carry: all but those by which some tool knows its own objects.

use super::{
    mark,
    patterns::{Patterns, glob},
};

/// Never carried, whatever the flags say: Towline's and kubed's own keys, and the annotation that holds data.
const ALWAYS_DENIED: [&str; 3] =
    ["towline.dev/*", "kubed.appscode.com/*", "kubectl.kubernetes.io/last-applied-configuration"];

/// Ownership marks: on a copy they would make their tool adopt, prune or delete it.
const DENIED: [&str; 26] = [
    // Argo CD
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/instance",
    "argocd.argoproj.io/installation-id",
    // Helm
    "meta.helm.sh/*",
    "helm.sh/*",
    mark::MANAGED_BY,
    // Flux
    "kustomize.toolkit.fluxcd.io/*",
    "helm.toolkit.fluxcd.io/*",
    // External Secrets: it deletes by them.
    "reconcile.external-secrets.io/*",
    // cert-manager, see ALLOWED
    "cert-manager.io/*",
    "controller.cert-manager.io/*",
    // Cluster API, Rancher, applysets, kpt, kapp, Velero, Kyverno, OLM, Pulumi, Sealed Secrets
    "cluster.x-k8s.io/*",
    "objectset.rio.cattle.io/*",
    "fleet.cattle.io/*",
    "applyset.kubernetes.io/*",
    "config.k8s.io/owning-inventory",
    "config.kubernetes.io/*",
    "kapp.k14s.io/*",
    "velero.io/*",
    "generate.kyverno.io/*",
    "olm.*",
    "operators.coreos.com/*",
    "pulumi.com/*",
    "sealedsecrets.bitnami.com/*",
    // reflector and replicator
    "reflector.v1.k8s.emberstack.com/*",
    "replicator.v1.mittwald.de/*",
];

/// Denied as labels only: as an annotation the key owns nothing.
const DENIED_LABELS: [&str; 1] = ["app.kubernetes.io/instance"];

/// Functional keys inside a denied group.
const ALLOWED: [&str; 1] = ["cert-manager.io/allow-direct-injection"];

/// `--copy-all-metadata`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyAll {
    /// Ownership marks are not carried.
    #[default]
    No,
    /// Everything is carried but what is always denied.
    Yes,
}

/// The deny-list with the changes that the flags make to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataFilter {
    exclude: Option<Patterns>,
    include: Option<Patterns>,
    copy_all: CopyAll,
}

impl MetadataFilter {
    /// From `--exclude-metadata`, `--include-metadata` (keys and globs; the former wins) and `--copy-all-metadata`.
    pub fn new(exclude: Option<Patterns>, include: Option<Patterns>, copy_all: CopyAll) -> Self {
        Self { exclude, include, copy_all }
    }

    /// Whether copies carry a label of their source.
    pub fn carries_label(&self, key: &str) -> bool {
        // Towline sets this label itself: the source's would overwrite it, and with it each other for ever.
        key != mark::MANAGED_BY && self.carries(key, &DENIED_LABELS)
    }

    /// Whether copies carry an annotation of their source.
    pub fn carries_annotation(&self, key: &str) -> bool {
        self.carries(key, &[])
    }

    fn carries(&self, key: &str, denied_too: &[&str]) -> bool {
        let named = |list: &Option<Patterns>| list.as_ref().is_some_and(|list| list.matches(key));
        if matches_any(&ALWAYS_DENIED, key) || named(&self.exclude) {
            return false;
        }
        let denied = matches_any(denied_too, key) || (matches_any(&DENIED, key) && !matches_any(&ALLOWED, key));
        !denied || self.copy_all == CopyAll::Yes || named(&self.include)
    }
}

fn matches_any(patterns: &[&str], key: &str) -> bool {
    patterns.iter().any(|pattern| glob(pattern, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Option<Patterns> {
        Some(Patterns::parse(text).unwrap())
    }

    #[test]
    fn copies_carry_all_but_ownership_marks() {
        let filter = MetadataFilter::default();
        let table = [
            ("app", true),
            ("argocd.argoproj.io/secret-type", true),
            ("argocd.argoproj.io/instance", false),
            ("argocd.argoproj.io/tracking-id", false),
            ("argocd.argoproj.io/installation-id", false),
            ("meta.helm.sh/release-name", false),
            ("helm.sh/chart", false),
            ("nothelm.sh/chart", true),
            ("helm.sh", true),
            ("kustomize.toolkit.fluxcd.io/name", false),
            ("reconcile.external-secrets.io/data-hash", false),
            ("cert-manager.io/common-name", false),
            ("cert-manager.io/allow-direct-injection", true),
            ("controller.cert-manager.io/fao", false),
            ("acme.cert-manager.io/http01-override", true),
            ("config.k8s.io/owning-inventory", false),
            ("config.k8s.io/other", true),
            ("olm.owner", false),
            ("olmo", true),
            ("velero.io/restore-name", false),
            ("sealedsecrets.bitnami.com/managed", false),
            ("reflector.v1.k8s.emberstack.com/reflection-allowed", false),
            ("replicator.v1.mittwald.de/replicate-to", false),
            ("towline.dev/source", false),
            ("kubed.appscode.com/sync", false),
            ("kubed.appscode.com/origin.name", false),
            ("app.kubernetes.io/name", true),
        ];
        for (key, carried) in table {
            assert_eq!(filter.carries_annotation(key), carried, "annotation {key}");
            assert_eq!(filter.carries_label(key), carried, "label {key}");
        }
        assert!(!filter.carries_annotation("kubectl.kubernetes.io/last-applied-configuration"));
    }

    #[test]
    fn the_instance_label_is_an_ownership_mark_and_the_annotation_is_not() {
        let filter = MetadataFilter::default();
        assert!(!filter.carries_label("app.kubernetes.io/instance"));
        assert!(filter.carries_annotation("app.kubernetes.io/instance"));
    }

    #[test]
    fn flags_change_all_but_what_is_always_denied() {
        let always =
            ["towline.dev/keys", "kubed.appscode.com/sync", "kubectl.kubernetes.io/last-applied-configuration"];
        let all = MetadataFilter::new(None, None, CopyAll::Yes);
        let include = MetadataFilter::new(None, list("*"), CopyAll::No);
        for filter in [&all, &include] {
            for key in always {
                assert!(!filter.carries_annotation(key) && !filter.carries_label(key), "{key}");
            }
            assert!(filter.carries_label("helm.sh/chart") && filter.carries_label("app.kubernetes.io/instance"));
            assert!(filter.carries_annotation("app.kubernetes.io/managed-by"));
            assert!(!filter.carries_label("app.kubernetes.io/managed-by"));
        }
    }

    #[test]
    fn an_excluded_key_is_not_carried_even_if_included() {
        let filter =
            MetadataFilter::new(list("example.com/*, team"), list("example.com/a, helm.sh/chart"), CopyAll::Yes);
        for key in ["example.com/a", "example.com/b", "team"] {
            assert!(!filter.carries_label(key), "{key}");
        }
        assert!(filter.carries_label("helm.sh/chart") && filter.carries_label("other"));
    }
}
