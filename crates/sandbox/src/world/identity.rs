//! Roles and users.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::arn::Arn;
use crate::policy::Policy;
use crate::random;

/// A role.
pub struct Role {
    arn: String,
    parsed: Arn,
    id: String,
    trust: Policy,
    policies: Vec<Policy>,
    max_session: Duration,
}

impl Role {
    /// A role that may do nothing, with a trust policy: the JSON document that AWS takes.
    pub fn new(arn: &str, trust: &Value) -> Result<Self> {
        let parsed = Arn::of_iam(arn, "role").with_context(|| format!("{arn} is not the ARN of a role"))?;
        let trust = Policy::trust(trust).with_context(|| format!("trust policy of {arn}"))?;
        let id = random::id("AROA", 17);
        Ok(Self {
            arn: arn.to_owned(),
            parsed,
            id,
            trust,
            policies: Vec::new(),
            max_session: Duration::from_secs(3600),
        })
    }

    /// The same with one more permission policy.
    pub fn with_policy(mut self, document: &Value) -> Result<Self> {
        self.policies.push(permissions(document, &self.arn)?);
        Ok(self)
    }

    /// The same with another longest session than one hour.
    #[must_use]
    pub fn with_max_session(mut self, max_session: Duration) -> Self {
        self.max_session = max_session;
        self
    }

    /// Replaces the trust policy.
    pub fn set_trust(&mut self, document: &Value) -> Result<()> {
        self.trust = Policy::trust(document).with_context(|| format!("trust policy of {}", self.arn))?;
        Ok(())
    }

    /// Replaces all permission policies by these.
    pub fn set_policies(&mut self, documents: &[Value]) -> Result<()> {
        self.policies = documents.iter().map(|document| permissions(document, &self.arn)).collect::<Result<_>>()?;
        Ok(())
    }

    /// Its ARN, path included.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// Its unique id, `AROA…`: a recreated role has another.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn parsed(&self) -> &Arn {
        &self.parsed
    }

    pub(crate) fn trust(&self) -> &Policy {
        &self.trust
    }

    pub(crate) fn policies(&self) -> &[Policy] {
        &self.policies
    }

    pub(crate) fn max_session(&self) -> Duration {
        self.max_session
    }
}

/// A user with one access key.
pub struct User {
    arn: String,
    parsed: Arn,
    id: String,
    access_key: String,
    secret_key: String,
    policies: Vec<Policy>,
}

impl User {
    /// A user that may do nothing, with a new access key.
    pub fn new(arn: &str) -> Result<Self> {
        let parsed = Arn::of_iam(arn, "user").with_context(|| format!("{arn} is not the ARN of a user"))?;
        let (access_key, secret_key) = (random::id("AKIA", 16), random::secret_key());
        Ok(Self {
            arn: arn.to_owned(),
            parsed,
            id: random::id("AIDA", 17),
            access_key,
            secret_key,
            policies: Vec::new(),
        })
    }

    /// The same with one more permission policy.
    pub fn with_policy(mut self, document: &Value) -> Result<Self> {
        self.policies.push(permissions(document, &self.arn)?);
        Ok(self)
    }

    /// The ARN.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// The access key's public half.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// Its secret half.
    pub fn secret_key(&self) -> &str {
        &self.secret_key
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn parsed(&self) -> &Arn {
        &self.parsed
    }

    pub(crate) fn policies(&self) -> &[Policy] {
        &self.policies
    }
}

fn permissions(document: &Value, owner: &str) -> Result<Policy> {
    Policy::permissions(document).with_context(|| format!("permission policy of {owner}"))
}
