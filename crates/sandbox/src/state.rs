//! All that the stand-ins know, behind one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::call::Call;
use crate::fault::Faults;
use crate::session::{Caller, CallerKind, Session, expiry};
use crate::world::World;

/// How long session tokens are before they carry anything.
const TOKEN_LENGTH: usize = 640;

/// The state of one [`crate::Aws`].
pub(crate) struct State {
    pub(crate) world: World,
    pub(crate) faults: Faults,
    pub(crate) calls: Vec<Call>,
    pub(crate) clock_offset: SignedDuration,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) token_length: usize,
    /// By access key.
    sessions: BTreeMap<String, Session>,
    secrets: BTreeSet<String>,
}

/// The state, shared by all connections. A request is answered under the lock, which nothing awaits.
pub(crate) struct Shared(Mutex<State>);

impl Shared {
    pub(crate) fn new(world: World) -> Self {
        let mut state = State {
            world,
            faults: Faults::none(),
            calls: Vec::new(),
            clock_offset: SignedDuration::ZERO,
            lifetime: None,
            token_length: TOKEN_LENGTH,
            sessions: BTreeMap::new(),
            secrets: BTreeSet::new(),
        };
        state.keep_secrets_of_users();
        Self(Mutex::new(state))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The time by the clock of the stand-in.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now().saturating_add(self.clock_offset).unwrap_or(Timestamp::MAX)
    }

    /// New credentials for `caller`, for that long, or less where a cap was set.
    pub(crate) fn open_session(&mut self, caller: Caller, now: Timestamp, length: Duration) -> &Session {
        let session = Session::open(caller, expiry(now, length, self.lifetime), self.token_length);
        self.keep_secret(session.secret_key.clone());
        self.keep_secret(session.token.clone());
        self.sessions.entry(session.access_key.clone()).or_insert(session)
    }

    pub(crate) fn keep_secret(&mut self, secret: String) {
        self.secrets.insert(secret);
    }

    /// Those that came with the world, while they are still in it.
    pub(crate) fn keep_secrets_of_users(&mut self) {
        self.secrets.extend(self.world.users().map(|user| user.secret_key().to_owned()));
    }

    /// All that was ever handed out and must not show up anywhere else.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.secrets.iter().cloned().collect()
    }

    /// The session of that access key, unless its role is gone or was made anew.
    pub(crate) fn session(&self, access_key: &str) -> Option<&Session> {
        let session = self.sessions.get(access_key)?;
        let CallerKind::Session(traits) = &session.caller.kind else { return None };
        let role = self.world.role(&traits.role)?;
        session.caller.user_id.starts_with(role.id()).then_some(session)
    }
}
