//! What AWS refused, told apart by its code (STS throttles with status 400), and what to change.

use super::{host::NoHost, settings::NobodyError, token::TokenError};
use std::{sync::Arc, time::Duration};

/// What can be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Ask again soon.
    Retry,
    /// Ask again later: too many calls.
    SlowDown,
    /// Get the credentials that signed the call anew, once.
    RenewBase,
    /// Somebody must change something.
    Change,
}

/// A call to AWS that failed, or a check of ours before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AwsError {
    /// Nothing says who we are.
    #[error(transparent)]
    Nobody(#[from] NobodyError),
    /// A region without STS.
    #[error(transparent)]
    Host(#[from] NoHost),
    /// No token could be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// AWS refused a call.
    #[error("{operation} of {subject} as {caller}: {code}: {}", advice(operation, code))]
    Refused {
        /// For example `sts:AssumeRole`.
        operation: &'static str,
        /// The role's or the cluster's name.
        subject: String,
        /// Who asked.
        caller: String,
        /// AWS's code.
        code: Arc<str>,
    },
    /// A call did not get through.
    #[error("{operation} of {subject} as {caller}: {why}")]
    Unreachable {
        /// For example `sts:AssumeRole`.
        operation: &'static str,
        /// The role's or the cluster's name.
        subject: String,
        /// Who asked.
        caller: String,
        /// What failed, without a word of any answer.
        why: &'static str,
    },
    /// The first credentials are not to be had.
    #[error("{root}: {why}")]
    Root {
        /// Which.
        root: String,
        /// What is wrong and what to look at.
        why: &'static str,
    },
    /// A cluster cannot be used as it is.
    #[error("cluster {cluster} in {region}: {why}")]
    Cluster {
        /// The cluster.
        cluster: String,
        /// Its region.
        region: String,
        /// Why, and what to change.
        why: String,
        /// Whether it passes by itself.
        remedy: Remedy,
    },
}

impl AwsError {
    /// What can be done about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Refused { code, .. } => remedy(code),
            Self::Unreachable { .. } | Self::Root { .. } => Remedy::Retry,
            Self::Cluster { remedy, .. } => *remedy,
            Self::Nobody(_) | Self::Host(_) | Self::Token(_) => Remedy::Change,
        }
    }

    /// What to change, where that is not all that the error says.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Refused { operation, code, .. } => Some(advice(operation, code)),
            _ => None,
        }
    }

    /// How long not to ask again, so that thousands of followers of one role are one call.
    pub fn pause(&self) -> Duration {
        match self.remedy() {
            Remedy::Retry | Remedy::RenewBase => Duration::from_secs(5),
            Remedy::SlowDown => Duration::from_secs(20),
            Remedy::Change => Duration::from_secs(60),
        }
    }
}

fn remedy(code: &str) -> Remedy {
    match code {
        "Throttling" | "ThrottlingException" | "TooManyRequestsException" | "RequestLimitExceeded" => Remedy::SlowDown,
        "ExpiredToken" | "ExpiredTokenException" | "InvalidClientTokenId" | "UnrecognizedClientException" => {
            Remedy::RenewBase
        }
        "IDPCommunicationError"
        | "InternalFailure"
        | "InternalError"
        | "ServerException"
        | "ServiceUnavailable"
        | "ServiceUnavailableException"
        | "RequestTimeout" => Remedy::Retry,
        // kubelet renews it.
        "ExpiredIdentityToken" | "ExpiredTokenFile" => Remedy::Retry,
        _ => Remedy::Change,
    }
}

/// What to change, for people who have never seen the code.
fn advice(operation: &str, code: &str) -> &'static str {
    match (operation, code) {
        ("sts:AssumeRole", "AccessDenied") => {
            "the role's trust policy must allow the caller sts:AssumeRole (and sts:TagSession after a Pod Identity) with this external id, and the caller's own policy must allow it, too"
        }
        ("sts:AssumeRoleWithWebIdentity", "AccessDenied") => {
            "the role's trust policy must name the cluster's OIDC provider, and this namespace and service account in `sub`"
        }
        ("sts:AssumeRoleWithWebIdentity", "InvalidIdentityToken") => {
            "the web identity token is not one that the account's IAM OIDC provider takes: check the provider's URL and audience"
        }
        (_, "ExpiredTokenException" | "ExpiredToken" | "ExpiredIdentityToken") => {
            "the credentials or the web identity token that it was asked with have expired: is the token file still renewed?"
        }
        ("eks:DescribeCluster", "AccessDeniedException" | "AccessDenied") => {
            "the role's policy must allow eks:DescribeCluster on this cluster; or give endpoint and certificateAuthorityData, and it is not asked"
        }
        ("eks:DescribeCluster", "ResourceNotFoundException") => {
            "there is no such cluster in this account and region: check clusterName, region and roleARN"
        }
        (_, "RegionDisabledException") => "STS is not activated in this region for the account (IAM, account settings)",
        (_, "InvalidClientTokenId" | "UnrecognizedClientException") => {
            "AWS does not know the access key, or the region is not enabled for its account"
        }
        (_, "SignatureDoesNotMatch") => "the secret key is wrong, or the clock is far off",
        (_, "PackedPolicyTooLarge") => "session policies and tags are too large together",
        (_, "ValidationError") => {
            "a parameter is not as AWS wants it: a chained role lasts one hour at most; check role ARN, external id and session name"
        }
        _ if remedy(code) == Remedy::SlowDown => "AWS asks for fewer calls; asked again later",
        _ if remedy(code) == Remedy::Retry => "AWS failed; asked again soon",
        _ => "see the AWS documentation of this code",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(operation: &'static str, code: &str) -> AwsError {
        let (subject, caller) = ("arn:aws:iam::222222222222:role/towline".to_owned(), "the pod identity".to_owned());
        AwsError::Refused { operation, subject, caller, code: code.into() }
    }

    #[test]
    fn throttling_is_told_by_its_code() {
        assert_eq!(refused("sts:AssumeRole", "Throttling").remedy(), Remedy::SlowDown);
        assert_eq!(refused("sts:AssumeRole", "AccessDenied").remedy(), Remedy::Change);
        assert_eq!(refused("sts:AssumeRole", "ExpiredToken").remedy(), Remedy::RenewBase);
        assert_eq!(refused("eks:DescribeCluster", "ServerException").remedy(), Remedy::Retry);
    }

    #[test]
    fn every_refusal_says_who_what_and_what_to_change() {
        let table = [
            ("sts:AssumeRole", "AccessDenied", "trust policy must allow the caller"),
            ("sts:AssumeRoleWithWebIdentity", "AccessDenied", "OIDC provider"),
            ("sts:AssumeRoleWithWebIdentity", "InvalidIdentityToken", "audience"),
            ("sts:AssumeRole", "RegionDisabledException", "not activated"),
            ("sts:AssumeRole", "Throttling", "fewer calls"),
            ("sts:AssumeRole", "ExpiredToken", "expired"),
            ("sts:AssumeRole", "PackedPolicyTooLarge", "too large"),
            ("sts:AssumeRole", "IDPCommunicationError", "asked again soon"),
            ("sts:GetCallerIdentity", "SignatureDoesNotMatch", "clock"),
            ("eks:DescribeCluster", "AccessDeniedException", "eks:DescribeCluster"),
            ("eks:DescribeCluster", "ResourceNotFoundException", "check clusterName"),
            ("eks:DescribeCluster", "TooManyRequestsException", "fewer calls"),
        ];
        for (operation, code, advice) in table {
            let said = refused(operation, code).to_string();
            let begin = format!("{operation} of arn:aws:iam::222222222222:role/towline as the pod identity: {code}: ");
            assert!(said.starts_with(&begin) && said.contains(advice), "{said}");
        }
    }
}
