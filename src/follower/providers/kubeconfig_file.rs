//! `--kubeconfig-file`: each context is a follower. One that cannot be used harms no other.

use super::file::{Format, Reading};
use crate::{
    api::{names::FollowerName, patterns::Patterns, policy::Policy},
    cluster::kubeconfig,
    follower::{
        catalog::{Catalog, Entry},
        connection::{AwsConnections, Connection},
        member::Member,
    },
};
use kube::config::Kubeconfig;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What the contexts of a file become.
#[derive(Clone)]
pub struct KubeconfigFile {
    /// The file.
    pub path: PathBuf,
    /// `--policy-file`.
    pub policy: Arc<Policy>,
    /// `--only-followers`.
    pub only: Option<Patterns>,
    /// How contexts are reached whose tokens AWS's tools would make.
    pub aws: AwsConnections,
}

impl Format for KubeconfigFile {
    const NOUN: &str = "follower kubeconfig";

    fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> Result<Reading, String> {
        let kubeconfig = kubeconfig::read(&self.path).map_err(|error| error.to_string())?;
        if kubeconfig.contexts.is_empty() {
            return Err(format!("{}: it holds no context", self.path.display()));
        }
        Ok(self.reading(&kubeconfig))
    }
}

impl KubeconfigFile {
    fn reading(&self, kubeconfig: &Kubeconfig) -> Reading {
        let names = kubeconfig.contexts.iter().map(|context| context.name.as_str());
        let wanted = names.filter(|name| self.only.as_ref().is_none_or(|only| only.matches(name)));
        let catalog: Catalog = wanted.map(|name| (FollowerName::from(name), self.entry(kubeconfig, name))).collect();
        let mistaken = catalog.iter().filter(|(_, entry)| entry.connection.is_err()).map(|(name, _)| name.clone());
        Reading { mistaken: mistaken.collect(), catalog, nameless: Vec::new() }
    }

    fn entry(&self, kubeconfig: &Kubeconfig, name: &str) -> Entry {
        let connection = usable(name).and_then(|()| self.aws.context(kubeconfig, name));
        let namespace = match &connection {
            Ok(Connection::Direct(endpoint)) => endpoint.default_namespace().cloned(),
            _ => None,
        };
        let member =
            Member { name: name.into(), labels: Arc::new(BTreeMap::new()), namespace, policy: self.policy.clone() };
        Entry { member, provider: "kubeconfig", connection, pin: None, rivals: Vec::new() }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> KubeconfigFile {
        KubeconfigFile {
            path: PathBuf::from("unused"),
            policy: Arc::new(Policy::default()),
            only: None,
            aws: AwsConnections::of_nobody(),
        }
    }

    fn catalog(source: &KubeconfigFile, contexts: &[(&str, &str)]) -> Catalog {
        let contexts: String = contexts
            .iter()
            .map(|(name, cluster)| {
                format!("- {{name: '{name}', context: {{cluster: '{cluster}', user: u, namespace: team}}}}\n")
            })
            .collect();
        let text = format!(
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:6443'}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\ncontexts:\n{contexts}"
        );
        source.reading(&kubeconfig::parse("test", &text).unwrap()).catalog
    }

    #[test]
    fn every_context_is_a_follower_with_its_namespace() {
        let arn = "arn:aws:eks:eu-west-1:111122223333:cluster/a";
        let catalog = catalog(&source(), &[(arn, "c"), ("b", "c")]);
        assert_eq!(catalog.keys().map(FollowerName::as_str).collect::<Vec<_>>(), [arn, "b"]);
        let entry = &catalog[&FollowerName::from("b")];
        assert!(entry.connection.is_ok());
        assert_eq!(entry.member.namespace, Some("team".into()));
    }

    #[test]
    fn a_context_that_cannot_be_used_is_told_and_harms_no_other() {
        let catalog = catalog(&source(), &[("lost", "missing"), ("with,comma", "c"), ("@local", "c"), ("good", "c")]);
        let usable: Vec<_> =
            catalog.iter().filter(|(_, entry)| entry.connection.is_ok()).map(|(name, _)| name.as_str()).collect();
        assert_eq!(usable, ["good"]);
        assert_eq!(catalog.len(), 4);
    }

    #[test]
    fn only_followers_selects_contexts() {
        let only = KubeconfigFile { only: Some(Patterns::parse("dev-*").unwrap()), ..source() };
        let catalog = catalog(&only, &[("dev-a", "c"), ("prod-a", "c")]);
        assert_eq!(catalog.keys().map(FollowerName::as_str).collect::<Vec<_>>(), ["dev-a"]);
    }
}
