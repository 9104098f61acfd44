//! Which clusters there are, and how to reach them.

pub mod catalog;
pub mod connection;
pub mod member;
pub mod providers;
pub mod registry;
