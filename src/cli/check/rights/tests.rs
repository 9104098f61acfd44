use super::{super::step::Outcome, *};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const EVERYWHERE: &str = include_str!("../../../../deploy/rbac/follower.yaml");
const NAMED: &str = include_str!("../../../../deploy/rbac/follower-namespaced.yaml");

fn ingress() -> Places {
    Places::Named(vec!["ingress".to_owned()])
}

/// Verb, resource, namespace, name: of all rules of the roles in a manifest.
fn granted(manifest: &str) -> BTreeSet<[String; 4]> {
    let mut rights = BTreeSet::new();
    for document in manifest.split("---\n").filter(|document| document.contains("\nrules:\n")) {
        let role: Value = serde_saphyr::from_str(document).unwrap();
        let strings = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["apiGroups"], json!([""]));
            let mut names = strings(&rule["resourceNames"]);
            if names.is_empty() {
                names.push(String::new());
            }
            for (verb, resource) in strings(&rule["verbs"])
                .iter()
                .flat_map(|verb| strings(&rule["resources"]).into_iter().map(move |r| (verb.clone(), r)))
            {
                rights.extend(
                    names.iter().map(|name| [&verb, &resource, namespace, name].map(|part: &str| part.to_owned())),
                );
            }
        }
    }
    rights
}

fn wanted(places: &Places) -> BTreeSet<[String; 4]> {
    let rights = needed(places).into_iter().flat_map(|need| need.rights);
    // The namespace of a namespace is itself, and a ClusterRole says only its name.
    let place = |right: &Right| if right.resource == "namespaces" { String::new() } else { right.namespace.clone() };
    rights.map(|right| [right.verb.to_owned(), right.resource.to_owned(), place(&right), right.name]).collect()
}

#[test]
fn what_is_needed_is_what_the_manifests_grant() {
    assert_eq!(wanted(&Places::Everywhere), granted(EVERYWHERE));
    assert_eq!(wanted(&ingress()), granted(NAMED));
}

#[test]
fn rights_in_namespaces_are_enough_where_all_targets_are_names() {
    let places = |text: &str| Places::of(Some(&Patterns::parse(text).unwrap()));
    assert_eq!(places("ingress"), ingress());
    assert_eq!(places("ingress, web-*"), Places::Everywhere);
    assert_eq!(Places::of(None), Places::Everywhere);
}

#[test]
fn a_review_asks_for_one_right() {
    let right = &needed(&ingress())[0].rights[0];
    let attributes = json!({"verb": "get", "group": "", "resource": "secrets", "namespace": "ingress"});
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    assert_eq!(serde_json::to_value(right.review()).unwrap(), review);
    let answer = |text: &str| serde_json::from_str::<AccessAnswer>(text).unwrap().is_allowed();
    assert!(answer(r#"{"status": {"allowed": true, "reason": "RBAC: …"}}"#));
    assert!(!answer(r#"{"status": {"allowed": false}}"#) && !answer(r#"{"status": {}}"#));
}

#[test]
fn missing_verbs_are_named() {
    let need = &needed(&Places::Everywhere)[0];
    let step = judge(need, &[true, true, true, false, false, true]);
    assert_eq!((step.result, &*step.subject), (Outcome::Failed, "secrets in all namespaces"));
    assert_eq!((&*step.found, &*step.fix), ("missing create, patch", GRANT));
    let step = judge(need, &[true; 6]);
    assert_eq!((step.result, &*step.found), (Outcome::Passed, "get, list, watch, create, patch, delete"));
    assert_eq!(judge(need, &[true; 5]).result, Outcome::Failed, "an answer is missing");
}

#[test]
fn too_many_rights_are_told_beside_what_is_needed() {
    let masters = User { name: "admin".to_owned(), groups: vec![MASTERS.to_owned()] };
    let plain = User { name: "towline".to_owned(), groups: vec!["towline".to_owned()] };
    let two = Places::Named(vec!["a".to_owned(), "b".to_owned()]);
    let table = [
        (
            Some(&masters),
            &[EVERYTHING][..],
            &two,
            "this identity is in system:masters, whom nothing limits; Towline needs 6 verbs on secrets and configmaps in 2 namespaces, and 3 on namespaces",
        ),
        (
            Some(&plain),
            &[EVERYTHING, "create pods"],
            &Places::Everywhere,
            "this identity may do everything (* on *); Towline needs 6 verbs on secrets and configmaps in all namespaces, and 3 on namespaces",
        ),
        (
            None,
            &["create pods", "impersonate users"],
            &Places::Everywhere,
            "this identity may create pods, impersonate users; Towline needs 6 verbs on secrets and configmaps in all namespaces, and 3 on namespaces",
        ),
    ];
    for (user, held, places, found) in table {
        let step = judge_excess(user, held, places);
        assert_eq!((step.result, &*step.found, &*step.fix), (Outcome::Failed, found, LESS));
    }
    assert_eq!(judge_excess(Some(&plain), &[], &two).result, Outcome::Passed);
}

#[test]
fn nothing_that_is_needed_is_told_as_too_much() {
    for places in [Places::Everywhere, ingress()] {
        let needed: Vec<Right> = needed(&places).into_iter().flat_map(|need| need.rights).collect();
        for excess in needless(&places) {
            assert!(!needed.contains(&excess.right), "{}", excess.words);
        }
    }
}
