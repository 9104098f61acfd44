//! As whom Towline starts: a web identity, a pod identity.

use super::{daemon::Daemon, makers::secret, tenant::Tenant};

#[tokio::test]
async fn a_web_identity_is_enough_for_followers_in_two_accounts() {
    let tenant = Tenant::new("irsa").await;
    let world = &tenant.world;
    let file = tenant.followers_file(&[0, 1, 2]);
    let flags = ["--followers-file", file.to_str().unwrap(), "--source-namespaces", &world.name];
    let towline = Daemon::start(&tenant, &tenant.irsa(), &flags);
    let marks: Vec<_> = (0..3).map(|index| world.audit(index).mark()).collect();
    world.apply(secret(&world.name, "key").data("token", "one").contexts("blue, green, red").build()).await;
    for (index, mark) in marks.into_iter().enumerate() {
        world.copy(index, "Secret", "key", |copy| copy["data"]["token"] == "b25l").await;
        let writes = world.audit(index).since(mark).await.unwrap().in_namespace(&world.name).writes();
        assert_eq!((writes.len(), writes.by("towline").len()), (1, 1), "{writes}");
    }
    assert_eq!(tenant.count("AssumeRoleWithWebIdentity", "OK"), 1, "{:#?}", tenant.calls());
    assert_eq!(tenant.count("AssumeRole", "OK"), 2, "a call for each role: {:#?}", tenant.calls());
    assert_eq!(tenant.count("DescribeCluster", "OK"), 3, "{:#?}", tenant.calls());
    assert!(tenant.calls().iter().all(|call| call.code == "OK"), "{:#?}", tenant.calls());
    towline.shows_no_secret().await;
}
