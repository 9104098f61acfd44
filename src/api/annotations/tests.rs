//! What users write, and what Towline makes of it.

use super::*;
use proptest::prelude::*;

fn annotated(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn intent(pairs: &[(&str, &str)]) -> Intent {
    parse(&annotated(pairs)).unwrap().unwrap()
}

fn invalid(pairs: &[(&str, &str)]) -> Invalid {
    parse(&annotated(pairs)).unwrap_err()
}

#[test]
fn an_object_without_a_source_key_is_not_a_source() {
    assert_eq!(parse(&annotated(&[])), Ok(None));
    assert_eq!(parse(&annotated(&[("example.com/followers", "*"), ("kubed.appscode.com/origin", "{}")])), Ok(None));
    let marks =
        ["origin", "source", "propagated", "hold", "accept"].map(|key| (format!("towline.dev/{key}"), "".into()));
    assert_eq!(parse(&marks.into()), Ok(None));
}

#[test]
fn every_source_key_alone_makes_a_source() {
    for key in SOURCE_KEYS {
        let value = match key {
            CREATE_NAMESPACE | VALIDATE | SUSPEND => "true",
            ON_CONFLICT => "Refuse",
            DELETION_POLICY => "Delete",
            DELETION_DELAY => "0",
            _ => "a",
        };
        assert!(parse(&annotated(&[(key, value)])).unwrap().is_some(), "{key}");
        assert!(is_read(key), "{key}");
    }
}

#[test]
fn a_source_asks_for_nothing_more_than_it_says() {
    let plain = intent(&[(SYNC_CONTEXTS, "")]);
    let expected = Intent {
        sync_contexts: Vec::new(),
        local_sync: None,
        followers: None,
        follower_selector: None,
        target_namespaces: None,
        target_namespace_selector: None,
        target_name: None,
        create_namespace: false,
        on_conflict: OnConflict::Refuse,
        keys: None,
        target_type: None,
        deletion_policy: None,
        deletion_delay: None,
        validate: true,
        suspend: false,
    };
    assert_eq!(plain, expected);
}

#[test]
fn every_key_is_read() {
    let all = intent(&[
        (SYNC_CONTEXTS, " b, a,,b "),
        (SYNC, "app=web"),
        (FOLLOWERS, "*, !prod-legacy"),
        (FOLLOWER_SELECTOR, "env=prod"),
        (TARGET_NAMESPACES, "web-*, ingress, !web-0"),
        (TARGET_NAMESPACE_SELECTOR, "tls"),
        (TARGET_NAME, " wildcard.example.com "),
        (CREATE_NAMESPACE, "True"),
        (ON_CONFLICT, "overwrite"),
        (KEYS, "ca.crt, *.pem"),
        (TARGET_TYPE, "Opaque"),
        (DELETION_POLICY, "ORPHAN"),
        (DELETION_DELAY, "1h30m"),
        (VALIDATE, "false"),
        (SUSPEND, "true"),
    ]);
    let expected = Intent {
        sync_contexts: vec!["a".into(), "b".into()],
        local_sync: Some(KubedSync::Selector(Selector::parse("app=web").unwrap())),
        followers: Some(Patterns::parse("*, !prod-legacy").unwrap()),
        follower_selector: Some(Selector::parse("env=prod").unwrap()),
        target_namespaces: Some(Patterns::parse("web-*, ingress, !web-0").unwrap()),
        target_namespace_selector: Some(Selector::parse("tls").unwrap()),
        target_name: Some("wildcard.example.com".into()),
        create_namespace: true,
        on_conflict: OnConflict::Overwrite,
        keys: Some(Patterns::parse("ca.crt, *.pem").unwrap()),
        target_type: Some("Opaque".to_owned()),
        deletion_policy: Some(DeletionPolicy::Orphan),
        deletion_delay: Some(Duration::from_secs(5_400)),
        validate: false,
        suspend: true,
    };
    assert_eq!(all, expected);
}

#[test]
fn kubeds_sync_means_what_it_means_to_kubed() {
    let selector = |text| Some(KubedSync::Selector(Selector::parse(text).unwrap()));
    let table = [
        ("", Some(KubedSync::All)),
        ("true", Some(KubedSync::All)),
        ("True", selector("True")),
        ("app=kubed", selector("app=kubed")),
        ("app in (a, b),!c", selector("app in (a,b),!c")),
    ];
    for (text, expected) in table {
        assert_eq!(intent(&[(SYNC, text)]).local_sync, expected, "{text}");
    }
    assert_eq!(invalid(&[(SYNC, "a b")]).key, SYNC);
}

#[test]
fn a_context_may_be_an_arn() {
    let arn = "arn:aws:eks:eu-west-1:111122223333:cluster/prod";
    assert_eq!(intent(&[(SYNC_CONTEXTS, arn)]).sync_contexts, [FollowerName::from(arn)]);
    assert!(intent(&[(FOLLOWERS, arn)]).followers.unwrap().matches(arn));
}

#[test]
fn a_mistake_is_quoted_and_what_is_allowed_is_said() {
    let table = [
        (FOLLOWERS, "!a", "add `*`"),
        (FOLLOWER_SELECTOR, "a b", "label selector"),
        (TARGET_NAMESPACES, "Web", "namespaces"),
        (TARGET_NAMESPACES, "web, !a.b", "namespaces"),
        (TARGET_NAMESPACES, "web_*", "namespaces"),
        (TARGET_NAMESPACE_SELECTOR, "a=b/c", "label value"),
        (TARGET_NAME, "a/b", "253"),
        (CREATE_NAMESPACE, "yes", "true or false"),
        (ON_CONFLICT, "Replace", "Refuse or Overwrite"),
        (KEYS, "a/b", "data keys"),
        (TARGET_TYPE, "a b", "type"),
        (TARGET_TYPE, TOKEN_TYPE, "any type but"),
        (DELETION_POLICY, "Retain", "Delete or Orphan"),
        (DELETION_DELAY, "30", "30s"),
        (DELETION_DELAY, "31d", "30s"),
        (VALIDATE, "0", "true or false"),
        (SUSPEND, "1", "true or false"),
    ];
    for (key, value, allowed) in table {
        let mistake = invalid(&[(key, value), (SUSPEND, if key == SUSPEND { value } else { "true" })]);
        assert_eq!((mistake.key.as_str(), mistake.value.as_str()), (key, value));
        assert!(mistake.allowed.contains(allowed), "{mistake}");
    }
    let message = invalid(&[(ON_CONFLICT, "Replace")]).to_string();
    assert_eq!(message, "annotation towline.dev/on-conflict: \"Replace\" is invalid: allowed is Refuse or Overwrite");
}

#[test]
fn an_empty_value_of_towlines_own_is_invalid() {
    for key in SOURCE_KEYS.into_iter().filter(|key| key.starts_with(TOWLINE)) {
        for value in ["", " "] {
            assert!(invalid(&[(key, value)]).to_string().contains("not empty"), "{key}");
        }
    }
}

#[test]
fn a_long_mistake_is_cut_between_characters() {
    let mistake = invalid(&[(ON_CONFLICT, &"é".repeat(200_000))]);
    assert_eq!(mistake.value, format!("{}…", "é".repeat(100)));
}

#[test]
fn an_unknown_key_of_towlines_is_told_the_nearest_and_its_value_is_not_quoted() {
    let table = [
        ("towline.dev/follower", FOLLOWERS),
        ("towline.dev/Followers", FOLLOWERS),
        ("towline.dev/target-namespace", TARGET_NAMESPACES),
        ("towline.dev/onconflict", ON_CONFLICT),
        ("towline.dev/key", KEYS),
        ("towline.dev/", KEYS),
    ];
    for (typed, nearest) in table {
        let mistake = invalid(&[(typed, "s3cret"), (SYNC, "")]);
        assert_eq!(mistake.key, typed);
        assert!(mistake.allowed.ends_with(nearest), "{mistake}");
        assert!(!mistake.to_string().contains("s3cret"), "{mistake}");
    }
}

#[test]
fn only_keys_that_towline_reads_are_kept() {
    for key in ["towline.dev/source", "towline.dev/typo", "kubed.appscode.com/origin"] {
        assert!(is_read(key), "{key}");
    }
    for key in ["kubectl.kubernetes.io/last-applied-configuration", "kubed.appscode.com/other", "towline.dev", ""] {
        assert!(!is_read(key), "{key}");
    }
}

proptest! {
    #[test]
    fn no_value_panics_and_every_mistake_is_bounded(place in 0..SOURCE_KEYS.len(), value in "\\PC{0,300}") {
        if let Err(mistake) = parse(&annotated(&[(SOURCE_KEYS[place], &value)])) {
            prop_assert!(mistake.to_string().chars().count() < 500, "{}", mistake);
        }
    }
}
