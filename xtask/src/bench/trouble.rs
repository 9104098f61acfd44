//! A follower that accepts connections and says nothing: when it is noticed, and what it costs the others.

use std::time::{Duration, Instant};

use anyhow::Result;
use controlplane::{Behaviour, Proxy, eventually};
use tokio::time::sleep;

use super::ground::{FOLLOWERS, Ground, SOURCES, seen_by_all, source, update};
use super::latency::quantile;
use super::table::{Figure, Reach};
use crate::eye::Eye;
use crate::towline::Towline;

const NAME: &str = "troubled";
const REST: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(90);
const DOWN: &str = r#"towline_follower_up{follower="f1"}"#;

/// Puts the first follower behind a proxy and lets it go silent. Towline is not running.
pub(super) async fn measure(ground: &Ground, rounds: usize) -> Result<Vec<Figure>> {
    let follower = ground.lab.fleet.follower(1)?.address();
    let proxy = Proxy::start(follower)?;
    let towline = ground.towline_with(ground.lab.followers_kubeconfig_via(&FOLLOWERS, &proxy.url())?).await?;
    ground.hub().create(SOURCES, &source(NAME, 0)).await?;
    let (first, others) = split(ground)?;
    for eyes in [first, others] {
        seen_by_all(eyes, NAME, 0).await?;
    }
    let before = latencies(ground, 1, rounds).await?;

    proxy.set(Behaviour::BlackHole).await?;
    let (noticed, meanwhile) = tokio::join!(noticed(&towline), latencies(ground, 1 + rounds, rounds));
    let (noticed, meanwhile) = (noticed?, meanwhile?);

    proxy.set(Behaviour::Forward(follower)).await?;
    let began = Instant::now();
    let newest = seen_by_all(first, NAME, 2 * rounds).await?;
    towline.stop().await?;
    let latency = "the others' latency meanwhile, p50 (floor: before)";
    Ok(vec![
        Figure::plain("a black-holed follower is noticed after", "s", noticed, Reach::AtMost(30.0))
            .with("in_step_again_after_s", newest.saturating_duration_since(began).as_secs_f64()),
        // Two samples of one thing differ by as much on a machine that does other things, too.
        Figure::ratio(latency, quantile(&meanwhile, 50), quantile(&before, 50), Reach::AtMost(1.2))
            .with("rounds", rounds),
    ])
}

/// Seconds until Towline says that it is down.
async fn noticed(towline: &Towline) -> Result<f64> {
    let began = Instant::now();
    let down = async || Ok(towline.metric(DOWN).await?.filter(|up| *up == 0.0).map(drop));
    eventually("the silent follower to be noticed", PATIENCE, down).await?;
    Ok(began.elapsed().as_secs_f64())
}

/// Seconds from an update until the other followers have it, so many times.
async fn latencies(ground: &Ground, first: usize, rounds: usize) -> Result<Vec<f64>> {
    let (_, others) = split(ground)?;
    let mut samples = Vec::new();
    for version in first..first + rounds {
        sleep(REST).await;
        let began = Instant::now();
        ground.hub().patch(&format!("{SOURCES}/{NAME}"), &update(version)).await?;
        let seen = seen_by_all(others, NAME, version).await?;
        samples.push(seen.saturating_duration_since(began).as_secs_f64());
    }
    Ok(samples)
}

/// The eye on the silent follower, and those on the others. Followers that were started for another measurement are not
/// Towline's now.
fn split(ground: &Ground) -> Result<(&[Eye], &[Eye])> {
    let eyes = ground.copies.get(..FOLLOWERS.len());
    let split = eyes.and_then(|eyes| eyes.split_at_checked(1));
    split.ok_or_else(|| anyhow::anyhow!("too few followers"))
}
