//! The heart: what to do about one target, given what is wanted there and what was last seen there. Pure, and complete: every
//! row of DESIGN's table is an arm here and a line in the table test.

use super::{
    deletion::Verdict,
    history::History,
    namespaces::Presence,
    observed::{Observed, Standing},
};
use crate::{
    api::{
        annotations::DeletionPolicy,
        key::ObjectKey,
        names::{ClusterUid, Uid},
    },
    object::{
        digest::{Digest, OPAQUE},
        tls::{Sound, Unsound},
    },
};
use std::{collections::BTreeSet, fmt, sync::Arc, time::Instant};

/// What is to be done about a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a request, or a short chain of them.
    Write(Write),
    /// Nothing, for good or until something changes.
    Rest(State),
    /// Nothing before this moment.
    Wait(State, Instant),
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// POST.
    Create,
    /// Merge patch, conditional on the observed version.
    Update,
    /// DELETE and POST, after a dry run.
    Replace,
    /// Update or Replace of kubed's copy of this source, or of a copy of a hub that this one replaces.
    Adopt,
    /// Update or Replace of an object that Towline did not make.
    Overwrite,
    /// DELETE, conditional on uid and version.
    Delete,
    /// Merge patch that removes the marks.
    Release,
    /// POST of a namespace that is missing.
    CreateNamespace,
    /// GET, to see whether an object that is not ours is still there.
    Look,
}

impl Write {
    /// As in rows, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Replace => "Replace",
            Self::Adopt => "Adopt",
            Self::Overwrite => "Overwrite",
            Self::Delete => "Delete",
            Self::Release => "Release",
            Self::CreateNamespace => "CreateNamespace",
            Self::Look => "Look",
        }
    }
}

/// The state of a copy, as users see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// What it should be.
    InStep,
    /// About to be written.
    Pending,
    /// The namespace is missing, or the object is being deleted.
    Waiting,
    /// The follower changes what is written.
    Altered,
    /// Somebody keeps changing it.
    Contested,
    /// An object that Towline did not make is in the way.
    Conflict,
    /// The follower refuses the write.
    Refused,
    /// On hold, or in a namespace that accepts nothing.
    Held,
    /// The TLS pair is not sound, and the copy's is.
    InvalidPayload,
    /// Somebody removed the label: the copy is theirs.
    TakenOver,
    /// The source is frozen.
    Frozen,
    /// No rule grants what the source asks for.
    NotGranted,
    /// Unwanted, waiting for its time.
    DeletionPending,
    /// Unwanted, waiting for approval.
    DeletionHeld,
}

impl State {
    /// All states, for metrics.
    pub const ALL: [Self; 14] = [
        Self::InStep,
        Self::Pending,
        Self::Waiting,
        Self::Altered,
        Self::Contested,
        Self::Conflict,
        Self::Refused,
        Self::Held,
        Self::InvalidPayload,
        Self::TakenOver,
        Self::Frozen,
        Self::NotGranted,
        Self::DeletionPending,
        Self::DeletionHeld,
    ];

    /// As in rows, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InStep => "InStep",
            Self::Pending => "Pending",
            Self::Waiting => "Waiting",
            Self::Altered => "Altered",
            Self::Contested => "Contested",
            Self::Conflict => "Conflict",
            Self::Refused => "Refused",
            Self::Held => "Held",
            Self::InvalidPayload => "InvalidPayload",
            Self::TakenOver => "TakenOver",
            Self::Frozen => "Frozen",
            Self::NotGranted => "NotGranted",
            Self::DeletionPending => "DeletionPending",
            Self::DeletionHeld => "DeletionHeld",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who wants what at a target.
#[derive(Clone, Debug)]
pub enum Claim {
    /// A source wants a copy here.
    Wanted(Wanted),
    /// No source does.
    Unwanted(Unwanted),
    /// Nothing is decided: frozen, not granted, not known.
    Undecided(State),
    /// Nobody's business: out of scope, or nothing is here.
    Nobody,
}

/// What the copy must be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Digest of the copy in step.
    pub whole: Digest,
    /// Digest of its content.
    pub content: Digest,
    /// Its type.
    pub type_: Option<Arc<str>>,
    /// The source's TLS pair, where it counts (`towline.dev/validate`).
    pub tls: Option<Result<Sound, Unsound>>,
    /// A granted `Overwrite`.
    pub overwrite: bool,
    /// A granted `create-namespace` that may be used now.
    pub create_namespace: bool,
    /// The observed mark names a follower name that no provider knows any more.
    pub renamed: bool,
    /// For kubed's mark: the source itself and the name of the management cluster.
    pub kubed: Adoption,
    /// `--adopt-origin`: hubs whose copies are taken over.
    pub old_hubs: Arc<BTreeSet<ClusterUid>>,
}

/// What kubed's mark must say for its copy to be adopted.
#[derive(Clone, Debug)]
pub struct Adoption {
    /// The source.
    pub source: ObjectKey,
    /// Its UID; `None` adopts by name (`--adopt-kubed=by-name`).
    pub uid: Option<Uid>,
    /// `--cluster-name`.
    pub cluster: Arc<str>,
}

/// How an unwanted copy may go.
#[derive(Clone, Copy, Debug)]
pub struct Unwanted {
    /// Whether.
    pub verdict: Verdict,
    /// How.
    pub policy: DeletionPolicy,
}

/// All that a plan depends on.
pub struct Situation<'a> {
    /// Who wants what.
    pub claim: &'a Claim,
    /// What is there.
    pub observed: Option<&'a Observed>,
    /// The namespace.
    pub presence: Presence,
    /// What happened before.
    pub history: &'a History,
    /// Now.
    pub now: Instant,
}

/// What to do.
pub fn plan(situation: &Situation<'_>) -> Action {
    let copy = situation.observed.filter(|observed| observed.is_copy());
    let ours = copy.is_some_and(|observed| matches!(observed.standing, Standing::Ours(_)));
    let action = match situation.claim {
        _ if copy.is_some_and(|observed| observed.deleting) => Action::Rest(State::Waiting),
        Claim::Nobody => Action::Rest(State::InStep),
        Claim::Unwanted(_) if !ours => Action::Rest(State::InStep),
        _ if copy.is_some_and(|observed| observed.hold) => Action::Rest(State::Held),
        Claim::Undecided(state) => Action::Rest(*state),
        Claim::Unwanted(unwanted) => part(*unwanted),
        Claim::Wanted(wanted) => keep(situation, wanted),
    };
    unless_unconditional(situation, unless_too_early(situation, action))
}

/// A wanted target.
fn keep(situation: &Situation<'_>, wanted: &Wanted) -> Action {
    match (situation.observed, situation.presence) {
        (Some(observed), _) if is_in_step(observed, wanted) => Action::Rest(State::InStep),
        (_, Presence::Closed) => Action::Rest(State::Held),
        (_, Presence::Terminating) => Action::Rest(State::Waiting),
        (None, Presence::Missing) if wanted.create_namespace => Action::Write(Write::CreateNamespace),
        (None, Presence::Missing) => Action::Rest(State::Waiting),
        (None, _) => unless_contested(situation, wanted, Write::Create),
        (Some(observed), _) if observed.is_copy() => repair(situation, wanted, observed),
        (Some(observed), _) => displace(situation, wanted, observed),
    }
}

fn is_in_step(observed: &Observed, wanted: &Wanted) -> bool {
    matches!(observed.standing, Standing::Ours(_)) && observed.whole == wanted.whole && !wanted.renamed
}

/// An unsound TLS pair never replaces a sound one.
fn spoils(wanted: &Wanted, observed: &Observed) -> bool {
    matches!(wanted.tls, Some(Err(_))) && observed.tls.is_some()
}

fn repair(situation: &Situation<'_>, wanted: &Wanted, observed: &Observed) -> Action {
    if spoils(wanted, observed) {
        return Action::Rest(State::InvalidPayload);
    }
    if situation.history.is_altered(wanted.whole, observed.whole) {
        return Action::Rest(State::Altered);
    }
    unless_contested(situation, wanted, if must_replace(wanted, observed) { Write::Replace } else { Write::Update })
}

/// An object that is not ours stands where a copy is wanted. Nobody watches it: whatever keeps us off is looked at again.
fn displace(situation: &Situation<'_>, wanted: &Wanted, observed: &Observed) -> Action {
    match write_over(wanted, &observed.standing) {
        Err(state) => in_the_way(situation, state),
        Ok(_) if observed.deleting => in_the_way(situation, State::Waiting),
        Ok(_) if observed.hold => in_the_way(situation, State::Held),
        Ok(_) if spoils(wanted, observed) => in_the_way(situation, State::InvalidPayload),
        Ok(write) => unless_contested(situation, wanted, write),
    }
}

/// How an object that is not ours may be written over, or why not.
fn write_over(wanted: &Wanted, standing: &Standing) -> Result<Write, State> {
    match standing {
        Standing::Foreign(foreign) if foreign.taken_over => Err(State::TakenOver),
        Standing::Foreign(foreign) if foreign.copy_of.as_ref().is_some_and(|hub| wanted.old_hubs.contains(hub)) => {
            Ok(Write::Adopt)
        }
        Standing::Foreign(foreign) if foreign.untouchable => Err(State::Conflict),
        Standing::Foreign(foreign) if adopts(wanted, foreign) => Ok(Write::Adopt),
        Standing::Foreign(_) if wanted.overwrite => Ok(Write::Overwrite),
        // A clone of a copy is somebody's on purpose: a follower's own kubed makes such, and would make it again.
        _ => Err(State::Conflict),
    }
}

/// Type and immutable content cannot be changed in place.
pub fn must_replace(wanted: &Wanted, observed: &Observed) -> bool {
    cannot_become(observed, wanted.type_.as_ref(), wanted.content)
}

/// Whether an object cannot be given this type and content in place.
pub fn cannot_become(observed: &Observed, type_: Option<&Arc<str>>, content: Digest) -> bool {
    let name = |type_: Option<&Arc<str>>| type_.map_or(OPAQUE, |type_| &**type_).to_owned();
    name(type_) != name(observed.type_.as_ref()) || (observed.immutable && content != observed.content)
}

fn unless_contested(situation: &Situation<'_>, wanted: &Wanted, write: Write) -> Action {
    match situation.history.next_repair(wanted.whole, situation.now) {
        Some(when) if situation.now < when => Action::Wait(State::Contested, when),
        _ => Action::Write(write),
    }
}

/// An object that is not ours is looked at again, slowly; the first time, the wait is yet to be set.
fn in_the_way(situation: &Situation<'_>, state: State) -> Action {
    match situation.history.not_before {
        Some(when) if when <= situation.now => Action::Write(Write::Look),
        Some(when) => Action::Wait(state, when),
        None => Action::Rest(state),
    }
}

/// kubed's copy of this very source.
fn adopts(wanted: &Wanted, foreign: &super::observed::Foreign) -> bool {
    let Adoption { source, uid, cluster } = &wanted.kubed;
    foreign.kubed.as_ref().is_some_and(|kubed| {
        kubed.names(source, cluster) && uid.as_ref().is_none_or(|uid| kubed.uid.as_ref() == Some(uid))
    })
}

fn part(unwanted: Unwanted) -> Action {
    match (unwanted.verdict, unwanted.policy) {
        (Verdict::Due, DeletionPolicy::Delete) => Action::Write(Write::Delete),
        (Verdict::Due, DeletionPolicy::Orphan) => Action::Write(Write::Release),
        (Verdict::Later(when), _) => Action::Wait(State::DeletionPending, when),
        (Verdict::Held(_, when), _) => Action::Wait(State::DeletionHeld, when),
    }
}

/// After a failure, the next attempt waits.
fn unless_too_early(situation: &Situation<'_>, action: Action) -> Action {
    match (action, situation.history.not_before) {
        (Action::Write(_), Some(when)) if situation.now < when => {
            Action::Wait(situation.history.trouble.unwrap_or(State::Pending), when)
        }
        _ => action,
    }
}

/// To an API server, version `0` or none at all means any version: no write may be conditional on that.
fn unless_unconditional(situation: &Situation<'_>, action: Action) -> Action {
    let lax = situation.observed.is_some_and(|observed| observed.version.as_str().bytes().all(|byte| byte == b'0'));
    match action {
        Action::Write(write) if lax && write != Write::Look => Action::Rest(State::Refused),
        _ => action,
    }
}

#[cfg(test)]
mod tests;
