//! One source is created or updated: how long until it is on all followers.
//!
//! Towline's clock starts when the management cluster has taken the change: before that, there is nothing to copy. The floor's
//! starts just before its first request: it has the object in hand. Both stop when a watch on the last follower shows the
//! object. The time since the user began to ask the management cluster is told beside it. They take turns, so that whatever
//! else the machine does falls on both.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;

use super::ground::{FLOOR, Ground, SOURCES, plain, seen_by_all, source, update};
use super::table::{Figure, Reach};
use super::timeline::{Moment, Timeline};

/// Between two measurements: the events and audit lines of the last one must not disturb the next.
const REST: Duration = Duration::from_millis(150);
/// So many first rounds do not count.
const WARM_UP: usize = 3;

/// Seconds of each round.
#[derive(Default)]
struct Samples {
    towline: Vec<f64>,
    /// With the user's own write to the management cluster.
    asked: Vec<f64>,
    floor: Vec<f64>,
    answered: Vec<f64>,
    timeline: Timeline,
}

/// Measures `rounds` creations and as many updates. Towline is running.
pub(super) async fn measure(ground: &Ground, rounds: usize) -> Result<Vec<Figure>> {
    let (mut created, mut updated) = (Samples::default(), Samples::default());
    for round in 0..rounds + WARM_UP {
        let mut samples = (Samples::default(), Samples::default());
        one_round(ground, round, &mut samples).await?;
        if round >= WARM_UP {
            created.extend(samples.0);
            updated.extend(samples.1);
        }
    }
    Ok([created.figures("created"), updated.figures("updated")].concat())
}

async fn one_round(ground: &Ground, round: usize, (created, updated): &mut (Samples, Samples)) -> Result<()> {
    let name = format!("latency-{round}");
    let object = plain(&name, 0);
    sleep(REST).await;
    let began = Instant::now();
    ground.floor.create(FLOOR, &object).await?;
    created.answered.push(began.elapsed().as_secs_f64());
    created.floor.push(since(began, seen_by_all(&ground.written, &name, 0).await?));

    let object = source(&name, 0);
    sleep(REST).await;
    let (moment, asked) = (Moment::now(ground), Instant::now());
    ground.hub().create(SOURCES, &object).await?;
    let began = Instant::now();
    let seen = seen_by_all(&ground.copies, &name, 0).await?;
    created.towline.push(since(began, seen));
    created.asked.push(since(asked, seen));
    created.timeline.add(ground, &moment).await?;

    let patch = update(1);
    sleep(REST).await;
    let began = Instant::now();
    ground.floor.patch(&format!("{FLOOR}/{name}"), &patch).await?;
    updated.answered.push(began.elapsed().as_secs_f64());
    updated.floor.push(since(began, seen_by_all(&ground.written, &name, 1).await?));

    sleep(REST).await;
    let (moment, asked) = (Moment::now(ground), Instant::now());
    ground.hub().patch(&format!("{SOURCES}/{name}"), &patch).await?;
    let began = Instant::now();
    let seen = seen_by_all(&ground.copies, &name, 1).await?;
    updated.towline.push(since(began, seen));
    updated.asked.push(since(asked, seen));
    updated.timeline.add(ground, &moment).await
}

fn since(began: Instant, seen: Instant) -> f64 {
    seen.saturating_duration_since(began).as_secs_f64()
}

impl Samples {
    fn extend(&mut self, other: Self) {
        self.towline.extend(other.towline);
        self.asked.extend(other.asked);
        self.floor.extend(other.floor);
        self.answered.extend(other.answered);
        self.timeline.extend(other.timeline);
    }

    fn figures(&self, what: &str) -> Vec<Figure> {
        let figure = |percent: usize, reach: Reach| {
            let name = format!("one source {what} → on 4 followers, p{percent}");
            Figure::ratio(&name, quantile(&self.towline, percent), quantile(&self.floor, percent), reach)
                .with("rounds", self.towline.len())
                .with("floor_until_answered_s", quantile(&self.answered, percent))
        };
        let asked = format!("the same since the user asked for it ({what}), p50");
        vec![
            figure(50, Reach::AtMost(1.4)).with("timeline_ms", self.timeline.medians()),
            figure(90, Reach::None),
            Figure::ratio(&asked, quantile(&self.asked, 50), quantile(&self.floor, 50), Reach::None),
        ]
    }
}

/// The sample below which `percent` of all are.
pub(super) fn quantile(samples: &[f64], percent: usize) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len().saturating_sub(1) * percent).div_ceil(100);
    sorted.get(rank).copied().unwrap_or(f64::NAN)
}
