//! Which clusters there are, and how to reach them.

pub mod member;
