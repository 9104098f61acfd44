//! What to try while the clusters are up.

use anyhow::{Context as _, Result};

use super::stage::FOLLOWERS_FILE;
use super::{FOLLOWERS, HUB};
use crate::kubeconfig::{Context, kubeconfig};
use crate::lab::Lab;
use crate::progress::say;
use crate::towline::Towline;

/// Prints the lines to type.
pub(super) fn invite(lab: &Lab, towline: &Towline) -> Result<()> {
    let file = lab.file("kubeconfig", &admin(lab))?;
    let kubectl = lab.fleet.management.kubectl_path().parent().context("kubectl has no folder")?;
    say("\n5. Your turn: all stays up until Ctrl-C. In another terminal:\n");
    say(format!("  export KUBECONFIG={} PATH={}:$PATH", file.display(), kubectl.display()));
    let lines = [
        "  kubectl --context alpha -n ingress get secret wildcard-tls -o yaml       # a copy, with its mark",
        "  kubectl --context alpha -n ingress delete secret wildcard-tls            # it comes back",
        "  kubectl --context demo-hub -n apps create configmap hello --from-literal=to=you",
        "  kubectl --context demo-hub -n apps annotate configmap hello towline.dev/followers='*, !gamma'",
        "  for c in alpha beta gamma; do kubectl --context $c -n apps get configmap hello; done",
        "  kubectl --context demo-hub -n apps annotate configmap hello towline.dev/folowers=alpha",
        "  kubectl --context demo-hub get events -A                                 # what Towline says to that",
        "  kubectl --context demo-hub -n apps delete configmap hello                # its copies go after 3 s",
    ];
    lines.iter().for_each(say);
    say("");
    let pages = towline.pages();
    say(format!("  curl {pages}/api/v1/followers    # also /api/v1/sources, /metrics, /healthz, /readyz"));
    let followers = lab.folder().join(FOLLOWERS_FILE);
    say(format!("  cat {}    # read again when it changes", followers.display()));
    say(format!("  tail -f {}", towline.log().display()));
    say("\nCtrl-C ends it all and leaves nothing behind.");
    Ok(())
}

/// All four clusters, as their admin.
fn admin(lab: &Lab) -> String {
    let names = std::iter::once(HUB).chain(FOLLOWERS);
    let contexts: Vec<Context> = lab
        .clusters()
        .zip(names)
        .map(|(cluster, name)| Context { name, cluster, server: cluster.url(), token: cluster.admin_token() })
        .collect();
    kubeconfig(&contexts)
}
