//! Marks as they stand on copies.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const TEXT: &str = concat!(
    r#"{"v":1,"instance":"towline","source":{"cluster":"hub","kind":"Secret","namespace":"certs","name":"wildcard","#,
    r#""uid":"u-1","resourceVersion":"42"},"target":{"cluster":"c-1","follower":"prod","namespace":"web","#,
    r#""name":"wildcard"},"deletionPolicy":"Orphan","deletionDelay":90}"#
);

fn mark() -> Mark {
    Mark {
        instance: "towline".to_owned(),
        source: MarkSource {
            cluster: "hub".to_owned(),
            kind: Kind::Secret,
            namespace: "certs".into(),
            name: "wildcard".into(),
            uid: "u-1".into(),
            resource_version: "42".into(),
        },
        target: MarkTarget {
            cluster: "c-1".into(),
            follower: "prod".into(),
            namespace: "web".into(),
            name: "wildcard".into(),
        },
        deletion_policy: DeletionPolicy::Orphan,
        deletion_delay: Some(Duration::from_secs(90)),
    }
}

fn place() -> ObjectKey {
    ObjectKey::new(Kind::Secret, "web", "wildcard")
}

fn standing_of(key: &ObjectKey, label: Option<&str>, text: Option<&str>) -> Standing {
    standing(&"hub-1".into(), &"c-1".into(), key, label, text)
}

#[test]
fn a_mark_has_one_text() {
    assert_eq!(mark().encode(), TEXT);
    assert_eq!(Mark::parse(TEXT), Some(mark()));
}

#[test]
fn a_delay_stands_in_the_mark_only_if_annotated() {
    let none = Mark { deletion_delay: None, ..mark() };
    assert!(none.encode().ends_with(r#""deletionPolicy":"Orphan"}"#));
    assert_eq!(Mark::parse(&none.encode()), Some(none));
    let short = Mark { deletion_delay: Some(Duration::from_millis(300)), ..mark() };
    assert!(short.encode().ends_with(r#""deletionDelay":0.3}"#));
    assert_eq!(Mark::parse(&short.encode()), Some(short));
}

#[test]
fn fields_that_are_unknown_or_for_people_do_not_matter() {
    let text = concat!(
        r#"{"later":[1],"v":1,"source":{"kind":"Secret","namespace":"certs","name":"wildcard","more":{}},"#,
        r#""target":{"cluster":"c-1","namespace":"web","name":"wildcard"}}"#
    );
    let read = Mark::parse(text).unwrap();
    assert_eq!(read.source.key(), mark().source.key());
    assert_eq!((read.target.follower.as_str(), read.deletion_policy), ("", DeletionPolicy::Delete));
}

#[test]
fn what_is_not_a_mark_of_version_1_is_not_parsable() {
    let table = [
        String::new(),
        "{}".to_owned(),
        "[1]".to_owned(),
        TEXT.replace(r#""v":1"#, r#""v":2"#),
        TEXT.replace(r#""v":1,"#, ""),
        TEXT.replace(r#""Secret""#, r#""Pod""#),
        TEXT.replace(r#""namespace":"certs","#, ""),
        TEXT.replace("Orphan", "Keep"),
        TEXT.replace(":90", ":-1"),
        TEXT.replace(":90", ":2592001"),
        TEXT.replace(":90", ":1e400"),
        format!("{TEXT}x"),
    ];
    for text in table {
        assert_eq!(Mark::parse(&text), None, "{text}");
    }
}

#[test]
fn an_object_is_ours_only_with_our_label_and_a_mark_that_fits_its_place() {
    let ours = Some("hub-1");
    let with = |from: &str, to: &str| TEXT.replace(from, to);
    let elsewhere = with(r#""c-1""#, r#""c-2""#);
    let table = [
        (ours, Some(TEXT.to_owned()), Standing::Ours(mark())),
        (None, Some(TEXT.to_owned()), Standing::Foreign),
        (Some("hub-2"), Some(TEXT.to_owned()), Standing::Foreign),
        (ours, None, Standing::Damaged(None)),
        (ours, Some("{".to_owned()), Standing::Damaged(None)),
        (ours, Some(with("Secret", "ConfigMap")), Standing::Damaged(None)),
        (ours, Some(elsewhere.clone()), Standing::Damaged(Mark::parse(&elsewhere))),
        (ours, Some(with(r#""web""#, r#""other""#)), Standing::Stray),
        (ours, Some(elsewhere.replace(r#""web""#, r#""other""#)), Standing::Stray),
    ];
    for (label, text, expected) in table {
        assert_eq!(standing_of(&place(), label, text.as_deref()), expected, "{text:?}");
    }
    let renamed = ObjectKey::new(Kind::Secret, "web", "clone");
    assert_eq!(standing_of(&renamed, ours, Some(TEXT)), Standing::Stray);
}

#[test]
fn propagated_names_are_sorted_and_left_out_when_there_are_none() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let both = Propagated { labels: names(&["b", "a"]), annotations: names(&["x/y"]) };
    assert_eq!(both.encode().as_deref(), Some(r#"{"labels":["a","b"],"annotations":["x/y"]}"#));
    let labels = Propagated { labels: names(&["a"]), ..Propagated::default() };
    assert_eq!(labels.encode().as_deref(), Some(r#"{"labels":["a"]}"#));
    assert_eq!(Propagated::default().encode(), None);
    for text in ["", "[]", "{", r#"{"labels":"a"}"#, "{}"] {
        assert_eq!(Propagated::parse(text), Propagated::default(), "{text}");
    }
}

#[test]
fn kubeds_marks_are_read() {
    let labels = BTreeMap::from([
        (KUBED_ORIGIN_NAME, "ingress-cert"),
        (KUBED_ORIGIN_NAMESPACE, "cert-manager"),
        (KUBED_ORIGIN_CLUSTER, ""),
    ]);
    let read = |annotation| KubedOrigin::read(|key| labels.get(key).copied(), annotation);
    let text = r#"{"namespace":"cert-manager","name":"ingress-cert","uid":"f1ed062c","resourceVersion":"5296"}"#;
    let origin = read(Some(text)).unwrap();
    assert_eq!(origin.uid, Some("f1ed062c".into()));
    let source = ObjectKey::new(Kind::Secret, "cert-manager", "ingress-cert");
    assert!(origin.names(&source, ""));
    assert!(!origin.names(&source, "hub"));
    assert!(!origin.names(&ObjectKey::new(Kind::Secret, "cert-manager", "other"), ""));
    for damaged in [None, Some("{"), Some("{}")] {
        assert_eq!(read(damaged).unwrap().uid, None);
    }
    assert_eq!(KubedOrigin::read(|key| labels.get(key).copied().filter(|_| key != KUBED_ORIGIN_CLUSTER), None), None);
}

proptest! {
    #[test]
    fn what_was_marked_is_read_again(
        name in "\\PC{0,20}", nanos in proptest::option::of(0..=2_592_000_000_000_000_u64), instance in "\\PC{0,9}",
    ) {
        let mut mark = Mark { instance, deletion_delay: nanos.map(Duration::from_nanos), ..mark() };
        mark.target.name = name.as_str().into();
        prop_assert_eq!(Mark::parse(&mark.encode()), Some(mark));
    }

    #[test]
    fn what_was_propagated_is_read_again(
        labels in proptest::collection::btree_set("\\PC{0,9}", 0..3), annotations in proptest::collection::btree_set("\\PC{0,9}", 0..3),
    ) {
        let names = Propagated { labels, annotations };
        prop_assert_eq!(Propagated::parse(&names.encode().unwrap_or_default()), names);
    }
}
