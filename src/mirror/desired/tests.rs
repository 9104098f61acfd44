use super::*;
use crate::{
    api::{key::Kind, policy::Policy},
    mirror::{makers::member, namespaces::Visible},
};
use std::sync::Arc;

/// A follower with some namespaces, and the source `Secret/certs/tls`.
struct Place {
    local: bool,
    members: Vec<Member>,
    namespaces: Namespaces,
    scope: Option<Patterns>,
}

fn labels(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn follower(members: impl Into<Vec<Member>>) -> Place {
    let mut namespaces = Namespaces::new(Visible::All);
    for (name, text) in [("certs", ""), ("kube-system", "team=x"), ("web-1", "team=x"), ("web-2", "team=y")] {
        let info = NamespaceInfo { labels: Arc::new(labels(text)), accepts: true, terminating: false };
        namespaces.set(name.into(), info);
    }
    Place { local: false, members: members.into(), namespaces, scope: None }
}

fn with_rules(name: &str, rules: &str) -> Member {
    Member { policy: Arc::new(Policy::parse(rules).unwrap()), ..member(name) }
}

impl Place {
    fn local(self) -> Self {
        Self { local: true, ..self }
    }

    fn within(self, scope: &str) -> Self {
        Self { scope: Some(Patterns::parse(scope).unwrap()), ..self }
    }

    fn desired(&self, annotations: &[(&str, &str)]) -> Desired {
        let own = |key: &str| if key.contains('/') { key.to_owned() } else { format!("towline.dev/{key}") };
        let all = annotations.iter().map(|(key, value)| (own(key), (*value).to_owned())).collect();
        let intent = annotations::parse(&all).unwrap().unwrap();
        let (namespace, name) = ("certs".into(), "tls".into());
        let sender = Sender { kind: Kind::Secret, namespace: &namespace, namespace_labels: None, name: &name };
        let view = View {
            local: self.local,
            members: &self.members,
            namespaces: &self.namespaces,
            protected: &["kube-system".into()].into(),
            target_namespaces: self.scope.as_ref(),
        };
        desired(&sender, &intent, view)
    }

    /// `namespace/name` of all targets; a `+` for Overwrite, a `*` for a namespace that may be created.
    fn targets(&self, annotations: &[(&str, &str)]) -> String {
        let text = |(key, wish): &(ObjectKey, Wish)| {
            let signs = [(wish.overwrite, "+"), (wish.create_namespace, "*")];
            let signs: String = signs.iter().filter(|(is, _)| *is).map(|(_, sign)| *sign).collect();
            format!("{}/{}{signs}", key.namespace, key.name)
        };
        self.desired(annotations).targets.iter().map(text).collect::<Vec<_>>().join(" ")
    }
}

/// Annotations of a source, without `towline.dev/`.
type Keys = [(&'static str, &'static str)];

const CONTEXTS: &str = "kubed.appscode.com/sync-contexts";
const SYNC: &str = "kubed.appscode.com/sync";
const EVERYTHING: &str = "{accept: [{to: {namespaces: ['*']}, allow: [Rename, CreateNamespace, Overwrite]}]}";
const NOTHING_MORE: &str = "{accept: [{to: {namespaces: ['*']}}]}";

#[test]
fn base_routes_lead_to_the_same_named_or_the_contexts_namespace() {
    let labelled = Member { labels: Arc::new(labels("env=prod")), ..member("prod") };
    let context = Member { namespace: Some("web-1".into()), ..member("prod") };
    let system = Member { namespace: Some("kube-system".into()), ..member("prod") };
    let table: &[(&str, Member, &Keys, &str)] = &[
        ("kubed's context", member("prod"), &[(CONTEXTS, "dev, prod")], "certs/tls"),
        ("another context", member("prod"), &[(CONTEXTS, "dev")], ""),
        ("the context's namespace", context.clone(), &[(CONTEXTS, "prod")], "web-1/tls"),
        ("kubed's reach is not narrowed", system.clone(), &[(CONTEXTS, "prod")], "kube-system/tls"),
        ("by name", member("prod"), &[("followers", "prod")], "certs/tls"),
        ("by glob", member("prod"), &[("followers", "p*")], "certs/tls"),
        ("taken out", member("prod"), &[("followers", "*, !prod")], ""),
        ("the context's namespace, by Towline's key", context, &[("followers", "*")], "web-1/tls"),
        ("a protected namespace needs a rule", system.clone(), &[("followers", "*")], ""),
        ("by labels", labelled.clone(), &[("follower-selector", "env=prod")], "certs/tls"),
        ("by other labels", labelled, &[("follower-selector", "env=dev")], ""),
        ("without labels none match", member("prod"), &[("follower-selector", "env!=dev")], ""),
        ("both add up", member("prod"), &[("followers", "prod"), ("follower-selector", "env=dev")], "certs/tls"),
        ("kubed's sync is for the management cluster", member("prod"), &[(SYNC, "")], ""),
    ];
    for (name, member, annotations, expected) in table {
        assert_eq!(follower([member.clone()]).targets(annotations), *expected, "{name}");
    }
}

#[test]
fn only_kubeds_sync_leads_into_the_management_cluster_and_never_into_the_sources_namespace() {
    let table: &[(&Keys, &str)] = &[
        (&[(SYNC, "")], "kube-system/tls web-1/tls web-2/tls"),
        (&[(SYNC, "true")], "kube-system/tls web-1/tls web-2/tls"),
        (&[(SYNC, "team=x")], "kube-system/tls web-1/tls"),
        (&[("followers", "*")], ""),
        (&[("followers", "@local")], ""),
        (&[(CONTEXTS, "@local")], ""),
        (&[("followers", "*"), ("target-namespaces", "web-1")], ""),
        (&[(SYNC, "team=y"), ("target-namespaces", "web-1")], "web-2/tls"),
    ];
    for (annotations, expected) in table {
        let place = follower([with_rules("@local", EVERYTHING)]).local();
        assert_eq!(place.targets(annotations), *expected, "{annotations:?}");
    }
    assert!(follower([member("@local")]).local().desired(&[(SYNC, "")]).by_namespaces);
}

#[test]
fn other_namespaces_are_reached_as_far_as_rules_lead() {
    let to = |rules| follower([with_rules("prod", rules)]);
    let literally = "{accept: [{to: {namespaces: [kube-system, web-1]}}]}";
    let by_label = "{accept: [{to: {selector: {matchLabels: {team: x}}}}]}";
    let table: &[(&str, &str, [&str; 2], &str, Kept)] = &[
        ("literal", NOTHING_MORE, ["target-namespaces", "web-1, later"], "later/tls web-1/tls", Kept::Nothing),
        ("glob", NOTHING_MORE, ["target-namespaces", "web-*, !web-2"], "web-1/tls", Kept::Nothing),
        ("labels", NOTHING_MORE, ["target-namespace-selector", "team=y"], "web-2/tls", Kept::Nothing),
        ("no rule", "{}", ["target-namespaces", "web-1"], "", Kept::All),
        ("no rule for one", literally, ["target-namespaces", "web-1, web-2"], "", Kept::All),
        ("no rule, glob", "{}", ["target-namespaces", "web-*"], "", Kept::All),
        (
            "glob, some granted",
            literally,
            ["target-namespaces", "web-*"],
            "web-1/tls",
            Kept::In(["web-2".into()].into()),
        ),
        ("protected, literal rule", literally, ["target-namespaces", "kube-system"], "kube-system/tls", Kept::Nothing),
        ("protected, glob rule", NOTHING_MORE, ["target-namespaces", "kube-system"], "", Kept::All),
        (
            "protected, by label",
            NOTHING_MORE,
            ["target-namespace-selector", "team=x"],
            "web-1/tls",
            Kept::In(["kube-system".into()].into()),
        ),
        ("rule by label", by_label, ["target-namespaces", "web-1"], "web-1/tls", Kept::Nothing),
        ("rule by label, other namespace", by_label, ["target-namespaces", "web-2"], "", Kept::All),
        ("matches nothing", "{}", ["target-namespaces", "x-*"], "", Kept::Nothing),
    ];
    for (name, rules, annotation, expected, kept) in table {
        let place = to(rules);
        let annotations = [("followers", "*"), (annotation[0], annotation[1])];
        assert_eq!(place.targets(&annotations), *expected, "{name}");
        assert_eq!(place.desired(&annotations).kept, *kept, "{name}");
    }
}

#[test]
fn what_is_not_granted_is_named_with_the_rule_that_is_missing() {
    let place = follower([member("prod")]);
    let told = |annotations: &[(&str, &str)]| place.desired(annotations).not_granted;
    let refused = told(&[("followers", "*"), ("target-namespaces", "web-1")]);
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), [annotations::TARGET_NAMESPACES]);
    assert!(refused.values().all(|rule| Policy::parse(rule).is_ok() && rule.contains("\"web-1\"")), "{refused:?}");
    let protected = told(&[("followers", "*"), ("target-namespaces", "kube-*")]);
    assert!(protected.is_empty(), "nobody means it by a glob");
    let three = told(&[("followers", "*"), ("on-conflict", "Overwrite"), ("create-namespace", "true")]);
    assert_eq!(three.keys().copied().collect::<Vec<_>>(), [annotations::CREATE_NAMESPACE, annotations::ON_CONFLICT]);
}

#[test]
fn ungranted_overwrite_and_create_namespace_are_ignored_and_an_ungranted_name_freezes() {
    let all = [("on-conflict", "Overwrite"), ("create-namespace", "true")];
    let table: &[(&str, &str, &Keys, &str, Kept)] = &[
        ("granted", EVERYTHING, &all, "certs/tls+*", Kept::Nothing),
        ("not granted", "{}", &all, "certs/tls", Kept::Nothing),
        ("covered, not allowed", NOTHING_MORE, &all, "certs/tls", Kept::Nothing),
        ("name granted", EVERYTHING, &[("target-name", "b")], "certs/b", Kept::Nothing),
        ("name not granted", NOTHING_MORE, &[("target-name", "b")], "", Kept::All),
        ("the same name needs no grant", "{}", &[("target-name", "tls")], "certs/tls", Kept::Nothing),
    ];
    for (name, rules, more, expected, kept) in table {
        for route in [("followers", "*"), (CONTEXTS, "prod")] {
            let place = follower([with_rules("prod", rules)]);
            let annotations: Vec<_> = more.iter().copied().chain([route]).collect();
            assert_eq!(place.targets(&annotations), *expected, "{name}, {route:?}");
            assert_eq!(place.desired(&annotations).kept, *kept, "{name}, {route:?}");
        }
    }
}

#[test]
fn closed_base_routes_need_a_rule() {
    let closed = |rules: &str| follower([with_rules("prod", rules)]);
    for route in [("followers", "*"), (CONTEXTS, "prod")] {
        assert_eq!(closed("{baseRoutes: false}").targets(&[route]), "");
        let refused = closed("{baseRoutes: false}").desired(&[route]).not_granted;
        assert!(refused.keys().all(|key| key.ends_with(route.0)) && refused.len() == 1, "{refused:?}");
        assert_eq!(closed("{baseRoutes: false, accept: [{names: [tls]}]}").targets(&[route]), "certs/tls");
        assert_eq!(closed("{baseRoutes: false, accept: [{names: [other]}]}").targets(&[route]), "");
    }
}

#[test]
fn a_protected_namespace_is_reached_only_by_a_rule_that_names_it() {
    let system = |rules| Member { namespace: Some("kube-system".into()), ..with_rules("prod", rules) };
    let table = [
        ("{accept: [{to: {namespaces: [kube-system]}}]}", "kube-system/tls"),
        ("{accept: [{to: {namespaces: ['kube-*']}}]}", ""),
        ("{accept: [{}]}", ""),
    ];
    for (rules, expected) in table {
        let desired = follower([system(rules)]).desired(&[("followers", "*")]);
        assert_eq!(follower([system(rules)]).targets(&[("followers", "*")]), expected, "{rules}");
        assert_eq!(desired.not_granted.contains_key(annotations::FOLLOWERS), expected.is_empty(), "{rules}");
    }
}

#[test]
fn nothing_is_wanted_outside_the_target_namespaces_of_this_instance() {
    let place = || follower([with_rules("prod", EVERYTHING)]).within("web-*");
    assert_eq!(place().targets(&[("followers", "*")]), "");
    assert_eq!(place().targets(&[(CONTEXTS, "prod")]), "");
    assert_eq!(place().targets(&[("followers", "*"), ("target-namespaces", "*")]), "web-1/tls web-2/tls");
    assert_eq!(follower([member("@local")]).local().within("web-1").targets(&[(SYNC, "")]), "web-1/tls");
}

#[test]
fn several_names_of_one_cluster_are_routes_that_add_up_and_rules_serve_their_own_name() {
    let context = Member { namespace: Some("web-1".into()), ..member("b") };
    let place = follower([with_rules("a", EVERYTHING), context.clone(), member("c")]);
    assert_eq!(place.targets(&[("followers", "*")]), "certs/tls web-1/tls");
    let wish = |annotations: &[(&str, &str)]| place.desired(annotations).targets.iter().next().unwrap().1.clone();
    assert_eq!(wish(&[("followers", "*")]).via.as_str(), "a");
    assert_eq!(wish(&[("followers", "c")]).via.as_str(), "c");

    let overwrite = ("on-conflict", "Overwrite");
    assert_eq!(place.targets(&[("followers", "*"), overwrite]), "certs/tls+ web-1/tls");
    assert_eq!(place.targets(&[("followers", "c"), overwrite]), "certs/tls");
    let elsewhere = place.desired(&[("followers", "*"), ("target-namespaces", "web-2")]);
    assert_eq!(elsewhere.targets.keys().count(), 1, "one name's rules are not undone by another name that has none");
    assert_eq!(elsewhere.kept, Kept::All);
    assert!(elsewhere.not_granted.contains_key(annotations::TARGET_NAMESPACES));
}

#[test]
fn the_answer_depends_on_namespaces_only_where_something_selects_them() {
    let selecting = "{accept: [{to: {selector: {matchLabels: {team: x}}}}]}";
    let table: &[(&str, &Keys, bool)] = &[
        ("{}", &[("followers", "*")], false),
        (EVERYTHING, &[("followers", "*"), ("target-namespaces", "web-1")], false),
        (EVERYTHING, &[("followers", "*"), ("target-namespaces", "web-*")], true),
        (EVERYTHING, &[("followers", "*"), ("target-namespace-selector", "a")], true),
        (selecting, &[("followers", "*")], true),
    ];
    for (rules, annotations, expected) in table {
        let desired = follower([with_rules("prod", rules)]).desired(annotations);
        assert_eq!(desired.by_namespaces, *expected, "{rules} {annotations:?}");
    }
}
