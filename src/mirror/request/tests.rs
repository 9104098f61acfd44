use super::*;
use crate::{
    api::key::Kind,
    mirror::{
        makers::{Thing, key, merge, observer, packing, parcel, secret, stored, wish},
        parcel::copy_mark,
    },
    object::decode::Object,
    source::{Condition, Source},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn source(name: &str) -> Thing {
    secret("n", name).annotation("towline.dev/followers", "*")
}

fn json(body: &Body) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn copy_of(thing: &Thing) -> Thing {
    stored(&create(&thing.parcel(), &Keepsakes::default()), "u", "41")
}

fn updated(to: &Thing, there: &Thing) -> Value {
    json(&update(&to.parcel(), &there.observed(), &Dropped::default()))
}

#[test]
fn a_new_copy_has_content_marks_and_what_travels_and_no_uid_or_version() {
    let thing = source("a").label("app", "x").label("helm.sh/chart", "y").annotation("note", "\"ü\"\n");
    let body = json(&create(&thing.with("immutable", json!(true)).parcel(), &Keepsakes::default()));
    let metadata = &body["metadata"];
    assert_eq!(metadata["labels"], json!({"app": "x", ORIGIN: "hub-uid", MANAGED_BY: MANAGED_BY_TOWLINE}));
    assert_eq!(metadata["annotations"]["note"], "\"ü\"\n");
    assert_eq!(metadata["annotations"][PROPAGATED], r#"{"labels":["app"],"annotations":["note"]}"#);
    let fields: Vec<_> = metadata.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["annotations", "labels", "name", "namespace"]);
    assert_eq!(
        (&body["type"], &body["immutable"], &body["data"]),
        (&json!("Opaque"), &json!(true), &json!({"k": "dg=="}))
    );
    assert!(body.get("binaryData").is_none());
    let mark: Value = serde_json::from_str(metadata["annotations"][SOURCE].as_str().unwrap()).unwrap();
    assert_eq!(mark["target"], json!({"cluster": "cluster-uid", "follower": "prod", "namespace": "n", "name": "a"}));
}

#[test]
fn nothing_propagated_means_no_annotation_about_it() {
    let body = json(&create(&source("a").parcel(), &Keepsakes::default()));
    assert!(body["metadata"]["annotations"].get(PROPAGATED).is_none());
}

#[test]
fn an_update_is_conditional_and_nulls_only_what_came_from_the_source() {
    let before = copy_of(&source("a").label("old", "x").label("stays", "x").annotation("gone", "y"));
    let before = before.label("theirs", "x").annotation("theirs", "y");
    let patch = updated(&source("a").label("stays", "z"), &before);
    let metadata = &patch["metadata"];
    assert_eq!(metadata["resourceVersion"], "41");
    assert_eq!((&metadata["labels"]["old"], &metadata["labels"]["stays"]), (&Value::Null, &json!("z")));
    assert!(metadata["labels"].as_object().unwrap().contains_key("old"));
    assert!(metadata["annotations"].as_object().unwrap().contains_key("gone"));
    assert!(!patch.to_string().contains("theirs"));
}

#[test]
fn a_key_that_moved_to_binary_data_is_nulled_in_data() {
    let thing = |data: Value, binary: Value| {
        let thing = source("a").with("kind", json!("ConfigMap")).with("data", data).with("binaryData", binary);
        thing.with("type", Value::Null)
    };
    let before = copy_of(&thing(json!({"a": "1", "b": "2"}), json!({"c": "dg=="})));
    let patch = updated(&thing(json!({"b": "3"}), json!({"a": "dg=="})), &before);
    assert_eq!(
        (&patch["data"], &patch["binaryData"]),
        (&json!({"b": "3", "a": null}), &json!({"a": "dg==", "c": null}))
    );
    assert_eq!(patch.get("type"), None);
    assert_eq!(patch["immutable"], Value::Null);
}

#[test]
fn the_last_propagated_name_takes_the_annotation_with_it() {
    let patch = updated(&source("a"), &copy_of(&source("a").label("old", "x")));
    assert!(patch["metadata"]["annotations"].as_object().unwrap()[PROPAGATED].is_null());
}

#[test]
fn a_list_of_propagated_names_cannot_take_our_marks_off() {
    let lies = json!({"labels": [ORIGIN, MANAGED_BY], "annotations": [SOURCE, PROPAGATED]}).to_string();
    let mut there = copy_of(&source("a")).annotation(PROPAGATED, &lies).0;
    let patch = updated(&source("a"), &Thing(there.clone()));
    merge(&mut there, &patch);
    assert_eq!(there["metadata"]["labels"], json!({ORIGIN: "hub-uid", MANAGED_BY: MANAGED_BY_TOWLINE}));
    assert!(there["metadata"]["annotations"][SOURCE].is_string());
}

#[test]
fn a_release_takes_the_marks_and_leaves_the_rest() {
    let before = copy_of(&source("a").label("app", "x")).label("theirs", "x");
    let patch = json(&release(&before.observed()));
    assert_eq!(patch["metadata"]["resourceVersion"], "41");
    let mut after = before.0;
    merge(&mut after, &patch);
    assert_eq!(after["metadata"]["labels"], json!({"app": "x", "theirs": "x"}));
    assert_eq!(after["metadata"]["annotations"], json!({}));
    assert_eq!(after["data"], json!({"k": "dg=="}));
}

#[test]
fn a_deletion_hits_only_what_was_observed() {
    let options = json(&delete(&copy_of(&source("a")).observed()));
    assert_eq!(options["preconditions"], json!({"uid": "u", "resourceVersion": "41"}));
}

#[test]
fn an_adoption_takes_off_kubeds_marks_and_what_kubed_should_not_have_copied() {
    let kubeds = secret("n", "a")
        .label("kubed.appscode.com/origin.name", "a")
        .label("app.kubernetes.io/managed-by", "Helm")
        .label("helm.sh/chart", "x")
        .label("theirs", "x")
        .annotation("kubed.appscode.com/origin", "{}")
        .annotation("kubed.appscode.com/sync", "")
        .annotation("kubectl.kubernetes.io/last-applied-configuration", "{}")
        .annotation("towline.dev/hold", "false");
    let adopted = |marks| {
        let dropped = Dropped::on_adoption(&kubeds.observed(), &MetadataFilter::default(), marks);
        let mut after = kubeds.clone().0;
        merge(&mut after, &json(&update(&source("a").parcel(), &kubeds.observed(), &dropped)));
        let keys = |field: &str| after["metadata"][field].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        (keys("labels"), keys("annotations"))
    };
    let (labels, annotations) = adopted(KubedMarks::Remove);
    assert_eq!(labels, [MANAGED_BY, "theirs", ORIGIN]);
    assert_eq!(annotations, ["kubed.appscode.com/sync", "towline.dev/hold", SOURCE]);
    let (labels, annotations) = adopted(KubedMarks::Keep);
    assert_eq!(labels, [MANAGED_BY, "kubed.appscode.com/origin.name", "theirs", ORIGIN]);
    assert_eq!(annotations, ["kubed.appscode.com/origin", "kubed.appscode.com/sync", "towline.dev/hold", SOURCE]);
}

/// What a source, or an object in a follower, may look like.
fn anything(kind: Kind) -> impl Strategy<Value = Thing> {
    let texts = |keys: &'static [&'static str]| {
        prop::collection::btree_map(prop::sample::select(keys), "[a-z\"\\\\\n\u{7f}ü]{0,6}", 0..4)
    };
    let labels = || texts(&["app", "team", "theirs", "helm.sh/chart", "app.kubernetes.io/managed-by"]);
    let annotations = texts(&["note", "team", "theirs", "meta.helm.sh/x", "kubed.appscode.com/sync"]);
    (labels(), annotations, texts(&["a", "b", "c"]), texts(&["d", "e"]), any::<bool>()).prop_map(
        move |(labels, annotations, data, binary, immutable)| {
            let mut thing = secret("n", "a").with("kind", json!(kind.as_str())).with("data", json!(data));
            thing = thing.with("immutable", json!(immutable));
            if kind == Kind::ConfigMap {
                thing = thing.with("binaryData", json!(binary));
                thing.0.as_object_mut().unwrap().remove("type");
            }
            let thing = labels.iter().fold(thing, |thing, (key, value)| thing.label(key, value));
            annotations.iter().fold(thing, |thing, (key, value)| thing.annotation(key, value))
        },
    )
}

fn pair() -> impl Strategy<Value = (Thing, Thing, Thing)> {
    prop_oneof![Just(Kind::Secret), Just(Kind::ConfigMap)]
        .prop_flat_map(|kind| (anything(kind), anything(kind), anything(kind)))
}

fn packed(thing: &Thing) -> Source {
    thing.clone().annotation("towline.dev/followers", "*").annotation("kubed.appscode.com/sync", "true").source()
}

fn whole(source: &Source) -> crate::object::digest::Digest {
    let Condition::Ready(shipment) = &source.condition else { panic!("frozen") };
    let mark = copy_mark(&source.key, shipment, &wish());
    observer().in_step(shipment.payload.digest, shipment.carried, &source.key, &mark)
}

/// The names in `field` that neither the source nor an older version of it gave.
fn foreign(there: &Value, field: &str, given: &[&Thing]) -> Map<String, Value> {
    let filter = packing().filter;
    let carries =
        |key: &str| if field == "labels" { filter.carries_label(key) } else { filter.carries_annotation(key) };
    let is_given = |key: &String| {
        [ORIGIN, MANAGED_BY, SOURCE, PROPAGATED].contains(&key.as_str())
            || given.iter().any(|thing| !thing.0["metadata"][field][key].is_null() && carries(key))
    };
    let all = there["metadata"][field].as_object().cloned().unwrap_or_default();
    all.into_iter().filter(|(key, _)| !is_given(key)).collect()
}

proptest! {
    #[test]
    fn an_update_brings_any_object_in_step_and_keeps_what_others_put_there((old, new, theirs) in pair()) {
        let source = packed(&new);
        // An older copy on which somebody wrote, and an object that was never ours.
        let mut edited = stored(&create(&parcel(&packed(&old), &source.key), &Keepsakes::default()), "u", "41").0;
        let mut edits = theirs.0.clone();
        edits.as_object_mut().unwrap().retain(|key, _| key == "data" || key == "binaryData" || key == "metadata");
        edits["metadata"].as_object_mut().unwrap().retain(|key, _| key == "labels" || key == "annotations");
        merge(&mut edited, &edits);
        for (there, given) in [(Thing(edited), vec![&old, &new]), (theirs.clone(), vec![&new])] {
            let mut after = there.0.clone();
            let patch = update(&parcel(&source, &source.key), &there.observed(), &Dropped::default());
            merge(&mut after, &json(&patch));
            let observed = Thing(after.clone()).observed();
            prop_assert!(observed.whole == whole(&source), "{after:#}");
            for field in ["labels", "annotations"] {
                let kept = foreign(&there.0, field, &given);
                for (key, value) in kept {
                    prop_assert_eq!(&after["metadata"][field][&key], &value);
                }
            }
        }
    }

    #[test]
    fn an_object_made_anew_is_in_step_and_keeps_what_others_put_there((old, new, theirs) in pair()) {
        let source = packed(&new);
        let mut there = stored(&create(&parcel(&packed(&old), &source.key), &Keepsakes::default()), "u", "41").0;
        merge(&mut there, &json!({"metadata": {"labels": theirs.0["metadata"]["labels"]}}));
        let observed = Thing(there.clone()).observed();
        let meta = serde_json::from_value::<Object>(there.clone()).unwrap().metadata;
        let keepsakes = Keepsakes::of(meta, &observed, &Dropped::default());
        let after = stored(&create(&parcel(&source, &source.key), &keepsakes), "v", "42");
        prop_assert!(after.observed().whole == whole(&source), "{:#}", after.0);
        for (key, value) in foreign(&there, "labels", &[&old, &new]) {
            prop_assert_eq!(&after.0["metadata"]["labels"][&key], &value);
        }
    }
}

#[test]
fn a_copy_of_another_name_carries_its_own_place() {
    let source = source("a").source();
    let body = create(&parcel(&source, &key("m", "b")), &Keepsakes::default());
    assert!(matches!(stored(&body, "u", "1").observed().standing, Standing::Ours(_)));
}
