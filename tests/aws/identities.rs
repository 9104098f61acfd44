//! As whom Towline starts: a web identity, a pod identity.

use super::{
    ground::CLUSTERS,
    makers::secret,
    tenant::{REGION, Tenant},
};
use sandbox::Role;
use serde_json::json;

#[tokio::test]
async fn a_web_identity_is_enough_for_followers_in_two_accounts() {
    let tenant = Tenant::new("irsa").await;
    let towline = tenant.start(&tenant.irsa(), &tenant.followers_file(&[0, 1, 2]));
    arrives_everywhere(&tenant).await;
    assert_eq!(tenant.count("AssumeRoleWithWebIdentity", "OK"), 1, "{:#?}", tenant.calls());
    assert_eq!(tenant.count("AssumeRole", "OK"), 2, "a call for each role: {:#?}", tenant.calls());
    assert_eq!(tenant.count("DescribeCluster", "OK"), 3, "{:#?}", tenant.calls());
    assert!(tenant.calls().iter().all(|call| call.code == "OK"), "{:#?}", tenant.calls());
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_pod_identity_and_an_external_id_are_enough() {
    let tenant = Tenant::new("pods").await;
    let hub = format!("{REGION}/{}", CLUSTERS[0]);
    tenant.settle(&tenant.bundle(&["--external-id", "towline:eu", "--hub-cluster", &hub]));
    let agent = tenant.agent(&tenant.hub_role());
    let file = tenant.followers_file_with(&[0, 1, 2], &json!({"externalID": "towline:eu"}));
    let towline = tenant.start(&tenant.pod(&agent), &file);
    arrives_everywhere(&tenant).await;
    assert_eq!(tenant.count("GetCredentials", "OK"), 1, "{:#?}", tenant.calls());
    assert_eq!(tenant.count("AssumeRole", "OK"), 2, "{:#?}", tenant.calls());
    assert!(tenant.calls().iter().all(|call| call.code == "OK"), "{:#?}", tenant.calls());
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_missing_external_id_is_told_and_takes_effect_when_it_is_given() {
    let tenant = Tenant::new("external").await;
    tenant.settle(&tenant.bundle(&["--external-id", "towline:eu"]));
    let agent = tenant.agent(&tenant.hub_role());
    let towline = tenant.start(&tenant.pod(&agent), &tenant.followers_file(&[0]));
    let told = towline.complains("blue", "AccessDenied").await;
    assert!(told.starts_with(&format!("sts:AssumeRole of {} as the pod identity: ", tenant.role(0))), "{told}");
    assert!(told.contains("with this external id"), "{told}");
    tenant.followers_file_with(&[0], &json!({"externalID": "towline:eu"}));
    towline.connects("blue").await;
    towline.shows_no_secret().await;
}

#[tokio::test]
async fn a_pod_whose_role_is_a_step_to_the_hub_role_gets_there() {
    let tenant = Tenant::new("steps").await;
    tenant.settle(&tenant.bundle(&[]));
    let pod_role = format!("arn:aws:iam::{}:role/pod", tenant.accounts[0]);
    let (step, hub) = (["sts:AssumeRole", "sts:TagSession"], tenant.hub_role());
    let statement = |who: &str, whom: &serde_json::Value| json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", who: whom, "Action": step}]});
    let mut may = statement("Resource", &json!(hub));
    let trust = statement("Principal", &json!({"Service": "pods.eks.amazonaws.com"}));
    tenant.ground.aws.change(|world| {
        world.add_role(Role::new(&pod_role, &trust).unwrap().with_policy(&may.take()).unwrap());
        world.role_mut(&hub).unwrap().set_trust(&statement("Principal", &json!({"AWS": pod_role}))).unwrap();
    });
    let agent = tenant.agent(&pod_role);
    let profile = format!("[profile hub]\nrole_arn = {hub}\ncredential_source = EcsContainer\n");
    let mut environment = tenant.pod(&agent);
    environment.push(("AWS_CONFIG_FILE", tenant.world.file("config", &profile).display().to_string()));
    environment.push(("AWS_PROFILE", "hub".to_owned()));
    let towline = tenant.start(&environment, &tenant.followers_file(&[0, 1, 2]));
    arrives_everywhere(&tenant).await;
    assert_eq!(tenant.count("AssumeRole", "OK"), 3, "the hub role, and one in each account: {:#?}", tenant.calls());
    towline.shows_no_secret().await;
}

/// A source reaches all followers by one write each, made by the user that the roles are mapped to.
async fn arrives_everywhere(tenant: &Tenant) {
    let world = &tenant.world;
    let marks: Vec<_> = (0..3).map(|index| world.audit(index).mark()).collect();
    world.apply(secret(&world.name, "key").data("token", "one").contexts("blue, green, red").build()).await;
    for (index, mark) in marks.into_iter().enumerate() {
        world.copy(index, "Secret", "key", |copy| copy["data"]["token"] == "b25l").await;
        let writes = world.audit(index).since(mark).await.unwrap().in_namespace(&world.name).writes();
        assert_eq!((writes.len(), writes.by("towline").len()), (1, 1), "{writes}");
    }
}
