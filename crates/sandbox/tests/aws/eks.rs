//! DescribeCluster and ListClusters.

use aws_sdk_eks::error::ProvideErrorMetadata;
use aws_sdk_eks::types::ClusterStatus;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sandbox::{Cluster, Service};
use serde_json::json;

use crate::makers::{ACCOUNT, FOLLOWER, Ground, REGION, allow, code};

#[tokio::test]
async fn a_cluster_is_described() {
    let ground = Ground::new();
    ground.aws.change(|world| {
        let cluster = Cluster::new(ACCOUNT, REGION, "outpost").at("https://outpost.example.com", "-----BEGIN");
        world.add_cluster(Cluster { id: Some("0a1b-2c3d".into()), ..cluster.with_tag("stage", "test") });
    });
    let eks = ground.eks(&ground.follower().await);
    let answer = eks.describe_cluster().name("outpost").send().await.unwrap();
    let cluster = answer.cluster().unwrap();
    assert_eq!(cluster.arn(), Some("arn:aws:eks:eu-central-1:222222222222:cluster/outpost"));
    assert_eq!((cluster.name(), cluster.id()), (Some("outpost"), Some("0a1b-2c3d")));
    assert_eq!(cluster.status(), Some(&ClusterStatus::Active));
    assert_eq!(cluster.endpoint(), Some("https://outpost.example.com"));
    let pem = BASE64_STANDARD.decode(cluster.certificate_authority().unwrap().data().unwrap()).unwrap();
    assert_eq!(pem, b"-----BEGIN");
    assert_eq!(cluster.tags().unwrap()["stage"], "test");
    assert!(cluster.resources_vpc_config().unwrap().endpoint_public_access());
    let mode = cluster.access_config().unwrap().authentication_mode().unwrap();
    assert_eq!(mode.as_str(), "API_AND_CONFIG_MAP");
}

#[tokio::test]
async fn a_cluster_changes_while_it_is_looked_at() {
    let ground = Ground::new();
    let eks = ground.eks(&ground.follower().await);
    ground.aws.change(|world| {
        let cluster = world.cluster_mut(ACCOUNT, REGION, "prod").unwrap();
        cluster.status = "CREATING".into();
        cluster.endpoint = None;
        cluster.ca_pem = None;
        cluster.endpoint_public_access = false;
    });
    let answer = eks.describe_cluster().name("prod").send().await.unwrap();
    let cluster = answer.cluster().unwrap();
    assert_eq!(cluster.status(), Some(&ClusterStatus::Creating));
    assert_eq!(cluster.endpoint(), None);
    assert!(cluster.certificate_authority().is_none());
    assert!(!cluster.resources_vpc_config().unwrap().endpoint_public_access());

    ground.aws.change(|world| world.remove_cluster(ACCOUNT, REGION, "prod")).unwrap();
    let gone = eks.describe_cluster().name("prod").send().await.unwrap_err();
    assert_eq!(gone.raw_response().unwrap().status().as_u16(), 404);
    assert!(gone.into_service_error().is_resource_not_found_exception());
}

#[tokio::test]
async fn a_cluster_is_seen_in_its_account_and_region_only() {
    let ground = Ground::new();
    ground.aws.change(|world| world.add_cluster(Cluster::new("333333333333", REGION, "foreign")));
    let follower = ground.follower().await;
    assert_eq!(code(ground.eks(&follower).describe_cluster().name("prod").send().await), "OK");
    let foreign = ground.eks(&follower).describe_cluster().name("foreign").send().await;
    assert_eq!(code(foreign), "ResourceNotFoundException");
    let elsewhere = aws_sdk_eks::Client::new(&ground.config(&follower, "eu-west-1"));
    assert_eq!(code(elsewhere.describe_cluster().name("prod").send().await), "ResourceNotFoundException");
    assert_eq!(ground.aws.calls().last().unwrap().region, "eu-west-1");
}

#[tokio::test]
async fn looking_needs_a_right() {
    let ground = Ground::new();
    let eks = ground.eks(&ground.follower().await);
    let prod = "arn:aws:eks:eu-central-1:222222222222:cluster/prod";
    let policies = [allow(&json!("eks:DescribeCluster"), prod)];
    ground.aws.change(|world| world.role_mut(FOLLOWER).unwrap().set_policies(&policies)).unwrap();
    assert_eq!(code(eks.describe_cluster().name("prod").send().await), "OK");
    // Who may not look does not learn that it is not there.
    let missing = eks.describe_cluster().name("missing").send().await.unwrap_err();
    assert_eq!(missing.code(), Some("AccessDeniedException"));
    assert_eq!(missing.raw_response().unwrap().status().as_u16(), 403);
    assert_eq!(code(eks.list_clusters().send().await), "AccessDeniedException");
    let call = ground.aws.calls().pop().unwrap();
    assert_eq!((call.service, call.operation.as_str()), (Service::Eks, "ListClusters"));
}

#[tokio::test]
async fn clusters_are_listed_in_pages_of_a_hundred() {
    let ground = Ground::new();
    ground.aws.change(|world| {
        for number in 0..249 {
            world.add_cluster(Cluster::new(ACCOUNT, REGION, &format!("c-{number:03}")));
        }
        let outside = Cluster::new(ACCOUNT, REGION, "connected");
        world.add_cluster(Cluster { connector_provider: Some("EKS_ANYWHERE".into()), ..outside });
    });
    let eks = ground.eks(&ground.follower().await);
    let mut pages = eks.list_clusters().into_paginator().send();
    let (mut sizes, mut names) = (Vec::new(), Vec::new());
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        sizes.push(page.clusters().len());
        names.extend(page.clusters().iter().cloned());
    }
    assert_eq!(sizes, [100, 100, 50]);
    assert!(names.is_sorted() && names.contains(&"prod".to_owned()) && !names.contains(&"connected".to_owned()));

    let all = eks.list_clusters().include("all").max_results(2).send().await.unwrap();
    assert_eq!(all.clusters(), ["c-000", "c-001"]);
    let connected = eks.describe_cluster().name("connected").send().await.unwrap();
    assert_eq!(connected.cluster().unwrap().connector_config().unwrap().provider(), Some("EKS_ANYWHERE"));
    assert_eq!(connected.cluster().unwrap().endpoint(), None);
    assert_eq!(code(eks.list_clusters().max_results(101).send().await), "InvalidParameterException");
    assert_eq!(code(eks.list_clusters().next_token("?").send().await), "InvalidParameterException");
}
