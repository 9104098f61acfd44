//! When copies that nobody wants any more go, and what looks like a mistake.

use super::{heading, values};
use crate::mirror::deletion::Limits;
use clap::Args;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(next_help_heading = heading::GUARD)]
pub(super) struct GuardFlags {
    /// How long copies outlive their source: 300ms, 30s, 1h30m, at most 720h
    ///
    /// A source that comes back in time (a re-issued certificate, a replaced object) keeps its copies. After a change of the
    /// source's own annotations they go within seconds.
    #[arg(
        long,
        env = "TOWLINE_DELETION_DELAY",
        value_name = "DURATION",
        default_value = "30s",
        value_parser = values::duration
    )]
    deletion_delay: Duration,

    /// Sources that may lose copies in one follower at once
    ///
    /// Of those that Towline saw being deleted or changed. More are held until somebody approves them: `towline deletions list`. 0 holds all.
    #[arg(
        long,
        env = "TOWLINE_MAX_DELETIONS",
        value_name = "N",
        default_value = "10",
        allow_negative_numbers = true,
        value_parser = values::count
    )]
    max_deletions: usize,

    /// The same, of sources that are gone and Towline did not see why
    ///
    /// Deleted while it was down, or unwanted since a flag, a policy or a follower's labels changed.
    #[arg(
        long,
        env = "TOWLINE_MAX_UNWITNESSED_DELETIONS",
        value_name = "N",
        default_value = "2",
        allow_negative_numbers = true,
        value_parser = values::count
    )]
    max_unwitnessed_deletions: usize,

    /// Followers on which such a source may lose its copies
    #[arg(
        long,
        env = "TOWLINE_MAX_UNWITNESSED_FOLLOWERS",
        value_name = "N",
        default_value = "10",
        allow_negative_numbers = true,
        value_parser = values::count
    )]
    max_unwitnessed_followers: usize,
}

/// The guard against mistakes.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Delay and limits in one follower.
    pub limits: Limits,
    /// `--max-unwitnessed-followers`.
    pub max_unwitnessed_followers: usize,
}

impl GuardFlags {
    pub(super) fn check(self) -> Guard {
        let limits = Limits {
            delay: self.deletion_delay,
            max_sources: self.max_deletions,
            max_unwitnessed: self.max_unwitnessed_deletions,
        };
        Guard { limits, max_unwitnessed_followers: self.max_unwitnessed_followers }
    }
}
