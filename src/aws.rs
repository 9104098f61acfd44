//! Who Towline is on AWS, and how it reaches EKS clusters: without the AWS CLI, without aws-iam-authenticator.
//!
//! ```text
//! settings, profile ──▶ Chain (root, role, role …) ──▶ roles: credentials, one call per role and hour ──▶ token (pure)
//!                                                           │                                              clock: as AWS sees it
//!                                                           └▶ clusters: DescribeCluster, cached ──▶ endpoint, CA, id
//! ```
//! In reading order: [`chain`], [`settings`] and [`profile`] (who we are), [`roles`] (credentials), [`principal`] (both together), [`token`] with [`host`] and
//! [`clock`], [`clusters`], [`api`] (the calls themselves), [`error`]; [`exec`] (what kubeconfigs say); and [`iam`]: the policies that all of it needs.
//!
//! Architecture invariant: nothing here knows Kubernetes.

pub mod api;
pub mod chain;
pub mod clock;
pub mod clusters;
pub mod error;
pub mod exec;
pub mod host;
pub mod iam;
pub mod principal;
pub mod profile;
pub mod roles;
pub mod settings;
pub mod token;
