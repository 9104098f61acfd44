//! `towline token`: what kubectl asks a credential plugin for, so that no other program is needed to reach an EKS cluster.

use super::{args::Token, output};
use crate::{
    aws::{
        principal::{Aws, Principal},
        settings::Settings,
    },
    telemetry::metrics::Metrics,
};
use anyhow::{Result, anyhow};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::{process::ExitCode, sync::Arc, time::Duration};
use zeroize::Zeroizing;

/// How CloudTrail shows us where --session-name does not say it.
const SESSION_NAME: &str = "towline-token";
/// How kubectl tells its plugins what it wants.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";
const GROUP: &str = "client.authentication.k8s.io/";
const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/// More than a token may have, so that the buffer never grows and leaves a piece of one behind.
const ROOM: usize = 8 << 10;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential<'a> {
    api_version: &'a str,
    kind: &'a str,
    spec: Empty,
    status: Status<'a>,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    expiration_timestamp: String,
    token: &'a str,
}

/// What kubectl says.
#[derive(Deserialize)]
struct ExecInfo {
    #[serde(rename = "apiVersion")]
    api_version: String,
}

/// Prints a token.
pub async fn token(wanted: Token) -> Result<ExitCode> {
    let info = std::env::var(EXEC_INFO).ok().filter(|info| !info.is_empty());
    let version = version(info.as_deref())?;
    let aws = Aws::new(SESSION_NAME.to_owned(), wanted.node_role, Arc::new(Metrics::new()));
    let mut principal = aws.principal(Settings::of_process(), wanted.region);
    if let Some(profile) = wanted.profile {
        principal = principal.with_profile(profile);
    }
    let principal = wanted.role.into_iter().fold(principal, Principal::assuming);
    let (token, lifetime) = principal.token(&wanted.cluster).await?;
    output::print(&credential(version, &token.value, expiry(Timestamp::now(), lifetime))?)?;
    Ok(ExitCode::SUCCESS)
}

/// kubectl takes no other version than the one it asks for.
fn version(info: Option<&str>) -> Result<&'static str> {
    let Some(info) = info else { return Ok(VERSIONS[0]) };
    let info: ExecInfo = serde_json::from_str(info).map_err(|_| anyhow!("{EXEC_INFO} is not an ExecCredential"))?;
    let known = VERSIONS.into_iter().find(|known| *known == info.api_version);
    known.ok_or_else(|| {
        anyhow!("the kubeconfig's user.exec.apiVersion is one that is not spoken here: use {GROUP}v1 or {GROUP}v1beta1")
    })
}

/// By our own clock, which is kubectl's, too: AWS's may be another.
fn expiry(now: Timestamp, lifetime: Duration) -> Timestamp {
    let seconds = i64::try_from(lifetime.as_secs()).unwrap_or_default();
    Timestamp::from_second(now.as_second().saturating_add(seconds)).unwrap_or(now)
}

fn credential(api_version: &str, token: &str, expiry: Timestamp) -> Result<Zeroizing<String>> {
    let status = Status { expiration_timestamp: expiry.to_string(), token };
    let credential = ExecCredential { api_version, kind: "ExecCredential", spec: Empty {}, status };
    let mut text = Zeroizing::new(Vec::with_capacity(ROOM));
    serde_json::to_writer(&mut *text, &credential)?;
    text.push(b'\n');
    Ok(Zeroizing::new(String::from_utf8(std::mem::take(&mut *text))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_kubectl_asks_for() {
        let asks =
            |version: &str| format!(r#"{{"kind":"ExecCredential","apiVersion":"{GROUP}{version}","spec":{{}}}}"#);
        assert_eq!(version(None).unwrap(), VERSIONS[0]);
        assert_eq!(version(Some(&asks("v1"))).unwrap(), VERSIONS[0]);
        assert_eq!(version(Some(&asks("v1beta1"))).unwrap(), VERSIONS[1]);
        let error = version(Some(&asks("v1alpha1"))).unwrap_err().to_string();
        assert!(
            error.ends_with("use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"),
            "{error}"
        );
        assert!(version(Some("hunter2")).is_err_and(|error| !error.to_string().contains("hunter2")));
    }

    #[test]
    fn a_credential_is_one_line_that_ends_by_our_own_clock() {
        let now = Timestamp::from_second(1_795_262_400).unwrap();
        let printed = credential(VERSIONS[0], "k8s-aws-v1.x", expiry(now, Duration::from_secs(840))).unwrap();
        let wanted = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{},"status":{"expirationTimestamp":"2026-11-21T12:14:00Z","token":"k8s-aws-v1.x"}}"#;
        assert_eq!(*printed, format!("{wanted}\n"));
    }
}
