//! Rights in a follower that reach only some namespaces.

use super::{
    makers::secret,
    towline::Towline,
    world::{Rights, World, found, kubeconfig, path},
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_namespace_without_rights_holds_up_no_other() {
    let world = World::with("rights-missing", Rights::Named).await;
    let follower = world.followers[0];
    let (granted, missing) = (format!("{}-granted", world.name), world.namespace(follower, "missing", json!({})).await);
    world.grant(0, std::slice::from_ref(&granted)).await;
    let contexts = kubeconfig(&[placed(&world, "granted", &granted), placed(&world, "missing", &missing)]);
    let towline = Towline::start(&world, &contexts, &["--deletion-delay", "1s"]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("granted, missing").build()).await;
    found(follower, &path("Secret", &granted, "key"), |_| true).await;
    world.apply(secret(&world.name, "key").data("token", "two").contexts("granted, missing").build()).await;
    found(follower, &path("Secret", &granted, "key"), |copy| copy["data"]["token"] == "dHdv").await;
    towline.logs(&format!("may not read secrets in namespace {missing}")).await;
    world.delete("Secret", "key").await;
    super::world::gone(follower, &path("Secret", &granted, "key")).await;
}

#[tokio::test]
async fn a_context_with_another_namespace_that_is_added_later_is_served() {
    let world = World::with("rights-later", Rights::Named).await;
    let follower = world.followers[0];
    let names = [format!("{}-early", world.name), format!("{}-late", world.name)];
    world.grant(0, &names).await;
    let early = placed(&world, "early", &names[0]);
    let _towline = Towline::start(&world, &kubeconfig(std::slice::from_ref(&early)), &[]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("early, late").build()).await;
    found(follower, &path("Secret", &names[0], "key"), |_| true).await;
    world.file("followers.kubeconfig", &kubeconfig(&[early, placed(&world, "late", &names[1])]));
    found(follower, &path("Secret", &names[1], "key"), |_| true).await;
}

fn placed(world: &World, name: &str, namespace: &str) -> Value {
    let mut context = world.context(name, 0);
    context["namespace"] = json!(namespace);
    context
}
