//! What was asked of the stand-ins.

use jiff::Timestamp;

use crate::refusal::Service;

/// One request, as it was taken and answered. Holds no credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which service.
    pub service: Service,
    /// `AssumeRole`; empty if it was not understood.
    pub operation: String,
    /// The region of the host or of the signature; empty if neither says one.
    pub region: String,
    /// The ARN of whoever signed it; `None` if nobody did, or not well, or a fault came first.
    pub principal: Option<String>,
    /// The ARN of a role, or the name of a cluster.
    pub target: Option<String>,
    /// `OK`, or the code of the error.
    pub code: String,
    /// When, by the clock of the stand-in.
    pub time: Timestamp,
}
