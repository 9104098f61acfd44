//! What the web server asks the rest of the program.

use crate::mirror::report::{DeletionReport, FollowerReport, SourceReport};
use std::sync::Arc;

pub use futures::future::BoxFuture;

/// Who answers. Nothing that is answered holds content.
pub type Handle = Arc<dyn Inspect>;

/// Answers questions about the running daemon.
pub trait Inspect: Send + Sync {
    /// Whether the process does its work at all: supervised tasks run and tick. Else why not.
    fn alive(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether the sources were listed once. Never depends on a follower. Else what is waited for.
    fn ready(&self) -> Result<(), String>;

    /// The followers, with their targets that are not in step.
    fn followers(&self) -> BoxFuture<'_, Vec<FollowerReport>>;

    /// The sources, with the states of their targets.
    fn sources(&self) -> BoxFuture<'_, Vec<SourceReport>>;

    /// The unwanted copies that wait for approval.
    fn deletions(&self) -> BoxFuture<'_, Vec<DeletionReport>>;

    /// All metrics, as OpenMetrics text.
    fn metrics(&self) -> String;
}
