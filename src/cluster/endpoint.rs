//! Everything needed to reach one API server.

use super::{
    exec::Identity,
    kubeconfig::{self, EndpointError},
    login::Login,
};
use crate::api::names::Namespace;
use aws_lc_rs::digest::{Context, SHA256};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, Uri, uri::Scheme};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use kube::{
    client::ConfigExt,
    config::{Config, Kubeconfig},
};
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{net::IpAddr, path::Path, sync::Arc};
use zeroize::Zeroizing;

/// One API server: address, TLS, proxy, login. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
    login: Login,
    fingerprint: Fingerprint,
}

struct Inner {
    base: Uri,
    server: String,
    tls: Arc<ClientConfig>,
    /// Where another TLS configuration is made from when a plugin hands out a client certificate.
    trust: Config,
    server_name: Option<ServerName<'static>>,
    proxy: Option<Proxy>,
    headers: HeaderMap,
    default_namespace: Option<Namespace>,
}

/// Where a TCP connection to an endpoint goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it is a proxy's.
    pub is_proxy: bool,
}

/// An HTTP proxy that understands CONNECT.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) uri: Uri,
    pub(super) authorization: Option<HeaderValue>,
}

/// Tells endpoints apart: a hash over server, CA, credentials and names of files. It is compared, never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of pieces: no two lists of pieces look alike.
    pub fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Hash::new();
        pieces.into_iter().for_each(|piece| hash.add(piece));
        hash.end()
    }
}

/// What an endpoint is made of.
#[derive(Default)]
pub struct Parts {
    /// `https://host:port`, with a path if the server has one.
    pub server: String,
    /// PEM; `None`: the system's roots.
    pub certificate_authority: Option<Vec<u8>>,
    /// Whether any certificate will do.
    pub insecure_skip_tls_verify: bool,
    /// A client certificate.
    pub identity: Option<Identity>,
    /// The name that the server's certificate must have, if it is not the host's.
    pub tls_server_name: Option<String>,
    /// An `http://` proxy that understands CONNECT; `None`: as `HTTPS_PROXY` and `NO_PROXY` say.
    pub proxy_url: Option<String>,
    /// Where the bearer token comes from.
    pub login: Login,
    /// Sent with each request: impersonation.
    pub headers: HeaderMap,
    /// The namespace that the context sets.
    pub default_namespace: Option<Namespace>,
}

impl Endpoint {
    /// An endpoint from its parts; `name` is for the errors.
    pub fn new(name: &str, parts: Parts) -> Result<Self, EndpointError> {
        let base = base(name, &parts.server)?;
        let mut trust = Config::new(base.clone());
        trust.root_cert = parts.certificate_authority.as_deref().map(|pem| roots(name, pem)).transpose()?;
        trust.accept_invalid_certs = parts.insecure_skip_tls_verify;
        if trust.accept_invalid_certs && trust.root_cert.is_some() {
            let reason = "cannot be combined with a certificate authority";
            return Err(EndpointError::field(name, "insecure-skip-tls-verify", reason));
        }
        Self::build(name, trust, parts)
    }

    fn build(name: &str, trust: Config, parts: Parts) -> Result<Self, EndpointError> {
        let base = trust.cluster_url.clone();
        let server_name = parts.tls_server_name.clone().map(ServerName::try_from).transpose();
        let fingerprint = fingerprint(&parts, &parts.login);
        let inner = Inner {
            server: format!("{}://{}", base.scheme_str().unwrap_or_default(), authority(&base)),
            tls: Arc::new(tls(name, &trust, parts.identity.as_ref())?),
            proxy: proxy(name, &base, parts.proxy_url.as_deref())?,
            server_name: server_name.map_err(|_| EndpointError::field(name, "tls-server-name", "is not a name"))?,
            headers: parts.headers,
            default_namespace: parts.default_namespace,
            base,
            trust,
        };
        Ok(Self { inner: Arc::new(inner), login: parts.login, fingerprint })
    }

    /// A context of a kubeconfig. Reads the files that it names and runs nothing.
    pub fn from_context(kubeconfig: &Kubeconfig, context: &str) -> Result<Self, EndpointError> {
        Self::new(&format!("context {context}"), kubeconfig::parts(kubeconfig, context)?)
    }

    /// The cluster that this process runs in.
    pub fn in_cluster() -> Result<Self, EndpointError> {
        let trust = Config::incluster().map_err(|error| EndpointError::Nowhere { reason: error.to_string() })?;
        let login = trust.auth_info.token_file.as_ref().map(Login::token_file).unwrap_or_default();
        let server = trust.cluster_url.to_string();
        Self::build("in-cluster", trust, Parts { server, login, ..Parts::default() })
    }

    /// As kubectl finds it: the flag, `KUBECONFIG`, `~/.kube/config`, else in-cluster.
    pub fn from_flags(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, EndpointError> {
        match (kubeconfig::find(kubeconfig)?, context) {
            (Some(config), Some(context)) => Self::from_context(&config, context),
            (Some(config), None) => {
                let current = config.current_context.clone().filter(|context| !context.is_empty());
                let missing = || EndpointError::field("kubeconfig", "current-context", "is not set: name a context");
                Self::from_context(&config, &current.ok_or_else(missing)?)
            }
            (None, Some(context)) => {
                Err(EndpointError::field(&format!("context {context}"), "kubeconfig", "there is none"))
            }
            (None, None) => Self::in_cluster(),
        }
    }

    /// The same server by another login.
    pub fn with_login(&self, login: Login) -> Self {
        let mut hash = Hash::new();
        hash.add(&self.fingerprint.0);
        login.features(|feature| hash.add(feature));
        Self { inner: Arc::clone(&self.inner), login, fingerprint: hash.end() }
    }

    /// Whether this is the same entry as before.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The namespace that the context sets, if it sets one.
    pub fn default_namespace(&self) -> Option<&Namespace> {
        self.inner.default_namespace.as_ref()
    }

    /// Scheme, host and port, for messages.
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// Where a TCP connection goes.
    pub fn first_hop(&self) -> Hop {
        let proxy = self.inner.proxy.as_ref().map(|proxy| &proxy.uri);
        let uri = proxy.unwrap_or(&self.inner.base);
        let port = uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 });
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        Hop { host, port, is_proxy: proxy.is_some() }
    }

    /// The certificates that the server's must come from (DER); none: the system's.
    pub fn authorities(&self) -> &[Vec<u8>] {
        self.inner.trust.root_cert.as_deref().unwrap_or_default()
    }

    /// Whether the server must prove who it is: by TLS, and with a certificate that is looked at.
    pub fn is_verified(&self) -> bool {
        self.inner.base.scheme() == Some(&Scheme::HTTPS) && !self.inner.trust.accept_invalid_certs
    }

    /// Where this endpoint's credentials come from.
    pub fn login(&self) -> &Login {
        &self.login
    }

    pub(super) fn base(&self) -> &Uri {
        &self.inner.base
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.inner.headers
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.inner.proxy.as_ref()
    }

    pub(super) fn server_name(&self) -> Option<&ServerName<'static>> {
        self.inner.server_name.as_ref()
    }

    /// TLS with the endpoint's own client certificate, or with that of a plugin.
    pub(super) fn tls(&self, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, EndpointError> {
        match identity {
            None => Ok(Arc::clone(&self.inner.tls)),
            Some(identity) => tls(&self.inner.server, &self.inner.trust, Some(identity)).map(Arc::new),
        }
    }
}

/// Kubeconfigs may hold line breaks in base64: Go's decoder skips them.
pub(super) fn decode_base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let text: Zeroizing<String> = Zeroizing::new(text.chars().filter(|c| !c.is_ascii_whitespace()).collect());
    STANDARD.decode(text.as_bytes()).ok().map(Zeroizing::new)
}

fn base(name: &str, server: &str) -> Result<Uri, EndpointError> {
    let wrong = |reason| EndpointError::field(name, "server", reason);
    let uri: Uri = server.trim_end_matches('/').parse().map_err(|_| wrong("is not a URL"))?;
    if uri.scheme() != Some(&Scheme::HTTPS) && uri.scheme() != Some(&Scheme::HTTP) {
        return Err(wrong("must begin with https:// (or http://)"));
    }
    match (uri.authority(), uri.query()) {
        (Some(authority), None) if !authority.as_str().contains('@') => Ok(uri),
        _ => Err(wrong("must be scheme, host, port and path only")),
    }
}

fn authority(uri: &Uri) -> &str {
    uri.authority().map_or("", http::uri::Authority::as_str)
}

fn roots(name: &str, pem: &[u8]) -> Result<Vec<Vec<u8>>, EndpointError> {
    let wrong = || EndpointError::field(name, "certificate-authority", "holds no PEM certificate");
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).map(|der| der.map(|der| der.to_vec())).collect();
    roots.ok().filter(|roots| !roots.is_empty()).ok_or_else(wrong)
}

fn tls(name: &str, trust: &Config, identity: Option<&Identity>) -> Result<ClientConfig, EndpointError> {
    let mut config = trust.clone();
    // kube would run a plugin here, and block until it ends.
    config.auth_info = kube::config::AuthInfo::default();
    if let Some(identity) = identity {
        config.auth_info.client_certificate_data = Some(STANDARD.encode(&*identity.certificate));
        config.auth_info.client_key_data = Some(STANDARD.encode(&*identity.key).into());
    }
    let field = if identity.is_some() { "client-certificate" } else { "certificate-authority" };
    let made = config.rustls_client_config();
    // kube's text is kept out: PEM errors may quote.
    let mut tls = made.map_err(|_| EndpointError::field(name, field, "is not usable for TLS"))?;
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // One connection for days: a cache of tickets for each of 5,000 followers would buy nothing.
    tls.resumption = rustls::client::Resumption::disabled();
    Ok(tls)
}

/// The context's proxy, else the environment's, which as in Go never stands between us and our own machine.
fn proxy(name: &str, base: &Uri, url: Option<&str>) -> Result<Option<Proxy>, EndpointError> {
    let (field, found) = match url {
        Some(url) => {
            if !url.starts_with("http://") {
                return Err(EndpointError::field(name, "proxy-url", "only http:// proxies (CONNECT) are supported"));
            }
            let proxy = Matcher::builder().all(url.to_owned()).build().intercept(base);
            ("proxy-url", Some(proxy.ok_or_else(|| EndpointError::field(name, "proxy-url", "is not a URL"))?))
        }
        None if is_local(base) => return Ok(None),
        None => ("HTTPS_PROXY", Matcher::from_env().intercept(base)),
    };
    let usable = |found: Intercept| match found.uri().scheme_str() {
        Some("http") => Ok(Proxy { uri: found.uri().clone(), authorization: found.basic_auth().cloned() }),
        _ => Err(EndpointError::field(name, field, "only http:// proxies (CONNECT) are supported")),
    };
    found.map(usable).transpose()
}

fn is_local(base: &Uri) -> bool {
    let host = base.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn fingerprint(parts: &Parts, login: &Login) -> Fingerprint {
    let mut hash = Hash::new();
    let text = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
    hash.add(parts.server.as_bytes());
    hash.add(parts.certificate_authority.as_deref().unwrap_or_default());
    hash.add(&[u8::from(parts.insecure_skip_tls_verify)]);
    if let Some(identity) = &parts.identity {
        hash.add(&identity.certificate);
        hash.add(&identity.key);
    }
    hash.add(&text(&parts.tls_server_name));
    hash.add(&text(&parts.proxy_url));
    for (name, value) in &parts.headers {
        hash.add(name.as_str().as_bytes());
        hash.add(value.as_bytes());
    }
    hash.add(parts.default_namespace.as_ref().map_or("", Namespace::as_str).as_bytes());
    login.features(|feature| hash.add(feature));
    hash.end()
}

/// SHA-256 over pieces, each with its length, so that no two lists of pieces look alike.
struct Hash(Context);

impl Hash {
    fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    fn add(&mut self, piece: &[u8]) {
        self.0.update(&u64::try_from(piece.len()).unwrap_or(u64::MAX).to_be_bytes());
        self.0.update(piece);
    }

    fn end(self) -> Fingerprint {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(self.0.finish().as_ref()).for_each(|(to, from)| *to = *from);
        Fingerprint(bytes)
    }
}

#[cfg(test)]
mod tests;
