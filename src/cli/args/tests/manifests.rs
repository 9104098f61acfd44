use super::*;
use crate::aws::iam::{
    Identity as Way, Trust,
    names::{AccountId, Partition},
};

const HUB: &str = "manifests iam --hub-account 111111111111";
const ONE: &str = "--follower 222222222222/eu-west-1/prod";
const ISSUER: &str = "--irsa-issuer https://oidc.eks.eu-west-1.amazonaws.com/id/ABC";

fn iam(flags: &str) -> Iam {
    match task(&format!("{HUB} {flags}")) {
        Ok(Task::Manifests(Manifests::Iam(iam))) => *iam,
        Ok(other) => panic!("not manifests: {}", name(&other)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn one_cluster_is_enough_to_say() {
    let Iam { topology, target_namespaces, print } = iam(ONE);
    assert_eq!(topology.hub_role(), "arn:aws:iam::111111111111:role/towline");
    let account = AccountId::parse("222222222222").unwrap();
    assert_eq!(topology.follower_role(&account), "arn:aws:iam::222222222222:role/towline-follower");
    assert_eq!(topology.hub.identity, Way::PodIdentity { cluster: None });
    assert_eq!((topology.hub.namespace.as_str(), topology.hub.service_account.as_str()), ("towline", "towline"));
    assert_eq!((topology.followers.trust, topology.followers.external_id), (Trust::Role, None));
    assert!(target_namespaces.is_empty());
    assert_eq!(print, Print::Json(None));
}

#[test]
fn followers_add_up_and_each_counts_once() {
    let more = "222222222222/eu-west-1/dev,333333333333/us-east-1/prod,222222222222/eu-west-1/prod";
    let clusters = iam(&format!("{ONE} --follower {more}")).topology.followers.clusters;
    let counts: Vec<usize> = clusters.values().map(BTreeSet::len).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn an_issuer_means_irsa() {
    let Way::Irsa { issuer, audience } = iam(&format!("{ONE} {ISSUER}")).topology.hub.identity else {
        panic!("not IRSA");
    };
    assert_eq!(issuer.as_str(), "oidc.eks.eu-west-1.amazonaws.com/id/ABC");
    assert_eq!(audience.as_str(), "sts.amazonaws.com");
}

#[test]
fn the_partition_is_that_of_the_regions() {
    let partition = |region: &str| iam(&format!("--follower 222222222222/{region}/prod")).topology.partition;
    assert_eq!(partition("eu-west-1"), Partition::AWS);
    assert_eq!(partition("cn-north-1").to_string(), "aws-cn");
}

#[test]
fn a_part_is_printed_in_the_format_that_fits_it() {
    let print = |flags: &str| iam(&format!("{ONE} {flags}")).print;
    assert_eq!(print("--output terraform"), Print::Terraform(None));
    assert_eq!(print("--output terraform --part hub"), Print::Terraform(Some(RolePart::Hub)));
    assert_eq!(print("--part access"), Print::Json(Some(RolePart::Access)));
    assert_eq!(print("--output cloudformation --part followers"), Print::CloudFormation(RolePart::Followers));
    assert_eq!(print("--output cloudformation --part rbac"), Print::Rbac);
}

#[test]
fn every_mistake_is_told_with_what_is_allowed() {
    let table = [
        ("manifests iam --hub-account 11111111111".to_owned(), "--hub-account", "12 digits"),
        (format!("manifests iam {ONE}"), "--hub-account", "required"),
        (HUB.to_owned(), "--follower", "required"),
        (format!("{HUB} --follower 222222222222/prod"), "--follower", "ACCOUNT/REGION/CLUSTER"),
        (format!("{HUB} --follower 222222222222/eu-west-1/a/b"), "--follower", "ACCOUNT/REGION/CLUSTER"),
        (format!("{HUB} --follower 22222222222/eu-west-1/prod"), "--follower", "12 digits"),
        (format!("{HUB} --follower 222222222222/Ireland/prod"), "--follower", "a region such as eu-west-1"),
        (format!("{HUB} --follower 222222222222/eu-west-1/*"), "--follower", "name of an EKS cluster"),
        (format!("{HUB} {ONE} --follower-role a*"), "--follower-role", "a role's name"),
        (format!("{HUB} {ONE} --hub-role a//b"), "--hub-role", "a role's name"),
        (format!("{HUB} {ONE} --external-id x"), "--external-id", "2 to 1224"),
        (format!("{HUB} {ONE} --irsa-issuer http://a.b"), "--irsa-issuer", "the cluster's issuer"),
        (format!("{HUB} {ONE} --hub-cluster prod"), "--hub-cluster", "REGION/CLUSTER"),
        (format!("{HUB} {ONE} --service-account A"), "--service-account", "name of a ServiceAccount"),
        (format!("{HUB} {ONE} --partition aws-moon"), "--partition", "aws, aws-cn, aws-us-gov"),
        (format!("{HUB} {ONE} --target-namespaces web-*"), "--target-namespaces", "without wildcards"),
        (format!("{HUB} {ONE} --identity saml"), "--identity", "irsa, pod-identity"),
        (format!("{HUB} {ONE} --output yaml"), "--output", "json, terraform, cloudformation"),
        (format!("{HUB} {ONE} --part all"), "--part", "hub, followers, access, rbac"),
    ];
    for (line, flag, allowed) in table {
        let error = mistake(&line);
        assert!(error.starts_with("error: ") && error.contains(flag) && error.contains(allowed), "{line}: {error}");
    }
}

#[test]
fn what_cannot_be_together_is_told_with_the_way_out() {
    let table = [
        ("--identity irsa".to_owned(), "--identity irsa needs --irsa-issuer"),
        (
            format!("--identity pod-identity {ISSUER}"),
            "--identity pod-identity and --irsa-issuer contradict each other: leave one out",
        ),
        (format!("--hub-cluster eu-west-1/hub {ISSUER}"), "--hub-cluster is for Pod Identity"),
        ("--partition aws-cn".to_owned(), "region eu-west-1 is in partition aws, not in aws-cn"),
        ("--follower 222222222222/cn-north-1/b".to_owned(), "region cn-north-1 is in partition aws-cn, not in aws"),
        ("--output cloudformation".to_owned(), "--output cloudformation prints one template: add --part hub"),
        (
            "--follower 111111111111/eu-west-1/hub --follower-role a/towline".to_owned(),
            "account 111111111111 cannot have two roles towline: change --hub-role or --follower-role",
        ),
        (
            format!("--external-id {} --hub-role {}/r", "e".repeat(1200), "p".repeat(500)),
            "trust policy of the follower",
        ),
    ];
    for (flags, message) in table {
        let error = mistake(&format!("{HUB} {ONE} {flags}"));
        assert!(error.starts_with(&format!("error: {message}")), "{flags}: {error}");
        assert_eq!(error.lines().count(), 1, "{flags}: {error}");
    }
}
