//! How AWS says no.

use crate::sigv4::Flaw;

/// An error document: the status, and what tells errors apart, which is the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// `AccessDenied`.
    pub code: String,
    /// For people.
    pub message: String,
}

/// Which of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// The Security Token Service.
    Sts,
    /// The Elastic Kubernetes Service.
    Eks,
    /// The agent of EKS Pod Identity on a node.
    PodIdentity,
}

impl Service {
    /// Its name in credential scopes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sts => "sts",
            Self::Eks => "eks",
            Self::PodIdentity => "pods.eks",
        }
    }

    /// The services spell the same error in their own ways: `one` where the query protocol is spoken, `other` where JSON is.
    fn spell(self, one: &str, other: &str) -> String {
        match self {
            Self::Sts => one.to_owned(),
            Self::Eks | Self::PodIdentity => other.to_owned(),
        }
    }
}

impl Refusal {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), message: message.into() }
    }

    /// A parameter of STS that is missing, too long, or of the wrong form.
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new(400, "ValidationError", message)
    }

    /// Somebody may not do something.
    pub(crate) fn denied(service: Service, message: impl Into<String>) -> Self {
        Self::new(403, &service.spell("AccessDenied", "AccessDeniedException"), message)
    }

    /// A signature is not good.
    pub(crate) fn flaw(service: Service, flaw: &Flaw) -> Self {
        let (status, code) = match flaw {
            Flaw::Absent => (403, service.spell("MissingAuthenticationToken", "MissingAuthenticationTokenException")),
            Flaw::Incomplete(_) => (400, service.spell("IncompleteSignature", "IncompleteSignatureException")),
            Flaw::Expired { .. } | Flaw::NotYet { .. } | Flaw::Scope(_) | Flaw::Mismatch => {
                (403, service.spell("SignatureDoesNotMatch", "InvalidSignatureException"))
            }
        };
        Self { status, code, message: flaw.to_string() }
    }

    /// Credentials that nobody handed out, or whose owner is gone.
    pub(crate) fn unknown_credentials(service: Service) -> Self {
        let code = service.spell("InvalidClientTokenId", "UnrecognizedClientException");
        Self::new(403, &code, "The security token included in the request is invalid.")
    }

    /// Credentials whose time is over.
    pub(crate) fn expired_credentials(service: Service) -> Self {
        let code = service.spell("ExpiredToken", "ExpiredTokenException");
        Self::new(403, &code, "The security token included in the request is expired")
    }
}
