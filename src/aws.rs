//! AWS: what Towline needs there.
//!
//! - [`iam`]: the roles and cluster access that Towline needs, as documents for people to apply. Pure.

pub mod iam;
