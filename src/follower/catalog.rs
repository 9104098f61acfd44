//! All follower names that a provider knows now, with what it takes to reach each.

use super::{connection::Connection, member::Member};
use crate::{
    api::names::{ClusterUid, FollowerName},
    telemetry::metrics::FollowerInfo,
};
use std::collections::BTreeMap;

/// The names that are known now.
pub type Catalog = BTreeMap<FollowerName, Entry>;

/// Why a follower that its spec suspends is not reached.
pub const SUSPENDED: &str = "suspended by its spec: its copies stay as they are";

/// One name.
#[derive(Clone)]
pub struct Entry {
    /// What shapes its copies.
    pub member: Member,
    /// Which provider knows it: for metrics.
    pub provider: &'static str,
    /// How it is reached, or why it cannot be: then the name is known and has no answer, which holds its deletions back.
    pub connection: Result<Connection, String>,
    /// The only cluster that may be behind the name.
    pub pin: Option<ClusterUid>,
    /// Other providers that claim the name in vain.
    pub rivals: Vec<&'static str>,
}

impl Entry {
    /// Whether both would be reached in the same way.
    pub fn reaches_as(&self, other: &Self) -> bool {
        let same_connection = match (&self.connection, &other.connection) {
            (Ok(one), Ok(other)) => one.fingerprint() == other.fingerprint(),
            (Err(one), Err(other)) => one == other,
            _ => false,
        };
        same_connection && self.pin == other.pin
    }

    /// What people are told that it is.
    pub fn info(&self) -> FollowerInfo {
        let known = self.connection.as_ref().ok().map(Connection::info).unwrap_or_default();
        FollowerInfo { provider: self.provider, ..known }
    }

    /// Why the name must not lead to this cluster, if it must not.
    pub fn refuses(&self, found: &ClusterUid) -> Option<String> {
        let pin = self.pin.as_ref().filter(|pin| *pin != found)?;
        Some(format!(
            "another cluster is behind the name: spec.clusterUID is {pin}, and {found} answers; nothing is written"
        ))
    }

    /// What the name's other claimants are told, if there are any.
    pub fn rivalry(&self) -> Option<String> {
        let rivals = (!self.rivals.is_empty()).then(|| self.rivals.join(", "))?;
        Some(format!("{rivals}: the name is taken by {}, which comes first; give this one another", self.provider))
    }
}

/// Whether both hold the same names, reached in the same way, with the same members.
pub fn is_same(one: &Catalog, other: &Catalog) -> bool {
    let same =
        |one: &Entry, other: &Entry| one.member == other.member && one.rivals == other.rivals && one.reaches_as(other);
    one.len() == other.len()
        && one.iter().zip(other).all(|((name, one), (other_name, other))| name == other_name && same(one, other))
}
