//! What others are told of the fleet.

use crate::{
    api::names::FollowerName,
    mirror::{inquiry::Inquiry, report::FollowerReport},
};
use std::collections::BTreeSet;
use tokio::sync::mpsc;

/// Whom to ask about followers.
#[derive(Clone, Default)]
pub struct Directory {
    /// A way to ask each worker.
    pub workers: Vec<mpsc::Sender<Inquiry>>,
    /// Names that have no answer, or that another provider claims in vain, with the reason.
    pub silent: Vec<FollowerReport>,
    /// All names that a provider knows.
    pub names: BTreeSet<FollowerName>,
    /// Those of them that lead to the management cluster.
    pub hub: BTreeSet<FollowerName>,
    /// Whether every name has been asked where it leads at least once.
    pub asked: bool,
}
