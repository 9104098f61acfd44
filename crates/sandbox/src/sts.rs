//! The Security Token Service: the query protocol, its checks, and its answers.

mod answer;
mod assume_role;
mod authority;
mod parameters;
mod web_identity;

use std::time::Duration;

use jiff::Timestamp;

use crate::refusal::Refusal;
use crate::request::Request;
use crate::session::{Caller, Session, Traits};
use crate::state::State;

use answer::Node;
use assume_role::AssumeRole;
use parameters::Parameters;
use web_identity::WebIdentity;

pub(crate) use answer::{refuse, respond};
pub(crate) use authority::{Assumption, is_trusted, require_permission};

const VERSION: &str = "2011-06-15";

/// What a session lasts if nothing is asked for.
const DEFAULT_DURATION: Duration = Duration::from_secs(3600);

/// A request that was understood; who sent it is not yet known.
pub(crate) enum Operation {
    GetCallerIdentity,
    AssumeRole(AssumeRole),
    AssumeRoleWithWebIdentity(WebIdentity),
}

/// What goes back: the name of the operation and its result.
pub(crate) struct Outcome {
    operation: &'static str,
    result: Vec<Node>,
}

impl Operation {
    /// The name that a request gives, understood or not.
    pub(crate) fn name_in(request: &Request) -> Option<String> {
        Parameters::read(request).ok()?.take("Action")
    }

    /// The role that a request is about.
    pub(crate) fn target_in(request: &Request) -> Option<String> {
        Parameters::read(request).ok()?.take("RoleArn")
    }

    /// Reads a request, and refuses all in it that it does not know.
    pub(crate) fn read(request: &Request) -> Result<Self, Refusal> {
        let mut parameters = Parameters::read(request)?;
        let (action, version) = (parameters.require("Action")?, parameters.require("Version")?);
        let operation = match action.as_str() {
            _ if version != VERSION => Err(unknown(&action, &version)),
            "GetCallerIdentity" => Ok(Self::GetCallerIdentity),
            "AssumeRole" => AssumeRole::read(&mut parameters).map(Self::AssumeRole),
            "AssumeRoleWithWebIdentity" => WebIdentity::read(&mut parameters).map(Self::AssumeRoleWithWebIdentity),
            _ => Err(unknown(&action, &version)),
        }?;
        parameters.finish()?;
        Ok(operation)
    }

    /// Whether a signature is asked for: a web-identity token stands for itself.
    pub(crate) fn is_signed(&self) -> bool {
        !matches!(self, Self::AssumeRoleWithWebIdentity(_))
    }

    /// Does it. `caller` is there for what is signed.
    pub(crate) fn perform(
        &self,
        state: &mut State,
        caller: Option<&Caller>,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        match (self, caller) {
            (Self::GetCallerIdentity, Some(caller)) => Ok(identity(caller)),
            (Self::AssumeRole(request), Some(caller)) => request.perform(state, caller, now),
            (Self::AssumeRoleWithWebIdentity(request), _) => request.perform(state, now),
            (_, None) => Err(Refusal::new(500, "InternalFailure", "a signed operation without a caller")),
        }
    }
}

fn identity(caller: &Caller) -> Outcome {
    let result = vec![
        Node::text("Arn", &caller.arn),
        Node::text("UserId", &caller.user_id),
        Node::text("Account", &caller.account),
    ];
    Outcome { operation: "GetCallerIdentity", result }
}

/// The parts of an answer that tell of new credentials.
fn credentials(session: &Session) -> [Node; 2] {
    let credentials = vec![
        Node::text("AccessKeyId", &session.access_key),
        Node::text("SecretAccessKey", &session.secret_key),
        Node::text("SessionToken", &session.token),
        Node::text("Expiration", &session.expires.to_string()),
    ];
    let user = vec![Node::text("AssumedRoleId", &session.caller.user_id), Node::text("Arn", &session.caller.arn)];
    [Node::tree("Credentials", credentials), Node::tree("AssumedRoleUser", user)]
}

fn source_identity(traits: &Traits) -> Option<Node> {
    traits.source_identity.as_ref().map(|identity| Node::text("SourceIdentity", identity))
}

fn unknown(action: &str, version: &str) -> Refusal {
    Refusal::new(400, "InvalidAction", format!("Could not find operation {action} for version {version}"))
}
