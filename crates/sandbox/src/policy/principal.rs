//! Whom a statement is about, and who asks.

use super::Reach;
use super::document::PolicyError;
use crate::arn::Arn;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Somebody with credentials.
    Identity {
        /// The account.
        account: String,
        /// The ARNs by which a policy may name them: a user's, or a session's and its role's.
        arns: Vec<String>,
    },
    /// Somebody with a token of an identity provider, whose ARN this is.
    Federated(String),
    /// A service of AWS: `pods.eks.amazonaws.com`.
    Service(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Principals(Vec<Principal>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Principal {
    Everybody,
    Account(String),
    Identity(String),
    Federated(String),
    Service(String),
}

impl Principals {
    /// All of `names`, each with its kind: `AWS`, `Federated`, `Service`.
    pub(super) fn read(names: &[(&str, &str)]) -> Result<Self, PolicyError> {
        names.iter().map(|(kind, name)| Principal::read(kind, name)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn reach(&self, asker: &Asker) -> Option<Reach> {
        self.0.iter().filter_map(|principal| principal.reach(asker)).max()
    }
}

impl Principal {
    fn read(kind: &str, name: &str) -> Result<Self, PolicyError> {
        let invalid = || PolicyError::Principal(format!("{kind}: {name}"));
        let owned = name.to_owned();
        match kind {
            "AWS" if name == "*" => Ok(Self::Everybody),
            // A pattern within an ARN is not allowed there.
            _ if name.contains(['*', '?']) => Err(invalid()),
            "AWS" if name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Self::Account(owned)),
            "AWS" => match Arn::parse(name).ok_or_else(invalid)? {
                arn if arn.service == "iam" && arn.resource == "root" => Ok(Self::Account(arn.account)),
                arn if arn.service == "iam" || arn.service == "sts" => Ok(Self::Identity(owned)),
                _ => Err(invalid()),
            },
            "Federated" => Ok(Self::Federated(owned)),
            "Service" => Ok(Self::Service(owned)),
            _ => Err(invalid()),
        }
    }

    fn reach(&self, asker: &Asker) -> Option<Reach> {
        let named = match (self, asker) {
            (Self::Account(account), Asker::Identity { account: theirs, .. }) => {
                return (account == theirs).then_some(Reach::Account);
            }
            (Self::Everybody, Asker::Identity { .. }) => true,
            (Self::Identity(arn), Asker::Identity { arns, .. }) => arns.contains(arn),
            (Self::Federated(arn), Asker::Federated(theirs)) => arn == theirs,
            (Self::Service(service), Asker::Service(theirs)) => service == theirs,
            _ => false,
        };
        named.then_some(Reach::Asker)
    }
}
