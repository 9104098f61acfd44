//! AssumeRoleWithWebIdentity.

use std::time::Duration;

use jiff::Timestamp;

use super::answer::Node;
use super::assume_role::within;
use super::authority::is_trusted;
use super::parameters::Parameters;
use super::{DEFAULT_DURATION, Outcome, credentials};
use crate::arn::Arn;
use crate::policy::{Asker, Context};
use crate::refusal::{Refusal, Service};
use crate::session::{Caller, Traits};
use crate::state::State;
use crate::world::provider::Claims;
use crate::world::{Role, World};

/// Longest and shortest token that STS looks at.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 4..=20_000;

/// The request, within the limits of STS.
pub(crate) struct WebIdentity {
    role_arn: String,
    session_name: String,
    token: String,
    duration: Option<Duration>,
}

/// What a token that was checked says.
struct Identity {
    provider_arn: String,
    subject: String,
    audience: String,
    context: Context,
}

impl WebIdentity {
    pub(super) fn read(parameters: &mut Parameters) -> Result<Self, Refusal> {
        let token = parameters.require("WebIdentityToken")?;
        if !TOKEN_LENGTH.contains(&token.len()) {
            let message = "1 validation error detected: Value at 'webIdentityToken' failed to satisfy constraint: \
                           Member must have length between 4 and 20000";
            return Err(Refusal::validation(message));
        }
        Ok(Self {
            role_arn: parameters.role_arn()?,
            session_name: parameters.session_name()?,
            token,
            duration: parameters.duration()?,
        })
    }

    pub(super) fn perform(&self, state: &mut State, now: Timestamp) -> Result<Outcome, Refusal> {
        let arn = Arn::of_iam(&self.role_arn, "role").ok_or_else(|| Refusal::validation("Request ARN is invalid"))?;
        let identity = self.identify(&state.world, &arn, now)?;
        let role = self.authorize(&state.world, &identity)?;
        let length = within(self.duration.unwrap_or(DEFAULT_DURATION), role)?;
        let assumed = Caller::session(role, &self.session_name, Traits::default());
        let session = state.open_session(assumed, now, length);
        let mut result = credentials(session).to_vec();
        result.extend([
            Node::text("SubjectFromWebIdentityToken", &identity.subject),
            Node::text("Audience", &identity.audience),
            Node::text("Provider", &identity.provider_arn),
        ]);
        Ok(Outcome { operation: "AssumeRoleWithWebIdentity", result })
    }

    /// Believes nothing in the token before a provider of the role's account has proved it.
    fn identify(&self, world: &World, role: &Arn, now: Timestamp) -> Result<Identity, Refusal> {
        let claims = Claims::of(&self.token).ok_or_else(|| {
            invalid("The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
        })?;
        let (issuer, subject) = (claims.text("iss"), claims.text("sub"));
        let provider = world
            .provider(&role.account, issuer)
            .ok_or_else(|| invalid(&format!("No OpenIDConnect provider found in your account for {issuer}")))?;
        if !provider.has_signed(&self.token) {
            return Err(invalid(
                "Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity documentation for requirements",
            ));
        }
        check_time(&claims, now)?;
        let audience = provider.audience();
        if !claims.has_audience(audience) {
            return Err(invalid("Incorrect token audience"));
        }
        let host = provider.host();
        let context = Context::default()
            .with(&format!("{host}:sub"), subject)
            .with(&format!("{host}:aud"), audience)
            .with("sts:RoleSessionName", &self.session_name);
        let provider_arn = format!("arn:{}:iam::{}:oidc-provider/{host}", role.partition, role.account);
        Ok(Identity { provider_arn, subject: subject.to_owned(), audience: audience.to_owned(), context })
    }

    fn authorize<'a>(&self, world: &'a World, identity: &Identity) -> Result<&'a Role, Refusal> {
        let asker = Asker::Federated(identity.provider_arn.clone());
        let role = world.role(&self.role_arn);
        role.filter(|role| is_trusted(role, &asker, "sts:AssumeRoleWithWebIdentity", &identity.context))
            .ok_or_else(|| Refusal::denied(Service::Sts, "Not authorized to perform sts:AssumeRoleWithWebIdentity"))
    }
}

fn check_time(claims: &Claims, now: Timestamp) -> Result<(), Refusal> {
    let expires = claims.seconds("exp").ok_or_else(|| invalid("Missing a required claim: exp"))?;
    if now.as_second() >= expires {
        let message = format!(
            "Token expired: current date/time {} must be before the expiration date/time {expires}",
            now.as_second()
        );
        return Err(Refusal::new(400, "ExpiredTokenException", message));
    }
    match claims.seconds("nbf").is_some_and(|not_before| now.as_second() < not_before) {
        true => Err(invalid("Token is not yet valid")),
        false => Ok(()),
    }
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(400, "InvalidIdentityToken", message)
}
