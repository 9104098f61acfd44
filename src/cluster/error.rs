//! What can go wrong with a request, and what the caller should do about it. No error holds a byte of an answer.

use super::{kubeconfig::EndpointError, login::LoginError, status::Status};
use crate::api::names::ClusterUid;
use std::{error::Error as StdError, io, time::Duration};

/// What a caller does about an error. It drives the queue and labels the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Try again with backoff.
    Transient,
    /// Try again after this time.
    Throttled(Duration),
    /// Read again, plan again. [`Error::is_already_exists`] tells a POST's conflict from a stale version.
    Conflict,
    /// We may not; try again slowly.
    Denied,
    /// The server will not take it as it is.
    Invalid,
    /// What was asked for is not there (404), or no longer (410).
    Gone,
    /// The session is of no use any more: open another.
    Disconnected,
}

impl Class {
    /// A label for metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled(_) => "throttled",
            Self::Conflict => "conflict",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Gone => "gone",
            Self::Disconnected => "disconnected",
        }
    }
}

/// Why a session could not be opened, or a request not be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The endpoint cannot be used as it is configured.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// No credentials.
    #[error("{0}")]
    Login(#[from] LoginError),
    /// No connection to `server` (scheme, host and port).
    #[error("connect to {server}: {why}")]
    Connect {
        /// The server's scheme, host and port.
        server: String,
        /// What failed, without anything a server chose.
        why: String,
    },
    /// The connection is lost, with it the session.
    #[error("disconnected: {why}")]
    Disconnected {
        /// What ended it, without anything a server chose.
        why: String,
    },
    /// One answer broke off, but the session is alive. A write may or may not have been carried out.
    #[error("{verb}: interrupted: {why}")]
    Interrupted {
        /// The call's label.
        verb: &'static str,
        /// What broke, without anything a server chose.
        why: String,
    },
    /// A new connection led to another cluster. Nothing was sent there but the question who it is.
    #[error("another cluster answers: kube-system's UID was {expected} and is {found}")]
    Moved {
        /// The session's cluster.
        expected: ClusterUid,
        /// Who answered.
        found: ClusterUid,
    },
    /// No answer in time. A write may or may not have been carried out.
    #[error("{verb}: no answer within {} s", after.as_secs())]
    Timeout {
        /// The call's label.
        verb: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// The API server refused.
    #[error("{0}")]
    Status(Box<Status>),
    /// An answer is larger than we take.
    #[error("{verb}: the answer is larger than {cap} bytes")]
    TooLarge {
        /// The call's label.
        verb: &'static str,
        /// The cap, in bytes.
        cap: usize,
    },
    /// An answer is not what was asked for.
    #[error("{verb}: the answer cannot be decoded ({category} at byte {position})")]
    Decode {
        /// The call's label.
        verb: &'static str,
        /// What kind of mistake.
        category: &'static str,
        /// Where in its line.
        position: usize,
    },
    /// A request that cannot be written down as HTTP.
    #[error("{verb}: the request is malformed")]
    Malformed {
        /// The call's label.
        verb: &'static str,
    },
}

impl Error {
    /// What to do about it.
    pub fn class(&self) -> Class {
        match self {
            Self::Endpoint(_) | Self::Malformed { .. } | Self::TooLarge { .. } => Class::Invalid,
            Self::Login(_) | Self::Connect { .. } | Self::Disconnected { .. } | Self::Moved { .. } => {
                Class::Disconnected
            }
            Self::Timeout { .. } | Self::Interrupted { .. } | Self::Decode { .. } => Class::Transient,
            Self::Status(status) => status.class(),
        }
    }

    /// Whether somebody must probably change something: a login, rights, an endpoint. Other outages pass.
    pub fn needs_somebody(&self) -> bool {
        matches!(self, Self::Login(_)) || matches!(self.class(), Class::Denied | Class::Invalid)
    }

    /// The API server's refusal, if that is what it was.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }

    /// Whether a POST found an object of that name.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Whether the namespace is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status().is_some_and(Status::is_namespace_terminating)
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(|status| status.code == 404)
    }

    /// Whether a list token or a resourceVersion is too old to go on from.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(|status| status.code == 410)
    }

    /// A decoding error without what serde quotes: its message holds the value it stumbled over.
    pub(super) fn decode(verb: &'static str, error: &serde_json::Error) -> Self {
        use serde_json::error::Category;
        let category = match error.classify() {
            Category::Io => "io",
            Category::Syntax => "syntax",
            Category::Data => "data",
            Category::Eof => "end",
        };
        Self::Decode { verb, category, position: error.column() }
    }

    pub(super) fn disconnected(why: impl Into<String>) -> Self {
        Self::Disconnected { why: why.into() }
    }
}

/// Says what failed in a connection, from the error's kinds only: the texts of h2 and of proxies quote what a server sent.
pub(super) fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut said: Option<String> = None;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return format!("TLS: {tls}");
        }
        if let Some(endpoint) = error.downcast_ref::<EndpointError>() {
            return endpoint.to_string();
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            said = Some(io.kind().to_string());
            // `source` would skip the error that it wraps, which is where rustls puts its own.
            next = io.get_ref().map(|inner| -> &(dyn StdError + 'static) { inner });
            continue;
        }
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            said.get_or_insert_with(|| hyper_kind(http).to_owned());
        } else if error.to_string() == "dns error" {
            return "the name does not resolve".to_owned();
        } else if error.to_string().starts_with("tunnel error: ") {
            said = Some(format!("proxy: {error}"));
        }
        next = error.source();
    }
    said.unwrap_or_else(|| "connection failed".to_owned())
}

fn hyper_kind(error: &hyper::Error) -> &'static str {
    match error {
        e if e.is_timeout() => "no answer to a ping",
        e if e.is_parse() => "not HTTP",
        e if e.is_incomplete_message() => "closed in the middle of an answer",
        e if e.is_closed() || e.is_canceled() => "the connection is closed",
        e if e.is_body_write_aborted() => "closed in the middle of a request",
        _ => "connection error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_fails_needs_somebody_and_a_lost_connection_does_not() {
        assert!(Error::Login(LoginError::Malformed).needs_somebody());
        assert!(!Error::disconnected("reset").needs_somebody());
    }

    #[test]
    fn a_decoding_error_does_not_quote_what_it_stumbled_over() {
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        assert!(error.to_string().contains("hunter2"), "serde quotes: {error}");
        let error = Error::decode("get", &error);
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn a_tls_error_inside_an_io_error_is_named() {
        let tls = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let said = describe(&io::Error::other(io::Error::other(tls)));
        assert_eq!(said, "TLS: invalid peer certificate: UnknownIssuer");
    }

    #[test]
    fn an_io_error_is_named_by_its_kind() {
        let error = io::Error::new(io::ErrorKind::ConnectionReset, "hunter2");
        assert_eq!(describe(&error), "connection reset");
    }
}
