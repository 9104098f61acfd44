//! A start with sources waiting: from before the process exists until every copy was seen on every follower.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use tokio::time::sleep;

use super::ground::{FLOOR, FOLLOWERS, Ground, plain};
use super::latency::quantile;
use super::table::{Figure, Reach};
use crate::eye::Eye;

/// The floor and Towline take turns so many times.
const ROUNDS: usize = 5;
/// What the management cluster is given to be done with the writes of the sources.
const REST: Duration = Duration::from_secs(1);

/// Measures starts with `sources` waiting. Towline is not running, and nothing is there.
pub(super) async fn measure(ground: &Ground, sources: u32) -> Result<Vec<Figure>> {
    let (mut towline, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floor.push(write(ground, sources).await?.as_secs_f64());
        towline.push(start(ground, sources).await?.as_secs_f64());
        ground.clear().await?;
    }
    let name = format!("start with {sources} sources → all on 4 followers");
    let figure = Figure::ratio(&name, quantile(&towline, 50), quantile(&floor, 50), Reach::TimesPlus(1.3, 0.3));
    Ok(vec![figure.with("towline_s", towline).with("floor_s", floor)])
}

async fn write(ground: &Ground, count: u32) -> Result<Duration> {
    let objects: Vec<Value> = (0..count).map(|number| plain(&format!("source-{number}"), 0)).collect();
    sleep(REST).await;
    let began = Instant::now();
    ground.floor.create_all(FLOOR, &objects).await?;
    all_seen(&ground.written, count, began).await
}

async fn start(ground: &Ground, count: u32) -> Result<Duration> {
    ground.create_sources(count).await?;
    sleep(REST).await;
    let began = Instant::now();
    let towline = ground.towline(&FOLLOWERS).await?;
    let took = all_seen(&ground.copies, count, began).await?;
    towline.stop().await?;
    Ok(took)
}

async fn all_seen(eyes: &[Eye], count: u32, began: Instant) -> Result<Duration> {
    let mut last = began;
    for eye in eyes.iter().take(FOLLOWERS.len()) {
        last = last.max(eye.counts(count, |_| true).await?);
    }
    Ok(last.saturating_duration_since(began))
}
