//! Towline keeps ConfigMaps and Secrets of one management cluster in step with their copies in many follower clusters.
//!
//! The map, in reading order:
//! - [`api`]: what users write (annotations, selectors, policy) and what Towline writes (marks). Pure.
//! - [`object`]: what a ConfigMap or Secret holds. Pure.
//! - [`aws`]: what Towline needs on AWS.
//! - [`cluster`]: one API server: how it is reached, asked and watched.
//! - [`source`]: which objects to ship, and where to.
//! - [`follower`]: which clusters there are, and how to reach them.
//! - [`mirror`]: desired × observed → plan → apply, one worker per follower.
//! - [`telemetry`]: logs, metrics, events. It is told, never asked.
//! - [`web`]: health, metrics, `/api/v1`.
//! - [`cli`]: one file per subcommand.

pub mod api;
pub mod aws;
pub mod cli;
pub mod cluster;
pub mod follower;
pub mod mirror;
pub mod object;
pub mod source;
pub mod telemetry;
pub mod web;
