//! What AWS says of us, judged. Pure.

use super::step::{Kind, Step};
use crate::aws::{chain::Root, clusters::Facts, error::AwsError};

/// Less is of no consequence to anybody.
const SKEW: u64 = 60;

/// Who we start as.
pub(super) fn base(root: &Root, answer: Result<&str, &AwsError>) -> Step {
    match answer {
        Ok(arn) => Step::passed(Kind::Identity, format!("{arn}, by {root}")),
        Err(error) => refused(Kind::Identity, error),
    }
}

/// Nothing says who we are. The plugin of a kubeconfig may know it still.
pub(super) fn nobody(error: &AwsError, has_plugin: bool) -> Step {
    if has_plugin {
        Step::warned(Kind::Identity, error.to_string(), "the plugin of the kubeconfig is run in place of it")
    } else {
        refused(Kind::Identity, error)
    }
}

/// A role that we assume.
pub(super) fn role(arn: &str, answer: Result<&str, &AwsError>) -> Step {
    let step = match answer {
        Ok(session) => Step::passed(Kind::Role, format!("assumed, {session}")),
        Err(error) => refused(Kind::Role, error),
    };
    step.about(arn)
}

/// What EKS says of a cluster.
pub(super) fn describe(answer: Result<&Facts, &AwsError>) -> Step {
    match answer {
        Ok(facts) => {
            let reach = if facts.public { "public" } else { "private: only from its VPC and what is joined to it" };
            Step::passed(Kind::Describe, format!("{} ({reach})", facts.endpoint))
        }
        Err(error) => refused(Kind::Describe, error),
    }
}

/// Seconds that AWS is ahead of our clock.
pub(super) fn clock(skew: i64) -> Step {
    let (by, way) = (skew.unsigned_abs(), if skew > 0 { "behind" } else { "ahead of" });
    if by < SKEW {
        return Step::passed(Kind::Clock, "as AWS's");
    }
    let fix =
        "set this machine's clock: tokens are signed by AWS's time in any case, but certificates are judged by ours";
    Step::warned(Kind::Clock, format!("{by} s {way} AWS's"), fix)
}

/// The advice stands by itself, and not at the end of the error, too.
fn refused(kind: Kind, error: &AwsError) -> Step {
    let (said, advice) = (error.to_string(), error.advice().unwrap_or_default());
    let found = said.strip_suffix(advice).unwrap_or(&said).trim_end_matches(": ");
    Step::failed(kind, found, advice)
}

#[cfg(test)]
mod tests {
    use super::{super::step::Outcome, *};
    use crate::aws::{error::Remedy, settings::NobodyError};

    const ARN: &str = "arn:aws:iam::222222222222:role/towline";

    fn denied(operation: &'static str, code: &str) -> AwsError {
        let (subject, caller) = (ARN.to_owned(), "the pod identity".to_owned());
        AwsError::Refused { operation, subject, caller, code: code.into() }
    }

    fn said(step: &Step) -> (Outcome, &str, &str, &str) {
        (step.result, &step.subject, &step.found, &step.fix)
    }

    #[test]
    fn who_we_are_and_by_what() {
        let step = base(&Root::Container, Ok("arn:aws:sts::111111111111:assumed-role/towline/x"));
        let found = "arn:aws:sts::111111111111:assumed-role/towline/x, by the pod identity";
        assert_eq!(said(&step), (Outcome::Passed, "", found, ""));
    }

    #[test]
    fn a_refusal_and_what_to_change_stand_apart() {
        let step = role(ARN, Err(&denied("sts:AssumeRole", "AccessDenied")));
        let found = format!("sts:AssumeRole of {ARN} as the pod identity: AccessDenied");
        assert_eq!((step.result, &*step.subject, &*step.found), (Outcome::Failed, ARN, &*found));
        assert!(step.fix.starts_with("the role's trust policy must allow the caller"), "{}", step.fix);
        let step = base(&Root::Container, Err(&denied("sts:GetCallerIdentity", "SignatureDoesNotMatch")));
        assert!(step.fix.contains("clock"), "{}", step.fix);
    }

    #[test]
    fn an_error_without_a_code_says_all_in_one() {
        let error = AwsError::Cluster {
            cluster: "prod".to_owned(),
            region: "eu-west-1".to_owned(),
            why: "it is being deleted: take it out of the followers".to_owned(),
            remedy: Remedy::Change,
        };
        let found = "cluster prod in eu-west-1: it is being deleted: take it out of the followers";
        assert_eq!(said(&describe(Err(&error))), (Outcome::Failed, "", found, ""));
    }

    #[test]
    fn a_private_endpoint_is_told() {
        let facts = |public| Facts {
            endpoint: "https://a.eks".to_owned(),
            certificate_authority: Vec::new(),
            token_id: "prod".to_owned(),
            version: "1.36".to_owned(),
            public,
        };
        assert_eq!(describe(Ok(&facts(true))).found, "https://a.eks (public)");
        let private = "https://a.eks (private: only from its VPC and what is joined to it)";
        assert_eq!(describe(Ok(&facts(false))).found, private);
    }

    #[test]
    fn nobody_is_no_failure_where_a_plugin_may_know_better() {
        let error = AwsError::Nobody(NobodyError::Nobody);
        assert_eq!(nobody(&error, true).result, Outcome::Warned);
        let step = nobody(&error, false);
        assert_eq!((step.result, step.found.contains("--aws-allow-node-role")), (Outcome::Failed, true));
    }

    #[test]
    fn a_clock_that_is_a_minute_off_is_told_with_its_direction() {
        for (skew, outcome, found) in [
            (0, Outcome::Passed, "as AWS's"),
            (-59, Outcome::Passed, "as AWS's"),
            (60, Outcome::Warned, "60 s behind AWS's"),
            (-1200, Outcome::Warned, "1200 s ahead of AWS's"),
        ] {
            let step = clock(skew);
            assert_eq!((step.result, step.found.as_str()), (outcome, found), "{skew}");
        }
    }
}
