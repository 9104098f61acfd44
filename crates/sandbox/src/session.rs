//! Who callers are, and the temporary credentials that were handed out.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::policy::Asker;
use crate::random;
use crate::world::{Role, User};

/// Somebody whose signature was good.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// A user's ARN or a session's.
    pub(crate) arn: String,
    pub(crate) user_id: String,
    pub(crate) account: String,
    pub(crate) partition: String,
    pub(crate) kind: CallerKind,
}

#[derive(Clone, Debug)]
pub(crate) enum CallerKind {
    /// By access key.
    User(String),
    Session(Traits),
}

/// What a session of a role carries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    /// The role's ARN, path included.
    pub(crate) role: String,
    pub(crate) tags: BTreeMap<String, String>,
    /// Names of those tags that go on into the next role.
    pub(crate) transitive: BTreeSet<String>,
    /// Goes on into the next role, always.
    pub(crate) source_identity: Option<String>,
}

/// Temporary credentials.
pub(crate) struct Session {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) token: String,
    pub(crate) caller: Caller,
    pub(crate) expires: Timestamp,
}

impl Caller {
    pub(crate) fn user(user: &User) -> Self {
        let arn = user.parsed();
        Self {
            arn: user.arn().to_owned(),
            user_id: user.id().to_owned(),
            account: arn.account.clone(),
            partition: arn.partition.clone(),
            kind: CallerKind::User(user.access_key().to_owned()),
        }
    }

    /// A session of `role`. Its ARN has the role's name without the path.
    pub(crate) fn session(role: &Role, name: &str, traits: Traits) -> Self {
        let arn = role.parsed();
        Self {
            arn: format!("arn:{}:sts::{}:assumed-role/{}/{name}", arn.partition, arn.account, arn.name()),
            user_id: format!("{}:{name}", role.id()),
            account: arn.account.clone(),
            partition: arn.partition.clone(),
            kind: CallerKind::Session(Traits { role: role.arn().to_owned(), ..traits }),
        }
    }

    pub(crate) fn traits(&self) -> Option<&Traits> {
        match &self.kind {
            CallerKind::User(_) => None,
            CallerKind::Session(traits) => Some(traits),
        }
    }

    pub(crate) fn asker(&self) -> Asker {
        let role = self.traits().map(|traits| traits.role.clone());
        Asker::Identity { account: self.account.clone(), arns: [self.arn.clone()].into_iter().chain(role).collect() }
    }
}

impl Session {
    /// New credentials. A token grows with what the session carries.
    pub(crate) fn open(caller: Caller, expires: Timestamp, token_length: usize) -> Self {
        let carried = caller.traits().map_or(0, |traits| {
            traits.tags.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>()
                + traits.source_identity.as_ref().map_or(0, String::len)
        });
        Self {
            access_key: random::id("ASIA", 16),
            secret_key: random::secret_key(),
            // Four characters for three bytes, with their padding.
            token: random::session_token(token_length + carried.div_ceil(3) * 4),
            caller,
            expires,
        }
    }
}

/// When a session of `length` that begins now ends; `cap` makes all end sooner.
pub(crate) fn expiry(now: Timestamp, length: Duration, cap: Option<Duration>) -> Timestamp {
    let length = cap.map_or(length, |cap| cap.min(length));
    // Whole seconds, like AWS.
    let end = now.as_second().saturating_add_unsigned(length.as_secs());
    Timestamp::from_second(end).unwrap_or(Timestamp::MAX)
}
