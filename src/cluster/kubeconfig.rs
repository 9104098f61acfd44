//! Reads kubeconfigs as kubectl does, with errors that name place and reason and quote nothing.

use super::{
    endpoint::{Parts, decode_base64},
    exec::{Identity, Plugin},
    login::Login,
};
use crate::api::names::Namespace;
use http::{HeaderMap, HeaderName, HeaderValue};
use kube::config::{AuthInfo, Cluster, Context, ExecConfig, Kubeconfig, KubeconfigError, NamedAuthInfo};
use secrecy::ExposeSecret;
use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Why an endpoint cannot be made. Never holds a value of the kubeconfig other than names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// A field is missing or wrong.
    #[error("{context}: {field}: {reason}")]
    Field {
        /// The context, or another name of the entry.
        context: String,
        /// The field, as in the file.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file cannot be read.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why, with its owner and mode and our user where that matters.
        reason: String,
    },
    /// There is neither a kubeconfig nor a cluster around us.
    #[error("no kubeconfig is given or found, and not in a cluster: {reason}")]
    Nowhere {
        /// What is missing of a cluster around us.
        reason: String,
    },
}

impl EndpointError {
    pub(super) fn field(context: &str, field: &'static str, reason: impl Into<String>) -> Self {
        Self::Field { context: context.to_owned(), field, reason: reason.into() }
    }
}

/// Reads one kubeconfig file; relative paths in it are made absolute.
pub fn read(path: &Path) -> Result<Kubeconfig, EndpointError> {
    Kubeconfig::read_from(path).map_err(|error| {
        let reason = match &error {
            KubeconfigError::ReadConfig(io, _) => unreadable(path, io),
            other => mistake(other),
        };
        EndpointError::File { path: path.to_owned(), reason }
    })
}

/// Parses a kubeconfig that is no file. `name` is for the error.
pub fn parse(name: &str, text: &str) -> Result<Kubeconfig, EndpointError> {
    Kubeconfig::from_yaml(text).map_err(|error| EndpointError::field(name, "kubeconfig", mistake(&error)))
}

/// The kubeconfig that kubectl would take: the flag, `KUBECONFIG`, `~/.kube/config`; `None` if there is none.
pub fn find(flag: Option<&Path>) -> Result<Option<Kubeconfig>, EndpointError> {
    if let Some(path) = flag {
        return read(path).map(Some);
    }
    let named = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let paths: Vec<_> = match (named, std::env::home_dir()) {
        (Some(value), _) => std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect(),
        (None, Some(home)) => vec![home.join(".kube/config")],
        (None, None) => Vec::new(),
    };
    let mut found: Option<Kubeconfig> = None;
    for path in paths.iter().filter(|path| path.exists()) {
        let next = read(path)?;
        let merged = found.unwrap_or_default().merge(next);
        found = Some(merged.map_err(|error| EndpointError::File { path: path.clone(), reason: mistake(&error) })?);
    }
    Ok(found.filter(|config| !config.contexts.is_empty()))
}

/// The `exec` entry of a context's user, if it is what the user logs in by: a token or a password wins over it.
pub fn exec<'a>(config: &'a Kubeconfig, name: &str) -> Option<&'a ExecConfig> {
    let user = user(config, name)?.auth_info.as_ref()?;
    let token = filled(&user.token_file).is_some()
        || user.token.as_ref().is_some_and(|token| !token.expose_secret().is_empty())
        || (user.username.is_some() && user.password.is_some());
    user.exec.as_ref().filter(|_| !token)
}

/// The plugin that a context's user names.
pub fn plugin(config: &Kubeconfig, name: &str) -> Result<Option<Plugin>, EndpointError> {
    let cluster = context(config, name)
        .and_then(|context| config.clusters.iter().find(|cluster| cluster.name == context.cluster)?.cluster.as_ref());
    let (Some(exec), Some(cluster)) = (exec(config, name), cluster) else { return Ok(None) };
    Plugin::new(&format!("context {name}"), exec, cluster).map(Some)
}

/// The same without the `exec` entry of a context's user.
pub fn without_exec(config: &Kubeconfig, name: &str) -> Kubeconfig {
    let user = user(config, name).map(|user| user.name.clone());
    let mut config = config.clone();
    let bare = config.auth_infos.iter_mut().filter(|info| Some(&info.name) == user.as_ref());
    bare.filter_map(|info| info.auth_info.as_mut()).for_each(|info| info.exec = None);
    config
}

fn context<'a>(config: &'a Kubeconfig, name: &str) -> Option<&'a Context> {
    config.contexts.iter().find(|context| context.name == name)?.context.as_ref()
}

fn user<'a>(config: &'a Kubeconfig, name: &str) -> Option<&'a NamedAuthInfo> {
    let name = filled(&context(config, name)?.user)?;
    config.auth_infos.iter().find(|user| user.name == name)
}

/// What a context of a kubeconfig says about its endpoint.
pub(super) fn parts(config: &Kubeconfig, name: &str) -> Result<Parts, EndpointError> {
    let label = format!("context {name}");
    let missing = |field, what: &str| EndpointError::field(&label, field, format!("there is no {what}"));
    let context = context(config, name).ok_or_else(|| missing("contexts", "such context"))?;
    let cluster = config.clusters.iter().find(|cluster| cluster.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let cluster = cluster.ok_or_else(|| missing("cluster", &format!("cluster {}", context.cluster)))?;
    // A context may name no user. One that is missing, as in a file that was cut off, must not make us anonymous.
    let user = match filled(&context.user) {
        Some(name) => {
            let user = config.auth_infos.iter().find(|user| user.name == name);
            user.ok_or_else(|| missing("user", &format!("user {name}")))?.auth_info.clone().unwrap_or_default()
        }
        None => AuthInfo::default(),
    };
    Ok(Parts {
        server: cluster.server.clone().ok_or_else(|| missing("cluster.server", "server"))?,
        certificate_authority: authority(&label, cluster)?,
        insecure_skip_tls_verify: cluster.insecure_skip_tls_verify.unwrap_or(false),
        identity: identity(&label, &user)?,
        tls_server_name: filled(&cluster.tls_server_name),
        proxy_url: filled(&cluster.proxy_url),
        login: login(&label, &user, cluster)?,
        headers: impersonation(&label, &user)?,
        default_namespace: namespace(context),
    })
}

fn filled(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

fn namespace(context: &Context) -> Option<Namespace> {
    filled(&context.namespace).map(Namespace::from)
}

fn authority(label: &str, cluster: &Cluster) -> Result<Option<Vec<u8>>, EndpointError> {
    let data = cluster.certificate_authority_data.as_deref();
    let pem = pem(label, "cluster.certificate-authority-data", data, cluster.certificate_authority.as_deref())?;
    Ok(pem.map(|pem| pem.to_vec()))
}

fn identity(label: &str, user: &AuthInfo) -> Result<Option<Identity>, EndpointError> {
    let certificate = user.client_certificate_data.as_deref();
    let certificate = pem(label, "user.client-certificate-data", certificate, user.client_certificate.as_deref())?;
    let key = user.client_key_data.as_ref().map(ExposeSecret::expose_secret);
    let key = pem(label, "user.client-key-data", key, user.client_key.as_deref())?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(Identity { certificate, key })),
        (None, None) => Ok(None),
        _ => Err(EndpointError::field(label, "user", "a client certificate needs both certificate and key")),
    }
}

/// Data wins over a file, as in client-go.
fn pem(
    label: &str,
    field: &'static str,
    data: Option<&str>,
    file: Option<&str>,
) -> Result<Option<Zeroizing<Vec<u8>>>, EndpointError> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let decoded = decode_base64(data).ok_or_else(|| EndpointError::field(label, field, "is not base64"))?;
        return Ok(Some(decoded));
    }
    let Some(path) = file.filter(|file| !file.is_empty()).map(Path::new) else { return Ok(None) };
    let read = std::fs::read(path).map(Zeroizing::new);
    let failed = |error| EndpointError::File { path: path.to_owned(), reason: unreadable(path, &error) };
    read.map(Some).map_err(failed)
}

/// In the order in which client-go lets one win over another.
fn login(label: &str, user: &AuthInfo, cluster: &Cluster) -> Result<Login, EndpointError> {
    let wrong = |field| move |error| EndpointError::field(label, field, format!("{error}"));
    if let Some(path) = filled(&user.token_file) {
        return Ok(Login::token_file(path));
    }
    if let Some(token) = user.token.as_ref().map(ExposeSecret::expose_secret).filter(|token| !token.is_empty()) {
        return Login::token(token).map_err(wrong("user.token"));
    }
    if let (Some(name), Some(password)) = (&user.username, &user.password) {
        return Login::basic(name, password.expose_secret()).map_err(wrong("user.password"));
    }
    if let Some(exec) = &user.exec {
        return Plugin::new(label, exec, cluster).map(Login::exec);
    }
    match &user.auth_provider {
        Some(provider) => {
            let reason = format!("{} was removed from Kubernetes in 1.26: use an exec plugin", provider.name);
            Err(EndpointError::field(label, "user.auth-provider", reason))
        }
        None => Ok(Login::none()),
    }
}

/// `as`, `as-uid`, `as-groups`, `as-user-extra`.
fn impersonation(label: &str, user: &AuthInfo) -> Result<HeaderMap, EndpointError> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let pair = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
        let (Ok(name), Ok(value)) = pair else {
            return Err(EndpointError::field(label, "user.as", "is not fit for a header"));
        };
        headers.append(name, value);
        Ok(())
    };
    let one = [("impersonate-user", &user.impersonate), ("impersonate-uid", &user.impersonate_uid)];
    for (name, value) in one.into_iter().filter_map(|(name, value)| Some((name, filled(value)?))) {
        add(name, &value)?;
    }
    for group in user.impersonate_groups.iter().flatten() {
        add("impersonate-group", group)?;
    }
    // In the order of their keys, or the endpoint would look changed at each reload.
    let extra: BTreeMap<_, _> = user.impersonate_user_extra.iter().flatten().collect();
    for (key, value) in extra.into_iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value))) {
        add(&super::paths::header_extra(key), value)?;
    }
    Ok(headers)
}

/// Says what is wrong without quoting: the YAML parser's own text shows the lines around the mistake.
fn mistake(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(parse) => match parse.location() {
            Some(place) => format!("is not a kubeconfig (line {}, column {})", place.line(), place.column()),
            None => "is not a kubeconfig".to_owned(),
        },
        KubeconfigError::KindMismatch | KubeconfigError::ApiVersionMismatch => {
            "is of another kind or version".to_owned()
        }
        _ => "is not a kubeconfig".to_owned(),
    }
}

/// Says whose the file is and who we are: a mounted file of mode 0600 and another user's is the usual reason.
pub fn unreadable(path: &Path, error: &io::Error) -> String {
    let kind = error.kind();
    if kind != io::ErrorKind::PermissionDenied {
        return kind.to_string();
    }
    let us =
        std::fs::metadata("/proc/self").map(|process| format!("; we are user {}", process.uid())).unwrap_or_default();
    match std::fs::metadata(path) {
        Ok(file) => format!("{kind}: mode {:04o} of user {}{us}", file.mode() & 0o7777, file.uid()),
        Err(_) => format!("{kind}: a folder on the way is closed to us{us}"),
    }
}
