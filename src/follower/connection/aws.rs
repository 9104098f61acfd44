//! Connections through AWS: what a provider declares, and what `exec` entries of a kubeconfig ask for.

use super::{
    Connection, EksCluster,
    eks::Way,
    tokens::{ClusterTokens, ContextTokens},
};
use crate::{
    api::{
        follower::{self, Method, Server},
        names::FollowerName,
        patterns::Patterns,
    },
    aws::{
        chain::Role,
        exec::{self, GetToken, Meaning},
        principal::{Aws, Principal},
        settings::Settings,
    },
    cluster::{
        endpoint::{Endpoint, Parts},
        exec::Plugin,
        kubeconfig,
        login::Login,
    },
};
use kube::config::{ExecConfig, Kubeconfig};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// Makes connections through AWS. Cheap to clone.
#[derive(Clone)]
pub struct AwsConnections {
    aws: Aws,
    settings: Settings,
    /// `--allowed-role-arns`.
    allowed: Option<Arc<Patterns>>,
    /// `--aws-source-identity`.
    source_identity: Option<String>,
    /// Contexts of which people were told that their plugin is run.
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl AwsConnections {
    /// `settings` are those of this process.
    pub fn new(aws: Aws, settings: Settings) -> Self {
        Self { aws, settings, allowed: None, source_identity: None, told: Arc::default() }
    }

    /// With just these roles; `None`: with all.
    pub fn allowing(self, allowed: Option<Arc<Patterns>>) -> Self {
        Self { allowed, ..self }
    }

    /// With this source identity in the roles that providers declare.
    pub fn with_source_identity(self, source_identity: Option<String>) -> Self {
        Self { source_identity, ..self }
    }

    /// What a provider declares.
    pub fn declared(&self, name: &FollowerName, declared: &follower::Connection) -> Result<Connection, String> {
        let way = Way {
            proxy_url: declared.proxy_url.as_ref().map(|proxy| proxy.reveal().to_owned()),
            tls_server_name: declared.tls_server_name.clone(),
        };
        match &declared.method {
            Method::Eks(eks) => {
                let principal = self.principal(eks.role.as_ref(), &eks.region)?;
                match &eks.server {
                    Some(server) => direct(name, server, principal, &eks.cluster_name, way),
                    None => {
                        let (region, cluster) = (eks.region.clone(), eks.cluster_name.clone());
                        let cluster = EksCluster::new(name.to_string(), principal, region, cluster, way);
                        Ok(Connection::Eks(Arc::new(cluster)))
                    }
                }
            }
            Method::AwsIamAuthenticator(authenticator) => {
                let principal = self.principal(authenticator.role.as_ref(), &authenticator.region)?;
                direct(name, &authenticator.server, principal, &authenticator.cluster_id, way)
            }
        }
    }

    /// A context of a kubeconfig: as it says, but a token that AWS's tools would make is made in this process.
    pub fn context(&self, kubeconfig: &Kubeconfig, name: &str) -> Result<Connection, String> {
        let said = |error: kubeconfig::EndpointError| error.to_string();
        let Some((exec, asked)) = kubeconfig::exec(kubeconfig, name).and_then(|exec| self.understood(name, exec))
        else {
            return Endpoint::from_context(kubeconfig, name).map(Connection::from).map_err(said);
        };
        let bare = Endpoint::from_context(&kubeconfig::without_exec(kubeconfig, name), name).map_err(said)?;
        let tokens = self.tokens(exec, asked);
        // Its own apiVersion may be one that nobody speaks any more: only a fallback would need it.
        let plugin: Option<Plugin> = kubeconfig::plugin(kubeconfig, name).ok().flatten();
        let login = Login::source(Arc::new(ContextTokens::new(name.to_owned(), tokens, plugin)));
        Ok(bare.with_login(login).into())
    }

    fn understood<'a>(&self, context: &str, exec: &'a ExecConfig) -> Option<(&'a ExecConfig, GetToken)> {
        let (command, args) = (exec.command.as_deref()?, exec.args.as_deref().unwrap_or_default());
        let variables = exec.env.iter().flatten().filter_map(|pair| pair.get("name").map(String::as_str));
        match exec::understand(command, args, variables) {
            Meaning::GetToken(asked) => return Some((exec, asked)),
            Meaning::Another => {}
            Meaning::Beyond => {
                if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(context.to_owned()) {
                    tracing::info!(
                        context,
                        command,
                        "its exec entry has an argument or a variable that Towline does not know: the plugin is run"
                    );
                }
            }
        }
        None
    }

    /// Who signs the tokens of what a provider declares.
    pub fn signer(&self, declared: &follower::Connection) -> Result<Principal, String> {
        match &declared.method {
            Method::Eks(eks) => self.principal(eks.role.as_ref(), &eks.region),
            Method::AwsIamAuthenticator(authenticator) => {
                self.principal(authenticator.role.as_ref(), &authenticator.region)
            }
        }
    }

    /// Who signs the tokens of a context, if this process does.
    pub fn context_signer(&self, kubeconfig: &Kubeconfig, name: &str) -> Option<Principal> {
        let (exec, asked) = kubeconfig::exec(kubeconfig, name).and_then(|exec| self.understood(name, exec))?;
        Some(self.tokens(exec, asked).principal)
    }

    fn tokens(&self, exec: &ExecConfig, asked: GetToken) -> ClusterTokens {
        let pair = |map: &std::collections::HashMap<String, String>| {
            Some((map.get("name")?.clone(), map.get("value")?.clone()))
        };
        let settings = self.settings.with(exec.env.iter().flatten().filter_map(pair));
        let mut principal = self.aws.principal(settings, asked.region).or_in(asked.fallback);
        if let Some(profile) = asked.profile {
            principal = principal.with_profile(profile);
        }
        let principal = asked.role.into_iter().fold(principal, Principal::assuming);
        ClusterTokens { principal, cluster: asked.cluster }
    }

    fn principal(&self, role: Option<&follower::Role>, region: &str) -> Result<Principal, String> {
        let principal = self.aws.principal(self.settings.clone(), Some(region.to_owned()));
        let Some(role) = role else { return Ok(principal) };
        if self.allowed.as_ref().is_some_and(|allowed| !allowed.matches(&role.arn)) {
            return Err(format!("roleARN {}: --allowed-role-arns does not allow it", role.arn));
        }
        Ok(principal.assuming(Role {
            external_id: role.external_id.clone(),
            session_name: role.session_name.clone().into(),
            source_identity: self.source_identity.clone(),
            ..Role::new(&*role.arn)
        }))
    }
}

fn direct(
    name: &FollowerName,
    server: &Server,
    principal: Principal,
    cluster: &str,
    way: Way,
) -> Result<Connection, String> {
    let parts = Parts {
        server: server.url.clone(),
        certificate_authority: Some(server.certificate_authority.to_vec()),
        tls_server_name: way.tls_server_name,
        proxy_url: way.proxy_url,
        login: Login::source(Arc::new(ClusterTokens { principal, cluster: cluster.to_owned() })),
        ..Parts::default()
    };
    Endpoint::new(name.as_str(), parts).map(Connection::from).map_err(|error| error.to_string())
}

#[cfg(test)]
impl AwsConnections {
    /// Of somebody whom nothing names.
    pub(crate) fn of_nobody() -> Self {
        struct Deaf;
        impl crate::aws::api::Observer for Deaf {
            fn request(&self, _: &'static str, _: &'static str, _: &str) {}
            fn issued(&self, _: &str, _: std::time::SystemTime) {}
            fn skew(&self, _: i64) {}
        }
        let aws = Aws::new("test".to_owned(), Default::default(), Arc::new(Deaf));
        Self::new(aws, Settings::default())
    }

    /// With just these roles.
    pub(crate) fn allowing_only(self, roles: &str) -> Self {
        self.allowing(Some(Arc::new(Patterns::parse(roles).unwrap())))
    }
}

#[cfg(test)]
mod tests;
