//! Reads kubeconfigs as kubectl does, with errors that name place and reason and quote nothing.

use super::endpoint::Endpoint;
use kube::config::Kubeconfig;
use std::path::{Path, PathBuf};

/// Why an endpoint cannot be made. Never holds a value of the kubeconfig other than names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// A field is missing or wrong.
    #[error("context {context}: {field}: {reason}")]
    Field {
        /// The context, or another name of the entry.
        context: String,
        /// The field, as in the file.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file cannot be read.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why, with its owner and mode and our user where that matters.
        reason: String,
    },
}

impl EndpointError {
    pub(super) fn field(context: &str, field: &'static str, reason: impl Into<String>) -> Self {
        Self::Field { context: context.to_owned(), field, reason: reason.into() }
    }
}

/// Reads one kubeconfig file; relative paths in it are made absolute.
pub fn read(path: &Path) -> Result<Kubeconfig, EndpointError> {
    todo!()
}

/// Parses a kubeconfig that is no file.
pub fn parse(name: &str, text: &str) -> Result<Kubeconfig, EndpointError> {
    todo!()
}

/// The kubeconfig that kubectl would take: the flag, `KUBECONFIG`, `~/.kube/config`; `None` if there is none.
pub fn find(flag: Option<&Path>) -> Result<Option<Kubeconfig>, EndpointError> {
    todo!()
}
