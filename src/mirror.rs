//! One worker per follower cluster keeps its copies in step: desired × observed → plan → apply.
//!
//! ```text
//! source::Snapshot ──▶ desired ─┐
//! members, namespaces ──▶───────┤
//!                               ├─▶ Mirror (pure): claims, deletions, history, queue ─▶ plan ─▶ Task ─▶ apply (requests)
//! watch of copies ──▶ observed ─┘                            ▲                                      │
//!                                                            └──────────── Outcome ─────────────────┘
//! ```
//! Everything up to [`apply`](self) is synchronous: no I/O, no clock, no logging; time and randomness are arguments.

pub mod advisor;
pub mod apply;
pub mod claims;
pub mod decide;
pub mod deletion;
pub mod desired;
pub mod dial;
pub mod feed;
pub mod fleet;
pub mod history;
pub mod inquiry;
pub mod lists;
pub mod losses;
#[cfg(test)]
pub(crate) mod makers;
pub mod namespaces;
pub mod observed;
pub mod outcome;
mod ownership;
pub mod parcel;
pub mod plan;
pub mod queue;
pub mod rate;
pub mod report;
pub mod request;
mod routes;
#[cfg(test)]
mod simulation;
pub mod state;
pub mod teller;
pub mod view;
pub mod worker;
