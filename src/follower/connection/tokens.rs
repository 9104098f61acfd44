//! Bearer tokens of EKS and of aws-iam-authenticator, made in this process; by the plugin that a kubeconfig names where the
//! AWS files say something that only AWS's own tools understand.

use crate::{
    aws::{error::AwsError, principal::Principal},
    cluster::{
        exec::Plugin,
        login::{LoginError, Token, TokenSource},
    },
};
use futures::{FutureExt, future::BoxFuture};
use std::sync::atomic::{AtomicBool, Ordering};

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

    fn refused(&self) -> BoxFuture<'_, ()> {
        self.principal.doubt().boxed()
    }

    fn fingerprint(&self) -> Vec<u8> {
        let mut features = self.principal.features();
        features.extend_from_slice(self.cluster.as_bytes());
        features
    }
}

/// Tokens for a context of a kubeconfig, which says how others would make them.
pub(super) struct ContextTokens {
    context: String,
    tokens: ClusterTokens,
    plugin: Option<Plugin>,
    told: AtomicBool,
}

impl ContextTokens {
    pub(super) fn new(context: String, tokens: ClusterTokens, plugin: Option<Plugin>) -> Self {
        Self { context, tokens, plugin, told: AtomicBool::new(false) }
    }

    /// As the plugin makes them.
    async fn by(&self, plugin: &Plugin, why: &AwsError) -> Result<Token, LoginError> {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(context = self.context, %why, "the token is made by the plugin of the kubeconfig");
        }
        let output = plugin.run().await?;
        let nothing = || LoginError::Source { reason: "the plugin printed no token".to_owned() };
        Ok(Token { value: output.token.ok_or_else(nothing)?, lifetime: output.lifetime })
    }
}

impl TokenSource for ContextTokens {
    fn token(&self) -> BoxFuture<'_, Result<Token, LoginError>> {
        async move {
            match (self.tokens.principal.token(&self.tokens.cluster).await, &self.plugin) {
                (Ok((token, lifetime)), _) => Ok(Token { value: token.value, lifetime: Some(lifetime) }),
                // A profile that signs a person in, for example. AWS's own refusals would be the plugin's, too.
                (Err(why @ AwsError::Nobody(_)), Some(plugin)) => {
                    self.by(plugin, &why).await.map_err(|_plugin| refused(&why))
                }
                (Err(error), _) => Err(refused(&error)),
            }
        }
        .boxed()
    }

    fn refused(&self) -> BoxFuture<'_, ()> {
        self.tokens.refused()
    }

    fn fingerprint(&self) -> Vec<u8> {
        self.tokens.fingerprint()
    }
}

/// What AWS refused, as a reason for which there is no login.
pub(super) fn refused(error: &AwsError) -> LoginError {
    LoginError::Source { reason: error.to_string() }
}
