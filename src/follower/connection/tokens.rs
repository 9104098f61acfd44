//! Bearer tokens of EKS and of aws-iam-authenticator, made in this process.

use crate::{
    aws::{
        error::{AwsError, Remedy},
        principal::Principal,
    },
    cluster::{
        error::Class,
        login::{LoginError, Token, TokenSource},
    },
};
use futures::{FutureExt, future::BoxFuture};

/// Tokens for one cluster.
pub struct ClusterTokens {
    /// Who signs them.
    pub principal: Principal,
    /// What they name: a cluster's name or id.
    pub cluster: String,
}

impl TokenSource for ClusterTokens {
    fn token(&self) -> BoxFuture<'_, Result<Token, LoginError>> {
        async move {
            let (token, lifetime) = self.principal.token(&self.cluster).await.map_err(|error| refused(&error))?;
            Ok(Token { value: token.value, lifetime: Some(lifetime) })
        }
        .boxed()
    }

    fn fingerprint(&self) -> Vec<u8> {
        let mut features = self.principal.features();
        features.extend_from_slice(self.cluster.as_bytes());
        features
    }
}

/// What AWS refused, as a reason for which there is no login.
pub(super) fn refused(error: &AwsError) -> LoginError {
    let class = match error.remedy() {
        Remedy::Retry | Remedy::RenewBase => Class::Transient,
        Remedy::SlowDown => Class::Throttled(error.pause()),
        Remedy::Change => Class::Denied,
    };
    LoginError::Source { reason: error.to_string(), class }
}
