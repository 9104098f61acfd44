//! `towline check`: the way to each follower, step by step, with what to change where it ends.
//!
//! ```text
//! roster ──▶ probe (asks) ──▶ identity, network, access, rights (judge; pure) ──▶ Step ──▶ text, JSON
//! ```

mod access;
mod identity;
mod network;
mod probe;
mod rights;
mod step;
mod text;

use super::{
    args::{Check, Output},
    engine, output, roster,
};
use crate::telemetry::metrics::Metrics;
use anyhow::Result;
use futures::StreamExt;
use probe::Probe;
use rights::Places;
use serde::Serialize;
use std::process::ExitCode;
use step::Report;

/// So many followers are checked at a time.
const AT_ONCE: usize = 16;
/// A mistake on the command line.
const USAGE: u8 = 2;

/// Everything that the check says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// Whether all followers are.
    good: bool,
    /// In the order of their names.
    followers: Vec<Report>,
}

/// Prints what was found. Exit code 1 if anything is not good.
pub async fn check(wanted: Check) -> Result<ExitCode> {
    wanted.warnings.iter().for_each(|warning| output::complain(warning));
    let aws = engine::aws(&wanted.job, &Metrics::new());
    let roster = roster::read(&wanted.job.followers, &aws)?;
    roster.complaints.iter().for_each(|complaint| output::complain(complaint));
    let followers = match roster.choose(&wanted.chosen) {
        Ok(followers) => followers,
        Err(mistake) => {
            output::complain(&mistake);
            return Ok(ExitCode::from(USAGE));
        }
    };
    let places = Places::of(wanted.job.followers.target_namespaces.as_deref());
    let probe = &Probe { aws, places, now: jiff::Timestamp::now() };
    let asked = followers.iter().map(|(name, listed)| async move { probe.follower(name, listed).await });
    let followers: Vec<Report> = futures::stream::iter(asked).buffered(AT_ONCE).collect().await;
    let answer = Answer { good: followers.iter().all(|report| report.good), followers };
    match wanted.output {
        Output::Json => output::json(&answer)?,
        Output::Table => output::print(&text::text(&answer.followers))?,
    }
    Ok(if answer.good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
