//! What the fleet knows of one follower name.

use crate::{api::names::ClusterUid, cluster::session::Session, follower::catalog::Entry};
use std::time::Duration;
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// One name.
pub(super) struct Known {
    pub(super) entry: Entry,
    pub(super) uid: Option<ClusterUid>,
    /// An open connection, for the worker to begin with.
    pub(super) session: Option<Session>,
    pub(super) problem: Option<String>,
    pub(super) attempts: u32,
    /// When it goes, if no provider knows it any more.
    pub(super) leaves: Option<Instant>,
    /// The management cluster was skipped, and that was told.
    pub(super) skipped: bool,
}

impl Known {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, uid: None, session: None, problem: None, attempts: 0, leaves: None, skipped: false }
    }
}

/// How long to wait before a name is asked again.
pub(super) fn pause(attempts: u32) -> Duration {
    match attempts.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => {
            FIRST_PAUSE.saturating_mul(1 << doublings.min(8)).min(LONGEST_PAUSE).mul_f64(0.75 + fastrand::f64() / 2.0)
        }
    }
}
