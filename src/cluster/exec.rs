//! Credential plugins of kubeconfigs (`exec`), run without blocking and without their words reaching a log.

use super::kubeconfig::EndpointError;
use kube::config::{Cluster, ExecConfig};
use serde::Deserialize;
use std::{io, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};
use zeroize::{Zeroize, Zeroizing};

/// How long a plugin may take.
const LIMIT: Duration = Duration::from_secs(30);
const LARGEST_OUTPUT: usize = 1 << 20;
const API_VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// A plugin, ready to run.
pub struct Plugin {
    command: String,
    args: Vec<String>,
    env: Vec<(String, Zeroizing<String>)>,
    api_version: &'static str,
    exec_info: String,
    install_hint: Option<String>,
}

/// A client certificate and its key, both PEM.
pub struct Identity {
    /// The certificate chain.
    pub certificate: Zeroizing<Vec<u8>>,
    /// The private key.
    pub key: Zeroizing<Vec<u8>>,
}

/// What a plugin answered: a token, or a client certificate, or both.
pub struct Output {
    /// A bearer token.
    pub token: Option<Zeroizing<String>>,
    /// A client certificate.
    pub identity: Option<Identity>,
    /// How long they may be used; `None`: until refused.
    pub lifetime: Option<Duration>,
}

/// Why a plugin gave no credentials. Says nothing of what it printed: that may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// It does not start.
    #[error("exec plugin {command} does not start: {kind}{hint}")]
    Start {
        /// The command's name.
        command: String,
        /// Why.
        kind: io::ErrorKind,
        /// `; ` and the kubeconfig's `installHint`, or nothing.
        hint: String,
    },
    /// It did not end in time.
    #[error("exec plugin {command} did not end within 30 s")]
    Slow {
        /// The command's name.
        command: String,
    },
    /// It failed.
    #[error("exec plugin {command} failed ({status}); run it by hand to see what it says")]
    Failed {
        /// The command's name.
        command: String,
        /// Its exit status.
        status: String,
    },
    /// It printed something else than an `ExecCredential` of the version that was asked for.
    #[error("exec plugin {command} printed no usable ExecCredential: {reason}")]
    Answer {
        /// The command's name.
        command: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// What a plugin prints. The strings are wiped when it is dropped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    api_version: String,
    kind: String,
    status: Option<CredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CredentialStatus {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl Drop for CredentialStatus {
    fn drop(&mut self) {
        self.token.zeroize();
        self.client_key_data.zeroize();
    }
}

impl Plugin {
    /// The plugin that a kubeconfig's user names. `context` is for the error.
    pub(super) fn new(context: &str, exec: &ExecConfig, cluster: &Cluster) -> Result<Self, EndpointError> {
        let wrong = |field, reason: &str| EndpointError::field(context, field, reason);
        let version = exec.api_version.as_deref().unwrap_or_default();
        let api_version = API_VERSIONS.into_iter().find(|known| *known == version);
        let api_version = api_version
            .ok_or_else(|| wrong("user.exec.apiVersion", "must be client.authentication.k8s.io/v1 or …/v1beta1"))?;
        if exec.interactive_mode == Some(kube::config::ExecInteractiveMode::Always) {
            return Err(wrong("user.exec.interactiveMode", "Always: nobody is there to answer"));
        }
        let command = exec.command.clone().filter(|command| !command.is_empty());
        let pair = |map: &std::collections::HashMap<String, String>| {
            Some((map.get("name")?.clone(), Zeroizing::new(map.get("value")?.clone())))
        };
        Ok(Self {
            command: command.ok_or_else(|| wrong("user.exec.command", "is missing"))?,
            args: exec.args.clone().unwrap_or_default(),
            env: exec.env.iter().flatten().filter_map(pair).collect(),
            api_version,
            exec_info: exec_info(api_version, exec.provide_cluster_info.then_some(cluster))
                .ok_or_else(|| wrong("cluster", "cannot be told to the plugin (provideClusterInfo)"))?,
            install_hint: exec.install_hint.clone(),
        })
    }

    /// Runs it once. Dropping the future kills it.
    pub async fn run(&self) -> Result<Output, ExecError> {
        let mut command = Command::new(&self.command);
        command.args(&self.args).env("KUBERNETES_EXEC_INFO", &self.exec_info).kill_on_drop(true);
        command.envs(self.env.iter().map(|(name, value)| (name, value.as_str())));
        command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
        let ended = timeout(LIMIT, command.output()).await.map_err(|_| ExecError::Slow { command: self.name() })?;
        let ended = ended.map_err(|error| self.not_started(error.kind()))?;
        let printed = Zeroizing::new(ended.stdout);
        if !ended.status.success() {
            return Err(ExecError::Failed { command: self.name(), status: ended.status.to_string() });
        }
        read(&printed, self.api_version).map_err(|reason| ExecError::Answer { command: self.name(), reason })
    }

    fn not_started(&self, kind: io::ErrorKind) -> ExecError {
        let hint = self.install_hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        ExecError::Start { command: self.name(), kind, hint }
    }

    /// The command without its folder and arguments.
    fn name(&self) -> String {
        let path = std::path::Path::new(&self.command);
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// What tells this plugin from another, for [`super::Endpoint::fingerprint`].
    pub(super) fn features(&self) -> impl Iterator<Item = &[u8]> {
        let env = self.env.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        let rest = [self.command.as_bytes(), self.exec_info.as_bytes()];
        rest.into_iter().chain(self.args.iter().map(String::as_bytes)).chain(env)
    }
}

/// `KUBERNETES_EXEC_INFO`: what a plugin is told.
fn exec_info(api_version: &str, cluster: Option<&Cluster>) -> Option<String> {
    let mut spec = serde_json::json!({ "interactive": false });
    if let (Some(cluster), Some(fields)) = (cluster, spec.as_object_mut()) {
        let told = kube::config::ExecAuthCluster::try_from(cluster).ok()?;
        fields.insert("cluster".to_owned(), serde_json::to_value(told).ok()?);
    }
    let info = serde_json::json!({ "apiVersion": api_version, "kind": "ExecCredential", "spec": spec });
    serde_json::to_string(&info).ok()
}

fn read(printed: &[u8], api_version: &str) -> Result<Output, &'static str> {
    if printed.len() > LARGEST_OUTPUT {
        return Err("it is larger than 1 MiB");
    }
    // As client-go: YAML will do, too.
    let credential = serde_json::from_slice(printed).ok().or_else(|| serde_saphyr::from_slice(printed).ok());
    let credential: Credential = credential.ok_or("it is not of that shape")?;
    if credential.kind != "ExecCredential" {
        return Err("its kind is another");
    }
    if credential.api_version != api_version {
        return Err("its apiVersion is not the one in the kubeconfig");
    }
    let mut status = credential.status.ok_or("it has no status")?;
    let token = status.token.take().filter(|token| !token.is_empty()).map(Zeroizing::new);
    let identity = match (status.client_certificate_data.take(), status.client_key_data.take()) {
        (Some(certificate), Some(key)) => Some(Identity {
            certificate: Zeroizing::new(certificate.into_bytes()),
            key: Zeroizing::new(key.into_bytes()),
        }),
        (None, None) => None,
        _ => return Err("a client certificate needs both clientCertificateData and clientKeyData"),
    };
    if token.is_none() && identity.is_none() {
        return Err("it has neither token nor client certificate");
    }
    let lifetime = status.expiration_timestamp.as_deref().map(lifetime).transpose()?;
    Ok(Output { token, identity, lifetime })
}

fn lifetime(expiry: &str) -> Result<Duration, &'static str> {
    let expiry: jiff::Timestamp = expiry.parse().map_err(|_| "its expirationTimestamp is not RFC 3339")?;
    Ok(expiry.duration_since(jiff::Timestamp::now()).try_into().unwrap_or(Duration::ZERO))
}
