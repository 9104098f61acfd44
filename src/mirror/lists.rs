//! How far the lists of copies have been read, what a running relist has shown, and how many strays there are. Pure.

use crate::{
    api::{key::ObjectKey, names::Uid},
    source::Scope,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet, hash_map::RandomState},
    hash::BuildHasher,
};

/// Strays per list that are told apart; beyond, they are not counted: whoever makes millions of them fills his own memory.
const MOST_STRAYS: usize = 10_000;

/// Every list of copies of this follower.
pub struct Lists {
    lists: BTreeMap<Scope, List>,
    hasher: RandomState,
}

#[derive(Default)]
struct List {
    state: ListState,
    relist: Option<Relist>,
    strays: HashSet<u64>,
}

/// Whether a list says what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListState {
    /// It has not been read yet.
    #[default]
    Unread,
    /// It cannot be read.
    Denied,
    /// It was read, and is watched since.
    Read,
}

/// What a running relist has shown, or we wrote since it began.
#[derive(Default)]
struct Relist {
    keys: BTreeSet<ObjectKey>,
    strays: HashSet<u64>,
}

impl Lists {
    /// Nothing read yet.
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let lists = scopes.into_iter().map(|scope| (scope, List::default())).collect();
        Self { lists, hasher: RandomState::new() }
    }

    /// A list begins anew.
    pub fn begin(&mut self, scope: &Scope) {
        self.lists.entry(scope.clone()).or_default().relist = Some(Relist::default());
    }

    /// A list is complete; returns what it showed, and what state it was in.
    pub fn done(&mut self, scope: &Scope) -> (BTreeSet<ObjectKey>, ListState) {
        let list = self.lists.entry(scope.clone()).or_default();
        let before = std::mem::replace(&mut list.state, ListState::Read);
        let Relist { keys, strays } = list.relist.take().unwrap_or_default();
        list.strays = strays;
        (keys, before)
    }

    /// A list cannot be read.
    pub fn denied(&mut self, scope: Scope) {
        let list = self.lists.entry(scope).or_default();
        list.state = ListState::Denied;
        list.relist = None;
    }

    /// Whether every list has been read.
    pub fn are_read(&self) -> bool {
        self.lists.values().all(|list| list.state == ListState::Read)
    }

    /// Whether nothing is to be waited for: every list was read, or cannot be.
    pub fn are_settled(&self) -> bool {
        self.lists.values().all(|list| list.state != ListState::Unread)
    }

    /// The state of the list in which `key` would be; one that no list covers cannot be seen.
    pub fn state(&self, key: &ObjectKey) -> ListState {
        let covering = self.lists.iter().filter(|(scope, _)| covers(scope, key)).map(|(_, list)| list.state);
        covering.max_by_key(|state| *state == ListState::Read).unwrap_or(ListState::Denied)
    }

    /// Takes note that `key` was shown or written; returns whether a running relist shows it for the first time: what a
    /// consistent list says is believed, even a version that went back because the follower was restored from a backup.
    pub fn show(&mut self, key: &ObjectKey) -> bool {
        self.covering(key).and_then(|list| list.relist.as_mut()).is_some_and(|relist| relist.keys.insert(key.clone()))
    }

    /// A stray is counted by a hash of its uid.
    pub fn stray_seen(&mut self, key: &ObjectKey, uid: &Uid) {
        let hash = self.hasher.hash_one(uid);
        let Some(list) = self.covering(key) else { return };
        let strays = list.relist.as_mut().map_or(&mut list.strays, |relist| &mut relist.strays);
        if strays.len() < MOST_STRAYS {
            strays.insert(hash);
        }
    }

    /// An object is gone, or is not a stray any more.
    pub fn stray_gone(&mut self, key: &ObjectKey, uid: &Uid) {
        let hash = self.hasher.hash_one(uid);
        if let Some(list) = self.covering(key) {
            list.strays.remove(&hash);
            if let Some(relist) = &mut list.relist {
                relist.strays.remove(&hash);
            }
        }
    }

    /// How many strays there are.
    pub fn strays(&self) -> usize {
        self.lists.values().map(|list| list.strays.len()).sum()
    }

    fn covering(&mut self, key: &ObjectKey) -> Option<&mut List> {
        self.lists.iter_mut().find_map(|(scope, list)| covers(scope, key).then_some(list))
    }
}

/// Whether a list would show an object.
pub fn covers(scope: &Scope, key: &ObjectKey) -> bool {
    scope.kind == key.kind && scope.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::key::Kind;

    fn scope(namespace: &str) -> Scope {
        Scope { kind: Kind::Secret, namespace: Some(namespace.into()) }
    }

    fn key(namespace: &str) -> ObjectKey {
        ObjectKey::new(Kind::Secret, namespace, "a")
    }

    #[test]
    fn a_forbidden_list_settles_nothing_but_its_own_place() {
        let mut lists = Lists::new([scope("a"), scope("b")]);
        lists.done(&scope("a"));
        assert!(!lists.are_settled());
        lists.denied(scope("b"));
        assert!(lists.are_settled() && !lists.are_read());
        assert_eq!(
            ["a", "b", "c"].map(|name| lists.state(&key(name))),
            [ListState::Read, ListState::Denied, ListState::Denied]
        );
    }

    #[test]
    fn strays_are_counted_once_up_to_a_limit_and_a_relist_counts_anew() {
        let mut lists = Lists::new([scope("a")]);
        for number in 0..3 {
            lists.stray_seen(&key("a"), &(number % 2).to_string().into());
        }
        lists.stray_seen(&key("elsewhere"), &"9".into());
        assert_eq!(lists.strays(), 2);
        lists.begin(&scope("a"));
        lists.stray_seen(&key("a"), &"1".into());
        assert_eq!(lists.strays(), 2, "until the list is complete");
        lists.done(&scope("a"));
        assert_eq!(lists.strays(), 1);
        lists.stray_gone(&key("a"), &"1".into());
        assert_eq!(lists.strays(), 0);
        (0..MOST_STRAYS + 5).for_each(|number| lists.stray_seen(&key("a"), &number.to_string().into()));
        assert_eq!(lists.strays(), MOST_STRAYS);
    }

    #[test]
    fn what_a_relist_shows_first_is_told_from_what_comes_later() {
        let mut lists = Lists::new([scope("a")]);
        assert!(!lists.show(&key("a")));
        lists.begin(&scope("a"));
        assert!(lists.show(&key("a")) && !lists.show(&key("a")));
        assert_eq!(lists.done(&scope("a")).0, [key("a")].into());
    }
}
