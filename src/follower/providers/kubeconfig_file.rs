//! `--kubeconfig-file`: each context is a follower. Read again when the file changes; a file that cannot be read keeps the
//! last good set, and a context that cannot be used harms no other.

use crate::{
    api::{names::FollowerName, patterns::Patterns, policy::Policy},
    cluster::{
        endpoint::Endpoint,
        kubeconfig::{self, EndpointError},
    },
    follower::{
        catalog::{Catalog, Entry},
        member::Member,
    },
};
use kube::config::Kubeconfig;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

/// How often the file is looked at: a change is effective within a second.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is read although it looks the same: certificate files that it names may have changed.
const READ_ANYWAY: u32 = 120;

/// What the contexts of a file become.
#[derive(Clone)]
pub struct Source {
    /// The file.
    pub path: PathBuf,
    /// `--policy-file`.
    pub policy: Arc<Policy>,
    /// `--only-followers`.
    pub only: Option<Patterns>,
    /// Followers that are there whatever the file says: the local one.
    pub always: Catalog,
}

impl Source {
    /// Reads the file once.
    pub fn read(&self) -> Result<Catalog, EndpointError> {
        let kubeconfig = kubeconfig::read(&self.path)?;
        if kubeconfig.contexts.is_empty() {
            return Err(EndpointError::File { path: self.path.clone(), reason: "it holds no context".to_owned() });
        }
        let mut catalog = self.catalog(&kubeconfig);
        catalog.extend(self.always.clone());
        Ok(catalog)
    }

    fn catalog(&self, kubeconfig: &Kubeconfig) -> Catalog {
        let names = kubeconfig.contexts.iter().map(|context| context.name.as_str());
        let wanted = names.filter(|name| self.only.as_ref().is_none_or(|only| only.matches(name)));
        wanted.map(|name| (FollowerName::from(name), self.entry(kubeconfig, name))).collect()
    }

    fn entry(&self, kubeconfig: &Kubeconfig, name: &str) -> Entry {
        let endpoint =
            usable(name).and_then(|()| Endpoint::from_context(kubeconfig, name).map_err(|error| error.to_string()));
        let namespace = endpoint.as_ref().ok().and_then(|endpoint| endpoint.default_namespace().cloned());
        let member =
            Member { name: name.into(), labels: Arc::new(BTreeMap::new()), namespace, policy: self.policy.clone() };
        Entry { member, provider: "kubeconfig", endpoint }
    }

    /// Publishes the contexts whenever they change.
    pub async fn watch(self, catalog: watch::Sender<Catalog>, stop: CancellationToken) {
        // Not as it looks now: it may have changed since it was read for the first time.
        let mut seen = None;
        let mut complaint = None;
        let mut looks = 0_u32;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(LOOK) => {}
            }
            looks = looks.wrapping_add(1);
            let now = self.look().await;
            if now != seen || looks.is_multiple_of(READ_ANYWAY) {
                seen = now;
                self.publish(&catalog, &mut complaint);
            }
        }
    }

    fn publish(&self, catalog: &watch::Sender<Catalog>, complaint: &mut Option<String>) {
        match self.read() {
            Ok(mut read) => {
                let kept = keep_good(&mut read, &catalog.borrow());
                match kept {
                    None => *complaint = None,
                    Some(why) => complain(complaint, &why),
                }
                catalog.send_if_modified(|published| {
                    let changed = !is_same(published, &read);
                    if changed {
                        tracing::info!(contexts = read.len(), file = %self.path.display(), "follower kubeconfig read again");
                        *published = read;
                    }
                    changed
                });
            }
            Err(error) => complain(complaint, &error.to_string()),
        }
    }

    /// What the file looks like from outside; a mounted Secret changes its inode.
    async fn look(&self) -> Option<(SystemTime, u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let metadata = tokio::fs::metadata(&self.path).await.ok()?;
        Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
    }
}

fn usable(name: &str) -> Result<(), String> {
    if name.contains(',') {
        Err(format!("context {name:?}: a follower's name holds no comma, or no annotation could name it"))
    } else if name == FollowerName::local().as_str() {
        Err(format!("context {name:?}: the name is the management cluster's own"))
    } else {
        Ok(())
    }
}

/// A context that was good and is not any more stays as it was, as in a file that was cut off. Returns why.
fn keep_good(read: &mut Catalog, published: &Catalog) -> Option<String> {
    let mut reasons = Vec::new();
    for (name, entry) in read.iter_mut() {
        let good = published.get(name).filter(|good| good.endpoint.is_ok());
        if let (Err(why), Some(good)) = (&entry.endpoint, good) {
            reasons.push(why.clone());
            *entry = good.clone();
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn complain(complaint: &mut Option<String>, why: &str) {
    if complaint.as_deref() != Some(why) {
        tracing::error!(why, "follower kubeconfig cannot be used: the last good one stays in force");
        *complaint = Some(why.to_owned());
    }
}

fn is_same(one: &Catalog, other: &Catalog) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|((_, one), (_, other))| one.member == other.member && one.reaches_as(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source {
            path: PathBuf::from("unused"),
            policy: Arc::new(Policy::default()),
            only: None,
            always: Catalog::new(),
        }
    }

    fn catalog(source: &Source, contexts: &[(&str, &str)]) -> Catalog {
        let contexts: String = contexts
            .iter()
            .map(|(name, cluster)| {
                format!("- {{name: '{name}', context: {{cluster: '{cluster}', user: u, namespace: team}}}}\n")
            })
            .collect();
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:6443'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\ncontexts:\n{contexts}"
        );
        source.catalog(&kubeconfig::parse("test", &text).unwrap())
    }

    #[test]
    fn every_context_is_a_follower_with_its_namespace() {
        let arn = "arn:aws:eks:eu-west-1:111122223333:cluster/a";
        let catalog = catalog(&source(), &[(arn, "c"), ("b", "c")]);
        assert_eq!(catalog.keys().map(FollowerName::as_str).collect::<Vec<_>>(), [arn, "b"]);
        let entry = &catalog[&FollowerName::from("b")];
        assert!(entry.endpoint.is_ok());
        assert_eq!(entry.member.namespace, Some("team".into()));
    }

    #[test]
    fn a_context_that_cannot_be_used_is_told_and_harms_no_other() {
        let catalog = catalog(&source(), &[("lost", "missing"), ("with,comma", "c"), ("@local", "c"), ("good", "c")]);
        let usable: Vec<_> =
            catalog.iter().filter(|(_, entry)| entry.endpoint.is_ok()).map(|(name, _)| name.as_str()).collect();
        assert_eq!(usable, ["good"]);
        assert_eq!(catalog.len(), 4);
    }

    #[test]
    fn a_context_that_is_not_good_any_more_stays_as_it_was() {
        let good = catalog(&source(), &[("a", "c"), ("b", "c")]);
        let mut read = catalog(&source(), &[("a", "missing"), ("new", "missing")]);
        let why = keep_good(&mut read, &good).unwrap();
        assert_eq!(why, "context a: cluster: there is no cluster missing");
        let a = FollowerName::from("a");
        assert!(read[&a].reaches_as(&good[&a]));
        assert!(read[&FollowerName::from("new")].endpoint.is_err());
        assert_eq!(read.len(), 2, "b is removed");
    }

    #[test]
    fn only_followers_selects_contexts() {
        let only = Source { only: Some(Patterns::parse("dev-*").unwrap()), ..source() };
        let catalog = catalog(&only, &[("dev-a", "c"), ("prod-a", "c")]);
        assert_eq!(catalog.keys().map(FollowerName::as_str).collect::<Vec<_>>(), ["dev-a"]);
    }
}
