//! The worker of one follower: it owns the mirror's state, feeds it what it sees, and does what it decides. Nothing in it
//! waits for another follower.

mod line;
mod sight;

use super::{
    apply::{Applied, Applier, Mode},
    decide::Task,
    dial::{Dial, Route},
    feed::{Breadth, Feed},
    inquiry::{Circumstances, Inquiry},
    namespaces::Visible,
    outcome::{Failure, Outcome},
    rate::Rate,
    request::KubedMarks,
    state::{Mirror, Roster, Settings},
    teller::Teller,
};
use crate::{
    api::{
        approval::Approvals,
        metadata::MetadataFilter,
        names::{ClusterUid, FollowerName, Namespace},
    },
    cluster::{error::Error, session::Session},
    source::Snapshot,
};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use line::{Line, Rung, Up};
use sight::NamespaceRelist;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    time::{sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

/// Requests that change a follower run side by side up to this number.
const AT_ONCE: usize = 32;
/// How long a worker that is told to stop waits for what is under way.
const DRAIN: Duration = Duration::from_secs(20);

/// What a worker is told from outside, always the newest.
#[derive(Clone)]
pub struct Inputs {
    /// The sources.
    pub sources: watch::Receiver<Snapshot>,
    /// Which names lead to this cluster, and how.
    pub orders: watch::Receiver<Orders>,
    /// What somebody approved, by follower.
    pub approvals: watch::Receiver<Arc<Approvals>>,
}

/// The names that lead to a worker's cluster.
#[derive(Clone, Default)]
pub struct Orders {
    /// The names, as the mirror sees them.
    pub roster: Roster,
    /// How to connect, in byte order of the names.
    pub routes: Vec<Route>,
}

impl Orders {
    /// Whether both name the same followers, reached in the same ways.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let prints = |orders: &Self| -> Vec<_> {
            orders.routes.iter().map(|route| (route.name.clone(), route.connection.fingerprint())).collect()
        };
        self.roster == other.roster && prints(self) == prints(other)
    }
}

/// What all workers have in common.
#[derive(Clone)]
pub struct Shared {
    /// Bounds the initial lists of the whole process.
    pub permits: Arc<Semaphore>,
    /// Decides what an adoption takes off.
    pub filter: Arc<MetadataFilter>,
    /// `--keep-kubed-marks`.
    pub kubed_marks: KubedMarks,
    /// Whether writes are sent.
    pub mode: Mode,
    /// `--adopt-origin`: management clusters that this one replaces.
    pub old_hubs: Arc<BTreeSet<ClusterUid>>,
    /// `--qps` and `--burst`: writes per second and follower, if limited.
    pub rate: Option<Rate>,
    /// Namespaces to fall back to where the rights do not reach the whole cluster.
    pub names: BTreeSet<Namespace>,
}

/// A name turned out to lead to another cluster.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The name.
    pub name: FollowerName,
    /// Where it leads now.
    pub found: ClusterUid,
}

/// The worker of one follower.
pub struct Worker {
    mirror: Mirror,
    settings: Settings,
    shared: Shared,
    inputs: Inputs,
    inquiries: mpsc::Receiver<Inquiry>,
    moved: mpsc::Sender<Moved>,
    teller: Teller,
    dial: Dial,
    line: Line,
    /// The feed of a connection that was lost, to go on from.
    parked: Option<Feed>,
    breadth: Breadth,
    namespaces: NamespaceRelist,
    running: FuturesUnordered<BoxFuture<'static, (Task, Applied)>>,
    rate: Option<Rate>,
    problem: Option<String>,
}

/// How a worker is put together.
pub struct Parts {
    /// What shapes the mirror.
    pub settings: Settings,
    /// What all workers have in common.
    pub shared: Shared,
    /// What it is told.
    pub inputs: Inputs,
    /// What it is asked.
    pub inquiries: mpsc::Receiver<Inquiry>,
    /// Whom it tells that a name leads elsewhere.
    pub moved: mpsc::Sender<Moved>,
    /// Whom it tells everything else.
    pub teller: Teller,
    /// A connection that is open already.
    pub session: Option<(FollowerName, Session)>,
}

impl Worker {
    /// A worker that has seen nothing yet.
    pub fn new(parts: Parts) -> Self {
        let Parts { settings, shared, inputs, inquiries, moved, teller, session } = parts;
        let breadth = Breadth::Cluster;
        let mut mirror = Mirror::new(settings.clone(), breadth.scopes(), Visible::None, fastrand::u64(..));
        mirror.adopt_from(shared.old_hubs.clone());
        let (dial, line) = match session {
            Some((name, session)) => (Dial::at(name), Line::Dialing(async { Ok(session) }.boxed())),
            None => (Dial::default(), Line::Resting(tokio::time::Instant::now())),
        };
        Self {
            mirror,
            settings,
            rate: shared.rate.clone(),
            shared,
            inputs,
            inquiries,
            moved,
            teller,
            dial,
            line,
            parked: None,
            breadth,
            namespaces: NamespaceRelist::default(),
            running: FuturesUnordered::new(),
            problem: None,
        }
    }

    /// Works until it is told to stop, then waits for what is under way.
    pub async fn run(mut self, stop: CancellationToken) {
        self.take_inputs();
        loop {
            self.pump();
            // After the decisions, or the last of them would be told only when something else happens.
            self.teller.tell(&mut self.mirror);
            let wake = self.wake();
            tokio::select! {
                () = stop.cancelled() => break,
                Ok(()) = self.inputs.sources.changed() => self.take_sources(),
                Ok(()) = self.inputs.orders.changed() => self.take_orders(),
                Ok(()) = self.inputs.approvals.changed() => self.take_approvals(),
                Some(inquiry) = self.inquiries.recv() => self.answer(inquiry),
                rung = self.line.next() => self.rung(rung),
                Some((task, applied)) = self.running.next() => self.finished(&task, applied),
                () = sleep_until(wake) => {}
            }
            self.teller.stirred();
        }
        self.drain().await;
    }

    async fn drain(&mut self) {
        let rest = async {
            while let Some((task, applied)) = self.running.next().await {
                self.finished(&task, applied);
            }
        };
        if timeout(DRAIN, rest).await.is_err() {
            tracing::warn!(follower = %self.teller.follower(), "stopped with requests still unanswered");
        }
        self.teller.retire();
    }

    fn take_inputs(&mut self) {
        self.take_orders();
        self.take_approvals();
        self.take_sources();
    }

    fn take_sources(&mut self) {
        let snapshot = self.inputs.sources.borrow_and_update().clone();
        self.mirror.sources_changed(&snapshot);
    }

    fn take_approvals(&mut self) {
        let approvals = self.inputs.approvals.borrow_and_update().clone();
        let mine = approvals.get(&self.settings.observer.cluster).cloned().unwrap_or_default();
        self.mirror.approve(mine);
    }

    /// A connection whose name is gone, or leads elsewhere by now, is given up.
    fn take_orders(&mut self) {
        let orders = self.inputs.orders.borrow_and_update().clone();
        self.teller.rename(orders.roster.members.first().map(|member| member.name.clone()));
        self.mirror.roster_changed(orders.roster);
        self.follow_names();
        if self.dial.set_routes(orders.routes) {
            self.hang_up();
            self.redial();
        }
    }

    /// Whether a task could be started: there is a connection, everything is known, and there is room.
    fn can_start(&self) -> bool {
        matches!(self.line, Line::Up(_)) && self.namespaces.is_settled(&self.breadth) && self.running.len() < AT_ONCE
    }

    /// Starts whatever is due.
    fn pump(&mut self) {
        while self.can_start() {
            let Line::Up(up) = &self.line else { return };
            let now = Instant::now();
            if self.rate.as_mut().is_some_and(|rate| rate.next(now).is_some_and(|when| when > now)) {
                return;
            }
            let Some(task) = self.mirror.next(now) else { return };
            if let Some(rate) = &mut self.rate {
                rate.take(now);
            }
            let applier = up.applier.clone();
            self.running.push(
                async move {
                    let applied = applier.apply(&task).await;
                    (task, applied)
                }
                .boxed(),
            );
        }
    }

    fn wake(&self) -> tokio::time::Instant {
        let now = Instant::now();
        let work = self.can_start().then(|| wake_for_work(self.mirror.next_wake(), self.rate.as_ref(), now)).flatten();
        let wake = work.into_iter().chain(self.teller.due()).min();
        wake.unwrap_or(now + Duration::from_secs(3600)).into()
    }

    fn finished(&mut self, task: &Task, applied: Applied) {
        self.teller.applied(task, &applied);
        let lost = matches!(applied.outcome, Outcome::Failed(Failure::Lost));
        self.mirror.finished(task, applied.outcome, Instant::now());
        if !lost && applied.error.is_none() {
            self.teller.contact();
        }
    }

    fn answer(&self, inquiry: Inquiry) {
        let connected =
            matches!(self.line, Line::Up(_)) && self.mirror.is_read() && self.namespaces.is_settled(&self.breadth);
        let circumstances = Circumstances {
            follower: self.teller.follower().clone(),
            problem: self.problem.clone(),
            settled: connected,
            planned: self.teller.planned(),
        };
        inquiry.answer(&self.mirror, circumstances);
    }

    fn rung(&mut self, rung: Rung) {
        match rung {
            Rung::Rested => self.redial(),
            Rung::Dialed(Ok(session)) if *session.uid() == self.settings.observer.cluster => self.connected(session),
            Rung::Dialed(Ok(session)) => self.moved_to(session.uid().clone()),
            Rung::Dialed(Err(error)) => self.failed_to_connect(&error),
            Rung::Closed(Error::Moved { found, .. }) => {
                self.hang_up();
                self.moved_to(found);
            }
            Rung::Closed(error) => {
                self.disconnected(&error);
                self.redial();
            }
            Rung::Seen(seen) => self.saw(seen),
        }
    }

    fn redial(&mut self) {
        self.line = match self.dial.next(self.teller.observer()) {
            Some(call) => Line::Dialing(call),
            None => Line::Resting(tokio::time::Instant::now() + Duration::from_secs(3600)),
        };
    }

    fn connected(&mut self, session: Session) {
        self.dial.answered();
        self.teller.up();
        self.problem = None;
        let feed = match self.parked.take() {
            Some(feed) => feed.resume(&session),
            None => Feed::new(&session, &self.settings.observer.hub, &self.breadth, &self.shared.permits),
        };
        let applier = Applier {
            session: session.clone(),
            observer: self.settings.observer.clone(),
            filter: self.shared.filter.clone(),
            kubed_marks: self.shared.kubed_marks,
            mode: self.shared.mode,
        };
        self.line = Line::Up(Box::new(Up { session, feed, applier }));
    }

    /// The name by which we called leads to another cluster: nothing was sent there but the question who it is.
    fn moved_to(&mut self, found: ClusterUid) {
        if let Some(name) = self.dial.current().cloned() {
            self.teller.moved(&name, &found);
            // The channel is sized for every name at once; if it is full all the same, the next attempt tells it again.
            let _told = self.moved.try_send(Moved { name, found });
        }
        self.rest();
    }

    fn failed_to_connect(&mut self, error: &Error) {
        self.problem = Some(error.to_string());
        self.teller.down(error);
        self.rest();
    }

    fn rest(&mut self) {
        self.line = Line::Resting(tokio::time::Instant::now() + self.dial.pause());
    }

    fn disconnected(&mut self, error: &Error) {
        self.problem = Some(error.to_string());
        self.teller.down(error);
        self.hang_up();
    }

    /// Gives the connection up, keeping where its watches are.
    fn hang_up(&mut self) {
        let line = std::mem::replace(&mut self.line, Line::Resting(tokio::time::Instant::now()));
        if let Line::Up(up) = line {
            self.parked = Some(up.feed);
        }
    }
}

/// When a task can be started that could not before. What is due while the rate allows nothing must not wake the worker: it
/// would at once, again and again.
fn wake_for_work(due: Option<Instant>, rate: Option<&Rate>, now: Instant) -> Option<Instant> {
    rate.and_then(|rate| rate.next(now)).or(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_does_not_wake_a_worker_that_may_not_write_yet() {
        let now = Instant::now();
        let mut rate = Rate::new(1.0, 1);
        assert_eq!(wake_for_work(Some(now), Some(&rate), now), Some(now));
        rate.take(now);
        let wake = wake_for_work(Some(now), Some(&rate), now).unwrap();
        assert!(wake > now + Duration::from_millis(900), "spins until then");
        assert_eq!(wake_for_work(None, None, now), None);
    }
}
