//! Questions that a worker answers between two pieces of work: readers get snapshots, never the state itself.

use super::{
    deletion::Held,
    plan::State,
    report::{DeletionReport, FollowerReport, Row},
    state::Mirror,
};
use crate::api::{approval, key::ObjectKey, names::FollowerName};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// A question to one worker. Who asks may have gone away by the time of the answer.
pub enum Inquiry {
    /// How it stands.
    Follower(oneshot::Sender<FollowerReport>),
    /// Every target: its source and state.
    Targets(oneshot::Sender<Vec<(ObjectKey, State)>>),
    /// What a dry run would write.
    Plan(oneshot::Sender<PlanReport>),
    /// What waits for approval.
    Deletions(oneshot::Sender<Option<DeletionReport>>),
}

/// What a dry run has found out.
#[derive(Clone, Debug)]
pub struct PlanReport {
    /// Whether there is nothing left to find out.
    pub settled: bool,
    /// How the follower stands.
    pub follower: FollowerReport,
    /// What would be written.
    pub writes: Vec<Row>,
}

/// What an answer needs beside the mirror.
pub struct Circumstances {
    /// The follower's first name.
    pub follower: FollowerName,
    /// Why it is not connected.
    pub problem: Option<String>,
    /// Whether there is a connection, and everything has been read.
    pub settled: bool,
    /// What a dry run would have written.
    pub planned: Vec<Row>,
}

impl Inquiry {
    /// Answers from the mirror's state.
    pub fn answer(self, mirror: &Mirror, circumstances: Circumstances) {
        let follower = &circumstances.follower.clone();
        let _gone = match self {
            Self::Follower(to) => to.send(follower_report(mirror, circumstances)).is_err(),
            Self::Plan(to) => to.send(plan_report(mirror, circumstances)).is_err(),
            Self::Targets(to) => to.send(targets(mirror)).is_err(),
            Self::Deletions(to) => to.send(deletion_report(mirror, follower)).is_err(),
        };
    }
}

fn targets(mirror: &Mirror) -> Vec<(ObjectKey, State)> {
    mirror.targets().map(|(_, source, state)| (source.clone(), state)).collect()
}

fn names(mirror: &Mirror) -> Vec<FollowerName> {
    mirror.roster().members.iter().map(|member| member.name.clone()).collect()
}

fn plan_report(mirror: &Mirror, circumstances: Circumstances) -> PlanReport {
    let writes = circumstances.planned.clone();
    let settled = circumstances.settled && mirror.is_idle() && mirror.sources_are_complete();
    PlanReport { settled, writes, follower: follower_report(mirror, circumstances) }
}

fn follower_report(mirror: &Mirror, circumstances: Circumstances) -> FollowerReport {
    let Circumstances { follower, problem, settled, .. } = circumstances;
    FollowerReport {
        rows: rows(mirror, &follower),
        follower,
        names: names(mirror),
        cluster_uid: Some(mirror.cluster().clone()),
        connected: settled,
        problem,
        copies: counts(mirror),
        strays: mirror.strays(),
    }
}

/// How many targets are in each state.
pub fn counts(mirror: &Mirror) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, _, state) in mirror.targets() {
        *counts.entry(state.as_str()).or_default() += 1;
    }
    counts
}

fn rows(mirror: &Mirror, follower: &FollowerName) -> Vec<Row> {
    let odd = mirror.targets().filter(|(_, _, state)| *state != State::InStep);
    odd.map(|(target, source, state)| row(mirror, follower, target, (source, state))).collect()
}

fn row(mirror: &Mirror, follower: &FollowerName, target: &ObjectKey, (source, state): (&ObjectKey, State)) -> Row {
    let pending = mirror.deletions().get(target);
    Row {
        time: None,
        follower: follower.clone(),
        cluster_uid: mirror.cluster().clone(),
        kind: target.kind,
        namespace: target.namespace.clone(),
        name: target.name.clone(),
        source: format!("{}/{}", source.namespace, source.name),
        action: state.as_str(),
        class: pending.map(|pending| pending.class.as_str()),
        result: pending.and_then(|pending| pending.held).map(Held::as_str).unwrap_or_default().to_owned(),
        code: None,
    }
}

fn deletion_report(mirror: &Mirror, follower: &FollowerName) -> Option<DeletionReport> {
    let held = || mirror.deletions().iter().filter_map(|(key, pending)| Some((key, &pending.uid, pending.held?)));
    let copies: BTreeSet<String> = held().map(|(key, uid, _)| format!("{key}/{uid}")).collect();
    if copies.is_empty() {
        return None;
    }
    let copies: Vec<String> = copies.into_iter().collect();
    let reasons: BTreeSet<&str> = held().map(|(.., held)| held.as_str()).collect();
    Some(DeletionReport {
        follower: follower.clone(),
        cluster_uid: mirror.cluster().clone(),
        digest: approval::digest(mirror.cluster(), &copies),
        reasons: reasons.into_iter().map(str::to_owned).collect(),
        copies,
    })
}
