use super::*;
use crate::{
    mirror::makers::{HUB, Thing, key, packing, secret},
    source::Reading,
};

const FOLLOWERS: &str = "towline.dev/followers";

fn scope() -> Scope {
    Scope { kind: Kind::Secret, namespace: None }
}

struct Bench(Store);

impl Bench {
    /// A store that has read an empty list.
    fn new() -> Self {
        let mut store = Store::new(packing(), [scope()]);
        store.relist_begun(&scope());
        store.relist_done(&scope());
        Self(store)
    }

    fn notice(&mut self, thing: &Thing) -> bool {
        let notice: Notice = serde_json::from_value(thing.0.clone()).unwrap();
        self.0.noticed(&notice, &scope(), Instant::now()).is_some()
    }

    fn fetched(&mut self, thing: &Thing) -> bool {
        let object = thing.object();
        self.0.fetched(&object.metadata.key(Kind::Secret), object).is_some()
    }

    fn put(&mut self, thing: &Thing) {
        assert!(self.notice(thing), "not fetched");
        assert!(!self.fetched(thing));
    }

    fn deleted(&mut self, thing: &Thing) {
        self.0.deleted(Kind::Secret, &thing.object().metadata);
    }

    fn condition(&self) -> Option<&'static str> {
        let source = self.0.snapshot().sources.get(&key("n", "a"))?;
        Some(match &source.condition {
            Condition::Ready(_) => "Ready",
            Condition::Frozen(frozen) => frozen.state(),
        })
    }

    fn farewell(&self) -> Option<Farewell> {
        self.0.snapshot().farewells.get(&key("n", "a")).copied()
    }

    fn reading(&self) -> Reading {
        self.0.snapshot().reading(&key("n", "anything"))
    }
}

fn source(version: &str) -> Thing {
    secret("n", "a").annotation(FOLLOWERS, "*").meta("resourceVersion", version)
}

fn plain(version: &str) -> Thing {
    secret("n", "a").meta("resourceVersion", version)
}

#[test]
fn only_annotated_objects_are_fetched_and_what_is_not_fetched_holds_deletions_up() {
    let mut bench = Bench::new();
    assert!(!bench.notice(&plain("1")));
    assert_eq!((bench.condition(), bench.reading()), (None, Reading::Complete));
    assert!(bench.notice(&source("2")));
    assert_eq!((bench.condition(), bench.reading()), (Some("Unreadable"), Reading::Incomplete));
    assert!(!bench.fetched(&source("2")));
    assert_eq!((bench.condition(), bench.reading()), (Some("Ready"), Reading::Complete));
}

#[test]
fn an_answer_older_than_what_was_noticed_is_asked_for_again() {
    let mut bench = Bench::new();
    assert!(bench.notice(&source("2")));
    assert!(!bench.notice(&source("3")), "one GET at a time");
    assert!(bench.fetched(&source("2")));
    assert!(!bench.fetched(&source("4")));
    assert!(!bench.notice(&source("4")), "known already");
    assert!(!bench.notice(&source("3")), "the past");
    assert_eq!(bench.condition(), Some("Ready"));
}

#[test]
fn deleted_counts_only_for_the_object_that_is_stored() {
    let mut bench = Bench::new();
    bench.put(&source("2"));
    let again = source("5").meta("uid", "another");
    bench.put(&again);
    bench.deleted(&source("4"));
    assert_eq!(bench.condition(), Some("Ready"), "the late end of the one before");
    bench.deleted(&again);
    assert_eq!((bench.condition(), bench.farewell()), (None, Some(Farewell::Deleted)));
    bench.put(&source("7"));
    assert_eq!(bench.farewell(), None);
}

#[test]
fn how_a_source_left_is_remembered() {
    let mut bench = Bench::new();
    bench.put(&source("2"));
    bench.notice(&plain("3"));
    assert_eq!(bench.farewell(), Some(Farewell::Unannotated));
    bench.put(&source("4"));
    bench.notice(&plain("6").meta("uid", "another"));
    assert_eq!(bench.farewell(), Some(Farewell::Deleted), "made again, as no source");
    bench.put(&source("7"));
    bench.0.relist_begun(&scope());
    bench.0.relist_done(&scope());
    assert_eq!((bench.condition(), bench.farewell()), (None, Some(Farewell::Vanished)));
}

#[test]
fn a_relist_keeps_what_it_shows() {
    let mut bench = Bench::new();
    bench.put(&source("2"));
    bench.0.relist_begun(&scope());
    assert!(!bench.notice(&source("2")));
    bench.0.relist_done(&scope());
    assert_eq!(bench.condition(), Some("Ready"));
}

#[test]
fn a_frozen_source_says_why_and_is_a_source_still() {
    let suspended = source("2").annotation("towline.dev/suspend", "true");
    let invalid = source("2").annotation("towline.dev/on-conflict", "Perhaps");
    for (thing, state) in [(suspended, "Suspended"), (invalid, "Invalid")] {
        let mut bench = Bench::new();
        assert!(!bench.notice(&thing), "its content is not asked for");
        assert_eq!((bench.condition(), bench.reading()), (Some(state), Reading::Complete), "{state}");
    }
    let mut bench = Bench::new();
    bench.put(&source("2").with("type", "kubernetes.io/service-account-token".into()));
    assert_eq!(bench.condition(), Some("RefusedType"));
}

#[test]
fn what_cannot_be_read_freezes_and_holds_deletions_up_until_it_can() {
    let mut bench = Bench::new();
    bench.put(&source("2"));
    bench.notice(&source("3"));
    bench.0.unreadable(&key("n", "a"), "403");
    assert_eq!((bench.condition(), bench.reading()), (Some("Unreadable"), Reading::Incomplete));
    let elsewhere = bench.0.snapshot().reading(&key("another-namespace", "a"));
    assert_eq!(elsewhere, Reading::Complete, "it holds up its own namespace only");
    assert!(bench.0.wanted(&key("n", "a")).is_some());
    assert!(!bench.fetched(&source("3")));
    assert_eq!((bench.condition(), bench.reading()), (Some("Ready"), Reading::Complete));
}

#[test]
fn nothing_is_concluded_from_a_list_that_is_denied_or_from_no_list() {
    let mut bench = Bench::new();
    bench.0.denied(&scope());
    assert_eq!(bench.reading(), Reading::Incomplete);
    let elsewhere = ObjectKey::new(Kind::ConfigMap, "n", "a");
    assert_eq!(bench.0.snapshot().reading(&elsewhere), Reading::OutOfScope);
}

#[test]
fn our_own_copy_is_never_a_source_and_another_hubs_may_be() {
    let mut bench = Bench::new();
    assert!(!bench.notice(&source("2").label(ORIGIN, HUB)));
    assert_eq!(bench.condition(), None);
    assert!(bench.notice(&source("3").label(ORIGIN, "another-hub")));
}
