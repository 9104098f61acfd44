//! STS and EKS on loopback.

mod authority;
mod proxy;
mod web;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::call::Call;
use crate::fault::Fault;
use crate::listener::{Listener, speak_http};
use crate::refusal::Service;
use crate::state::Shared;
use crate::world::World;

use authority::Authority;

pub(crate) use web::{empty, read, respond};

/// A stand-in for AWS. It ends when it is dropped; it may be used from any runtime.
///
/// Two ways lead to it: [`Aws::url`] for clients that can be told an endpoint (`AWS_ENDPOINT_URL`), and [`Aws::proxy_url`] for
/// those that insist on the real hosts.
pub struct Aws {
    shared: Arc<Shared>,
    authority: Arc<Authority>,
    direct: Listener,
    proxy: Listener,
}

impl Aws {
    /// Starts STS and EKS in `world`, and the proxy in front of them.
    pub fn start(world: World) -> Result<Self> {
        let shared = Arc::new(Shared::new(world));
        let authority = Arc::new(Authority::generate()?);
        let router = web::router(shared.clone());
        let (inner, signer) = (router.clone(), authority.clone());
        let direct = Listener::start(move |stream| speak_http(stream, router.clone()))?;
        let proxy = Listener::start(move |stream| proxy::serve(stream, signer.clone(), inner.clone()))?;
        Ok(Self { shared, authority, direct, proxy })
    }

    /// Where both services are, without TLS: for `AWS_ENDPOINT_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.direct.address())
    }

    /// A proxy that ends TLS itself for the hosts of STS and EKS in all partitions, and refuses all others: for `HTTPS_PROXY`.
    pub fn proxy_url(&self) -> String {
        format!("http://{}", self.proxy.address())
    }

    /// The certificate authority of the hosts behind the proxy: for the file that `SSL_CERT_FILE` or `AWS_CA_BUNDLE` names.
    pub fn ca_pem(&self) -> &str {
        self.authority.pem()
    }

    /// Changes the world, in force at once: revoke a role, move an endpoint, delete a cluster. Everything waits meanwhile, so
    /// `change` must not ask the stand-in itself.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let mut state = self.shared.lock();
        let result = change(&mut state.world);
        state.keep_secrets_of_users();
        result
    }

    /// Lets an operation go wrong from now on.
    pub fn fail(&self, service: Service, operation: &str, fault: Fault) {
        self.shared.lock().faults.add(service, operation, fault);
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.shared.lock().faults.clear();
    }

    /// Sets its clock that many seconds ahead of the real one (or behind): the `Date` of its answers and all that it checks.
    pub fn set_clock_offset(&self, seconds: i64) {
        self.shared.lock().clock_offset = SignedDuration::from_secs(seconds);
    }

    /// Lets credentials live that long at most, however much was asked for: an hour of life in a minute.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.shared.lock().lifetime = Some(lifetime);
    }

    /// How many characters session tokens have, before those of tags.
    pub fn set_session_token_length(&self, length: usize) {
        self.shared.lock().token_length = length;
    }

    /// All requests so far.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.lock().calls.clone()
    }

    /// Every secret key, session token, web-identity token and agent's token that there ever was: none may show up in a log.
    pub fn secrets(&self) -> Vec<String> {
        self.shared.lock().secrets()
    }

    /// A token of a service account, as Kubernetes projects it into a pod: `subject` is `system:serviceaccount:NAMESPACE:NAME`.
    /// The issuer is that of a provider in the world.
    pub fn web_identity_token(&self, issuer: &str, subject: &str, lifetime: Duration) -> Result<String> {
        let now = self.shared.lock().now().as_second();
        let expires = now.saturating_add_unsigned(lifetime.as_secs());
        let audience = self.shared.lock().world.issuer(issuer).map(|provider| provider.audience().to_owned());
        self.sign_web_identity(
            issuer,
            &json!({
                "iss": issuer, "sub": subject, "aud": [audience.unwrap_or_default()],
                "iat": now, "nbf": now, "exp": expires,
            }),
        )
    }

    /// A token of that issuer with just these claims.
    pub fn sign_web_identity(&self, issuer: &str, claims: &Value) -> Result<String> {
        let mut state = self.shared.lock();
        let token = state.world.issuer(issuer).with_context(|| format!("no provider {issuer}"))?.sign(claims)?;
        state.keep_secret(token.clone());
        Ok(token)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }
}
