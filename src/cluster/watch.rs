//! List + watch of one selection: a loop with a state and one step, that never spins and never stops.
//!
//! ```text
//!          ┌──────────────────── 410, list token expired ──────────┐
//! Begin ──▶ Paging ⇄ Listing ──▶ (all pages) ──▶ Idle ──▶ Watching ──┤
//!                                                 ▲          │ closed, error
//!                                                 └── wait ◀─┘◀──────┘
//! ```

use super::{
    backoff::Backoff,
    call::{self, Call},
    error::{Class, Error},
    lines::{self, Lines},
    objects::{Objects, Uncut},
    page::{self, Line},
    paths::Url,
    session::{Lane, Reply, Session},
};
use crate::api::names::ResourceVersion;
use futures::{Stream, StreamExt, stream};
use serde::de::DeserializeOwned;
use std::{
    collections::VecDeque,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

const PAGE: u32 = 250;
/// How long a page may hold its permit without a byte.
const PERMIT_PATIENCE: Duration = Duration::from_secs(10);
/// How long the server shall keep a watch open; spread, so that 5,000 of them do not end at once.
const WATCH_SECONDS: std::ops::RangeInclusive<u64> = 270..=310;
/// What it may take longer before we end it ourselves.
const WATCH_GRACE: Duration = Duration::from_secs(15);
/// A watch, and a list, that lasts less is followed by a wait: or a server that ends them at once makes us spin.
const SOUND: Duration = Duration::from_secs(10);

/// What is watched.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The collection's path, from [`super::paths`].
    pub path: String,
    /// `labelSelector`.
    pub label_selector: Option<String>,
    /// `fieldSelector`.
    pub field_selector: Option<String>,
    /// Whether the server shall leave the data out.
    pub metadata_only: bool,
}

/// What a watch shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// A complete list begins (again): forget what an unfinished one listed.
    RelistBegun,
    /// An object of the list.
    Listed(T),
    /// The list is complete: what it did not show is gone.
    RelistDone,
    /// An object was created or changed.
    Applied(T),
    /// An object was deleted, or does not fit the selectors any more.
    Deleted(T),
    /// An object that is not a `T`.
    Undecodable {
        /// Its namespace; empty if it has none or even that cannot be read.
        namespace: String,
        /// Its name.
        name: String,
        /// Its resourceVersion.
        resource_version: Option<ResourceVersion>,
        /// Whether it was deleted.
        deleted: bool,
    },
}

type Events<T> = Pin<Box<dyn Stream<Item = Result<Event<T>, Error>> + Send>>;

/// List + watch of one selection of one session.
pub struct Watch<T> {
    /// The loop lives in here, so that a dropped `next()` loses nothing of it.
    events: Events<T>,
    version: Version,
    selection: Selection,
    permits: Arc<Semaphore>,
}

/// The version up to which events were handed out.
#[derive(Clone, Default)]
struct Version(Arc<Mutex<Option<ResourceVersion>>>);

impl<T: DeserializeOwned + Send + 'static> Watch<T> {
    /// Starts with a complete list. `permits` bounds how many pages are read at once in the whole
    /// process.
    pub fn new(session: Session, selection: Selection, permits: Arc<Semaphore>) -> Self {
        Self::start(session, selection, permits, Version::default())
    }

    /// The same over another session **to the same cluster**: goes on from the last resourceVersion, without a list if
    /// one was complete.
    #[must_use]
    pub fn resume(self, session: Session) -> Self {
        Self::start(session, self.selection, self.permits, self.version)
    }

    /// [`Watch::resume`] in place.
    pub fn go_on(&mut self, session: Session) {
        *self = Self::start(session, self.selection.clone(), Arc::clone(&self.permits), self.version.clone());
    }

    fn start(session: Session, selection: Selection, permits: Arc<Semaphore>, version: Version) -> Self {
        let state = if version.get().is_some() { State::Idle } else { State::Begin };
        let machine = Machine {
            session,
            selection: selection.clone(),
            permits: Arc::clone(&permits),
            version: version.clone(),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(60)),
            wait: None,
            listed_at: None,
            ready: VecDeque::new(),
            state,
        };
        let events = stream::unfold(machine, |mut machine| async move { Some((machine.next().await, machine)) });
        Self { events: Box::pin(events), version, selection, permits }
    }

    /// The next event. Cancel-safe. After an error the next call waits (1 s, doubling to 60 s) and tries again; after a
    /// denial it begins with a list.
    pub async fn next(&mut self) -> Result<Event<T>, Error> {
        let ended = || Err(Error::disconnected("the watch is over"));
        self.events.next().await.unwrap_or_else(ended)
    }

    /// The version up to which events were taken; `None` while no list is complete.
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.version.get()
    }
}

impl Version {
    fn get(&self) -> Option<ResourceVersion> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, version: Option<ResourceVersion>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }
}

struct Machine<T> {
    session: Session,
    selection: Selection,
    permits: Arc<Semaphore>,
    version: Version,
    backoff: Backoff,
    wait: Option<Duration>,
    listed_at: Option<Instant>,
    /// Events to hand out, each with the version that is reached by it.
    ready: VecDeque<(Event<T>, Option<ResourceVersion>)>,
    state: State,
}

enum State {
    Begin,
    Paging(Paging),
    Listing(Box<Listing>),
    Idle,
    Watching(Box<Watching>),
}

struct Paging {
    next: Option<String>,
    limit: u32,
}

/// A page that is being read. The permit is given up when nothing comes: a stalled follower must not keep others from
/// listing.
struct Listing {
    paging: Paging,
    reply: Reply,
    objects: Objects,
    permit: Option<OwnedSemaphorePermit>,
    patience: Duration,
    /// How many more bytes are taken.
    room: usize,
}

struct Watching {
    reply: Reply,
    lines: Lines,
    since: Instant,
    until: Instant,
}

impl<T: DeserializeOwned> Machine<T> {
    async fn next(&mut self) -> Result<Event<T>, Error> {
        loop {
            if let Some((event, version)) = self.ready.pop_front() {
                if version.is_some() {
                    self.version.set(version);
                }
                return Ok(event);
            }
            if let Some(wait) = self.wait.take() {
                sleep(wait).await;
            }
            let step = self.step().await;
            self.recover(step)?;
        }
    }

    async fn step(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Begin) {
            State::Begin => Ok(self.begin()),
            // Boxed: an open watch, which is what there are thousands of, keeps no room for the other states.
            State::Paging(paging) => Box::pin(self.page(paging)).await,
            State::Listing(listing) => Box::pin(self.list(listing)).await,
            State::Idle => Box::pin(self.open()).await,
            State::Watching(watching) => self.read(watching).await,
        }
        .map(|state| self.state = state)
    }

    fn begin(&mut self) -> State {
        self.version.set(None);
        self.listed_at = Some(Instant::now());
        self.ready.push_back((Event::RelistBegun, None));
        State::Paging(Paging { next: None, limit: PAGE })
    }

    async fn page(&mut self, paging: Paging) -> Result<State, Error> {
        let mut permit = Arc::clone(&self.permits).acquire_owned().await.ok();
        let call = list(&self.selection, &paging);
        let reply = patient(&mut permit, self.session.send(&call, Lane::Call)).await?;
        let (objects, patience, room) = (Objects::new(lines::LONGEST), call.patience, call.cap);
        Ok(State::Listing(Box::new(Listing { paging, reply, objects, permit, patience, room })))
    }

    /// Goes on reading a page, up to its next object. One that is too large is asked for again in smaller pieces: the token
    /// allows that, and whatever was listed twice is the same.
    async fn list(&mut self, mut listing: Box<Listing>) -> Result<State, Error> {
        loop {
            let cut = listing.objects.cut().map_err(|uncut| match uncut {
                Uncut::TooLong => Error::TooLarge { verb: "list", cap: lines::LONGEST },
                Uncut::NoObject => Error::Decode { verb: "list", category: "data", position: 0 },
            })?;
            if let Some(object) = cut {
                self.ready.push_back((page::listed(&object), None));
                return Ok(State::Listing(listing));
            }
            let patience = listing.patience;
            let Some(piece) = patient(&mut listing.permit, listing.reply.piece(patience)).await? else {
                return self.listed(*listing);
            };
            match listing.room.checked_sub(piece.len()) {
                Some(room) => listing.room = room,
                None => return smaller(listing.paging),
            }
            listing.objects.push(piece);
        }
    }

    /// A page has come to its end.
    fn listed(&mut self, listing: Listing) -> Result<State, Error> {
        let page = page::page(&listing.objects.frame())?;
        if page.next.is_some() {
            // Where the large ones were, small ones may follow.
            return Ok(State::Paging(Paging { next: page.next, limit: (listing.paging.limit * 2).min(PAGE) }));
        }
        let version =
            page.version.ok_or(Error::Decode { verb: "list", category: "no resourceVersion", position: 0 })?;
        self.ready.push_back((Event::RelistDone, Some(version)));
        Ok(State::Idle)
    }

    async fn open(&mut self) -> Result<State, Error> {
        let Some(version) = self.version.get() else { return Ok(State::Begin) };
        let seconds = fastrand::u64(WATCH_SECONDS);
        let reply = self.session.send(&watch(&self.selection, &version, seconds), Lane::Watch).await?;
        let since = Instant::now();
        let until = since + Duration::from_secs(seconds) + WATCH_GRACE;
        Ok(State::Watching(Box::new(Watching { reply, lines: Lines::new(lines::LONGEST), since, until })))
    }

    async fn read(&mut self, mut watching: Box<Watching>) -> Result<State, Error> {
        let too_long = |_| Error::TooLarge { verb: "watch", cap: lines::LONGEST };
        while let Some(line) = watching.lines.cut().map_err(too_long)? {
            match page::line(&line)? {
                Line::Event(event, version) => {
                    self.ready.push_back((event, version));
                    return Ok(State::Watching(watching));
                }
                Line::Bookmark(version) => self.version.set(version.or_else(|| self.version.get())),
                Line::Error(status) => return Err(Error::Status(Box::new(status))),
            }
        }
        let left = watching.until.saturating_duration_since(Instant::now());
        let piece = watching.reply.piece(left).await;
        let sound = watching.since.elapsed() >= SOUND;
        if sound {
            self.backoff.reset();
        }
        match piece {
            Ok(Some(piece)) => {
                watching.lines.push(piece);
                return Ok(State::Watching(watching));
            }
            Ok(None) | Err(Error::Timeout { .. }) => {}
            Err(error) => return Err(error),
        }
        if !sound {
            self.wait = Some(self.backoff.wait(fastrand::f64()));
        }
        Ok(State::Idle)
    }

    /// Where to go on after a failed step, and when. What is too old is listed anew; the caller learns of the rest.
    fn recover(&mut self, step: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = step else { return Ok(()) };
        if error.is_expired() {
            self.version.set(None);
            self.state = State::Begin;
            if self.listed_at.is_some_and(|at| at.elapsed() < SOUND) {
                self.wait = Some(self.backoff.wait(fastrand::f64()));
            }
            return Ok(());
        }
        // Whoever is told of it concludes nothing more from what was listed, until a list is complete again.
        if error.class() == Class::Denied {
            self.version.set(None);
        }
        self.state = if self.version.get().is_some() { State::Idle } else { State::Begin };
        let wait = self.backoff.wait(fastrand::f64());
        self.wait = Some(match error.class() {
            Class::Throttled(after) => wait.max(after),
            _ => wait,
        });
        Err(error)
    }
}

/// The same page in smaller pieces.
fn smaller(paging: Paging) -> Result<State, Error> {
    if paging.limit == 1 {
        return Err(Error::TooLarge { verb: "list", cap: call::LIST_CAP });
    }
    Ok(State::Paging(Paging { limit: (paging.limit / 8).max(1), ..paging }))
}

async fn patient<F: Future>(permit: &mut Option<OwnedSemaphorePermit>, work: F) -> F::Output {
    let mut work = pin!(work);
    if permit.is_some() {
        if let Ok(done) = timeout(PERMIT_PATIENCE, &mut work).await {
            return done;
        }
        *permit = None;
    }
    work.await
}

fn url(selection: &Selection) -> Url {
    Url::new(&*selection.path)
        .with_some("labelSelector", selection.label_selector.as_deref())
        .with_some("fieldSelector", selection.field_selector.as_deref())
}

/// A consistent list: no resourceVersion.
fn list(selection: &Selection, paging: &Paging) -> Call {
    let url = url(selection).with("limit", &paging.limit.to_string()).with_some("continue", paging.next.as_deref());
    wanted(selection, Call::list(url))
}

fn watch(selection: &Selection, version: &ResourceVersion, seconds: u64) -> Call {
    let url = url(selection)
        .with("watch", "1")
        .with("allowWatchBookmarks", "true")
        .with("timeoutSeconds", &seconds.to_string())
        .with("resourceVersion", version.as_str());
    wanted(selection, Call::watch(url.build()))
}

fn wanted(selection: &Selection, call: Call) -> Call {
    if selection.metadata_only { call.metadata_only() } else { call }
}

#[cfg(test)]
mod tests;
