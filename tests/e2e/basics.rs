//! Created, updated, deleted, un-annotated.

use super::{
    makers::{config_map, secret},
    towline::Towline,
    world::World,
};

#[tokio::test]
async fn a_source_arrives_is_updated_and_goes() {
    let world = World::new("basics-arrives").await;
    let _towline = Towline::start(&world, &world.contexts(&[("a", 0), ("b", 1)]), &["--deletion-delay", "1s"]);
    world.apply(secret(&world.name, "key").data("token", "one").contexts("a, b").build()).await;
    world.apply(config_map(&world.name, "settings").data("x", "1").contexts("a").build()).await;
    for follower in [0, 1] {
        let copy = world.copy(follower, "Secret", "key", |_| true).await;
        assert_eq!(copy["data"]["token"], "b25l");
    }
    world.copy(0, "ConfigMap", "settings", |copy| copy["data"]["x"] == "1").await;
    world.apply(secret(&world.name, "key").data("token", "two").contexts("a, b").build()).await;
    for follower in [0, 1] {
        world.copy(follower, "Secret", "key", |copy| copy["data"]["token"] == "dHdv").await;
    }
    assert!(world.there(1, "ConfigMap", "settings").await.is_none());
    world.delete("Secret", "key").await;
    for follower in [0, 1] {
        world.gone(follower, "Secret", "key").await;
    }
}
