//! What Towline would do, without doing it: `towline plan` and `run --dry-run`.

use super::{
    cli::{self, Answer},
    makers::secret,
    towline::Towline,
    world::World,
};
use controlplane::{Behaviour, Mark};
use serde_json::Value;

/// Something of each: in step on a, to be deleted from it, in somebody's way on it, to be created on a and b.
async fn prepared(world: &World) {
    let mut towline = Towline::start(world, &world.contexts(&[("a", 0), ("b", 1)]), &[]);
    for name in ["in-step", "changed", "left"] {
        world.apply(secret(&world.name, name).data("token", "x").contexts("a").build()).await;
        world.copy(0, "Secret", name, |_| true).await;
    }
    towline.stop().await;
    world.put(0, secret(&world.name, "taken").data("token", "x").build()).await;
    world.apply(secret(&world.name, "taken").data("token", "x").contexts("a").build()).await;
    world.apply(secret(&world.name, "new").data("token", "x").contexts("a, b").build()).await;
    world.apply(secret(&world.name, "changed").data("token", "x").data("more", "x").contexts("a").build()).await;
    world.delete("Secret", "left").await;
}

const ROWS: [(&str, &str, &str); 5] = [
    ("a", "Update", "changed"),
    ("a", "Delete", "left"),
    ("a", "Create", "new"),
    ("a", "Conflict", "taken"),
    ("b", "Create", "new"),
];

async fn plan(world: &World, flags: &[&str]) -> Answer {
    let file = world.file("followers.kubeconfig", &world.contexts(&[("a", 0), ("b", 1)]));
    let mut words = vec!["plan", "--kubeconfig-file", file.to_str().unwrap(), "--source-namespaces", &world.name];
    words.extend(["--local-sync=false"]);
    words.extend(flags);
    cli::with_hub(world, &words).await
}

/// A moment in every cluster.
fn marks(world: &World) -> Vec<Mark> {
    [world.hub.audit()]
        .into_iter()
        .chain((0..3).map(|follower| world.audit(follower)))
        .map(controlplane::Audit::mark)
        .collect()
}

/// Not even an event, and no dry run of the server's.
async fn assert_nothing_was_written(world: &World, since: &[Mark]) {
    let audits = [world.hub.audit()].into_iter().chain((0..3).map(|follower| world.audit(follower)));
    for (audit, mark) in audits.zip(since) {
        let sent = audit.since(*mark).await.unwrap().by(&world.user());
        let writes = sent.matching(|request| !matches!(request.verb.as_str(), "get" | "list" | "watch"));
        assert!(writes.is_empty(), "{writes}");
    }
}

#[tokio::test]
async fn a_plan_lists_what_would_be_done_by_name_and_writes_nothing() {
    let world = World::new("plan-table").await;
    prepared(&world).await;
    let since = marks(&world);
    let answer = plan(&world, &[]).await;
    assert_eq!(answer.code, 0, "{}", answer.complaints);
    let lines: Vec<Vec<&str>> = answer.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["FOLLOWER", "ACTION", "KIND", "TARGET", "SOURCE", "DETAIL"]);
    let rows: Vec<(&str, &str, String)> =
        lines[1..].iter().map(|line| (line[0], line[1], line[3].to_owned())).collect();
    let wanted = ROWS.map(|(follower, action, name)| (follower, action, format!("{}/{name}", world.name)));
    assert_eq!(rows, wanted, "{}", answer.out);
    assert_nothing_was_written(&world, &since).await;
}

#[tokio::test]
async fn a_plan_as_json_has_the_same_rows() {
    let world = World::new("plan-json").await;
    prepared(&world).await;
    let since = marks(&world);
    let answer = plan(&world, &["--output", "json"]).await;
    assert_eq!(answer.code, 0, "{}", answer.complaints);
    let told: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((told["complete"].as_bool(), told["unreachable"].as_object().unwrap().len()), (Some(true), 0));
    let field = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows: Vec<[String; 3]> = told["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| ["follower", "action", "name"].map(|key| field(row, key)))
        .collect();
    assert_eq!(rows, ROWS.map(|(follower, action, name)| [follower, action, name].map(str::to_owned)));
    assert_eq!(told["rows"][1]["class"], "Unwitnessed");
    assert_nothing_was_written(&world, &since).await;
}

#[tokio::test]
async fn a_plan_of_a_world_in_step_says_so() {
    let world = World::new("plan-in-step").await;
    let mut towline = Towline::start(&world, &world.contexts(&[("a", 0)]), &[]);
    world.apply(secret(&world.name, "key").contexts("a").build()).await;
    world.copy(0, "Secret", "key", |_| true).await;
    towline.stop().await;
    let answer = plan(&world, &[]).await;
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (0, "Everything is in step: nothing to do.\n"),
        "{}",
        answer.complaints
    );
}

#[tokio::test]
async fn a_plan_without_a_follower_names_it_and_exits_with_1() {
    let world = World::new("plan-unreachable").await;
    world.apply(secret(&world.name, "key").contexts("a, b").build()).await;
    world.proxies[1].set(Behaviour::Refuse).await.unwrap();
    let answer = plan(&world, &[]).await;
    assert_eq!(answer.code, 1, "{}", answer.complaints);
    assert!(answer.out.contains("Follower b could not be asked: "), "{}", answer.out);
    assert!(answer.out.lines().any(|line| line.starts_with("a ") && line.contains("Create")), "{}", answer.out);
}

#[tokio::test]
async fn a_plan_without_the_management_cluster_says_so_and_exits_with_1() {
    let world = World::new("plan-no-hub").await;
    world.hub_proxy.set(Behaviour::Refuse).await.unwrap();
    let answer = plan(&world, &[]).await;
    assert_eq!((answer.code, answer.out.as_str()), (1, ""));
    assert!(answer.complaints.contains("management cluster at https://127.0.0.1"), "{}", answer.complaints);
}

#[tokio::test]
async fn a_dry_run_says_what_it_would_do_and_writes_nothing() {
    let world = World::new("plan-dry-run").await;
    prepared(&world).await;
    let since = marks(&world);
    let mut towline =
        Towline::start(&world, &world.contexts(&[("a", 0), ("b", 1)]), &["--dry-run", "--deletion-delay", "1s"]);
    for (follower, action, name) in ROWS {
        if action == "Conflict" {
            towline.row(follower, name, action).await;
        } else {
            let told = |line: &str| {
                let wanted = [
                    "would write",
                    &format!("follower={follower} "),
                    &format!("name={name} "),
                    &format!(r#"action="{action}""#),
                ];
                wanted.iter().all(|text| line.contains(text))
            };
            let look = async || Ok(towline.logged().lines().any(told).then_some(()));
            controlplane::eventually(&format!("{action} of {name} on {follower}"), super::world::CAP, look)
                .await
                .unwrap();
        }
    }
    // A change while it runs, too.
    world.apply(secret(&world.name, "newer").data("token", "x").contexts("b").build()).await;
    towline.logs("name=newer").await;
    assert!(towline.stop().await.success());
    assert!(world.there(0, "Secret", "left").await.is_some() && world.there(1, "Secret", "newer").await.is_none());
    assert_nothing_was_written(&world, &since).await;
}
