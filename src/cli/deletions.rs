//! `towline deletions`: what is held back, and how somebody lets it go.

use super::{
    args::{Approve, Deletions, List, Output, ServerUrl},
    output,
};
use crate::{
    api::{
        approval,
        key::{Kind, ObjectKey},
        names::Namespace,
    },
    cluster::{
        call::Call,
        endpoint::Endpoint,
        paths,
        session::{Options, Session},
    },
    mirror::report::DeletionReport,
};
use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use std::{process::ExitCode, time::Duration};
use tokio::{net::TcpStream, time::timeout};

const PATIENCE: Duration = Duration::from_secs(10);
const LARGEST_ANSWER: usize = 64 << 20;

/// Lists or approves.
pub async fn deletions(deletions: Deletions) -> Result<ExitCode> {
    match deletions {
        Deletions::List(flags) => list(&flags).await?,
        Deletions::Approve(flags) => approve(&flags).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(flags: &List) -> Result<()> {
    let reports = held(&flags.address).await?;
    match flags.output {
        Output::Json => output::json(&reports)?,
        Output::Table => output::print(&text(&reports))?,
    }
    Ok(())
}

fn text(reports: &[DeletionReport]) -> String {
    if reports.is_empty() {
        return "No deletion is held.\n".to_owned();
    }
    let rows: Vec<[String; 4]> = reports
        .iter()
        .map(|report| {
            [
                report.digest.clone(),
                report.follower.to_string(),
                report.copies.len().to_string(),
                report.reasons.join("; "),
            ]
        })
        .collect();
    let mut text = output::table(["DIGEST", "FOLLOWER", "COPIES", "HELD BECAUSE"], &rows);
    for report in reports {
        text.push_str(&format!("\n{} on {}:\n", report.digest, report.follower));
        report.copies.iter().for_each(|copy| text.push_str(&format!("  {}\n", without_uid(copy))));
    }
    text + "\nTo let a batch go: towline deletions approve DIGEST\n"
}

fn without_uid(copy: &str) -> &str {
    copy.rsplit_once('/').map_or(copy, |(name, _)| name)
}

async fn approve(flags: &Approve) -> Result<()> {
    let reports = held(&flags.address).await?;
    let mut data = serde_json::Map::new();
    for digest in &flags.digests {
        let report = reports.iter().find(|report| report.digest == digest.as_str());
        let report = report.ok_or_else(|| anyhow!("no batch has the digest {digest}: see `towline deletions list`"))?;
        data.insert(report.digest.clone(), approval::value(&report.cluster_uid, &report.copies).into());
    }
    let endpoint = Endpoint::from_flags(flags.hub.kubeconfig.as_deref(), flags.hub.context.as_deref())?;
    let session =
        Session::open(&endpoint, Options::default()).await.context("the management cluster cannot be used")?;
    write(&session, &flags.namespace, data).await?;
    let copies: usize =
        reports.iter().filter(|report| is_chosen(flags, report)).map(|report| report.copies.len()).sum();
    output::print(&format!("Approved: {copies} copies go now, unless they are wanted again.\n"))?;
    Ok(())
}

fn is_chosen(flags: &Approve, report: &DeletionReport) -> bool {
    flags.digests.iter().any(|digest| digest.as_str() == report.digest)
}

async fn write(
    session: &Session,
    namespace: &Namespace,
    data: serde_json::Map<String, serde_json::Value>,
) -> Result<()> {
    let key = ObjectKey::new(Kind::ConfigMap, namespace.clone(), approval::CONFIG_MAP);
    let patch = json!({"data": data}).to_string();
    match session.call(Call::merge_patch(paths::object(&key), Bytes::from(patch))).await {
        Err(error) if error.is_not_found() => {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": approval::CONFIG_MAP}, "data": data});
            let path = paths::collection(Kind::ConfigMap, Some(namespace));
            session.call(Call::create(path, Bytes::from(object.to_string()))).await.map(drop)
        }
        result => result.map(drop),
    }
    .with_context(|| format!("ConfigMap {namespace}/{} cannot be written", approval::CONFIG_MAP))
}

#[derive(Deserialize)]
struct Answer {
    items: Vec<DeletionReport>,
}

/// Asks the running Towline.
async fn held(address: &ServerUrl) -> Result<Vec<DeletionReport>> {
    let body = timeout(PATIENCE, get(address, "/api/v1/deletions")).await.context("no answer within 10 s")?;
    let body = body.with_context(|| {
        format!("Towline cannot be asked at {} (is a `kubectl port-forward` running?)", address.as_str())
    })?;
    let answer: Answer = serde_json::from_slice(&body).context("the answer is not Towline's")?;
    Ok(answer.items)
}

async fn get(address: &ServerUrl, path: &str) -> Result<Bytes> {
    let uri: http::Uri = address.as_str().parse()?;
    let authority = uri.authority().context("no host")?;
    let stream =
        TcpStream::connect((authority.host().trim_matches(['[', ']']), authority.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = http::Request::get(path).header(http::header::HOST, authority.as_str()).body(Empty::<Bytes>::new())?;
    let exchange = async {
        let answer = sender.send_request(request).await?;
        if !answer.status().is_success() {
            bail!("{}", answer.status());
        }
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
        Ok(body.map_err(|error| anyhow!("{error}"))?.to_bytes())
    };
    tokio::select! {
        body = exchange => body,
        // The connection ends only when the exchange has, or with an error.
        ended = connection => Err(ended.err().map_or_else(|| anyhow!("the connection was closed"), Into::into)),
    }
}
