//! What stands in the kubeconfig. Pure.
//!
//! Cluster and user are named like the follower, as the context is: entries of two files may have the same names.

use crate::{
    api::{
        follower::{self, Connection, Method},
        names::FollowerName,
    },
    aws::{
        chain::{Role, SessionName},
        exec::{self, Meaning},
        settings::NodeRole,
    },
    cli::args::AwsTools,
    cluster::kubeconfig,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use kube::config::{
    AuthInfo, Cluster, Context, ExecConfig, ExecInteractiveMode, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use zeroize::Zeroizing;

const EXEC_VERSION: &str = "client.authentication.k8s.io/v1";

/// One follower.
pub(super) struct Part {
    name: String,
    cluster: Cluster,
    user: AuthInfo,
    context: Context,
}

/// Where a follower is.
pub(super) struct Place {
    pub(super) server: String,
    /// PEM.
    pub(super) authority: Vec<u8>,
    /// What a token for it names.
    pub(super) token_id: String,
}

/// What `towline token` is told.
#[derive(Default)]
struct Asked<'a> {
    cluster: &'a str,
    region: Option<&'a str>,
    role: Option<&'a Role>,
    profile: Option<&'a str>,
    node_role: NodeRole,
}

/// A follower of the followers file.
pub(super) fn declared(name: &FollowerName, connection: &Connection, place: &Place, node_role: NodeRole) -> Part {
    let (region, role) = match &connection.method {
        Method::Eks(eks) => (&eks.region, &eks.role),
        Method::AwsIamAuthenticator(authenticator) => (&authenticator.region, &authenticator.role),
    };
    let role = role.as_ref().map(|role| Role {
        external_id: role.external_id.clone(),
        session_name: role.session_name.clone().into(),
        ..Role::new(&*role.arn)
    });
    let asked = Asked { cluster: &place.token_id, region: Some(region), role: role.as_ref(), profile: None, node_role };
    let cluster = Cluster {
        server: Some(place.server.clone()),
        certificate_authority_data: Some(STANDARD.encode(&place.authority)),
        proxy_url: connection.proxy_url.as_ref().map(|proxy| proxy.reveal().to_owned()),
        tls_server_name: connection.tls_server_name.clone(),
        ..Cluster::default()
    };
    let user = AuthInfo { exec: Some(plugin(ExecConfig::default(), &asked)), ..AuthInfo::default() };
    Part { name: name.to_string(), cluster, user, context: Context::default() }
}

/// A context, as it is.
pub(super) fn copied(
    config: &Kubeconfig,
    name: &FollowerName,
    aws_tools: AwsTools,
    node_role: NodeRole,
) -> Result<Part, String> {
    let missing = |what: &str| format!("the kubeconfig has no {what} for this context");
    let context = config.contexts.iter().find(|context| context.name == name.as_str());
    let context = context.and_then(|named| named.context.clone()).ok_or_else(|| missing("entry"))?;
    let cluster = config.clusters.iter().find(|cluster| cluster.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.clone()).ok_or_else(|| missing("cluster"))?;
    let user = context.user.as_ref().filter(|user| !user.is_empty());
    let mut user = match user {
        Some(user) => {
            let named = config.auth_infos.iter().find(|info| info.name == *user);
            named.ok_or_else(|| missing("user"))?.auth_info.clone().unwrap_or_default()
        }
        None => AuthInfo::default(),
    };
    if aws_tools == AwsTools::Replace && kubeconfig::exec(config, name.as_str()).is_some() {
        user.exec = user.exec.map(|exec| replaced(exec, node_role));
    }
    Ok(Part { name: name.to_string(), cluster, user, context })
}

/// The same token by `towline token`, where its flags can say all that the entry says.
fn replaced(exec: ExecConfig, node_role: NodeRole) -> ExecConfig {
    let args = exec.args.clone().unwrap_or_default();
    let variables = exec.env.iter().flatten().filter_map(|pair| pair.get("name").map(String::as_str));
    let command = exec.command.as_deref().unwrap_or_default();
    let Meaning::GetToken(found) = exec::understand(command, &args, variables) else { return exec };
    let is_forwarded = found.role.as_ref().is_some_and(|role| role.session_name == SessionName::Forwarded);
    let has_region = found.region.is_some() || found.fallback.is_none();
    if is_forwarded || !has_region {
        return exec;
    }
    let asked = Asked {
        cluster: &found.cluster,
        region: found.region.as_deref(),
        role: found.role.as_ref(),
        profile: found.profile.as_deref(),
        node_role,
    };
    plugin(exec, &asked)
}

fn plugin(exec: ExecConfig, asked: &Asked<'_>) -> ExecConfig {
    ExecConfig {
        api_version: Some(EXEC_VERSION.to_owned()),
        command: Some("towline".to_owned()),
        args: Some(arguments(asked)),
        interactive_mode: Some(ExecInteractiveMode::Never),
        install_hint: None,
        provide_cluster_info: false,
        ..exec
    }
}

fn arguments(asked: &Asked<'_>) -> Vec<String> {
    let is_name = follower::cluster_name(asked.cluster).is_ok();
    let session_name = asked.role.and_then(|role| match &role.session_name {
        SessionName::Named(name) => Some(name.as_str()),
        SessionName::Ours | SessionName::Forwarded => None,
    });
    let pairs = [
        (if is_name { "--cluster-name" } else { "--cluster-id" }, Some(asked.cluster)),
        ("--region", asked.region),
        ("--role-arn", asked.role.map(|role| role.arn.as_str())),
        ("--external-id", asked.role.and_then(|role| role.external_id.as_deref())),
        ("--session-name", session_name),
        ("--profile", asked.profile),
    ];
    let flags = pairs.into_iter().filter_map(|(flag, value)| Some(format!("{flag}={}", value?)));
    let node_role = (asked.node_role == NodeRole::Allowed).then(|| "--aws-allow-node-role".to_owned());
    std::iter::once("token".to_owned()).chain(flags).chain(node_role).collect()
}

/// The file. Whoever has it may be let into the clusters by it: it is wiped.
pub(super) fn text(parts: Vec<Part>) -> Result<Zeroizing<String>, serde_saphyr::ser::Error> {
    let mut config = Kubeconfig {
        api_version: Some("v1".to_owned()),
        kind: Some("Config".to_owned()),
        current_context: match parts.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        },
        ..Kubeconfig::default()
    };
    for Part { name, cluster, user, context } in parts {
        let context = Context { cluster: name.clone(), user: Some(name.clone()), ..context };
        config.contexts.push(NamedContext { name: name.clone(), context: Some(context), ..NamedContext::default() });
        let cluster = NamedCluster { name: name.clone(), cluster: Some(cluster), ..NamedCluster::default() };
        config.clusters.push(cluster);
        config.auth_infos.push(NamedAuthInfo { name, auth_info: Some(user), ..NamedAuthInfo::default() });
    }
    serde_saphyr::to_string(&config).map(Zeroizing::new)
}

#[cfg(test)]
mod tests;
