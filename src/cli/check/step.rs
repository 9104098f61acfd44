//! One step of the way to a follower, and how it ended. Its names are for machines, too: they stay.

use crate::api::names::FollowerName;
use serde::Serialize;

/// What is looked at, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    /// Whether what the file says can be used.
    Connection,
    /// Who we are on AWS.
    Identity,
    /// A role on the way.
    Role,
    /// What EKS says of the cluster.
    Describe,
    /// Our clock, beside AWS's.
    Clock,
    /// The server's name.
    Dns,
    /// A TCP connection.
    Tcp,
    /// TLS on it.
    Tls,
    /// How long the server's certificate is good.
    Certificate,
    /// How long the authority's is.
    Authority,
    /// What we log in with.
    Credential,
    /// Who we are there.
    User,
    /// Which cluster it is.
    Cluster,
    /// Rights that are needed.
    Rights,
    /// Rights that are not.
    Excess,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Outcome {
    /// Well.
    Passed,
    /// Well, but not for long, or not as it should.
    Warned,
    /// Badly.
    Failed,
    /// It would have needed one that failed.
    NotTried,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) step: Kind,
    /// Of several steps of a kind: a role, a resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) subject: String,
    pub(super) result: Outcome,
    /// What is the case.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) found: String,
    /// What to change.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) fix: String,
}

/// The way to one follower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) follower: FollowerName,
    /// Whether no step failed and all were tried.
    pub(super) good: bool,
    pub(super) steps: Vec<Step>,
}

impl Kind {
    /// As in JSON.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Identity => "identity",
            Self::Role => "role",
            Self::Describe => "describe",
            Self::Clock => "clock",
            Self::Dns => "dns",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Certificate => "certificate",
            Self::Authority => "authority",
            Self::Credential => "credential",
            Self::User => "user",
            Self::Cluster => "cluster",
            Self::Rights => "rights",
            Self::Excess => "excess",
        }
    }
}

impl Step {
    pub(super) fn passed(step: Kind, found: impl Into<String>) -> Self {
        Self::new(step, Outcome::Passed, found, "")
    }

    pub(super) fn warned(step: Kind, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(step, Outcome::Warned, found, fix)
    }

    pub(super) fn failed(step: Kind, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(step, Outcome::Failed, found, fix)
    }

    pub(super) fn not_tried(step: Kind) -> Self {
        Self::new(step, Outcome::NotTried, "", "")
    }

    /// Of several steps of a kind, this one.
    pub(super) fn about(self, subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..self }
    }

    /// Whether the steps that need this one can be tried.
    pub(super) fn leads_on(&self) -> bool {
        matches!(self.result, Outcome::Passed | Outcome::Warned)
    }

    fn new(step: Kind, result: Outcome, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { step, subject: String::new(), result, found: found.into(), fix: fix.into() }
    }
}

impl Report {
    pub(super) fn new(follower: FollowerName, steps: Vec<Step>) -> Self {
        Self { follower, good: steps.iter().all(Step::leads_on), steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_stable() {
        let steps = vec![
            Step::passed(Kind::Role, "me").about("arn:r"),
            Step::failed(Kind::Dns, "no such name", "look it up"),
            Step::not_tried(Kind::Tcp),
        ];
        let report = Report::new("prod".into(), steps);
        let wanted = serde_json::json!({"follower": "prod", "good": false, "steps": [
            {"step": "role", "subject": "arn:r", "result": "passed", "found": "me"},
            {"step": "dns", "result": "failed", "found": "no such name", "fix": "look it up"},
            {"step": "tcp", "result": "notTried"},
        ]});
        assert_eq!(serde_json::to_value(&report).unwrap(), wanted);
        for step in &report.steps {
            assert_eq!(serde_json::to_value(step.step).unwrap(), step.step.as_str());
        }
    }

    #[test]
    fn a_warning_is_good_and_a_step_that_was_not_tried_is_not() {
        let good = |step: Step| Report::new("a".into(), vec![Step::passed(Kind::Dns, ""), step]).good;
        assert!(good(Step::warned(Kind::Clock, "off", "set it")));
        assert!(!good(Step::failed(Kind::Tcp, "", "")) && !good(Step::not_tried(Kind::Tcp)));
    }
}
