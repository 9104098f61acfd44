//! Trouble on order.

use std::time::{Duration, Instant};

use aws_config::retry::RetryConfig;
use sandbox::{Fault, Service};

use crate::makers::{FOLLOWER, Ground, REGION, code};

#[tokio::test]
async fn an_operation_fails_as_often_as_it_is_told() {
    let ground = Ground::new();
    let throttling = || Fault::error(400, "Throttling", "Rate exceeded");
    ground.aws.fail(Service::Sts, "AssumeRole", throttling().times(1).on("another role"));
    assert_eq!(code(ground.assume_follower(&ground.anna).send().await), "OK");
    ground.aws.fail(Service::Sts, "AssumeRole", throttling().times(1).on(FOLLOWER));
    assert_eq!(code(ground.assume_follower(&ground.anna).send().await), "Throttling");
    assert_eq!(code(ground.assume_follower(&ground.anna).send().await), "OK");

    let disabled = Fault::error(403, "RegionDisabledException", "STS is not activated in this region");
    ground.aws.fail(Service::Sts, "AssumeRole", disabled);
    for _ in 0..3 {
        assert_eq!(code(ground.assume_follower(&ground.anna).send().await), "RegionDisabledException");
    }
    ground.aws.heal();
    assert_eq!(code(ground.assume_follower(&ground.anna).send().await), "OK");
}

#[tokio::test]
async fn a_client_that_retries_gets_over_it() {
    let ground = Ground::new();
    let follower = ground.follower().await;
    let config = ground.config(&follower, REGION).into_builder().retry_config(RetryConfig::standard()).build();
    let eks = aws_sdk_eks::Client::new(&config);
    for fault in [(429, "TooManyRequestsException"), (500, "ServerException"), (503, "ServiceUnavailableException")] {
        let (status, name) = fault;
        ground.aws.fail(Service::Eks, "DescribeCluster", Fault::error(status, name, "later").times(1));
        assert_eq!(code(eks.describe_cluster().name("prod").send().await), "OK", "{name}");
    }
    let codes: Vec<String> = ground.aws.calls().into_iter().skip(1).map(|call| call.code).collect();
    let expected = ["TooManyRequestsException", "OK", "ServerException", "OK", "ServiceUnavailableException", "OK"];
    assert_eq!(codes, expected);
}

#[tokio::test]
async fn an_answer_may_be_late() {
    let ground = Ground::new();
    ground.aws.fail(Service::Sts, "GetCallerIdentity", Fault::slow(Duration::from_millis(300)).times(1));
    let began = Instant::now();
    assert_eq!(code(ground.sts(&ground.anna).get_caller_identity().send().await), "OK");
    assert!(began.elapsed() >= Duration::from_millis(300));
}
