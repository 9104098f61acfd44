//! Policies as operators write them.

use super::*;
use proptest::prelude::*;

fn policy(text: &str) -> Policy {
    Policy::parse(text).unwrap()
}

fn labels(text: &str) -> Labels {
    text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect()
}

/// What a Secret `name` of `from` is granted in `to`, as text; empty: not covered.
fn granted(policy: &Policy, [from, from_labels, name]: [&str; 3], [to, to_labels]: [&str; 2]) -> String {
    let (from_labels, to_labels) = (labels(from_labels), labels(to_labels));
    let (namespace, name) = (from.into(), name.into());
    let sender =
        Sender { kind: Kind::Secret, namespace: &namespace, namespace_labels: Some(&from_labels), name: &name };
    policy.grants(&sender, &to.into(), Some(&to_labels)).map_or(String::new(), |grant| {
        let mut text = (if grant.literal { "literal" } else { "match" }).to_owned();
        grant.allow.iter().for_each(|permission| text.push_str(&format!(" {permission}")));
        text
    })
}

const FILE: &str = r#"
accept:
- from: {namespaces: [certs], selector: {matchLabels: {team: tls}}}
  to: {namespaces: ["ingress", "web-*", "!web-0"]}
  kinds: [Secret]
  names: ["wildcard-*"]
  allow: [Rename, CreateNamespace]
- from: {namespaces: [certs]}
  to: {namespaces: ["*"], selector: "tls in (yes)"}
  allow: [Overwrite]
- from: {namespaces: [apps]}
  to: same
- kinds: [ConfigMap]
baseRoutes: false
"#;

#[test]
fn a_rule_covers_pairs_of_from_and_to_and_rules_add_up() {
    let policy = policy(FILE);
    let certs = ["certs", "team=tls", "wildcard-a"];
    let table = [
        (certs, ["ingress", ""], "literal Rename CreateNamespace"),
        (certs, ["web-1", ""], "match Rename CreateNamespace"),
        (certs, ["web-0", ""], ""),
        (certs, ["other", ""], ""),
        (certs, ["other", "tls=yes"], "match Overwrite"),
        (certs, ["ingress", "tls=yes"], "literal Rename CreateNamespace Overwrite"),
        (["certs", "", "wildcard-a"], ["ingress", ""], ""),
        (["certs", "team=tls", "other"], ["ingress", ""], ""),
        (["apps", "", "a"], ["apps", ""], "literal"),
        (["apps", "", "a"], ["ingress", ""], ""),
        (["other", "", "a"], ["other", ""], ""),
    ];
    for (from, to, expected) in table {
        assert_eq!(granted(&policy, from, to), expected, "{from:?} to {to:?}");
    }
    assert!(!policy.base_routes);
}

#[test]
fn kinds_and_an_absent_to_are_respected() {
    let policy = policy("accept: [{kinds: [ConfigMap]}]");
    let (namespace, name) = ("a".into(), "n".into());
    let sender = |kind| Sender { kind, namespace: &namespace, namespace_labels: None, name: &name };
    let grant = |kind, to: &str| policy.grants(&sender(kind), &to.into(), None).map(|grant| grant.literal);
    assert_eq!(grant(Kind::ConfigMap, "a"), Some(true));
    assert_eq!(grant(Kind::ConfigMap, "b"), None);
    assert_eq!(grant(Kind::Secret, "a"), None);
}

#[test]
fn labels_that_are_not_known_match_no_selector() {
    let (namespace, name) = ("a".into(), "n".into());
    let sender = Sender { kind: Kind::Secret, namespace: &namespace, namespace_labels: None, name: &name };
    let granted = |text: &str| policy(text).grants(&sender, &"b".into(), None).is_some();
    assert!(!granted("accept: [{from: {selector: '!x'}, to: {namespaces: [b]}}]"));
    assert!(!granted("accept: [{to: {selector: '!x'}}]"));
    assert!(granted("accept: [{from: {selector: {}}, to: {namespaces: [b]}}]"));
}

#[test]
fn no_policy_grants_nothing_and_leaves_base_routes_open() {
    for text in ["{}", "accept: []"] {
        assert_eq!(policy(text), Policy::default());
    }
    assert!(Policy::default().base_routes);
    assert_eq!(granted(&Policy::default(), ["a", "", "n"], ["a", ""]), "");
}

#[test]
fn two_policies_add_up_and_either_closes_base_routes() {
    let one = policy("accept: [{to: {namespaces: [a]}, allow: [Rename]}]");
    let both = one.and(&policy("{accept: [{to: {namespaces: [a]}, allow: [Overwrite]}], baseRoutes: false}"));
    assert_eq!(granted(&both, ["s", "", "n"], ["a", ""]), "literal Rename Overwrite");
    assert!(!both.base_routes);
}

#[test]
fn a_policy_tells_which_namespaces_and_labels_it_needs() {
    let literal = |text: &str| {
        let namespaces = policy(text).literal_target_namespaces()?;
        Some(namespaces.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(literal("accept: [{to: {namespaces: [b, a]}}, {to: {namespaces: [c], selector: x}}]"), some("a b c"));
    assert_eq!(literal("accept: [{from: {namespaces: [a]}}, {to: {namespaces: [b]}}]"), some("a b"));
    assert_eq!(literal("{}"), some(""));
    assert_eq!(literal("accept: [{to: {namespaces: [a, b*]}}]"), None);
    assert_eq!(literal("accept: [{to: {namespaces: [a]}}, {to: {selector: x}}]"), None);
    assert_eq!(literal("accept: [{to: same}]"), None);

    let needs = |text: &str| {
        let policy = policy(text);
        (policy.needs_source_namespace_labels(), policy.needs_target_namespace_labels())
    };
    assert_eq!(needs(FILE), (true, true));
    assert_eq!(needs("accept: [{from: {selector: x}}]"), (true, false));
    assert_eq!(needs("accept: [{to: {selector: x}}]"), (false, true));
    assert_eq!(needs("accept: [{from: {selector: {}}, to: {namespaces: [a]}}]"), (false, false));
}

#[test]
fn a_mistake_is_placed_and_what_is_allowed_is_said() {
    let table = [
        ("accept:\n- too: same\n", 2, "unknown key `too`: allowed is from, to, kinds, names, allow"),
        ("acept: []", 1, "allowed is accept, baseRoutes"),
        ("accept:\n- allow: [Everything]", 2, "allowed is Rename, CreateNamespace, Overwrite"),
        ("accept:\n- kinds: [Pod]", 2, "allowed is ConfigMap, Secret"),
        ("accept:\n- kinds: []", 2, "at least one of ConfigMap, Secret"),
        ("accept:\n- to: other", 2, "`same`, or namespaces and selector"),
        ("accept:\n- to: {}", 2, "`same`, or namespaces and selector"),
        ("accept:\n- to: {names: [a]}", 2, "unknown key `names`: allowed is namespaces, selector"),
        ("accept:\n- to: {namespaces: []}", 2, "at least one name or glob"),
        ("accept:\n- from: {namespaces: ['!a']}", 2, "add `*`"),
        ("accept:\n- from:\n    selector: a b", 3, "label selector"),
        ("accept:\n- from:\n    selector: {labels: {}}", 3, "allowed is matchLabels, matchExpressions"),
        ("baseRoutes: maybe", 1, "allowed is"),
    ];
    for (text, line, message) in table {
        let error = Policy::parse(text).unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

#[test]
fn the_missing_rule_is_yaml() {
    let (namespace, name) = ("certs".into(), "wildcard".into());
    let sender = Sender { kind: Kind::Secret, namespace: &namespace, namespace_labels: None, name: &name };
    let text = missing_rule(&sender, &"ingress".into(), &[Permission::Overwrite, Permission::Rename].into());
    let expected = concat!(
        "accept:\n- from: {namespaces: [\"certs\"]}\n  to: {namespaces: [\"ingress\"]}\n",
        "  kinds: [Secret]\n  names: [\"wildcard\"]\n  allow: [Rename, Overwrite]\n"
    );
    assert_eq!(text, expected);
    assert!(!missing_rule(&sender, &"ingress".into(), &BTreeSet::new()).contains("allow"));
}

proptest! {
    #[test]
    fn the_missing_rule_grants_exactly_what_was_missing(
        from in "[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?|true|123|null|1e3", to in "[a-z0-9]{1,8}|true|0|~", name in "[a-z0-9.]{1,9}",
        rename in any::<bool>(), overwrite in any::<bool>(),
    ) {
        let (namespace, name, to) = (from.as_str().into(), name.as_str().into(), Namespace::from(to.as_str()));
        let sender = Sender { kind: Kind::ConfigMap, namespace: &namespace, namespace_labels: None, name: &name };
        let wanted: BTreeSet<_> = [rename.then_some(Permission::Rename), overwrite.then_some(Permission::Overwrite)]
            .into_iter().flatten().collect();
        let grant = policy(&missing_rule(&sender, &to, &wanted)).grants(&sender, &to, None);
        prop_assert_eq!(grant, Some(Grant { literal: true, allow: wanted }));
    }

    #[test]
    fn more_rules_never_grant_less(first in 0..4_usize, second in 0..4_usize) {
        let rules = policy(FILE).accept;
        let one = Policy { accept: vec![rules[first].clone()], base_routes: true };
        let two = Policy { accept: vec![rules[first].clone(), rules[second].clone()], base_routes: true };
        let (namespace, name, from_labels, to_labels) = ("certs".into(), "wildcard-a".into(), labels("team=tls"), labels("tls=yes"));
        let sender = Sender { kind: Kind::Secret, namespace: &namespace, namespace_labels: Some(&from_labels), name: &name };
        let [less, more] = [one, two].map(|policy| policy.grants(&sender, &"ingress".into(), Some(&to_labels)));
        if let Some(less) = less {
            let more = more.unwrap();
            prop_assert!(less.literal <= more.literal && less.allow.is_subset(&more.allow));
        }
    }
}
