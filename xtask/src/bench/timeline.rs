//! Where the time goes between a change of a source and its copies, by the clocks of the API servers: they are all on this
//! machine.

use anyhow::Result;
use controlplane::{Mark, Request};
use serde_json::{Map, Value, json};

use super::ground::{FOLLOWERS, Ground};
use super::latency::quantile;
use crate::lab::USER;

/// What is timed, in order, from when the management cluster received the change.
const STEPS: [&str; 6] = [
    "change_answered",
    "get_received",
    "get_answered",
    "first_copy_received",
    "last_copy_received",
    "last_copy_answered",
];

/// A moment in the audit logs of all clusters.
pub(super) struct Moment {
    hub: Mark,
    followers: Vec<Mark>,
}

/// Milliseconds of each step, of many changes.
#[derive(Default)]
pub(super) struct Timeline {
    changes: Vec<[f64; STEPS.len()]>,
}

impl Moment {
    /// Now.
    pub(super) fn now(ground: &Ground) -> Self {
        let followers = ground.lab.fleet.followers.iter().take(FOLLOWERS.len());
        Self { hub: ground.hub().audit().mark(), followers: followers.map(|cluster| cluster.audit().mark()).collect() }
    }
}

impl Timeline {
    /// Adds the one change since `moment`.
    pub(super) async fn add(&mut self, ground: &Ground, moment: &Moment) -> Result<()> {
        let hub = ground.hub().audit().since(moment.hub).await?;
        let change = hub.iter().find(|request| request.user != USER && is_copying(request));
        let get = hub.iter().find(|request| request.user == USER && request.verb == "get");
        let mut copies = Vec::new();
        for (cluster, mark) in ground.lab.fleet.followers.iter().zip(&moment.followers) {
            copies.extend(cluster.audit().since(*mark).await?.by(USER).into_iter().filter(is_copying));
        }
        let received = || copies.iter().map(|copy| millis(&copy.received));
        let answered = copies.iter().map(|copy| millis(&copy.answered)).fold(f64::NAN, f64::max);
        if let (Some(change), Some(get)) = (change, get) {
            let began = millis(&change.received);
            let ends = [
                millis(&change.answered),
                millis(&get.received),
                millis(&get.answered),
                received().fold(f64::NAN, f64::min),
                received().fold(f64::NAN, f64::max),
                answered,
            ];
            self.changes.push(ends.map(|end| end - began));
        }
        Ok(())
    }

    /// Adds those of another.
    pub(super) fn extend(&mut self, other: Self) {
        self.changes.extend(other.changes);
    }

    /// The median of each step.
    pub(super) fn medians(&self) -> Value {
        let median = |step: usize| {
            let samples: Vec<f64> = self.changes.iter().filter_map(|change| change.get(step).copied()).collect();
            json!((quantile(&samples, 50) * 100.0).round() / 100.0)
        };
        Value::Object(
            STEPS.iter().enumerate().map(|(step, name)| ((*name).to_owned(), median(step))).collect::<Map<_, _>>(),
        )
    }
}

fn is_copying(request: &Request) -> bool {
    request.is_write() && request.resource == "secrets"
}

/// Milliseconds since midnight: `2026-11-21T05:38:46.123456Z`.
fn millis(time: &str) -> f64 {
    let clock = time.split_once('T').map_or("", |(_, clock)| clock.trim_end_matches('Z'));
    clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse().unwrap_or(f64::NAN)) * 1000.0
}
