//! Real Kubernetes control planes on loopback, for tests, demo and bench.
//!
//! ```text
//! binaries ──▶ Etcd ──▶ Cluster (kube-apiserver, its own etcd prefix) ──▶ Fleet (management + followers)
//!                         │  ├─ requests: JSON through the admin's token, kubectl
//!                         │  ├─ audit: every request that reached it, exactly counted
//!                         │  └─ lifecycle: stop, start again, pause, begin anew with another UID
//!                       Proxy: a stable address in front of it that can black-hole, refuse, move
//! ```
//!
//! In reading order:
//! - [`fleet`]: several clusters at once; most tests need no more
//! - [`cluster`]: one cluster and what can be done to it
//! - [`audit`]: which requests an API server saw
//! - [`proxy`]: network trouble at will
//! - [`api`]: JSON requests with a token
//! - [`process`]: any other program that must not outlive the process, such as Towline itself
//! - [`etcd`]: the one store behind all clusters
//! - [`binaries`]: where the programs come from
//! - [`runtime`]: on which connections live, for stand-ins beside the clusters
//! - [`scratch`]: folders that are gone when the process is
//!
//! Architecture invariant: nothing outlives the process, however it ends. Programs register with a supervisor that waits
//! for the process to die (`supervisor`), because statics are never dropped and tests get killed.
//!
//! Architecture invariant: nothing here is tied to the caller's tokio runtime. Each `#[tokio::test]` has a runtime of its
//! own, and a fleet shared by many tests would die with the first one; connections live on a runtime of this crate.

pub mod api;
pub mod audit;
pub mod binaries;
mod certificates;
pub mod cluster;
pub mod etcd;
mod eventually;
pub mod fleet;
mod port;
pub mod process;
pub mod proxy;
pub mod runtime;
pub mod scratch;
mod supervisor;

pub use api::{Api, status_code};
pub use audit::{Audit, Mark, Request, Requests};
pub use binaries::{Binaries, KUBERNETES_VERSION};
pub use certificates::ClientCertificate;
pub use cluster::{Cluster, Options};
pub use etcd::Etcd;
pub use eventually::eventually;
pub use fleet::Fleet;
pub use process::Process;
pub use proxy::{Behaviour, Proxy};
pub use scratch::Scratch;
