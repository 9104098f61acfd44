//! A stand-in for AWS: STS, EKS and a Pod Identity agent on loopback, strict where AWS is strict.
//!
//! ```text
//!  client ──▶ Aws::url ────────────────┐                       ┌─▶ sts ──▶ policy (who may)
//!  authenticator, aws CLI ──▶ proxy ───┴▶ dispatch ─▶ sigv4 ───┤
//!                             (TLS)       │  (faults, calls)    └─▶ eks ──▶ policy
//!                                         └── State: World, sessions, clock
//! ```
//!
//! It is a judge: whatever it accepts must be what AWS accepts, so a client that works here only because the stand-in looks away
//! proves nothing. It verifies every signature itself, evaluates the policies of both sides, knows the limits of parameters and
//! the hour of a chained role, and refuses whatever it does not understand.
//!
//! In reading order:
//! - [`world`]: what exists; a test builds one and changes it while it is in use
//! - [`aws`]: STS and EKS, what can be done to them, and what they tell of their calls
//! - [`pod_identity`]: the agent on a node
//! - [`authenticator`]: the real aws-iam-authenticator as webhook of a cluster, in front of our STS
//! - `dispatch`: from a request to an answer, without a socket
//! - [`sigv4`]: how signatures are verified
//! - [`policy`]: policy documents
//! - `sts`, `eks`: the operations
//!
//! Architecture invariant: it shares no code with what it judges. Signatures are verified by an implementation of its own, and
//! no crate of the AWS SDK is among its dependencies (only its tests use the SDK, as a client).
//!
//! Architecture invariant: answering is synchronous and under one lock. Sockets, TLS and delays are outside.

mod answer;
mod arn;
pub mod authenticator;
pub mod aws;
mod call;
mod dispatch;
mod eks;
mod endpoint;
mod fault;
mod listener;
pub mod pod_identity;
pub mod policy;
mod random;
mod refusal;
mod request;
mod session;
pub mod sigv4;
mod state;
mod sts;
pub mod world;

pub use authenticator::{Authenticator, RoleMapping, provide_authenticator};
pub use aws::Aws;
pub use call::Call;
pub use fault::Fault;
pub use pod_identity::{Association, PodIdentityAgent};
pub use refusal::{Refusal, Service};
pub use request::Request;
pub use world::{Cluster, OidcProvider, Role, User, World};
