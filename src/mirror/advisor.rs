//! Tells users what is wrong with a source itself: a mistake in an annotation, a TLS pair that is not sound, a name that
//! matches no follower. Once per change, as events; it decides nothing.

use super::{fleet::Directory, teller::object_ref};
use crate::{
    api::{
        annotations::{FOLLOWERS, SYNC, SYNC_CONTEXTS},
        names::FollowerName,
        patterns::Patterns,
    },
    source::{Condition, Frozen, Shipment, Snapshot, Source, census},
    telemetry::{
        events::{Notice, Tone},
        herald::Notices,
    },
};
use std::{collections::BTreeSet, time::SystemTime};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Looks at every source that changes, and at all of them when the follower names do.
pub async fn run(
    mut sources: watch::Receiver<Snapshot>,
    mut directory: watch::Receiver<Directory>,
    notices: Notices,
    stop: CancellationToken,
) {
    let mut seen = Snapshot::default();
    let mut names = Names::default();
    loop {
        let snapshot = sources.borrow_and_update().clone();
        let now = Names::of(&directory.borrow_and_update());
        let changed =
            if now == names { snapshot.changed_since(&seen) } else { snapshot.sources.keys().cloned().collect() };
        (seen, names) = (snapshot, now);
        for source in changed.iter().filter_map(|key| seen.sources.get(key)) {
            advise(source, &names, &notices);
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = sources.changed() => if changed.is_err() { return },
            changed = directory.changed() => if changed.is_err() { return },
        }
    }
}

/// Follower names, as far as advice depends on them.
#[derive(Default, PartialEq)]
struct Names {
    known: BTreeSet<FollowerName>,
    hub: BTreeSet<FollowerName>,
    asked: bool,
}

impl Names {
    fn of(directory: &Directory) -> Self {
        Self { known: directory.names.clone(), hub: directory.hub.clone(), asked: directory.asked }
    }
}

fn advise(source: &Source, names: &Names, notices: &Notices) {
    match &source.condition {
        Condition::Frozen(Frozen::NotFetched | Frozen::Suspended) => {}
        Condition::Frozen(frozen) => tell(source, frozen.state(), frozen.to_string(), notices),
        Condition::Ready(shipment) => {
            if let Some(problem) = census::problem(&source.condition) {
                tell(source, "InvalidPayload", problem, notices);
            }
            if is_expired(shipment) {
                tell(source, "ExpiredCertificate", "the certificate in tls.crt has expired".to_owned(), notices);
            }
            if names.asked {
                unknown_names(source, shipment, names, notices);
            }
        }
    }
}

fn is_expired(shipment: &Shipment) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map(|now| now.as_secs()).unwrap_or_default();
    matches!(shipment.payload.tls, Some(Ok(sound)) if i64::try_from(now).is_ok_and(|now| sound.not_after < now))
}

/// A name that matches nothing holds up nothing else, but somebody waits for it in vain.
fn unknown_names(source: &Source, shipment: &Shipment, names: &Names, notices: &Notices) {
    let intent = &shipment.intent;
    let contexts = intent.sync_contexts.iter().map(|name| (SYNC_CONTEXTS, name.clone()));
    let followers = intent.followers.iter().flat_map(Patterns::literals).map(|name| (FOLLOWERS, name.into()));
    for (key, name) in contexts.chain(followers) {
        if names.hub.contains(&name) || name == FollowerName::local() {
            let advice =
                format!("{key}: {name} is the management cluster itself: to copy inside it, use annotation {SYNC}");
            tell(source, "ManagementCluster", advice, notices);
        } else if !names.known.contains(&name) {
            tell(source, "UnknownFollower", format!("{key}: no follower is named {name}"), notices);
        }
    }
}

fn tell(source: &Source, reason: &'static str, detail: String, notices: &Notices) {
    tracing::warn!(source = %source.key, reason, "{detail}");
    notices.send(Notice {
        source: object_ref(source),
        reason,
        tone: Tone::Warning,
        follower: None,
        target: String::new(),
        detail: Some(detail),
    });
}
