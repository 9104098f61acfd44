//! What an API server says when it refuses: code, reason, kind, name and fields, and never its `message`.

use super::error::Class;
use serde::{Deserialize, Deserializer};
use std::{fmt, time::Duration};
use zeroize::Zeroizing;

/// The longest time that an API server may ask us to stay away.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);
/// What a server that throttles without saying for how long means.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);
const MOST_CAUSES: usize = 16;
const LONGEST_WORD: usize = 253;

/// A `v1/Status`, less its `message`: admission webhooks quote the object there, and with it a Secret's data.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// `reason`, such as `AlreadyExists`; empty if the answer was no Status.
    pub reason: String,
    /// `details.kind`, as the server writes it (mostly the resource: `secrets`).
    pub kind: String,
    /// `details.name`.
    pub name: String,
    /// `details.causes`, at most 16 of them.
    pub causes: Vec<Cause>,
    /// When to come back, at most five minutes.
    pub retry_after: Option<Duration>,
    /// Whether our rights do not reach, and not a quota or a webhook refused.
    pub lacks_right: bool,
    /// The verb of the request, as RBAC calls it; empty in an `ERROR` event.
    pub verb: &'static str,
}

/// One of `details.causes`, less its `message`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Cause {
    /// `reason`, such as `FieldValueInvalid` or `NamespaceTerminating`.
    pub reason: String,
    /// `field`, such as `metadata.name`.
    pub field: String,
}

/// The wire form. It has no field for the text of `message`, so no message can be kept by accident.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Wire {
    code: Option<u16>,
    reason: Option<String>,
    details: Option<Details>,
    #[serde(rename = "message", deserialize_with = "tells_of_rights")]
    lacks_right: bool,
}

/// Nothing else in a refusal tells missing rights (`User "x" cannot patch resource "secrets" …`) from a quota.
fn tells_of_rights<'de, D: Deserializer<'de>>(message: D) -> Result<bool, D::Error> {
    let message = Option::<String>::deserialize(message)?.map(Zeroizing::new);
    Ok(message.is_some_and(|text| text.contains("is forbidden: User \"") && text.contains("\" cannot ")))
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    name: Option<String>,
    kind: Option<String>,
    causes: Option<Vec<WireCause>>,
    retry_after_seconds: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireCause {
    reason: Option<String>,
    field: Option<String>,
}

impl Status {
    /// Reads an answer that is not 2xx. A body that is no Status leaves the code only.
    pub fn parse(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let mut status = Self::from_object(body);
        status.code = code;
        let header = retry_after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        status.retry_after = header.or(status.retry_after).map(|after| after.min(LONGEST_RETRY_AFTER));
        status
    }

    /// Reads the `object` of a watch's `ERROR` event, which carries its own code.
    pub fn from_object(body: &[u8]) -> Self {
        let wire: Wire = serde_json::from_slice(body).unwrap_or_default();
        let details = wire.details.unwrap_or_default();
        let causes = details.causes.unwrap_or_default().into_iter().take(MOST_CAUSES);
        Self {
            code: wire.code.unwrap_or_default(),
            reason: word(wire.reason),
            kind: word(details.kind),
            name: word(details.name),
            causes: causes.map(|cause| Cause { reason: word(cause.reason), field: word(cause.field) }).collect(),
            retry_after: details.retry_after_seconds.map(|s| Duration::from_secs(s).min(LONGEST_RETRY_AFTER)),
            lacks_right: wire.lacks_right,
            verb: "",
        }
    }

    /// What the caller should do about it.
    pub fn class(&self) -> Class {
        match (self.code, self.retry_after) {
            (429, after) => Class::Throttled(after.unwrap_or(DEFAULT_RETRY_AFTER)),
            (500.., Some(after)) => Class::Throttled(after),
            (408 | 500.., _) => Class::Transient,
            (401 | 403, _) => Class::Denied,
            (404 | 410, _) => Class::Gone,
            (409, _) => Class::Conflict,
            _ => Class::Invalid,
        }
    }

    /// Whether a POST found an object of that name (409 has other reasons too).
    pub fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// Whether the namespace is being deleted: a 403 with that cause.
    pub fn is_namespace_terminating(&self) -> bool {
        self.causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
    }
}

/// A word chosen by a server, fit for a log line: cut, and without control or non-ASCII characters.
fn word(text: Option<String>) -> String {
    text.unwrap_or_default().chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(LONGEST_WORD).collect()
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        for (label, value) in [("", &self.reason), ("kind ", &self.kind), ("name ", &self.name)] {
            if !value.is_empty() {
                write!(f, " {label}{value}")?;
            }
        }
        for cause in &self.causes {
            write!(f, " [{} {}]", cause.reason, cause.field)?;
        }
        if self.code == 403 && self.lacks_right && !self.verb.is_empty() {
            write!(f, ": grant {} on {}", self.verb, self.kind)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, body: &str) -> Status {
        Status::parse(code, None, body.as_bytes())
    }

    #[test]
    fn a_message_is_never_kept() {
        let status = status(
            422,
            r#"{"kind":"Status","status":"Failure","message":"hunter2","reason":"Invalid","code":422,
                "details":{"name":"tls","kind":"secrets","causes":[{"reason":"FieldValueInvalid","message":"hunter2","field":"data"}]}}"#,
        );
        assert_eq!(status.to_string(), "422 Invalid kind secrets name tls [FieldValueInvalid data]");
        assert!(!format!("{status:?}").contains("hunter2"));
    }

    #[test]
    fn a_right_that_is_missing_is_named_and_a_quota_is_not_taken_for_one() {
        let forbidden = |why: &str| {
            let body = format!(
                r#"{{"reason":"Forbidden","details":{{"kind":"secrets"}},"message":"secrets is forbidden: {why}"}}"#
            );
            Status { verb: "patch", ..status(403, &body) }.to_string()
        };
        let rbac = r#"User \"bob\" cannot patch resource \"secrets\" in API group \"\" in the namespace \"web\""#;
        assert_eq!(forbidden(rbac), "403 Forbidden kind secrets: grant patch on secrets");
        assert_eq!(forbidden("exceeded quota: hunter2"), "403 Forbidden kind secrets");
    }

    #[test]
    fn each_code_has_its_class() {
        let class = |code| status(code, "{}").class();
        for code in [408, 500, 502, 503, 504] {
            assert_eq!(class(code), Class::Transient, "{code}");
        }
        for code in [302, 400, 405, 413, 415, 422] {
            assert_eq!(class(code), Class::Invalid, "{code}");
        }
        assert_eq!((class(401), class(403)), (Class::Denied, Class::Denied));
        assert_eq!((class(404), class(410)), (Class::Gone, Class::Gone));
        assert_eq!((class(409), class(429)), (Class::Conflict, Class::Throttled(DEFAULT_RETRY_AFTER)));
    }

    #[test]
    fn a_server_may_keep_us_away_for_five_minutes_at_most() {
        let header = Status::parse(429, Some("86400"), b"");
        assert_eq!(header.class(), Class::Throttled(Duration::from_secs(300)));
        let details = status(503, r#"{"details":{"retryAfterSeconds":7}}"#);
        assert_eq!(details.class(), Class::Throttled(Duration::from_secs(7)));
    }

    #[test]
    fn an_answer_that_is_no_status_leaves_its_code() {
        for body in ["", "<html>", "[]", "null", r#"{"details":null,"reason":null}"#] {
            assert_eq!(status(502, body), Status { code: 502, ..Status::default() }, "{body}");
        }
    }

    #[test]
    fn a_server_cannot_write_lines_of_our_log() {
        let status = status(500, "{\"reason\":\"a\\nb\\u001b[0mc\"}");
        assert_eq!(status.reason, "ab[0mc");
    }

    #[test]
    fn a_terminating_namespace_is_told_by_its_cause() {
        let body = r#"{"reason":"Forbidden","details":{"causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace"}]}}"#;
        assert!(status(403, body).is_namespace_terminating());
        assert!(!status(403, r#"{"reason":"Forbidden"}"#).is_namespace_terminating());
    }
}
