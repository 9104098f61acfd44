//! All follower names that a provider knows now, with what it takes to reach each.

use super::member::Member;
use crate::{api::names::FollowerName, cluster::endpoint::Endpoint};
use std::collections::BTreeMap;

/// The names that are known now.
pub type Catalog = BTreeMap<FollowerName, Entry>;

/// One name.
#[derive(Clone)]
pub struct Entry {
    /// What shapes its copies.
    pub member: Member,
    /// Which provider knows it: for metrics.
    pub provider: &'static str,
    /// How it is reached, or why it cannot be.
    pub endpoint: Result<Endpoint, String>,
}

impl Entry {
    /// Whether both would be reached in the same way.
    pub fn reaches_as(&self, other: &Self) -> bool {
        match (&self.endpoint, &other.endpoint) {
            (Ok(one), Ok(other)) => one.fingerprint() == other.fingerprint(),
            (Err(one), Err(other)) => one == other,
            _ => false,
        }
    }
}
