//! Answers `/api/v1` by asking the workers. One that does not answer in time is left out: it is busy, and says so itself.

use crate::{
    mirror::{
        fleet::Directory,
        inquiry::{Inquiry, PlanReport},
        report::{DeletionReport, FollowerReport, SourceReport},
    },
    source::{Scope, Snapshot, Source, census},
    telemetry::metrics::Metrics,
    web::{BoxFuture, Inspect},
};
use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(2);

/// Whom to ask.
#[derive(Clone)]
pub struct Inspector {
    /// Metrics.
    pub metrics: Metrics,
    /// The sources.
    pub sources: watch::Receiver<Snapshot>,
    /// The followers.
    pub directory: watch::Receiver<Directory>,
}

impl Inspect for Inspector {
    /// Whether the sources have been listed: never depends on a follower.
    fn ready(&self) -> Result<(), String> {
        let snapshot = self.sources.borrow();
        let waiting: Vec<String> =
            snapshot.scopes.iter().filter(|(_, progress)| !progress.listed).map(|(scope, _)| place(scope)).collect();
        if snapshot.scopes.is_empty() {
            Err("sources are not listed yet".to_owned())
        } else if waiting.is_empty() {
            Ok(())
        } else {
            Err(format!("not listed yet: {}", waiting.join(", ")))
        }
    }

    fn followers(&self) -> BoxFuture<'_, Vec<FollowerReport>> {
        self.all_followers().boxed()
    }

    fn sources(&self) -> BoxFuture<'_, Vec<SourceReport>> {
        self.all_sources().boxed()
    }

    fn deletions(&self) -> BoxFuture<'_, Vec<DeletionReport>> {
        self.all_deletions().boxed()
    }

    fn metrics(&self) -> String {
        self.metrics.render()
    }
}

impl Inspector {
    /// Every follower, also those that never answered.
    async fn all_followers(&self) -> Vec<FollowerReport> {
        let mut reports = self.directory.borrow().silent.clone();
        reports.extend(self.ask(Inquiry::Follower).await);
        reports.sort_by(|one, other| one.follower.cmp(&other.follower));
        reports
    }

    /// Every source, with its copies in all followers.
    async fn all_sources(&self) -> Vec<SourceReport> {
        let snapshot = self.sources.borrow().clone();
        let mut copies: BTreeMap<_, BTreeMap<&'static str, usize>> = BTreeMap::new();
        for (source, state) in self.ask(Inquiry::Targets).await.into_iter().flatten() {
            *copies.entry(source).or_default().entry(state.as_str()).or_default() += 1;
        }
        let mut report = |source: &Source| SourceReport {
            kind: source.key.kind,
            namespace: source.key.namespace.clone(),
            name: source.key.name.clone(),
            state: census::state(&source.condition),
            problem: census::problem(&source.condition),
            resource_version: source.shipment().map(|shipment| shipment.version.to_string()),
            copies: copies.remove(&source.key).unwrap_or_default(),
        };
        snapshot.sources.values().map(|source| report(source)).collect()
    }

    /// What waits for approval.
    async fn all_deletions(&self) -> Vec<DeletionReport> {
        let mut reports: Vec<_> = self.ask(Inquiry::Deletions).await.into_iter().flatten().collect();
        reports.sort_by(|one, other| one.follower.cmp(&other.follower));
        reports
    }

    /// What a dry run has found out so far; how many workers did not answer.
    pub async fn plan(&self) -> (Vec<PlanReport>, usize) {
        let workers = self.directory.borrow().workers.len();
        let reports = self.ask(Inquiry::Plan).await;
        let missing = workers.saturating_sub(reports.len());
        (reports, missing)
    }

    async fn ask<T>(&self, question: impl Fn(oneshot::Sender<T>) -> Inquiry) -> Vec<T> {
        let workers = self.directory.borrow().workers.clone();
        let answers: FuturesUnordered<_> = workers.into_iter().map(|worker| answer(worker, &question)).collect();
        answers.filter_map(async |answer| answer).collect().await
    }
}

fn place(scope: &Scope) -> String {
    match &scope.namespace {
        Some(namespace) => format!("{} in {namespace}", scope.kind.plural()),
        None => scope.kind.plural().to_owned(),
    }
}

async fn answer<T>(worker: mpsc::Sender<Inquiry>, question: impl Fn(oneshot::Sender<T>) -> Inquiry) -> Option<T> {
    let (to, answered) = oneshot::channel();
    let ask = async {
        worker.send(question(to)).await.ok()?;
        answered.await.ok()
    };
    timeout(PATIENCE, ask).await.ok().flatten()
}
