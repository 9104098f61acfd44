//! From a request to an answer. Synchronous: the whole of STS and EKS without a socket.

use std::time::Duration;

use jiff::Timestamp;

use crate::answer::Answer;
use crate::arn::partition_of;
use crate::call::Call;
use crate::endpoint::Endpoint;
use crate::refusal::{Refusal, Service};
use crate::request::Request;
use crate::session::Caller;
use crate::sigv4::{Claim, Flaw};
use crate::state::State;
use crate::{eks, sts};

/// An answer, when it may go out, and what the clock said.
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    pub(crate) delay: Duration,
    pub(crate) time: Timestamp,
}

/// A request that was understood.
enum Operation {
    Sts(sts::Operation),
    Eks(eks::Operation),
}

/// Answers one request, and keeps a record of it.
pub(crate) fn answer(state: &mut State, request: &Request) -> Reply {
    let time = state.now();
    let service = service_of(request);
    let mut call = record(service, request, time);
    let strike = state.faults.strike(service, &call.operation, call.target.as_deref());
    let outcome = match strike.refusal {
        Some(refusal) => Err(refusal),
        None => perform(state, request, &mut call),
    };
    let answer = outcome.unwrap_or_else(|refusal| {
        call.code.clone_from(&refusal.code);
        match service {
            Service::Sts => sts::refuse(request, &refusal),
            Service::Eks | Service::PodIdentity => eks::refuse(&refusal),
        }
    });
    state.calls.push(call);
    Reply { answer, delay: strike.delay, time }
}

fn perform(state: &mut State, request: &Request, call: &mut Call) -> Result<Answer, Refusal> {
    check_host(request, call.service)?;
    let operation = match call.service {
        Service::Sts => Operation::Sts(sts::Operation::read(request)?),
        Service::Eks | Service::PodIdentity => Operation::Eks(eks::Operation::read(request)?),
    };
    let caller = match operation.is_signed() {
        true => Some(authenticate(state, request, call)?),
        false => None,
    };
    match (operation, caller) {
        (Operation::Sts(operation), caller) => {
            operation.perform(state, caller.as_ref(), call.time).map(|outcome| sts::respond(request, &outcome))
        }
        (Operation::Eks(operation), Some(caller)) => operation.perform(&state.world, &caller, &call.region),
        (Operation::Eks(_), None) => Err(Refusal::flaw(Service::Eks, &Flaw::Absent)),
    }
}

impl Operation {
    fn is_signed(&self) -> bool {
        match self {
            Self::Sts(operation) => operation.is_signed(),
            Self::Eks(_) => true,
        }
    }
}

/// On loopback both services are on one port, and only one of them has paths.
fn service_of(request: &Request) -> Service {
    match request.path.starts_with("/clusters") {
        true => Service::Eks,
        false => Service::Sts,
    }
}

/// What is known of a request before anything is checked.
fn record(service: Service, request: &Request, time: Timestamp) -> Call {
    let (operation, target) = match service {
        Service::Sts => (sts::Operation::name_in(request), sts::Operation::target_in(request)),
        Service::Eks | Service::PodIdentity => (eks::Operation::name_in(request), eks::Operation::target_in(request)),
    };
    let region = Endpoint::of_host(request.host()).map(|endpoint| endpoint.region);
    let (operation, region) = (operation.unwrap_or_default(), region.unwrap_or_default());
    Call { service, operation, region, principal: None, target, code: "OK".to_owned(), time }
}

/// STS has no clusters, and EKS no roles.
fn check_host(request: &Request, service: Service) -> Result<(), Refusal> {
    match Endpoint::of_host(request.host()) {
        Some(endpoint) if endpoint.service != service => {
            Err(Refusal::new(404, "UnknownOperationException", "The host is that of another service"))
        }
        _ => Ok(()),
    }
}

/// Who signed the request: known credentials, still good, of this partition, and a signature by them over this very request.
fn authenticate(state: &State, request: &Request, call: &mut Call) -> Result<Caller, Refusal> {
    let service = call.service;
    let refuse = |flaw: Flaw| Refusal::flaw(service, &flaw);
    let claim = Claim::read(request).map_err(refuse)?;
    check_scope(&claim, call).map_err(refuse)?;
    call.region.clone_from(&claim.scope.region);
    let (secret, caller) = credentials(state, &claim, call)?;
    claim.check_time(call.time).map_err(refuse)?;
    claim.check_signature(request, &secret).map_err(refuse)?;
    if caller.partition != partition_of(&claim.scope.region) {
        return Err(Refusal::unknown_credentials(service));
    }
    call.principal = Some(caller.arn.clone());
    Ok(caller)
}

/// A signature for one service or region is worth nothing at another's host.
fn check_scope(claim: &Claim, call: &Call) -> Result<(), Flaw> {
    let scope = &claim.scope;
    if scope.service != call.service.name() {
        return Err(Flaw::Scope(format!("correct service: '{}'.", call.service.name())));
    }
    if scope.region.is_empty() || (!call.region.is_empty() && call.region != scope.region) {
        return Err(Flaw::Scope("a valid region.".to_owned()));
    }
    Ok(())
}

/// The secret and the owner of an access key.
fn credentials(state: &State, claim: &Claim, call: &Call) -> Result<(String, Caller), Refusal> {
    let unknown = || Refusal::unknown_credentials(call.service);
    let Some(token) = &claim.session_token else {
        let user = state.world.user(&claim.access_key).ok_or_else(unknown)?;
        return Ok((user.secret_key().to_owned(), Caller::user(user)));
    };
    let session = state.session(&claim.access_key).filter(|session| session.token == *token).ok_or_else(unknown)?;
    match call.time < session.expires {
        true => Ok((session.secret_key.clone(), session.caller.clone())),
        false => Err(Refusal::expired_credentials(call.service)),
    }
}
