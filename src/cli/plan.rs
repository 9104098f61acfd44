//! `towline plan`: the same planner as `run`, against the live clusters, and nothing is written. Names only.

use super::{
    args::{Output, Plan},
    engine::{self, Drive, Hub},
    inspect::Inspector,
    output,
};
use crate::{
    mirror::{
        apply::Mode,
        inquiry::PlanReport,
        plan::State,
        report::{FollowerReport, Row},
        teller::Telling,
    },
    telemetry::{
        herald::{self, Desk},
        metrics::Metrics,
    },
};
use anyhow::{Result, bail};
use serde::Serialize;
use std::{collections::BTreeMap, process::ExitCode, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

const LOOK: Duration = Duration::from_millis(50);

/// Everything that the plan says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// Whether every follower answered.
    complete: bool,
    rows: Vec<Row>,
    /// Followers that could not be asked, with the reason.
    unreachable: BTreeMap<String, String>,
}

/// Prints what `run` would do. Exit code 1 if a follower could not be asked.
pub async fn plan(plan: Plan) -> Result<ExitCode> {
    for warning in &plan.warnings {
        output::complain(warning);
    }
    let (stop, metrics) = (CancellationToken::new(), Metrics::new());
    let desk = Desk { hub: None, myself: None, instance: plan.job.identity.instance.clone() };
    // Nobody listens: a plan writes no events.
    let (notices, _herald) = herald::herald(desk, metrics.clone());
    let telling = Telling { metrics: metrics.clone(), audit: None, notices, mode: Mode::DryRun };
    let hub = Hub::connect(&plan.job, &telling).await?;
    let (hub_session, _) = watch::channel(None);
    let aws = engine::aws(&plan.job, &metrics);
    let drive = Drive { mode: Mode::DryRun, rate: None, telling, aws, hub_session, stop: stop.clone() };
    let mut engine = engine::start(&plan.job, hub, drive)?;
    engine.complaints.iter().for_each(|complaint| output::complain(complaint));
    let inspector = Inspector { metrics, sources: engine.sources.clone(), directory: engine.directory.clone() };
    let answer = tokio::select! {
        answer = settled(&inspector, plan.timeout) => answer?,
        Some(ended) = engine.tasks.join_next() => bail!("stopped early: {}", reason(ended)),
    };
    stop.cancel();
    match plan.output {
        Output::Json => output::json(&answer)?,
        Output::Table => output::print(&text(&answer))?,
    }
    Ok(if answer.complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn reason(ended: Result<Result<()>, tokio::task::JoinError>) -> String {
    match ended {
        Ok(Ok(())) => "a task ended by itself".to_owned(),
        Ok(Err(error)) => format!("{error:#}"),
        Err(error) => error.to_string(),
    }
}

/// Waits until every follower that answers has nothing more to find out.
async fn settled(inspector: &Inspector, timeout: Duration) -> Result<Answer> {
    let deadline = Instant::now() + timeout;
    loop {
        let directory = inspector.directory.borrow().clone();
        let (reports, missing) = inspector.plan().await;
        let listed = inspector.sources.borrow().is_complete();
        let open = reports.iter().any(|report| !report.settled && report.follower.problem.is_none());
        if directory.asked && listed && missing == 0 && !open {
            return Ok(answer(reports, directory.silent));
        }
        if Instant::now() >= deadline {
            if !listed {
                bail!(
                    "the sources could not be read within {} s: may Towline get, list and watch them?",
                    timeout.as_secs()
                );
            }
            return Ok(answer(reports, directory.silent));
        }
        sleep(LOOK).await;
    }
}

fn answer(reports: Vec<PlanReport>, silent: Vec<FollowerReport>) -> Answer {
    let mut unreachable: BTreeMap<String, String> = BTreeMap::new();
    let unsettled = reports.iter().filter(|report| !report.settled).map(|report| &report.follower);
    for follower in unsettled.chain(&silent) {
        let problem = follower.problem.clone().unwrap_or_else(|| "no answer in time".to_owned());
        unreachable.insert(follower.follower.to_string(), problem);
    }
    let mut rows: Vec<Row> = reports.into_iter().flat_map(rows).collect();
    rows.sort_by(|one, other| {
        let key = |row: &Row| (row.follower.clone(), row.kind, row.namespace.clone(), row.name.clone());
        key(one).cmp(&key(other))
    });
    Answer { complete: unreachable.is_empty(), rows, unreachable }
}

/// What would be written, and the targets that would not be although they are not in step.
fn rows(report: PlanReport) -> Vec<Row> {
    let written = |row: &Row| {
        report
            .writes
            .iter()
            .any(|write| (write.kind, &write.namespace, &write.name) == (row.kind, &row.namespace, &row.name))
    };
    let others = report.follower.rows.iter().filter(|row| !written(row)).cloned().map(named);
    let mut rows: Vec<Row> = others.collect();
    rows.extend(report.writes);
    rows
}

/// Unwanted copies are shown by what will happen to them.
fn named(row: Row) -> Row {
    if row.action == State::DeletionPending.as_str() {
        Row { action: "Delete", result: "after its delay".to_owned(), ..row }
    } else {
        row
    }
}

fn text(answer: &Answer) -> String {
    let cells = |row: &Row| {
        [
            row.follower.to_string(),
            row.action.to_owned(),
            row.kind.to_string(),
            format!("{}/{}", row.namespace, row.name),
            row.source.clone(),
            [row.class.unwrap_or_default(), if row.result == "Planned" { "" } else { &row.result }]
                .join(" ")
                .trim()
                .to_owned(),
        ]
    };
    let rows: Vec<[String; 6]> = answer.rows.iter().map(cells).collect();
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("Everything is in step: nothing to do.\n");
    } else {
        text.push_str(&output::table(["FOLLOWER", "ACTION", "KIND", "TARGET", "SOURCE", "DETAIL"], &rows));
    }
    for (follower, problem) in &answer.unreachable {
        text.push_str(&format!("\nFollower {follower} could not be asked: {problem}\n"));
    }
    text
}
