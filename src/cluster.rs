//! One API server: how it is reached, asked and watched. Knows nothing of sources and copies.
//!
//! ```text
//! kubeconfig ──▶ Endpoint ──▶ Session::open ──▶ call(Call) ──▶ Answer
//!                 │ Login      │ Link (one TCP)   └▶ Watch::next ──▶ Event
//!                 └ exec       └ identity first
//! ```
//!
//! In reading order:
//! - [`endpoint`]: everything needed to reach one API server; [`kubeconfig`]: where that is read from.
//! - [`login`]: where its bearer token comes from; [`exec`]: credential plugins.
//! - `link`: one connection; `wire`: one request over it, the first of which is the question who is there.
//! - [`session`]: requests over links that all lead to the same cluster; [`call`]: what is asked and answered.
//! - [`inquiry`]: what a server answers to somebody who has no rights yet.
//! - [`watch`]: list + watch of one selection; [`lines`] and [`objects`]: their framing;
//!   [`page`]: what is in them.
//! - [`paths`], [`status`], [`error`], [`backoff`], [`buffer`]: pure parts.
//!
//! Architecture invariant: nothing here runs detached. All of a session's tasks end with its last clone.

pub mod backoff;
pub mod buffer;
pub mod call;
pub mod endpoint;
pub mod error;
pub mod exec;
#[cfg(test)]
mod fake;
pub mod inquiry;
pub mod kubeconfig;
pub mod lines;
mod link;
pub mod login;
pub mod objects;
pub mod page;
pub mod paths;
pub mod session;
pub mod status;
pub mod watch;
mod wire;

pub use call::{Accept, Answer, Call, payload};
pub use endpoint::{Endpoint, Fingerprint, Parts};
pub use error::{Class, Error};
pub use kubeconfig::EndpointError;
pub use login::{Login, LoginError, Token, TokenSource};
pub use session::{Observer, Options, Session};
pub use status::{Cause, Status};
pub use watch::{Event, Selection, Watch};
