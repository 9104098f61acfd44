//! What goes wrong at AWS: each trouble is told where a user looks, and the follower is served when it is over.

use super::{
    daemon::Daemon,
    makers::secret,
    tenant::{REGION, Tenant},
};
use controlplane::{Behaviour, Proxy};
use sandbox::{Cluster, Fault, Service};
use std::time::Duration;

#[tokio::test]
async fn throttling_by_sts_is_told_and_passes() {
    let tenant = Tenant::new("throttled").await;
    let throttling = Fault::error(400, "Throttling", "Rate exceeded").times(3).on(&tenant.role(0));
    tenant.ground.aws.fail(Service::Sts, "AssumeRole", throttling);
    let towline = start(&tenant);
    let told = towline.complains("blue", "Throttling").await;
    assert!(told.starts_with(&format!("sts:AssumeRole of {} as ", tenant.role(0))), "{told}");
    assert!(told.ends_with("AWS asks for fewer calls; asked again later"), "{told}");
    towline.connects("red").await;
    towline.connects("blue").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_region_that_is_switched_off_is_told_with_what_to_switch_on() {
    let tenant = Tenant::new("disabled").await;
    let disabled =
        Fault::error(403, "RegionDisabledException", "STS is not activated in this region").on(&tenant.role(0));
    tenant.ground.aws.fail(Service::Sts, "AssumeRole", disabled);
    let towline = start(&tenant);
    let told = towline.complains("blue", "RegionDisabledException").await;
    assert!(told.contains("STS is not activated in this region for the account (IAM, account settings)"), "{told}");
    let about = |event: &serde_json::Value| event["note"].as_str().unwrap().contains("RegionDisabledException");
    tenant.world.event("FollowerNotConnected", about).await;
    towline.connects("red").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn an_expired_web_identity_is_told_until_it_is_renewed() {
    let tenant = Tenant::new("stale").await;
    let environment = tenant.irsa();
    tenant.web_identity(Duration::ZERO);
    let towline = tenant.start(&environment, &tenant.followers_file(&[0]));
    let told = towline.complains("blue", "sts:AssumeRoleWithWebIdentity of ").await;
    assert!(told.contains(&tenant.hub_role()) && told.contains("is the token file still renewed?"), "{told}");
    tenant.web_identity(Duration::from_secs(3600));
    towline.connects("blue").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn errors_of_eks_are_told_by_their_codes_and_pass() {
    let tenant = Tenant::alone("busy").await;
    let aws = &tenant.ground.aws;
    aws.fail(Service::Eks, "DescribeCluster", Fault::error(429, "TooManyRequestsException", "slow down").on("blue"));
    aws.fail(Service::Eks, "DescribeCluster", Fault::error(500, "ServerException", "oh no").on("red"));
    let towline = start(&tenant);
    let told = towline.complains("blue", "eks:DescribeCluster of blue as ").await;
    assert!(told.contains("TooManyRequestsException: AWS asks for fewer calls"), "{told}");
    let told = towline.complains("red", "eks:DescribeCluster of red as ").await;
    assert!(told.contains("ServerException: AWS failed; asked again soon"), "{told}");
    aws.heal();
    towline.connects("blue").await;
    towline.connects("red").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_cluster_that_is_being_created_is_served_when_it_has_an_endpoint() {
    let tenant = Tenant::new("creating").await;
    change(&tenant, |cluster| {
        cluster.status = "CREATING".to_owned();
        (cluster.endpoint, cluster.ca_pem) = (None, None);
    });
    let towline = start(&tenant);
    towline.complains("blue", "it is being created and has no endpoint yet; asked again").await;
    tenant.ground.aws.change(|world| world.add_cluster(tenant.cluster(0)));
    towline.connects("blue").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_cluster_that_is_being_deleted_is_to_be_taken_out() {
    let tenant = Tenant::new("deleting").await;
    change(&tenant, |cluster| cluster.status = "DELETING".to_owned());
    let towline = start(&tenant);
    towline.complains("blue", "it is being deleted: take it out of the followers").await;
    towline.connects("red").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_cluster_without_an_authority_is_not_trusted() {
    let tenant = Tenant::new("bare").await;
    change(&tenant, |cluster| cluster.ca_pem = None);
    let towline = start(&tenant);
    towline.complains("blue", "EKS names no usable certificate authority for it").await;
    assert_eq!(tenant.world.proxies[0].accepted(), 0);
    tenant.ground.aws.change(|world| world.add_cluster(tenant.cluster(0)));
    towline.connects("blue").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn an_endpoint_that_moves_is_followed_and_nothing_is_copied_again() {
    let tenant = Tenant::alone("moved").await;
    let (world, towline) = (&tenant.world, start(&tenant));
    for name in ["one", "two", "three"] {
        world.apply(secret(&world.name, name).data("token", "one").contexts("blue").build()).await;
        world.copy(0, "Secret", name, |_| true).await;
    }
    let described = tenant.count("DescribeCluster", "OK");
    let mark = world.audit(0).mark();
    let elsewhere = Proxy::start(world.followers[0].address()).unwrap();
    change(&tenant, |cluster| cluster.endpoint = Some(elsewhere.url()));
    world.proxies[0].set(Behaviour::Refuse).await.unwrap();
    world.apply(secret(&world.name, "one").data("token", "two").contexts("blue").build()).await;
    world.copy(0, "Secret", "one", |copy| copy["data"]["token"] == "dHdv").await;
    let seen = world.audit(0).since(mark).await.unwrap().by("towline");
    let writes = seen.in_namespace(&world.name).writes();
    assert_eq!(writes.len(), 1, "{writes}");
    let first = seen.first().map(|request| request.uri.clone()).unwrap_or_default();
    assert!(first.contains("/namespaces/kube-system"), "who is there comes first: {seen}");
    assert!(seen.verb("list").matching(|request| request.resource == "secrets").is_empty(), "{seen}");
    assert!(tenant.count("DescribeCluster", "OK") > described);
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_token_that_no_authenticator_would_take_is_not_sent() {
    let tenant = Tenant::alone("long").await;
    tenant.ground.aws.set_session_token_length(3500);
    let towline = start(&tenant);
    let told = towline.complains("blue", "the token for cluster blue is ").await;
    assert!(told.contains("bytes long, and no authenticator takes more than 4096"), "{told}");
    assert_eq!(tenant.count("GetCallerIdentity", "OK"), 0);
    towline.shows_no_secret().await;
}

/// Towline with a web identity, blue and red.
fn start(tenant: &Tenant) -> Daemon {
    tenant.start(&tenant.irsa(), &tenant.followers_file(&[0, 2]))
}

/// Changes what EKS says of blue.
fn change(tenant: &Tenant, change: impl FnOnce(&mut Cluster)) {
    let account = tenant.account(0);
    tenant.ground.aws.change(|world| change(world.cluster_mut(account, REGION, "blue").unwrap()));
}
