//! Counts the sources for metrics, and tells how long their certificates are valid.

use super::{shipment::Condition, snapshot::Snapshot};
use crate::telemetry::metrics::Metrics;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

/// Counts are told at most this often.
const EVERY: Duration = Duration::from_millis(500);

/// Tells the counts whenever the sources change.
pub async fn run(mut sources: watch::Receiver<Snapshot>, metrics: Metrics, stop: CancellationToken) {
    let mut certified = BTreeSet::new();
    loop {
        let snapshot = sources.borrow_and_update().clone();
        tell(&snapshot, &metrics, &mut certified);
        tokio::select! {
            () = stop.cancelled() => return,
            changed = sources.changed() => if changed.is_err() { return },
        }
        sleep(EVERY).await;
    }
}

fn tell(snapshot: &Snapshot, metrics: &Metrics, certified: &mut BTreeSet<(String, String)>) {
    let mut counts: BTreeMap<(&'static str, &'static str), usize> = BTreeMap::new();
    let mut now = BTreeSet::new();
    for source in snapshot.sources.values() {
        *counts.entry((source.key.kind.as_str(), state(&source.condition))).or_default() += 1;
        if let Some(Ok(sound)) = source.shipment().and_then(|shipment| shipment.payload.tls) {
            let place = (source.key.namespace.to_string(), source.key.name.to_string());
            metrics.source_certificate(&place.0, &place.1, Some(sound.not_after));
            now.insert(place);
        }
    }
    for (namespace, name) in certified.difference(&now) {
        metrics.source_certificate(namespace, name, None);
    }
    *certified = now;
    let counts: Vec<_> = counts.into_iter().map(|((kind, state), count)| (kind, state, count)).collect();
    metrics.sources(&counts);
}

/// The source's state as in metrics and `/api/v1/sources`.
pub fn state(condition: &Condition) -> &'static str {
    match condition {
        Condition::Frozen(frozen) => frozen.state(),
        Condition::Ready(shipment) if shipment.intent.validate && matches!(shipment.payload.tls, Some(Err(_))) => {
            "InvalidPayload"
        }
        Condition::Ready(_) => "Ready",
    }
}

/// Why a source is not `Ready`.
pub fn problem(condition: &Condition) -> Option<String> {
    match condition {
        Condition::Frozen(frozen) => Some(frozen.to_string()),
        Condition::Ready(shipment) => match shipment.payload.tls {
            Some(Err(unsound)) if shipment.intent.validate => Some(unsound.to_string()),
            _ => None,
        },
    }
}
