//! What the outside is told: logs, metrics, events, the audit log. Told, never asked: nothing here reads the state of another
//! room, everything arrives as names and numbers.
//!
//! In reading order:
//! - [`logs`]: lines on stderr, and what may never stand in one.
//! - [`metrics`]: the series of `/metrics`; [`requests`]: those about requests, told by a session itself.
//! - [`events`]: what becomes an event, and when. Pure; [`note`]: how it reads. Pure.
//! - [`herald`]: writes events to the management cluster.
//! - [`audit`]: one line per write.
//!
//! Architecture invariant: no type here has a field for the value of an annotation or of a data key.

pub mod audit;
mod aws;
pub mod events;
pub mod herald;
pub mod logs;
pub mod metrics;
pub mod note;
pub mod requests;
