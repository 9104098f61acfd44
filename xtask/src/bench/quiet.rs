//! What should cost nothing: objects that are no sources, and a restart while all is in step. Counted in the audit logs of
//! the followers.

use anyhow::{Context, Result};
use controlplane::{Cluster, Mark, Requests};
use serde_json::{Value, json};

use super::ground::{FOLLOWERS, Ground, SOURCES, plain, update};
use super::table::{Figure, Reach};
use crate::lab::USER;
use crate::towline::Towline;

/// So many objects are created and updated that are no sources, half of them ConfigMaps.
const BYSTANDERS: usize = 100;

/// Requests to followers on account of objects that are no sources. Towline is running, and in step.
pub(super) async fn bystanders(ground: &Ground) -> Result<Vec<Figure>> {
    let marks = marks(ground);
    for number in 0..BYSTANDERS / 2 {
        let (name, config_maps) = (format!("bystander-{number}"), "/api/v1/namespaces/bench/configmaps");
        ground.hub().create(SOURCES, &plain(&name, 0)).await?;
        ground.hub().patch(&format!("{SOURCES}/{name}"), &update(1)).await?;
        ground.hub().create(config_maps, &json!({"metadata": {"name": name}, "data": {"version": "0"}})).await?;
        ground.hub().patch(&format!("{config_maps}/{name}"), &json!({"data": {"version": "1"}})).await?;
    }
    ground.witness("after-bystanders").await?;
    let counts = count(ground, &marks).await?;
    let name = format!("requests to followers by {BYSTANDERS} objects that are no sources");
    let requests: u32 = counts.iter().map(|count| count.requests).sum();
    Ok(vec![Figure::plain(&name, "", f64::from(requests), Reach::AtMost(0.0))])
}

/// A restart with `sources` in step. Answers the restarted Towline, too.
pub(super) async fn restart(ground: &Ground, towline: Towline, sources: u32) -> Result<(Towline, Vec<Figure>)> {
    towline.stop().await?;
    let marks = marks(ground);
    let towline = ground.towline(&FOLLOWERS).await?;
    ground.settled(&towline, sources, "after-restart").await?;
    let counts = count(ground, &marks).await?;
    let writes: u32 = counts.iter().map(|count| count.writes).sum();
    let requests = counts.iter().map(|count| count.requests).max().context("there are no followers")?;
    let verbs: Vec<&Value> = counts.iter().map(|count| &count.verbs).collect();
    let figures = vec![
        Figure::plain("restart while in step: writes", "", f64::from(writes), Reach::AtMost(0.0)),
        Figure::plain("restart while in step: requests per follower", "", f64::from(requests), Reach::AtMost(8.0))
            .with("requests", verbs),
    ];
    Ok((towline, figures))
}

/// What Towline asked of one follower, less the one write of the witness.
struct Count {
    requests: u32,
    writes: u32,
    verbs: Value,
}

fn followers(ground: &Ground) -> impl Iterator<Item = &Cluster> {
    ground.lab.fleet.followers.iter().take(FOLLOWERS.len())
}

fn marks(ground: &Ground) -> Vec<Mark> {
    followers(ground).map(|cluster| cluster.audit().mark()).collect()
}

async fn count(ground: &Ground, marks: &[Mark]) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    for (cluster, mark) in followers(ground).zip(marks) {
        let seen = cluster.audit().since(*mark).await?.by(USER);
        let less_witness = |seen: &Requests| u32::try_from(seen.len()).map(|count| count.saturating_sub(1));
        counts.push(Count {
            requests: less_witness(&seen)?,
            writes: less_witness(&seen.writes())?,
            verbs: seen.iter().map(|request| format!("{} {}", request.verb, request.resource)).collect(),
        });
    }
    Ok(counts)
}
