//! A worker's connection to its follower: on its way, resting, or up.

use crate::{
    cluster::{error::Error, session::Session},
    mirror::{
        apply::Applier,
        feed::{Feed, Seen},
    },
};
use futures::future::BoxFuture;
use tokio::time::sleep_until;

/// The connection.
pub(super) enum Line {
    /// None yet: this is on its way.
    Dialing(BoxFuture<'static, Result<Session, Error>>),
    /// None could be had: the next attempt waits.
    Resting(tokio::time::Instant),
    /// Up.
    Up(Box<Up>),
}

/// A connection, and what goes over it.
pub(super) struct Up {
    pub(super) session: Session,
    pub(super) feed: Feed,
    pub(super) applier: Applier,
}

/// What happened on the line.
pub(super) enum Rung {
    Dialed(Result<Session, Error>),
    Rested,
    Closed(Error),
    Seen(Seen),
}

impl Line {
    /// What happens next. Cancel-safe.
    pub(super) async fn next(&mut self) -> Rung {
        match self {
            Self::Dialing(call) => Rung::Dialed(call.await),
            Self::Resting(until) => {
                sleep_until(*until).await;
                Rung::Rested
            }
            Self::Up(up) => {
                let Up { session, feed, .. } = &mut **up;
                tokio::select! {
                    biased;
                    error = session.closed() => Rung::Closed(error),
                    seen = feed.next() => Rung::Seen(seen),
                }
            }
        }
    }
}
