//! Followers files as operators write them.

use super::*;
use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;

const ROLE: &str = "arn:aws:iam::111122223333:role/path/towline";

fn authority() -> String {
    STANDARD.encode(rcgen::generate_simple_self_signed(vec!["c".to_owned()]).unwrap().cert.pem())
}

fn listing(text: &str) -> Listing {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// An entry of which the connection is good and the rest of `spec` is given.
fn with_spec(rest: &str) -> String {
    format!("- name: a\n  spec:\n    connection: {{eks: {{clusterName: c, region: eu-west-1}}}}\n{rest}")
}

/// An entry with this `connection`.
fn with_connection(connection: &str) -> String {
    format!("- name: a\n  spec:\n    connection: {connection}\n")
}

fn with_eks(rest: &str) -> String {
    with_connection(&format!("\n      eks: {{clusterName: c, region: eu-west-1, {rest}}}"))
}

/// All mistakes of a text, as they are told.
fn mistakes(text: &str) -> Vec<String> {
    let listing = listing(text);
    let named = listing.followers.into_values().filter_map(Result::err).flatten();
    named.chain(listing.nameless).map(|mistake| mistake.to_string()).collect()
}

fn follower(text: &str) -> Follower {
    let followers = listing(text).followers;
    let found = followers.into_values().next().unwrap();
    found.unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?}"))
}

#[test]
fn an_entry_is_read_with_all_its_fields() {
    let text = format!(
        "- name: arn:aws:eks:eu-west-1:111122223333:cluster/prod\n  labels: {{env: prod, example.com/zone: 1, empty: ''}}\n  \
         spec:\n    connection:\n      eks: {{clusterName: prod, region: eu-west-1, roleARN: '{ROLE}', externalID: 0123, \
         sessionName: hub@1, endpoint: 'https://x.eks.amazonaws.com', certificateAuthorityData: {ca}}}\n      \
         proxyURL: http://user:s3cret@proxy:3128\n      tlsServerName: API.example.com\n    clusterUID: 6f2c-1\n    \
         accept: [{{kinds: [Secret], allow: [Overwrite]}}]\n    suspend: true\n    deletionPolicy: Retain\n",
        ca = authority()
    );
    let Follower { name, labels, spec } = follower(&text);
    assert_eq!(name.as_str(), "arn:aws:eks:eu-west-1:111122223333:cluster/prod");
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["empty=", "env=prod", "example.com/zone=1"]);
    let Method::Eks(eks) = &spec.connection.method else { panic!("not eks") };
    let role = eks.role.as_ref().unwrap();
    assert_eq!((eks.cluster_name.as_str(), eks.region.as_str(), role.arn.as_str()), ("prod", "eu-west-1", ROLE));
    assert_eq!(role.external_id.as_deref(), Some("0123"), "what looks like a number stays what it is");
    assert_eq!(role.session_name.as_deref(), Some("hub@1"));
    assert_eq!(eks.server.as_ref().unwrap().url, "https://x.eks.amazonaws.com");
    assert!(eks.server.as_ref().unwrap().certificate_authority.starts_with(b"-----BEGIN CERTIFICATE-----"));
    assert_eq!(spec.connection.tls_server_name.as_deref(), Some("API.example.com"));
    assert_eq!(spec.connection.proxy_url.as_ref().map(ProxyUrl::reveal), Some("http://user:s3cret@proxy:3128"));
    assert!(!format!("{spec:?}").contains("s3cret"));
    assert_eq!(spec.cluster_uid, Some("6f2c-1".into()));
    assert_eq!(spec.accept, Policy::parse("accept: [{kinds: [Secret], allow: [Overwrite]}]").unwrap());
    assert!(spec.suspend);
}

#[test]
fn what_is_left_out_grants_nothing_pins_nothing_and_suspends_nothing() {
    let Follower { labels, spec, .. } = follower(&with_spec(""));
    let eks = Eks { cluster_name: "c".into(), region: "eu-west-1".into(), role: None, server: None };
    let connection = Connection { method: Method::Eks(eks), proxy_url: None, tls_server_name: None };
    assert_eq!(spec, Spec { connection, cluster_uid: None, accept: Policy::default(), suspend: false });
    assert!(labels.is_empty());
}

#[test]
fn a_cluster_with_an_authenticator_needs_its_server() {
    let ca = authority();
    let text = format!(
        "{{awsIAMAuthenticator: {{clusterID: 'id/1', server: 'https://10.0.0.1:6443/x', certificateAuthorityData: {ca}, \
         region: cn-north-1, roleARN: 'arn:aws-cn:iam::111122223333:role/t', externalID: 'a/b', sessionName: hub}}}}"
    );
    let Method::AwsIamAuthenticator(found) = follower(&with_connection(&text)).spec.connection.method else {
        panic!("not awsIAMAuthenticator")
    };
    assert_eq!((found.cluster_id.as_str(), found.server.url.as_str()), ("id/1", "https://10.0.0.1:6443/x"));
    assert_eq!(found.role.unwrap().arn, "arn:aws-cn:iam::111122223333:role/t");

    let missing: Vec<String> = mistakes(&with_connection("{awsIAMAuthenticator: {clusterID: i}}"));
    let field = "line 3, column 39: spec.connection.awsIAMAuthenticator";
    let expected =
        ["server", "certificateAuthorityData", "region"].map(|key| format!("{field}: key `{key}` is missing"));
    assert_eq!(missing, expected);
}

#[test]
fn a_mistake_is_told_with_its_place_and_field_and_what_is_allowed() {
    let table = [
        ("- name: a\n", "line 1, column 3: key `spec` is missing"),
        ("- a\n", "line 1, column 3: allowed is a map with name, labels, spec"),
        ("- {}\n", "line 1, column 3: key `name` is missing"),
        (
            "- name: a\n  sepc: {}\n",
            "line 2, column 3: unknown key `sepc`: allowed is name, labels, spec; the nearest is spec",
        ),
        ("- name: [a]\n", "line 1, column 9: name: allowed is a text"),
        ("- name:\n", "name: allowed is a text; leave the key out if there is none"),
        (
            "- name: a,b\n",
            "line 1, column 9: name: allowed is a name of 1 to 253 characters on one line, without comma",
        ),
        ("- name: ' a'\n", "line 1, column 9: name: allowed is a name"),
        ("- name: \"a\\nb\"\n", "line 1, column 9: name: allowed is a name"),
        ("- name: ''\n", "line 1, column 9: name: allowed is a name of 1 to 253"),
        ("- name: '@local'\n", "name: allowed is any name but @local, which is the management cluster's own"),
        ("- name: a\n  name: b\n", "line 2, column 3: key `name` stands here twice"),
        ("- name: a\n  labels: [x]\n", "line 2, column 11: labels: allowed is a map of labels"),
        ("- name: a\n  labels: {-x: y}\n", "line 2, column 12: labels: allowed is a label key"),
        ("- name: a\n  labels: {x: a/b}\n", "line 2, column 15: labels: allowed is a label value: at most 63"),
        (
            "- name: a\n  labels: {x: }\n",
            "labels: allowed is a label value: at most 63 letters, digits, `-`, `_`, `.`, or \"\"",
        ),
        ("- name: a\n  labels: {x: y, x: z}\n", "line 2, column 18: labels: a key stands here twice"),
        ("- name: a\n  spec: x\n", "line 2, column 9: spec: allowed is a map with connection, clusterUID"),
        ("- name: a\n  spec: {}\n", "line 2, column 9: spec: key `connection` is missing"),
        ("- name: a\n  spec: {acept: []}\n", "line 2, column 10: spec: unknown key `acept`: allowed is connection"),
    ];
    for (text, message) in table {
        let all = mistakes(text);
        assert!(all.iter().any(|mistake| mistake.contains(message)), "{text}: {all:?}");
    }
}

#[test]
fn a_mistake_in_spec_is_told_with_its_place_and_field() {
    let table = [
        (
            "    clusterUID: ''\n",
            "line 4, column 17: spec.clusterUID: allowed is the UID of the cluster's namespace kube-system",
        ),
        ("    clusterUID:\n", "spec.clusterUID: allowed is a text; leave the key out"),
        ("    suspend: 'true'\n", "line 4, column 14: spec.suspend: allowed is true or false"),
        ("    suspend: yes\n", "line 4, column 14: spec.suspend: allowed is true or false"),
        (
            "    deletionPolicy: Delete\n",
            "line 4, column 21: spec.deletionPolicy: allowed is Retain: a follower that leaves",
        ),
        ("    accept: {}\n", "line 4, column 13: spec.accept: allowed is a list of rules"),
        ("    accept:\n    - {kinds: [Pod]}\n", "line 5, column 16: spec.accept[0]: allowed is ConfigMap, Secret"),
        (
            "    accept:\n    - {}\n    - to: {name: [x]}\n",
            "line 6, column 12: spec.accept[1]: unknown key `name`: allowed is namespaces",
        ),
        (
            "    baseRoutes: false\n",
            "line 4, column 5: spec: unknown key `baseRoutes`: allowed is connection, clusterUID, accept",
        ),
    ];
    for (rest, message) in table {
        let all = mistakes(&with_spec(rest));
        assert!(all.len() == 1 && all[0].contains(message), "{rest}: {all:?}");
    }
}

#[test]
fn a_mistake_in_the_connection_is_told_with_its_place_and_field() {
    let both = "{eks: {clusterName: c, region: eu-west-1}, kubeconfigSecretRef: {namespace: n}}";
    let table = [
        ("{}", "line 3, column 17: spec.connection: allowed is exactly one of eks, awsIAMAuthenticator; there is none"),
        (
            both,
            "spec.connection: allowed is exactly one of eks, awsIAMAuthenticator; there is eks and kubeconfigSecretRef",
        ),
        (
            "{kubeconfigSecretRef: {}}",
            "spec.connection.kubeconfigSecretRef: is not supported yet: allowed is eks or awsIAMAuth",
        ),
        ("{gke: {}}", "line 3, column 18: spec.connection: unknown key `gke`: allowed is eks, awsIAMAuthenticator"),
        ("{eks: c}", "line 3, column 23: spec.connection.eks: allowed is a map with clusterName, region"),
        ("{eks: {region: eu-west-1}}", "line 3, column 23: spec.connection.eks: key `clusterName` is missing"),
        ("{eks: {clusterName: c}}", "line 3, column 23: spec.connection.eks: key `region` is missing"),
        (
            "{eks: {clusterName: c, regoin: x}}",
            "column 40: spec.connection.eks: unknown key `regoin`: allowed is clusterName",
        ),
        ("{eks: {roleArn: x}}", "; the nearest is roleARN"),
        (
            "{proxyURL: 'https://p:1'}",
            "line 3, column 28: spec.connection.proxyURL: allowed is http://HOST:PORT of a proxy",
        ),
        ("{proxyURL: p}", "spec.connection.proxyURL: allowed is http://HOST:PORT"),
        ("{tlsServerName: 'a b'}", "spec.connection.tlsServerName: allowed is a host name or an IP address"),
    ];
    for (connection, message) in table {
        let all = mistakes(&with_connection(connection));
        assert!(all.iter().any(|mistake| mistake.contains(message)), "{connection}: {all:?}");
    }
}

#[test]
fn a_mistake_in_a_cluster_is_told_with_its_place_and_field() {
    let ca = authority();
    let table = [
        (
            format!("certificateAuthorityData: {ca}"),
            "line 4, column 12: spec.connection.eks: allowed are endpoint and cert",
        ),
        (
            "endpoint: 'https://x'".to_owned(),
            "spec.connection.eks: allowed are endpoint and certificateAuthorityData together",
        ),
        (
            format!("endpoint: 'http://x', certificateAuthorityData: {ca}"),
            "spec.connection.eks.endpoint: allowed is https://HOST",
        ),
        (format!("endpoint: 'https://u:p@x', certificateAuthorityData: {ca}"), "eks.endpoint: allowed is https://HOST"),
        (
            "endpoint: 'https://x', certificateAuthorityData: '?'".to_owned(),
            "certificateAuthorityData: allowed is the base64 of certificates in PEM: this is not base64",
        ),
        ("endpoint: 'https://x', certificateAuthorityData: YQ==".to_owned(), "in PEM: this holds none"),
        (
            "roleARN: admin".to_owned(),
            "line 4, column 57: spec.connection.eks.roleARN: allowed is a role's ARN of 20 to 2048 characters: arn:PARTITION:iam::12 digits",
        ),
        (
            "externalID: abc".to_owned(),
            "line 4, column 60: spec.connection.eks.externalID: is of use only with roleARN",
        ),
        ("sessionName: abc".to_owned(), "spec.connection.eks.sessionName: is of use only with roleARN"),
        (format!("roleARN: '{ROLE}', externalID: x"), "spec.connection.eks.externalID: allowed is 2 to 1224 letters"),
        (format!("roleARN: '{ROLE}', sessionName: a/b"), "spec.connection.eks.sessionName: allowed is 2 to 64 letters"),
    ];
    for (rest, message) in table {
        let all = mistakes(&with_eks(&rest));
        assert!(all.len() == 1 && all[0].contains(message), "{rest}: {all:?}");
    }
    let all = mistakes(&with_connection("{eks: {clusterName: -c, region: europe}}"));
    assert!(all[0].contains("eks.clusterName: allowed is a cluster's name of 1 to 100 letters"), "{all:?}");
    assert!(all[1].contains("eks.region: allowed is an AWS region such as eu-west-1"), "{all:?}");
}

#[test]
fn all_mistakes_of_a_file_are_told_and_the_other_entries_count() {
    let text = format!(
        "{}- name: b\n  labels: {{x: a/b}}\n  spec:\n    connection: {{eks: {{clusterName: c}}}}\n    suspend: 1\n    \
         accept: [{{kinds: [Pod]}}, {{kinds: [Secret]}}, {{too: same}}]\n- nme: c\n- 7\n",
        with_spec("")
    );
    let listing = listing(&text);
    assert!(listing.followers[&FollowerName::from("a")].is_ok());
    let told: Vec<String> =
        listing.followers[&FollowerName::from("b")].as_ref().unwrap_err().iter().map(ToString::to_string).collect();
    let lines: Vec<&str> = told.iter().map(|mistake| mistake.split(": ").nth(1).unwrap()).collect();
    assert_eq!(
        lines,
        ["labels", "spec.connection.eks", "spec.suspend", "spec.accept[0]", "spec.accept[2]"],
        "{told:?}"
    );
    let nameless: Vec<(u64, bool)> =
        listing.nameless.iter().map(|mistake| (mistake.line, mistake.problem.contains("name"))).collect();
    assert_eq!(nameless, [(10, true), (10, true), (10, false), (11, true)], "{:?}", listing.nameless);
}

#[test]
fn two_entries_of_one_name_are_both_told_where_the_other_is_and_neither_counts() {
    let text = format!(
        "{}{}- name: b\n  spec: {{connection: {{eks: {{clusterName: c, region: eu-west-1}}}}}}\n",
        with_spec(""),
        with_spec("")
    );
    let listing = listing(&text);
    let told: Vec<String> =
        listing.followers[&FollowerName::from("a")].as_ref().unwrap_err().iter().map(ToString::to_string).collect();
    let expected = [
        "line 1, column 9: name: stands at line 4, too: allowed is a name of its own",
        "line 4, column 9: name: stands at line 1, too: allowed is a name of its own",
    ];
    assert_eq!(told, expected);
    assert!(listing.followers[&FollowerName::from("b")].is_ok());
}

#[test]
fn a_file_that_is_no_list_says_nothing_about_any_follower() {
    let table = [
        ("", "the file is empty: allowed is a list of followers, each with name, labels and spec"),
        ("# all commented out\n", "the file is empty"),
        ("name: a\n", "line 1, column 1: allowed is a list of followers"),
        ("---\n...\n", "allowed is a list of followers"),
        ("- name: a\n  spec: {connection: {eks: {clusterName: ", "this is not YAML"),
        ("[]\n---\n[]\n", "allowed is one document"),
    ];
    for (text, message) in table {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    assert_eq!(parse("[]").unwrap(), Listing::default());
}

#[test]
fn what_entries_share_may_be_written_once() {
    let text = "- name: a\n  spec: &all\n    connection: {eks: {clusterName: c, region: eu-west-1}}\n    accept: [{kinds: [Secret]}]\n\
                - name: b\n  spec: {<<: *all, suspend: true}\n";
    let followers = listing(text).followers;
    let [a, b] = ["a", "b"].map(|name| followers[&FollowerName::from(name)].clone().unwrap().spec);
    assert_eq!((a.suspend, b.suspend), (false, true));
    assert_eq!((a.connection, a.accept), (b.connection, b.accept));
}

#[test]
fn five_thousand_followers_are_not_too_many() {
    let ca = authority();
    let entry = |n: usize| {
        format!(
            "- name: c{n}\n  labels: {{env: prod, region: eu, team: a}}\n  spec:\n    connection:\n      eks: {{clusterName: c{n}, \
             region: eu-west-1, roleARN: '{ROLE}', externalID: abc, endpoint: 'https://x', certificateAuthorityData: {ca}}}\n    \
             accept: [{{from: {{namespaces: [certs]}}, kinds: [Secret], allow: [Overwrite]}}]\n"
        )
    };
    let text: String = (0..5000).map(entry).collect();
    assert_eq!(listing(&text).followers.values().filter(|follower| follower.is_ok()).count(), 5000);
}

proptest! {
    #[test]
    fn no_value_is_ever_repeated(field in "(name|labels|spec|clusterUID|accept|suspend|connection|eks|region|roleARN|externalID|endpoint|certificateAuthorityData|proxyURL|tlsServerName)", shape in 0..4_usize) {
        let value = ["s3cret ?", "[s3cret ?]", "{k: s3cret ?}", "\"s3cret ?\\n\""][shape];
        let texts = [
            format!("- {field}: {value}"),
            format!("- name: a\n  spec: {{{field}: {value}}}"),
            with_connection(&format!("{{{field}: {value}}}")),
            with_eks(&format!("{field}: {value}")),
            format!("{field}: {value}"),
        ];
        for text in texts {
            let told = parse(&text).map_or_else(|error| vec![error.to_string()], |_| mistakes(&text));
            prop_assert!(!told.is_empty() && told.iter().all(|told| !told.contains("s3cret")), "{text}: {told:?}");
        }
    }

    #[test]
    fn a_mistake_in_one_entry_harms_no_other(which in 0..5_usize, bad in "[a-z]{1,8}: [a-z]{1,8}|suspend: maybe|\\{\\}") {
        let entry = |n: usize| {
            let rest = if n == which { format!("    {bad}\n") } else { "    suspend: false\n".to_owned() };
            with_spec(&rest).replace("name: a", &format!("name: n{n}"))
        };
        let text: String = (0..5).map(entry).collect();
        if let Ok(listing) = parse(&text) {
            let good: Vec<bool> = listing.followers.values().map(Result::is_ok).collect();
            prop_assert_eq!(good, (0..5).map(|n| n != which).collect::<Vec<_>>());
        }
    }
}
