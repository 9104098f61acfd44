//! Behaviour against real control planes: one management cluster and three followers, RBAC on, shared by all tests. Each
//! test is a world of its own: its own namespaces, ServiceAccounts and Towline process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that cannot go on has failed"
)]
#![allow(clippy::print_stderr, reason = "a failed test shows the daemon's last words")]
#![allow(clippy::needless_range_loop, reason = "followers go by number")]

mod canary;
mod cli;
mod makers;
mod policies;
mod towline;
mod world;

mod basics;
mod changes;
mod check;
mod conflicts;
mod contexts;
mod crowds;
mod departures;
mod guard;
mod kubeconfig;
mod kubed;
mod logins;
mod mistakes;
mod names;
mod outage;
mod places;
mod plan;
mod repairs;
mod reroutes;
mod restart;
mod rights;
mod scopes;
mod sharing;
mod silence;
