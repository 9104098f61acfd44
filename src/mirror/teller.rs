//! What a worker tells the outside: metrics, one log line per change made, notices for events. It is told names, states and
//! counts, never content.

use super::{
    apply::{Applied, Mode},
    decide::Task,
    deletion::Class,
    inquiry::counts,
    observed::Standing,
    outcome::{Failure, Outcome},
    plan::{State, Write},
    report::Row,
    state::{Mirror, Note, Settings},
};
use crate::{
    api::{
        key::ObjectKey,
        names::{ClusterUid, FollowerName},
    },
    cluster::{error::Error, session::Observer},
    source::{Scope, Source},
    telemetry::{
        audit::{AuditLog, Change},
        events::{Notice, ObjectRef, SYNCED, Tone},
        herald::Notices,
        metrics::{FollowerInfo, Metrics},
        requests::Requests,
    },
};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// Counts are told at most this often.
const EVERY: Duration = Duration::from_millis(500);

/// Whom all workers tell.
#[derive(Clone)]
pub struct Telling {
    /// Metrics.
    pub metrics: Metrics,
    /// `--audit-log`.
    pub audit: Option<AuditLog>,
    /// Events.
    pub notices: Notices,
    /// Whether writes are sent.
    pub mode: Mode,
}

impl Telling {
    /// Counts the requests to a follower.
    pub fn observer(&self, follower: FollowerName) -> Arc<dyn Observer> {
        Requests::of(follower.as_str(), self.metrics.clone())
    }

    /// A follower that has never answered.
    pub fn silent(&self, follower: &FollowerName, info: FollowerInfo) {
        self.metrics.follower_info(follower.as_str(), info);
        self.metrics.up(follower.as_str(), false);
    }

    /// A follower cannot be reached. Outages pass; what somebody must change is an event, too.
    pub fn unreachable(&self, follower: &FollowerName, error: &Error) {
        if error.needs_somebody() {
            let detail = Some(error.to_string());
            self.notices.about_follower(Tone::Warning, "FollowerNotConnected", follower.as_str(), detail);
        }
    }

    /// A follower that is gone.
    pub fn forget(&self, follower: &FollowerName) {
        self.metrics.forget_follower(follower.as_str());
    }

    /// The teller of one worker.
    pub fn teller(&self, follower: &FollowerName, info: FollowerInfo, settings: &Settings) -> Teller {
        Teller {
            telling: self.clone(),
            follower: follower.clone(),
            info,
            cluster: settings.observer.cluster.clone(),
            told: None,
            contact: None,
            pending_since: None,
            planned: BTreeMap::new(),
            denied: None,
            down: None,
            refusals: BTreeMap::new(),
        }
    }
}

/// What one worker tells.
pub struct Teller {
    telling: Telling,
    follower: FollowerName,
    info: FollowerInfo,
    cluster: ClusterUid,
    told: Option<Instant>,
    contact: Option<SystemTime>,
    pending_since: Option<SystemTime>,
    /// What a dry run would have written.
    planned: BTreeMap<ObjectKey, Row>,
    denied: Option<String>,
    /// Why it is not connected, as it was told last.
    down: Option<Error>,
    /// Why a target was refused, for the event that comes of it.
    refusals: BTreeMap<ObjectKey, String>,
}

impl Teller {
    /// The follower's first name.
    pub fn follower(&self) -> &FollowerName {
        &self.follower
    }

    /// The names of the follower have changed.
    pub fn rename(&mut self, first: Option<FollowerName>) {
        if let Some(first) = first.filter(|first| *first != self.follower) {
            self.telling.forget(&self.follower);
            self.follower = first;
        }
        self.told = None;
    }

    /// Counts requests.
    pub fn observer(&self) -> Arc<dyn Observer> {
        self.telling.observer(self.follower.clone())
    }

    /// The follower answered.
    pub fn contact(&mut self) {
        self.contact = Some(SystemTime::now());
    }

    /// Connected.
    pub fn up(&mut self) {
        self.contact();
        self.down = None;
        self.telling.metrics.follower_info(self.follower.as_str(), self.info.clone());
        self.telling.metrics.up(self.follower.as_str(), true);
        tracing::info!(follower = %self.follower, cluster = %self.cluster, "follower connected");
    }

    /// Not connected. Each reason is told once.
    pub fn down(&mut self, error: &Error) {
        self.telling.metrics.up(self.follower.as_str(), false);
        if self.down.as_ref() != Some(error) {
            self.down = Some(error.clone());
            self.telling.unreachable(&self.follower, error);
            tracing::warn!(follower = %self.follower, %error, "follower not connected");
        }
    }

    /// Another cluster answered.
    pub fn moved(&self, name: &FollowerName, found: &ClusterUid) {
        tracing::warn!(follower = %name, expected = %self.cluster, %found, "another cluster answers; nothing was written there");
        let detail =
            format!("{name}: kube-system's UID was {} and is {found}; nothing was written there", self.cluster);
        self.about_us("ClusterChanged", detail);
    }

    /// A list of copies is forbidden.
    pub fn denied(&mut self, scope: &Scope, error: &Error) {
        let place =
            scope.namespace.as_ref().map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
        let what = format!("may not read {} in {place}: grant get, list and watch", scope.kind.plural());
        if self.denied.as_ref() != Some(&what) {
            tracing::warn!(follower = %self.follower, %error, "{what}");
            self.about_us("FollowerDenied", what.clone());
            self.denied = Some(what);
        }
    }

    /// The list of namespaces is forbidden.
    pub fn namespaces_denied(&self, error: &Error) {
        tracing::debug!(follower = %self.follower, %error, "may not read namespaces: only namespaces that are named literally are served");
    }

    /// A task was carried out, or was not.
    pub fn applied(&mut self, task: &Task, applied: &Applied) {
        if !task.write.is_write() {
            return;
        }
        let Some(result) = result(applied) else { return };
        self.remember_refusal(task, applied);
        let row = self.row(task, applied, result);
        if self.telling.mode == Mode::DryRun {
            if self.planned.insert(task.key.clone(), row).is_none() {
                tracing::info!(follower = %self.follower, kind = %task.key.kind, namespace = %task.key.namespace, name = %task.key.name,
                    source = %task.source, action = task.write.as_str(), "would write");
            }
            return;
        }
        self.telling.metrics.wrote(self.follower.as_str(), task.write.as_str(), result);
        if result == "Done" {
            self.count_done(task);
            self.older_certificate(task);
        }
        Change {
            follower: self.follower.as_str(),
            kind: row.kind.as_str(),
            namespace: row.namespace.as_str(),
            name: row.name.as_str(),
            source: &row.source,
            action: row.action,
            result: &row.result,
            code: row.code,
        }
        .log();
        if let Some(audit) = &self.telling.audit {
            audit.record(&row);
        }
    }

    fn remember_refusal(&mut self, task: &Task, applied: &Applied) {
        match (&applied.outcome, &applied.error) {
            (Outcome::Failed(Failure::Refused), Some(error)) => {
                self.refusals.insert(task.key.clone(), error.to_string());
            }
            _ => {
                self.refusals.remove(&task.key);
            }
        }
    }

    fn count_done(&self, task: &Task) {
        let metrics = &self.telling.metrics;
        match (task.repair, task.write) {
            (true, Write::Create) => metrics.repaired(self.follower.as_str(), "deleted"),
            (true, Write::Update | Write::Replace) => metrics.repaired(self.follower.as_str(), "edited"),
            _ => {
                if let Some(since) = task.since.filter(|_| task.parcel.is_some()) {
                    metrics.propagated(since.elapsed());
                }
            }
        }
    }

    /// A certificate that ends sooner than the one that it replaces is copied, and told.
    fn older_certificate(&self, task: &Task) {
        let Some(parcel) = &task.parcel else { return };
        let before = task.observed.as_ref().and_then(|observed| observed.tls);
        if let (Some(Ok(now)), Some(before)) = (parcel.shipment.payload.tls, before)
            && now.not_after < before.not_after
        {
            let source = &parcel.mark.source;
            self.telling.notices.send(Notice {
                source: ObjectRef {
                    kind: source.kind.as_str(),
                    namespace: source.namespace.to_string(),
                    name: source.name.to_string(),
                    uid: source.uid.to_string(),
                    resource_version: source.resource_version.to_string(),
                },
                reason: "OlderCertificate",
                tone: Tone::Warning,
                follower: Some(self.follower.to_string()),
                target: format!("{}/{}", task.key.namespace, task.key.name),
                detail: Some("the certificate ends sooner than the one that it replaced".to_owned()),
            });
        }
    }

    fn row(&self, task: &Task, applied: &Applied, result: &str) -> Row {
        Row {
            time: Some(jiff::Timestamp::now().to_string()),
            follower: self.follower.clone(),
            cluster_uid: self.cluster.clone(),
            kind: task.key.kind,
            namespace: task.key.namespace.clone(),
            name: task.key.name.clone(),
            source: format!("{}/{}", task.source.namespace, task.source.name),
            action: task.write.as_str(),
            class: task.class.filter(|_| matches!(task.write, Write::Delete | Write::Release)).map(Class::as_str),
            result: applied.error.as_ref().map_or_else(|| result.to_owned(), |error| format!("{result}: {error}")),
            code: applied.error.as_ref().and_then(|error| error.status()).map(|status| status.code),
        }
    }

    /// What a dry run would have written.
    pub fn planned(&self) -> Vec<Row> {
        self.planned.values().cloned().collect()
    }

    /// When counts are to be told next.
    pub fn due(&self) -> Option<Instant> {
        self.told.map(|told| told + EVERY)
    }

    /// Tells what has changed in the mirror.
    pub fn tell(&mut self, mirror: &mut Mirror) {
        for note in mirror.take_notes() {
            self.notice(mirror, note);
        }
        let now = Instant::now();
        if self.told.is_some_and(|told| now < told + EVERY) {
            return;
        }
        self.told = None;
        self.tell_counts(mirror);
    }

    /// Something happened: counts are told soon.
    pub fn stirred(&mut self) {
        if self.told.is_none() {
            self.told = Some(Instant::now());
        }
    }

    fn about_us(&self, reason: &'static str, detail: String) {
        self.telling.notices.about_follower(Tone::Warning, reason, self.follower.as_str(), Some(detail));
    }

    fn notice(&self, mirror: &Mirror, note: Note) {
        let Some(source) = mirror.source(&note.source) else {
            if note.state == State::DeletionHeld {
                self.about_us("DeletionsHeld", note.detail.unwrap_or_default());
            }
            return;
        };
        let (tone, reason) = match note.state {
            State::InStep => (Tone::Normal, SYNCED),
            State::Pending | State::Waiting | State::Frozen | State::DeletionPending | State::Held => return,
            State::DeletionHeld => (Tone::Warning, "DeletionsHeld"),
            state => (Tone::Warning, state.as_str()),
        };
        let refusal = self.refusals.get(&note.target).filter(|_| note.state == State::Refused);
        self.telling.notices.send(Notice {
            source: object_ref(source),
            reason,
            tone,
            follower: Some(self.follower.to_string()),
            target: format!("{}/{}", note.target.namespace, note.target.name),
            detail: note.detail.or_else(|| refusal.cloned()),
        });
    }

    fn tell_counts(&mut self, mirror: &Mirror) {
        let (metrics, name) = (&self.telling.metrics, self.follower.as_str());
        let counted = counts(mirror);
        let states: Vec<(&'static str, usize)> = State::ALL
            .iter()
            .map(|state| (state.as_str(), counted.get(state.as_str()).copied().unwrap_or_default()))
            .collect();
        metrics.copies(name, &states);
        metrics.strays(name, mirror.strays());
        let held = mirror.deletions().values().filter(|pending| pending.held.is_some()).count();
        metrics.deletions(name, mirror.deletions().len() - held, held);
        if let Some(contact) = self.contact {
            metrics.contact(name, unix(contact));
        }
        let pending = counted.get(State::Pending.as_str()).is_some_and(|count| *count > 0);
        self.pending_since = if pending { self.pending_since.or_else(|| Some(SystemTime::now())) } else { None };
        metrics.oldest_pending(name, self.pending_since.map(unix));
    }

    /// The worker ends.
    pub fn retire(&self) {
        self.telling.forget(&self.follower);
    }
}

/// A source as events name it.
pub fn object_ref(source: &Source) -> ObjectRef {
    ObjectRef {
        kind: source.key.kind.as_str(),
        namespace: source.key.namespace.to_string(),
        name: source.key.name.to_string(),
        uid: source.uid.to_string(),
        resource_version: source.version.to_string(),
    }
}

/// `None` where nothing was written and nothing failed: the plan is made anew.
fn result(applied: &Applied) -> Option<&'static str> {
    match (&applied.outcome, &applied.error) {
        (Outcome::Wrote(observed), None) if matches!(observed.standing, Standing::Ours(_)) => Some("Done"),
        (Outcome::Wrote(_), None) => Some("Altered"),
        (Outcome::Gone | Outcome::NamespaceMade, None) => Some("Done"),
        (Outcome::Planned, None) => Some("Planned"),
        (Outcome::Raced(_) | Outcome::Found(_), None) => None,
        (Outcome::Failed(failure), _) => Some(failure.as_str()),
        (_, Some(_)) => Some("Failed"),
    }
}

fn unix(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_secs_f64()).unwrap_or_default()
}
