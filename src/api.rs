//! What users write on sources, copies and in policy files, and the marks that Towline writes. Pure: no I/O, no clock.

pub mod annotations;
pub mod approval;
pub mod duration;
pub mod follower;
mod grammar;
pub mod key;
pub mod mark;
pub mod metadata;
pub mod names;
pub mod patterns;
pub mod policy;
pub mod selector;
pub mod yaml;
