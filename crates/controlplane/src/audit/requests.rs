//! Requests that an API server answered, and ways to pick some.

use std::fmt;
use std::ops::Deref;

/// A request, as the audit log tells it. What does not apply is empty.
#[derive(Clone, Debug)]
pub struct Request {
    /// `ResponseComplete`; for a watch `ResponseStarted`; `Panic` if the server gave up.
    pub stage: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// Path and query.
    pub uri: String,
    /// `secrets`, …
    pub resource: String,
    /// `status`, `token`, …
    pub subresource: String,
    /// Namespace of the object or collection.
    pub namespace: String,
    /// Name of the object; empty for a collection and for a create.
    pub name: String,
    /// `admin` or `system:serviceaccount:NAMESPACE:NAME`.
    pub user: String,
    /// What the client calls itself.
    pub user_agent: String,
    /// HTTP status.
    pub code: u16,
    /// When it came (RFC 3339, microseconds).
    pub received: String,
    /// When it was answered, or the answer began.
    pub answered: String,
}

impl Request {
    /// Whether it meant to change an object other than an Event.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
            && self.resource != "events"
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} by {} ({})", self.received, self.code, self.verb, self.uri, self.user, self.user_agent)
    }
}

/// Some requests, in the order of their answers. Displays as one line each, for the message of an assertion.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    requests: Vec<Request>,
}

impl Requests {
    pub(super) fn new(requests: Vec<Request>) -> Self {
        Self { requests }
    }

    /// Those by a user (`system:serviceaccount:NAMESPACE:NAME`).
    pub fn by(&self, user: &str) -> Self {
        self.matching(|request| request.user == user)
    }

    /// Those that meant to change an object other than an Event, whether they were let or not.
    pub fn writes(&self) -> Self {
        self.matching(Request::is_write)
    }

    /// Those with a verb.
    pub fn verb(&self, verb: &str) -> Self {
        self.matching(|request| request.verb == verb)
    }

    /// Those in a namespace.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        self.matching(|request| request.namespace == namespace)
    }

    /// Those that `wanted` picks.
    pub fn matching(&self, wanted: impl Fn(&Request) -> bool) -> Self {
        Self { requests: self.requests.iter().filter(|request| wanted(request)).cloned().collect() }
    }
}

impl Deref for Requests {
    type Target = [Request];

    fn deref(&self) -> &[Request] {
        &self.requests
    }
}

impl IntoIterator for Requests {
    type Item = Request;
    type IntoIter = std::vec::IntoIter<Request>;

    fn into_iter(self) -> Self::IntoIter {
        self.requests.into_iter()
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} requests", self.requests.len())?;
        self.requests.iter().try_for_each(|request| writeln!(f, "  {request}"))
    }
}
