//! Tells users by Kubernetes events, within the budget of [`super::events`].
//!
//! ```text
//! workers ── Notices (try_send, never waits) ─▶ listen: Budget ── 256 Tellings ─▶ deliver: Scribe ── POST ─▶ management cluster
//! ```

mod form;
mod scribe;

pub use super::events::{Notice, ObjectRef, Tone};
use super::{
    events::{About, Budget, Telling, Word},
    metrics::Metrics,
    note::note,
};
use crate::cluster::Session;
use scribe::Scribe;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, interval, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// How many notices may wait.
const INBOX: usize = 4096;
/// How many events may wait to be written.
const OUTBOX: usize = 256;
/// Between two events: at most 50 in a second.
const PACE: Duration = Duration::from_millis(20);
/// Between two lines about notices that came too fast.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Who writes events, and where.
pub struct Desk {
    /// The management cluster, when it is connected; `None` tells the log only (`--dry-run`).
    pub hub: Option<watch::Receiver<Option<Session>>>,
    /// The Pod (or another object in Towline's own namespace) that events about Towline and followers are attached to.
    pub myself: Option<ObjectRef>,
    /// `reportingInstance`: the Pod's name, not empty, at most 128 characters.
    pub instance: String,
}

/// Where notices are handed in. Clones lead to the same herald.
#[derive(Clone)]
pub struct Notices {
    inbox: mpsc::Sender<Message>,
    dropped: Arc<AtomicU64>,
    metrics: Metrics,
}

/// The task that makes events of notices.
pub struct Herald {
    inbox: mpsc::Receiver<Message>,
    dropped: Arc<AtomicU64>,
    desk: Desk,
}

enum Message {
    Word(Word),
    Expect(ObjectRef, usize),
}

/// Both ends.
pub fn herald(desk: Desk, metrics: Metrics) -> (Notices, Herald) {
    let (sender, inbox) = mpsc::channel(INBOX);
    let dropped = Arc::<AtomicU64>::default();
    let herald = Herald { inbox, dropped: Arc::clone(&dropped), desk };
    (Notices { inbox: sender, dropped, metrics }, herald)
}

impl Notices {
    /// Hands in a notice about a source. Never waits: if there are too many, it is dropped and counted.
    pub fn send(&self, notice: Notice) {
        self.hand_in(Message::Word(notice.into()));
    }

    /// Hands in something about Towline itself, or about a follower that `text` names.
    pub fn about_us(&self, tone: Tone, reason: &'static str, text: String) {
        self.hand_in(Message::Word(Word { about: About::Towline, reason, tone, place: (None, text), detail: None }));
    }

    /// Hands in something about a follower: those of one reason are told together, by name.
    pub fn about_follower(&self, tone: Tone, reason: &'static str, follower: &str, detail: Option<String>) {
        let place = (Some(follower.to_owned()), String::new());
        self.hand_in(Message::Word(Word { about: About::Towline, reason, tone, place, detail }));
    }

    /// Says how many copies this version of a source should have: `Synced` comes at once when they are all in step.
    pub fn expect(&self, source: ObjectRef, copies: usize) {
        self.hand_in(Message::Expect(source, copies));
    }

    fn hand_in(&self, message: Message) {
        if self.inbox.try_send(message).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            self.metrics.event_dropped();
        }
    }
}

impl Herald {
    /// Runs until `stop`. What is not told by then is not told.
    pub async fn run(self, stop: CancellationToken) {
        let Self { inbox, dropped, desk } = self;
        let (outbox, tellings) = mpsc::channel(OUTBOX);
        tokio::select! {
            () = stop.cancelled() => {}
            () = listen(inbox, outbox) => {}
            () = deliver(tellings, Scribe::new(desk)) => {}
            () = complain(&dropped) => {}
        }
    }
}

/// Takes notices at once, whether or not events can be written.
async fn listen(mut inbox: mpsc::Receiver<Message>, outbox: mpsc::Sender<Telling>) {
    let mut budget = Budget::default();
    loop {
        tokio::select! {
            Some(message) = inbox.recv() => match message {
                Message::Word(word) => budget.note(word, Instant::now().into_std()),
                Message::Expect(source, copies) => budget.expect(source, copies),
            },
            room = room(&outbox, budget.next()) => {
                let Some(room) = room else { return };
                if let Some(telling) = budget.take(Instant::now().into_std()) {
                    log(&telling);
                    room.send(telling);
                }
            }
        }
    }
}

/// Waits until something is due and there is room for it; `None` if nobody delivers any more.
async fn room(outbox: &mpsc::Sender<Telling>, due: Option<std::time::Instant>) -> Option<mpsc::Permit<'_, Telling>> {
    match due {
        Some(due) => sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
    outbox.reserve().await.ok()
}

async fn deliver(mut tellings: mpsc::Receiver<Telling>, mut scribe: Scribe) {
    while let Some(telling) = tellings.recv().await {
        scribe.write(telling).await;
        sleep(PACE).await;
    }
}

async fn complain(dropped: &AtomicU64) {
    let mut tick = interval(COMPLAINT);
    loop {
        tick.tick().await;
        let dropped = dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(dropped, "events: notices came faster than they could be taken; events count too little");
        }
    }
}

fn log(telling: &Telling) {
    let (reason, note) = (telling.reason, note(telling));
    let (kind, namespace, name) = match &telling.about {
        About::Source(source) => (Some(source.kind), Some(&*source.namespace), Some(&*source.name)),
        About::Towline => (None, None, None),
    };
    match telling.tone {
        Tone::Normal => tracing::info!(reason, kind, namespace, name, "{note}"),
        Tone::Warning => tracing::warn!(reason, kind, namespace, name, "{note}"),
    }
}

#[cfg(test)]
mod tests;
