//! Which way to a follower to try next: the first working name in byte order, the others in turn, with pauses that grow.

use crate::{
    api::names::FollowerName,
    cluster::{
        error::Error,
        session::{Observer, Options, Session},
    },
    follower::connection::Connection,
};
use futures::{FutureExt, future::BoxFuture};
use std::{sync::Arc, time::Duration};

/// One way to connect.
#[derive(Clone)]
pub struct Route {
    /// The name.
    pub name: FollowerName,
    /// How it is reached.
    pub connection: Connection,
}

/// The ways to one follower.
#[derive(Default)]
pub struct Dial {
    routes: Vec<Route>,
    current: Option<FollowerName>,
    failures: u32,
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Dial {
    /// A connection by this name is there already.
    pub fn at(name: FollowerName) -> Self {
        Self { current: Some(name), ..Self::default() }
    }

    /// Takes the ways there are now. Returns whether the one in use is gone or has changed, or there was none at all.
    pub fn set_routes(&mut self, routes: Vec<Route>) -> bool {
        let had_none = self.routes.is_empty() && self.current.is_none();
        let print = |routes: &[Route], name: &FollowerName| {
            routes.iter().find(|route| route.name == *name).map(|route| route.connection.fingerprint())
        };
        let stale = self.current.as_ref().is_some_and(|name| {
            let now = print(&routes, name);
            now.is_none() || (!self.routes.is_empty() && print(&self.routes, name) != now)
        });
        self.routes = routes;
        if stale {
            self.current = None;
            self.failures = 0;
        }
        stale || had_none
    }

    /// The name by which we called last.
    pub fn current(&self) -> Option<&FollowerName> {
        self.current.as_ref()
    }

    /// Whether there is more than one way.
    pub fn has_alternatives(&self) -> bool {
        self.routes.len() > 1
    }

    /// Calls by the first name, or after a failure by the next one in turn.
    pub fn next(&mut self, observer: Arc<dyn Observer>) -> Option<BoxFuture<'static, Result<Session, Error>>> {
        let turn = usize::try_from(self.failures).unwrap_or_default().checked_rem(self.routes.len())?;
        let route = self.routes.get(turn)?.clone();
        self.current = Some(route.name);
        let options = Options { observer: Some(observer) };
        Some(async move { route.connection.open(options).await }.boxed())
    }

    /// The call was answered by the right cluster.
    pub fn answered(&mut self) {
        self.failures = 0;
    }

    /// The call came to nothing: how long to wait. A round through all names waits only once.
    pub fn pause(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let names = u32::try_from(self.routes.len().max(1)).unwrap_or(u32::MAX);
        if !self.failures.is_multiple_of(names) {
            return Duration::ZERO;
        }
        let rounds = (self.failures / names).saturating_sub(1).min(8);
        FIRST_PAUSE.saturating_mul(1 << rounds).min(LONGEST_PAUSE).mul_f64(0.75 + fastrand::f64() / 2.0)
    }
}
