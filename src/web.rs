//! Health, metrics and `/api/v1`, over plain HTTP/1.1. GET and HEAD only; nothing here changes anything.
//!
//! - [`inspect`]: what the server asks the rest of the program, behind one trait.
//! - [`filter`]: what a client may narrow an answer by. Pure.
//! - `answer`: the form of answers and errors; `routes`: which path answers what.
//! - `server`: connections, their limits and their end.

mod answer;
pub mod filter;
pub mod inspect;
mod routes;
mod server;

pub use filter::Filter;
pub use inspect::{BoxFuture, Handle, Inspect};
pub use server::serve;

#[cfg(test)]
mod tests;
