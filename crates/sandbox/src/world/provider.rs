//! OpenID Connect providers: who signs the tokens of service accounts, and how they are checked.

use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde_json::{Map, Value, json};

/// An identity provider, as an account knows it.
#[derive(Clone)]
pub struct OidcProvider {
    account: String,
    issuer: String,
    audience: String,
    key: Arc<EcdsaKeyPair>,
}

impl OidcProvider {
    /// A provider with a new key. `issuer` is a URL, `audience` usually `sts.amazonaws.com`.
    pub fn new(account: &str, issuer: &str, audience: &str) -> Result<Self> {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| anyhow!("no key"))?;
        let [account, issuer, audience] = [account, issuer, audience].map(ToOwned::to_owned);
        issuer.strip_prefix("https://").with_context(|| format!("{issuer} does not begin with https://"))?;
        Ok(Self { account, issuer, audience, key: Arc::new(key) })
    }

    /// The same provider, as another account knows it.
    #[must_use]
    pub fn in_account(&self, account: &str) -> Self {
        Self { account: account.to_owned(), ..self.clone() }
    }

    /// The account.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The URL, which tokens name in `iss`.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// What tokens must name in `aud`.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The issuer without `https://`: what condition keys begin with.
    pub(crate) fn host(&self) -> &str {
        self.issuer.trim_start_matches("https://")
    }

    /// A JSON web token (ES256) with these claims, whatever they are.
    pub fn sign(&self, claims: &Value) -> Result<String> {
        let header = json!({"alg": "ES256", "kid": self.kid(), "typ": "JWT"});
        let signed = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).map_err(|_| anyhow!("cannot sign"))?;
        Ok(format!("{signed}.{}", BASE64.encode(signature)))
    }

    /// Whether this provider signed that token.
    pub(crate) fn has_signed(&self, token: &str) -> bool {
        let Some((signed, signature)) = token.rsplit_once('.') else { return false };
        let header = signed.split_once('.').and_then(|(header, _)| decode(header));
        let names_us = header.is_some_and(|header| header.text("alg") == "ES256" && header.text("kid") == self.kid());
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref());
        names_us && BASE64.decode(signature).is_ok_and(|signature| key.verify(signed.as_bytes(), &signature).is_ok())
    }

    fn kid(&self) -> String {
        let key = BASE64.encode(self.key.public_key().as_ref());
        key.chars().rev().take(16).collect()
    }
}

/// An object in a token, not yet believed.
pub(crate) struct Claims(Map<String, Value>);

impl Claims {
    /// What the token is about.
    pub(crate) fn of(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let (_header, claims, _signature) = (parts.next()?, parts.next()?, parts.next()?);
        decode(claims)
    }

    /// Empty if it is not there, or not a text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A time in seconds.
    pub(crate) fn seconds(&self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }

    /// Whether `aud`, a text or a list of texts, names that audience.
    pub(crate) fn has_audience(&self, wanted: &str) -> bool {
        match self.0.get("aud") {
            Some(Value::String(audience)) => audience == wanted,
            Some(Value::Array(audiences)) => audiences.iter().any(|audience| audience == wanted),
            _ => false,
        }
    }
}

fn decode(part: &str) -> Option<Claims> {
    serde_json::from_slice(&BASE64.decode(part).ok()?).ok().map(Claims)
}
