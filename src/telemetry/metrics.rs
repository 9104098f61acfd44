//! The series of `/metrics`. Those of a follower or a source go when it goes.

mod ledger;

use ledger::{Books, Ledger};
use prometheus_client::{
    encoding::text,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::Registry,
};
use std::{
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};

/// Seconds from the change of a source to a copy in step: 5 ms to 10 minutes.
const PROPAGATION: [f64; 18] =
    [0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];
/// Seconds until an answer begins.
const REQUEST: [f64; 10] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 10.0];
const REVISION: Option<&str> = option_env!("TOWLINE_REVISION");

type ByVerb = Family<[(&'static str, &'static str); 1], Histogram, fn() -> Histogram>;

/// All metrics. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    books: Arc<Mutex<Books>>,
    propagation: Histogram,
    request_duration: ByVerb,
    events_dropped: Counter,
    aws: AwsSeries,
}

/// What a follower is; what is not known of it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowerInfo {
    /// Who knows its name.
    pub provider: &'static str,
    /// Its AWS account.
    pub account: String,
    /// Its AWS region.
    pub region: String,
    /// Its name in EKS.
    pub cluster: String,
    /// Its Kubernetes version, as EKS tells it.
    pub kubernetes_version: String,
}

/// What is counted about AWS.
#[derive(Default)]
struct AwsSeries {
    requests: Family<Vec<(&'static str, String)>, Counter>,
    expiry: Family<Vec<(&'static str, String)>, Gauge<f64, AtomicU64>>,
    skew: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All metrics, at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("towline");
        let books = Arc::new(Mutex::new(Books::default()));
        let propagation = Histogram::new(PROPAGATION);
        let request_duration = ByVerb::new_with_constructor(|| Histogram::new(REQUEST));
        let events_dropped = Counter::default();
        let build = [("version", env!("CARGO_PKG_VERSION")), ("revision", REVISION.unwrap_or("unknown"))];
        registry.register("build", "What is running", Info::new(build));
        registry.register(
            "propagation_seconds",
            "From the change of a source to its copy in step",
            propagation.clone(),
        );
        registry.register(
            "kube_request_duration_seconds",
            "Until an answer of an API server begins",
            request_duration.clone(),
        );
        registry.register(
            "events_dropped",
            "Notices that came faster than events are made of them",
            events_dropped.clone(),
        );
        let aws = AwsSeries::register(&mut registry);
        registry.register_collector(Box::new(ledger::Collect(Arc::clone(&books))));
        Self(Arc::new(Inner { registry, books, propagation, request_duration, events_dropped, aws }))
    }

    /// A call to AWS ended with this code; `OK` if it succeeded.
    pub fn aws_request(&self, service: &'static str, operation: &'static str, code: &str) {
        let labels = vec![("service", service.into()), ("operation", operation.into()), ("code", code.into())];
        self.0.aws.requests.get_or_create(&labels).inc();
    }

    /// Until when the newest credentials of a role are good, in unix seconds.
    pub fn credentials_expire(&self, role_arn: &str, unix_seconds: f64) {
        self.0.aws.expiry.get_or_create(&vec![("role_arn", role_arn.to_owned())]).set(unix_seconds);
    }

    /// Seconds that AWS is ahead of our clock; returns what they were before.
    pub fn clock_skew(&self, seconds: i64) -> i64 {
        self.0.aws.skew.set(seconds)
    }

    /// What a follower is.
    pub fn follower_info(&self, follower: &str, info: FollowerInfo) {
        self.of(follower, |ledger| ledger.info = Some(info));
    }

    /// Whether a follower is connected and its copies are known.
    pub fn up(&self, follower: &str, up: bool) {
        self.of(follower, |ledger| ledger.up = Some(up));
    }

    /// When a follower last answered.
    pub fn contact(&self, follower: &str, unix_seconds: f64) {
        self.of(follower, |ledger| ledger.contact = Some(unix_seconds));
    }

    /// Since when the oldest target that is not in step waits, in unix seconds; `None` if all are in step.
    pub fn oldest_pending(&self, follower: &str, unix_seconds: Option<f64>) {
        self.of(follower, |ledger| ledger.oldest_pending = unix_seconds);
    }

    /// How many targets are in each state. A state that is left out has none.
    pub fn copies(&self, follower: &str, states: &[(&'static str, usize)]) {
        self.of(follower, |ledger| {
            ledger.copies.values_mut().for_each(|count| *count = 0);
            ledger.copies.extend(states.iter().copied());
        });
    }

    /// How many objects with our label are not in their place.
    pub fn strays(&self, follower: &str, count: usize) {
        self.of(follower, |ledger| ledger.strays = Some(count));
    }

    /// How many unwanted copies wait for their time, and for approval.
    pub fn deletions(&self, follower: &str, pending: usize, held: usize) {
        self.of(follower, |ledger| ledger.deletions = Some((pending, held)));
    }

    /// A write was answered.
    pub fn wrote(&self, follower: &str, action: &'static str, result: &'static str) {
        self.of(follower, |ledger| *ledger.writes.entry((action, result)).or_default() += 1);
    }

    /// A copy was brought back in step that somebody else had changed.
    pub fn repaired(&self, follower: &str, cause: &'static str) {
        self.of(follower, |ledger| *ledger.repairs.entry(cause).or_default() += 1);
    }

    /// A copy got in step this long after its source changed.
    pub fn propagated(&self, took: Duration) {
        self.0.propagation.observe(took.as_secs_f64());
    }

    /// An API server's answer began (`code`) after this long, or none came.
    pub fn request(&self, follower: &str, verb: &'static str, code: Option<u16>, took: Duration) {
        self.of(follower, |ledger| *ledger.requests.entry((verb, code)).or_default() += 1);
        self.0.request_duration.get_or_create(&[("verb", verb)]).observe(took.as_secs_f64());
    }

    /// How many sources there are: kind, state, count. What is left out is none.
    pub fn sources(&self, counts: &[(&'static str, &'static str, usize)]) {
        let counts = counts.iter().map(|(kind, state, count)| ((*kind, *state), *count));
        self.books(|books| {
            books.sources.values_mut().for_each(|count| *count = 0);
            books.sources.extend(counts);
        });
    }

    /// Until when the certificate of a source is valid, in unix seconds; `None` if there is none, or no source.
    pub fn source_certificate(&self, namespace: &str, name: &str, not_after: Option<i64>) {
        let key = (namespace.to_owned(), name.to_owned());
        self.books(|books| match not_after {
            Some(seconds) => books.certificates.insert(key, seconds),
            None => books.certificates.remove(&key),
        });
    }

    /// A notice could not be taken in.
    pub fn event_dropped(&self) {
        self.0.events_dropped.inc();
    }

    /// Removes the series of a follower that is gone. Its worker must have ended, or the next request brings them back.
    pub fn forget_follower(&self, follower: &str) {
        self.books(|books| books.followers.remove(follower));
    }

    /// All series as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        match text::encode(&mut text, &self.0.registry) {
            Ok(()) => text,
            Err(_a_string_takes_everything) => String::new(),
        }
    }

    fn of(&self, follower: &str, change: impl FnOnce(&mut Ledger)) {
        self.books(|books| match books.followers.get_mut(follower) {
            Some(ledger) => change(ledger),
            None => change(books.followers.entry(follower.to_owned()).or_default()),
        });
    }

    fn books<T>(&self, change: impl FnOnce(&mut Books) -> T) {
        change(&mut self.0.books.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl AwsSeries {
    fn register(registry: &mut Registry) -> Self {
        let series = Self::default();
        registry.register("aws_requests", "Calls to AWS by their outcome", series.requests.clone());
        let help = "Until when the newest credentials of a role are good";
        registry.register("credentials_expiry_timestamp_seconds", help, series.expiry.clone());
        registry.register("clock_skew_seconds", "How far AWS is ahead of this machine's clock", series.skew.clone());
        series
    }
}

#[cfg(test)]
mod tests;
