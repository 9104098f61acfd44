//! Unites what the providers know into one catalog.
//!
//! ```text
//! local ─────────────┐
//! kubeconfig file ───┼─▶ unite (pure) ─▶ Catalog ─▶ fleet
//! followers file ────┘
//! ```

use super::catalog::{Catalog, is_same};
use crate::api::names::FollowerName;
use futures::{StreamExt, stream::FuturesUnordered};
use std::collections::BTreeSet;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What each provider knows, always the newest, in the order in which one wins over another.
pub struct Registry {
    parts: Vec<watch::Receiver<Catalog>>,
    told: BTreeSet<(FollowerName, &'static str)>,
}

/// One catalog of all parts. A name that two parts claim goes to the first of them, and the entry says who lost it.
pub fn unite<'a>(parts: impl IntoIterator<Item = &'a Catalog>) -> Catalog {
    let mut united = Catalog::new();
    for part in parts {
        for (name, entry) in part {
            match united.get_mut(name) {
                None => drop(united.insert(name.clone(), entry.clone())),
                Some(winner) => winner.rivals.push(entry.provider),
            }
        }
    }
    united
}

impl Registry {
    /// A registry over the providers' parts.
    pub fn new(parts: Vec<watch::Receiver<Catalog>>) -> Self {
        Self { parts, told: BTreeSet::new() }
    }

    /// All names that are known now. A name that is newly claimed twice is told.
    pub fn catalog(&mut self) -> Catalog {
        let parts: Vec<Catalog> = self.parts.iter_mut().map(|part| part.borrow_and_update().clone()).collect();
        let catalog = unite(&parts);
        let rivals = catalog.iter().flat_map(|(name, entry)| entry.rivals.iter().map(|rival| (name.clone(), *rival)));
        let rivals: BTreeSet<_> = rivals.collect();
        for (name, rival) in rivals.difference(&self.told) {
            let winner = catalog.get(name).map_or("", |entry| entry.provider);
            tracing::error!(follower = %name, provider = rival, winner, "the name is taken: this follower is not served");
        }
        self.told = rivals;
        catalog
    }

    /// Publishes the catalog whenever a part changes, until it is told to stop.
    pub async fn run(mut self, catalog: watch::Sender<Catalog>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed(&mut self.parts) => {}
            }
            let united = self.catalog();
            catalog.send_if_modified(|published| {
                let changed = !is_same(published, &united);
                if changed {
                    *published = united;
                }
                changed
            });
        }
    }
}

/// Waits for any part. One whose provider is gone changes no more: the local follower never does.
async fn changed(parts: &mut [watch::Receiver<Catalog>]) {
    let mut waiting: FuturesUnordered<_> = parts.iter_mut().map(watch::Receiver::changed).collect();
    while let Some(part) = waiting.next().await {
        if part.is_ok() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::policy::Policy,
        follower::{catalog::Entry, member::Member},
    };
    use std::{collections::BTreeMap, sync::Arc};

    fn part(provider: &'static str, names: &[&str]) -> Catalog {
        let entry = |name: &str| Entry {
            member: Member {
                name: name.into(),
                labels: Arc::new(BTreeMap::new()),
                namespace: None,
                policy: Arc::new(Policy::default()),
            },
            provider,
            connection: Err("unused".to_owned()),
            pin: None,
            rivals: Vec::new(),
        };
        names.iter().map(|name| (FollowerName::from(*name), entry(name))).collect()
    }

    fn shown(catalog: &Catalog) -> Vec<String> {
        let rivals = |entry: &Entry| entry.rivals.iter().map(|rival| format!(" not {rival}")).collect::<String>();
        catalog.iter().map(|(name, entry)| format!("{name} {}{}", entry.provider, rivals(entry))).collect()
    }

    #[test]
    fn the_first_part_that_claims_a_name_has_it_and_the_others_are_named() {
        let parts = [part("one", &["a", "b"]), part("two", &["b", "c"]), part("three", &["b", "c", "d"])];
        assert_eq!(shown(&unite(&parts)), ["a one", "b one not two not three", "c two not three", "d three"]);
        assert_eq!(
            shown(&unite(parts.iter().rev())),
            ["a one", "b three not two not one", "c three not two", "d three"]
        );
        let winner = &unite(&parts)[&FollowerName::from("c")];
        assert_eq!(
            winner.rivalry().as_deref(),
            Some("three: the name is taken by two, which comes first; give this one another")
        );
        assert_eq!(unite(&parts)[&FollowerName::from("a")].rivalry(), None);
    }

    #[tokio::test]
    async fn what_one_part_publishes_leaves_those_of_the_others_and_a_name_passes_on_when_its_winner_leaves_it() {
        let (local, local_seen) = watch::channel(part("local", &["@local"]));
        let (one, one_seen) = watch::channel(part("one", &["a", "b"]));
        let (two, two_seen) = watch::channel(part("two", &["b"]));
        // Its provider has nothing more to say.
        drop(local);
        let mut registry = Registry::new(vec![local_seen, one_seen, two_seen]);
        let (catalog, mut seen) = watch::channel(registry.catalog());
        let stop = CancellationToken::new();
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(registry.run(catalog, stop.clone()));
        assert_eq!(shown(&seen.borrow_and_update()), ["@local local", "a one", "b one not two"]);

        one.send_replace(part("one", &["a"]));
        seen.changed().await.unwrap();
        assert_eq!(shown(&seen.borrow_and_update()), ["@local local", "a one", "b two"]);
        two.send_replace(part("two", &[]));
        seen.changed().await.unwrap();
        assert_eq!(shown(&seen.borrow_and_update()), ["@local local", "a one"]);
        stop.cancel();
        tasks.join_next().await.unwrap().unwrap();
    }
}
