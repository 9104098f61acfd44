//! The Terraform module, read back with a parser of its language.

use super::{WAYS, bundle, manifests};
use hcl::{Block, Body, Expression, ObjectKey};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn parse(text: &str) -> Body {
    hcl::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An expression as a value: a function's is its only argument, that of a reference its text.
fn value(expression: &Expression) -> Value {
    match expression {
        Expression::FuncCall(call) => {
            assert_eq!((call.name.to_string(), call.args.len()), ("jsonencode".to_owned(), 1));
            value(&call.args[0])
        }
        Expression::Array(items) => items.iter().map(value).collect(),
        Expression::Object(members) => members.iter().map(|(key, member)| (name(key), value(member))).collect(),
        Expression::String(text) => json!(text),
        other => json!(hcl::format::to_string(other).unwrap()),
    }
}

fn name(key: &ObjectKey) -> String {
    match key {
        ObjectKey::Identifier(name) => name.to_string(),
        ObjectKey::Expression(Expression::String(name)) => name.clone(),
        other => panic!("not a key: {other:?}"),
    }
}

fn attribute(block: &Block, key: &str) -> Value {
    let found = block.body.attributes().find(|attribute| attribute.key.as_str() == key);
    value(found.unwrap_or_else(|| panic!("no {key} in {block:?}")).expr())
}

fn labels(block: &Block) -> Vec<&str> {
    block.labels.iter().map(hcl::BlockLabel::as_str).collect()
}

fn resources<'a>(body: &'a Body, kind: &str) -> Vec<&'a Block> {
    let resources = body.blocks().filter(|block| block.identifier.as_str() == "resource");
    resources.filter(|block| labels(block)[0] == kind).collect()
}

fn providers(body: &Body) -> BTreeSet<String> {
    let settings = body.blocks().find(|block| block.identifier.as_str() == "terraform").unwrap();
    let required = settings.body.blocks().find(|block| block.identifier.as_str() == "required_providers").unwrap();
    let aliases = attribute(required, "aws")["configuration_aliases"].as_array().unwrap().clone();
    aliases.iter().map(|alias| alias.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_module_makes_the_same_roles_as_the_document() {
    for way in WAYS {
        let body = parse(&manifests(way, &["--output", "terraform"]));
        let roles = resources(&body, "aws_iam_role");
        let policies = resources(&body, "aws_iam_role_policy");
        let bundle = bundle(way);
        let expected: Vec<&Value> = super::roles(&bundle).collect();
        assert_eq!((roles.len(), policies.len()), (expected.len(), expected.len()), "{way}");
        for ((role, policy), expected) in roles.into_iter().zip(policies).zip(expected) {
            assert_eq!(attribute(role, "name"), expected["roleName"]);
            assert_eq!(attribute(role, "path"), expected["path"]);
            assert_eq!(attribute(role, "assume_role_policy"), expected["trustPolicy"], "{way}");
            let label = labels(role)[1];
            assert_eq!((labels(policy)[1], attribute(policy, "provider")), (label, attribute(role, "provider")));
            assert_eq!(attribute(policy, "role"), json!(format!("aws_iam_role.{label}.name")));
            let named = attribute(policy, "name");
            assert_eq!(attribute(policy, "policy"), expected["policies"][named.as_str().unwrap()], "{way}");
        }
    }
}

#[test]
fn the_module_makes_the_same_access_entries_as_the_document() {
    for way in WAYS {
        let bundle = bundle(way);
        let expected = bundle["access"].as_array().unwrap();
        let whole = parse(&manifests(way, &["--output", "terraform"]));
        let part = parse(&manifests(way, &["--output", "terraform", "--part", "access"]));
        let (whole, part) = (resources(&whole, "aws_eks_access_entry"), resources(&part, "aws_eks_access_entry"));
        assert_eq!((whole.len(), part.len()), (expected.len(), expected.len()), "{way}");
        for ((whole, part), expected) in whole.into_iter().zip(part).zip(expected) {
            let account = expected["account"].as_str().unwrap();
            let made = format!("aws_iam_role.towline_follower_{account}.arn");
            assert_eq!(attribute(whole, "principal_arn"), json!(made));
            assert_eq!(attribute(part, "principal_arn"), expected["accessEntry"]["principalArn"]);
            for entry in [whole, part] {
                assert_eq!(attribute(entry, "region"), expected["region"]);
                assert_eq!(attribute(entry, "cluster_name"), expected["accessEntry"]["clusterName"]);
                assert_eq!(attribute(entry, "kubernetes_groups"), json!(["towline"]));
                assert_eq!(attribute(entry, "type"), json!("STANDARD"));
            }
        }
    }
}

#[test]
fn a_module_asks_for_the_providers_that_its_resources_use_and_names_each_resource_once() {
    for part in [&[][..], &["--part", "hub"], &["--part", "followers"], &["--part", "access"]] {
        let body = parse(&manifests(WAYS[0], &[&["--output", "terraform"], part].concat()));
        let resources: Vec<&Block> = body.blocks().filter(|block| block.identifier.as_str() == "resource").collect();
        let used: BTreeSet<String> =
            resources.iter().map(|block| attribute(block, "provider").as_str().unwrap().to_owned()).collect();
        assert_eq!(providers(&body), used, "{part:?}");
        let names: BTreeSet<Vec<&str>> = resources.iter().map(|block| labels(block)).collect();
        assert_eq!(names.len(), resources.len(), "{part:?}");
    }
}

#[test]
fn a_follower_role_waits_for_the_hub_role_that_it_trusts() {
    let body = parse(&manifests(WAYS[0], &["--output", "terraform"]));
    let roles = resources(&body, "aws_iam_role");
    assert_eq!(labels(roles[0])[1], "towline_hub");
    for follower in &roles[1..] {
        assert_eq!(attribute(follower, "depends_on"), json!(["aws_iam_role.towline_hub"]));
    }
}
