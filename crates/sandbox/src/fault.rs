//! Trouble on order.

use std::time::Duration;

use crate::refusal::{Refusal, Service};

/// What is to go wrong with an operation.
#[derive(Clone, Debug)]
pub struct Fault {
    refusal: Option<Refusal>,
    delay: Duration,
    /// `None`: until it is cleared.
    times: Option<u32>,
    target: Option<String>,
}

/// A fault in force.
pub(crate) struct Faults(Vec<(Service, String, Fault)>);

/// What comes of faults for one request.
#[derive(Default)]
pub(crate) struct Strike {
    pub(crate) refusal: Option<Refusal>,
    pub(crate) delay: Duration,
}

impl Fault {
    /// An error instead of the answer, until it is cleared. Throttling by STS: `(400, "Throttling", "Rate exceeded")`.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let refusal = Some(Refusal::new(status, code, message));
        Self { refusal, delay: Duration::ZERO, times: None, target: None }
    }

    /// The right answer, late.
    pub fn slow(delay: Duration) -> Self {
        Self { refusal: None, delay, times: None, target: None }
    }

    /// Only that often.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Only for that role (ARN) or cluster (name).
    #[must_use]
    pub fn on(self, target: &str) -> Self {
        Self { target: Some(target.to_owned()), ..self }
    }
}

impl Faults {
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, service: Service, operation: &str, fault: Fault) {
        self.0.push((service, operation.to_owned(), fault));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What happens to this request: the delays add up, the first error counts. Used-up faults are gone.
    pub(crate) fn strike(&mut self, service: Service, operation: &str, target: Option<&str>) -> Strike {
        let mut strike = Strike::default();
        for (its_service, its_operation, fault) in &mut self.0 {
            let fits = *its_service == service
                && its_operation == operation
                && (fault.target.is_none() || fault.target.as_deref() == target);
            if !fits || (strike.refusal.is_some() && fault.refusal.is_some()) {
                continue;
            }
            strike.delay += fault.delay;
            strike.refusal = strike.refusal.or_else(|| fault.refusal.clone());
            fault.times = fault.times.map(|times| times.saturating_sub(1));
        }
        self.0.retain(|(_, _, fault)| fault.times != Some(0));
        strike
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_what_they_are_meant_for_as_often_as_they_should() {
        let mut faults = Faults::none();
        let code = |strike: Strike| strike.refusal.map(|refusal| refusal.code);
        faults.add(Service::Sts, "AssumeRole", Fault::error(400, "Throttling", "Rate exceeded").times(2).on("a"));
        faults.add(Service::Sts, "AssumeRole", Fault::error(500, "InternalFailure", "no").times(1));
        faults.add(Service::Sts, "AssumeRole", Fault::slow(Duration::from_secs(1)));
        assert_eq!(code(faults.strike(Service::Eks, "AssumeRole", Some("a"))), None);
        assert_eq!(code(faults.strike(Service::Sts, "GetCallerIdentity", Some("a"))), None);
        assert_eq!(code(faults.strike(Service::Sts, "AssumeRole", Some("a"))).as_deref(), Some("Throttling"));
        assert_eq!(code(faults.strike(Service::Sts, "AssumeRole", Some("b"))).as_deref(), Some("InternalFailure"));
        let second = faults.strike(Service::Sts, "AssumeRole", Some("a"));
        assert_eq!(second.delay, Duration::from_secs(1));
        assert_eq!(code(second).as_deref(), Some("Throttling"));
        assert_eq!(code(faults.strike(Service::Sts, "AssumeRole", Some("a"))), None);
        faults.clear();
        assert_eq!(faults.strike(Service::Sts, "AssumeRole", Some("a")).delay, Duration::ZERO);
    }
}
