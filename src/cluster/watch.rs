//! List + watch of one selection.

use super::{error::Error, session::Session};
use crate::api::names::ResourceVersion;
use serde::de::DeserializeOwned;
use std::{marker::PhantomData, sync::Arc};
use tokio::sync::Semaphore;

/// What is watched.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The collection's path, from [`super::paths`].
    pub path: String,
    /// `labelSelector`.
    pub label_selector: Option<String>,
    /// `fieldSelector`.
    pub field_selector: Option<String>,
    /// Whether the server shall leave the data out.
    pub metadata_only: bool,
}

/// What a watch shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// A complete list begins (again): forget what an unfinished one listed.
    RelistBegun,
    /// An object of the list.
    Listed(T),
    /// The list is complete: what it did not show is gone.
    RelistDone,
    /// An object was created or changed.
    Applied(T),
    /// An object was deleted, or does not fit the selectors any more.
    Deleted(T),
    /// An object that is not a `T`.
    Undecodable {
        /// Its namespace; empty if it has none or even that cannot be read.
        namespace: String,
        /// Its name.
        name: String,
        /// Its resourceVersion.
        resource_version: Option<ResourceVersion>,
        /// Whether it was deleted.
        deleted: bool,
    },
}

/// List + watch of one selection of one session.
pub struct Watch<T>(PhantomData<T>);

impl<T: DeserializeOwned + Send + 'static> Watch<T> {
    /// Starts with a complete list. `permits` bounds how many lists run at once in the whole process.
    pub fn new(session: Session, selection: Selection, permits: Arc<Semaphore>) -> Self {
        todo!()
    }
    /// The same over another session **to the same cluster**: goes on from the last resourceVersion, without a list if one was complete.
    pub fn resume(self, session: Session) -> Self {
        todo!()
    }
    /// The next event. Cancel-safe. After an error the next call waits (1 s, doubling to 60 s) and tries again.
    pub async fn next(&mut self) -> Result<Event<T>, Error> {
        todo!()
    }
    /// The version up to which events were taken; `None` while no list is complete.
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        todo!()
    }
}
