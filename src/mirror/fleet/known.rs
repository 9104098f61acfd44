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
    /// Whether somebody is on the way to ask where it leads.
    pub(super) asked: bool,
    /// When it goes, if no provider knows it any more.
    pub(super) leaves: Option<Instant>,
    /// The management cluster was skipped, and that was told.
    pub(super) skipped: bool,
}

impl Known {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, uid: None, session: None, problem: None, attempts: 0, asked: false, leaves: None, skipped: false }
    }

    /// It is to be reached in another way. Until that has led somewhere, it leads where it led, unless it must not.
    pub(super) fn take(&mut self, entry: Entry) {
        self.entry = entry;
        self.attempts = 0;
        self.skipped = false;
        if let Some(why) = self.uid.as_ref().and_then(|uid| self.entry.refuses(uid)) {
            self.refuse(why);
        }
    }

    /// A cluster answered: it is the name's, unless the name's spec forbids it.
    pub(super) fn admit(&mut self, session: Session) -> Result<(), String> {
        if let Some(why) = self.entry.refuses(session.uid()) {
            self.uid = None;
            self.session = None;
            return Err(why);
        }
        self.problem = None;
        self.uid = Some(session.uid().clone());
        self.session = Some(session);
        Ok(())
    }

    /// It leads nowhere: it is no cluster's name until it does, so that nothing is written by it, and no copy of it deleted.
    pub(super) fn refuse(&mut self, why: String) {
        self.problem = Some(why);
        self.uid = None;
        self.session = None;
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
