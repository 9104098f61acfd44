//! The way through AWS, end to end: real control planes that ask the real aws-iam-authenticator who a token is, in front of
//! stand-ins of STS and EKS; four of them, shared by all tests. Each test has AWS accounts, namespaces and a Towline of its own.
//! Its IAM is what `towline manifests iam` prints.
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

// What makes a world is shared with the tests that know no AWS, which use the rest of it.
#[allow(dead_code, reason = "shared with tests/e2e")]
#[path = "../e2e/canary.rs"]
mod canary;
#[allow(dead_code, reason = "shared with tests/e2e")]
#[path = "../e2e/makers.rs"]
mod makers;
#[allow(dead_code, reason = "shared with tests/e2e")]
#[path = "../e2e/towline.rs"]
mod towline;
#[allow(dead_code, reason = "shared with tests/e2e")]
#[path = "../e2e/world.rs"]
mod world;

mod daemon;
mod documents;
mod ground;
mod tenant;

mod identities;
mod kubed;
mod moto;
mod needs;
mod time;
mod trouble;
