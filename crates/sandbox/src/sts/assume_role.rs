//! AssumeRole.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::authority::{Assumption, require};
use super::parameters::{EXTERNAL_ID, Limits, NAME, Parameters};
use super::{DEFAULT_DURATION, Outcome, credentials};
use crate::arn::Arn;
use crate::refusal::{Refusal, Service};
use crate::session::{Caller, Traits};
use crate::state::State;
use crate::world::{Role, World};

/// The longest session of a role that was taken on from another role.
const LONGEST_CHAINED: Duration = Duration::from_secs(3600);

const TAG_KEY: Limits = Limits { length: 1..=128, characters: " .:/=+-@" };
const TAG_VALUE: Limits = Limits { length: 0..=256, characters: " .:/=+-@" };
const MOST_TAGS: usize = 50;

/// The request, within the limits of STS.
pub(crate) struct AssumeRole {
    role_arn: String,
    session_name: String,
    external_id: Option<String>,
    duration: Option<Duration>,
    asked: Assumption,
}

impl AssumeRole {
    pub(super) fn read(parameters: &mut Parameters) -> Result<Self, Refusal> {
        let tags = parameters.members("Tags", [".Key", ".Value"])?;
        let transitive = parameters.members("TransitiveTagKeys", [""])?;
        let asked = Assumption {
            tags: read_tags(tags)?,
            transitive: transitive.into_iter().map(|[key]| key).collect(),
            source_identity: parameters.text("SourceIdentity", &NAME)?,
        };
        Ok(Self {
            role_arn: parameters.role_arn()?,
            session_name: parameters.session_name()?,
            external_id: parameters.text("ExternalId", &EXTERNAL_ID)?,
            duration: parameters.duration()?,
            asked,
        })
    }

    pub(super) fn perform(&self, state: &mut State, caller: &Caller, now: Timestamp) -> Result<Outcome, Refusal> {
        let assumption = self.with_inherited(caller)?;
        let role = self.authorize(&state.world, caller, &assumption)?;
        let length = self.session_length(caller, role)?;
        let Assumption { tags, transitive, source_identity } = assumption;
        let traits = Traits { tags, transitive, source_identity, ..Traits::default() };
        let assumed = Caller::session(role, &self.session_name, traits);
        let session = state.open_session(assumed, now, length);
        let mut result = credentials(session).to_vec();
        result.extend(session.caller.traits().and_then(super::source_identity));
        Ok(Outcome { operation: "AssumeRole", result })
    }

    /// What is asked for, and what the caller's own session hands on whether it wants to or not.
    fn with_inherited(&self, caller: &Caller) -> Result<Assumption, Refusal> {
        let mut assumption = self.asked.clone();
        let Some(traits) = caller.traits() else { return Ok(assumption) };
        for key in &traits.transitive {
            if assumption.tags.contains_key(key) {
                let message = "One of the specified transitive tag keys can't be set because it conflicts with a transitive \
                               tag key from the calling session.";
                return Err(Refusal::new(400, "InvalidParameterValue", message));
            }
            assumption.tags.extend(traits.tags.get(key).map(|value| (key.clone(), value.clone())));
        }
        assumption.transitive.extend(traits.transitive.iter().cloned());
        match (&traits.source_identity, &assumption.source_identity) {
            (Some(inherited), Some(asked)) if inherited != asked => {
                let message = "The source identity of a session cannot be changed by role chaining";
                Err(Refusal::denied(Service::Sts, message))
            }
            (inherited, _) => {
                assumption.source_identity = inherited.clone().or(assumption.source_identity);
                Ok(assumption)
            }
        }
    }

    /// Answers alike for a role that is not there and for one that may not be taken on.
    fn authorize<'a>(&self, world: &'a World, caller: &Caller, assumption: &Assumption) -> Result<&'a Role, Refusal> {
        if Arn::of_iam(&self.role_arn, "role").is_none() {
            return Err(Refusal::validation(format!("{} is invalid", self.role_arn)));
        }
        let role = world.role(&self.role_arn).ok_or_else(|| {
            let (who, role) = (&caller.arn, &self.role_arn);
            let message = format!("User: {who} is not authorized to perform: sts:AssumeRole on resource: {role}");
            Refusal::denied(Service::Sts, message)
        })?;
        let mut context = assumption.context().with("sts:RoleSessionName", &self.session_name);
        if let Some(external_id) = &self.external_id {
            context = context.with("sts:ExternalId", external_id);
        }
        for action in assumption.actions("sts:AssumeRole") {
            require(world, caller, role, action, &context)?;
        }
        Ok(role)
    }

    fn session_length(&self, caller: &Caller, role: &Role) -> Result<Duration, Refusal> {
        let length = self.duration.unwrap_or(DEFAULT_DURATION);
        if caller.traits().is_some() && length > LONGEST_CHAINED {
            let message =
                "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining";
            return Err(Refusal::validation(message));
        }
        within(length, role)
    }
}

/// Not longer than the role allows.
pub(super) fn within(length: Duration, role: &Role) -> Result<Duration, Refusal> {
    if length > role.max_session() {
        let message = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.";
        return Err(Refusal::validation(message));
    }
    Ok(length)
}

fn read_tags(members: Vec<[String; 2]>) -> Result<BTreeMap<String, String>, Refusal> {
    if members.len() > MOST_TAGS {
        return Err(Refusal::validation(format!("at most {MOST_TAGS} session tags")));
    }
    let mut tags = BTreeMap::new();
    for [key, value] in members {
        let (key, value) = (TAG_KEY.check("Tags", key)?, TAG_VALUE.check("Tags", value)?);
        if tags.keys().any(|known: &String| known.eq_ignore_ascii_case(&key)) {
            let message = "Duplicate tag keys found. Please note that Tag keys are case insensitive.";
            return Err(Refusal::new(400, "InvalidParameterValue", message));
        }
        tags.insert(key, value);
    }
    Ok(tags)
}
