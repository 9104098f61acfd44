//! The numbers that belong to one follower or source, together, so that they go together; and how they are written.

use super::FollowerInfo;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::MetricType,
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// All series that come and go.
#[derive(Default)]
pub(super) struct Books {
    pub(super) followers: BTreeMap<String, Ledger>,
    /// By kind and state.
    pub(super) sources: BTreeMap<(&'static str, &'static str), usize>,
    /// By namespace and name.
    pub(super) certificates: BTreeMap<(String, String), i64>,
}

/// The series of one follower.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) info: Option<FollowerInfo>,
    pub(super) up: Option<bool>,
    pub(super) contact: Option<f64>,
    pub(super) oldest_pending: Option<f64>,
    pub(super) copies: BTreeMap<&'static str, usize>,
    pub(super) strays: Option<usize>,
    /// Pending and held.
    pub(super) deletions: Option<(usize, usize)>,
    /// By action and result.
    pub(super) writes: BTreeMap<(&'static str, &'static str), u64>,
    /// By cause.
    pub(super) repairs: BTreeMap<&'static str, u64>,
    /// By verb and code.
    pub(super) requests: BTreeMap<(&'static str, Option<u16>), u64>,
}

/// Writes the books at each scrape.
pub(super) struct Collect(pub(super) Arc<Mutex<Books>>);

impl fmt::Debug for Collect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collect")
    }
}

impl Collector for Collect {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = Page(encoder);
        books.sources(&mut page)?;
        books.health(&mut page)?;
        books.copies(&mut page)?;
        books.counters(&mut page)
    }
}

impl Books {
    fn sources(&self, page: &mut Page<'_>) -> fmt::Result {
        let sources = self.sources.iter();
        page.gauges(
            "sources",
            "Sources by state",
            sources.map(|((kind, state), count)| ([("kind", *kind), ("state", *state)], float(*count))),
        )?;
        let certificates = self.certificates.iter();
        page.gauges(
            "source_certificate_expiration_timestamp_seconds",
            "Until when the certificate of a source is valid",
            certificates.map(|((namespace, name), until)| {
                ([("namespace", namespace.as_str()), ("name", name.as_str())], *until as f64)
            }),
        )
    }

    fn health(&self, page: &mut Page<'_>) -> fmt::Result {
        page.gauges(
            "follower_info",
            "What a follower is",
            self.followers.iter().filter_map(|(follower, ledger)| {
                let info = ledger.info.as_ref()?;
                let labels = [
                    ("follower", follower.as_str()),
                    ("provider", info.provider),
                    ("account", &info.account),
                    ("region", &info.region),
                    ("cluster", &info.cluster),
                    ("kubernetes_version", &info.kubernetes_version),
                ];
                Some((labels, 1.0))
            }),
        )?;
        let up = |ledger: &Ledger| ledger.up.map(|up| if up { 1.0 } else { 0.0 });
        page.gauges("follower_up", "Whether a follower is connected and its copies are known", self.each(up))?;
        page.gauges(
            "follower_last_contact_timestamp_seconds",
            "When a follower last answered",
            self.each(|ledger| ledger.contact),
        )?;
        page.gauges(
            "follower_oldest_pending_timestamp_seconds",
            "Since when the oldest target that is not in step waits",
            self.each(|ledger| ledger.oldest_pending),
        )
    }

    fn copies(&self, page: &mut Page<'_>) -> fmt::Result {
        page.gauges(
            "copies",
            "Targets by state",
            self.followers.iter().flat_map(|(follower, ledger)| {
                let states = ledger.copies.iter();
                states.map(move |(state, count)| ([("follower", follower.as_str()), ("state", *state)], float(*count)))
            }),
        )?;
        let strays = |ledger: &Ledger| ledger.strays.map(float);
        page.gauges("strays", "Objects with our label that are not in their place", self.each(strays))?;
        let pending = |ledger: &Ledger| ledger.deletions.map(|(pending, _)| float(pending));
        page.gauges("deletions_pending", "Unwanted copies that wait for their time", self.each(pending))?;
        let held = |ledger: &Ledger| ledger.deletions.map(|(_, held)| float(held));
        page.gauges("deletions_held", "Unwanted copies that wait for approval", self.each(held))
    }

    fn counters(&self, page: &mut Page<'_>) -> fmt::Result {
        page.counters(
            "writes",
            "Writes by what came of them",
            self.followers.iter().flat_map(|(follower, ledger)| {
                ledger.writes.iter().map(move |((action, result), count)| {
                    ([("follower", follower.as_str()), ("action", *action), ("result", *result)], *count)
                })
            }),
        )?;
        page.counters(
            "repairs",
            "Copies that others had changed",
            self.followers.iter().flat_map(|(follower, ledger)| {
                let repairs = ledger.repairs.iter();
                repairs.map(move |(cause, count)| ([("follower", follower.as_str()), ("cause", *cause)], *count))
            }),
        )?;
        let requests = self.followers.iter().flat_map(|(follower, ledger)| {
            ledger.requests.iter().map(move |((verb, code), count)| {
                let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
                ((follower, *verb, code), *count)
            })
        });
        let requests: Vec<_> = requests.collect();
        page.counters(
            "kube_requests",
            "Requests to API servers",
            requests.iter().map(|((follower, verb, code), count)| {
                ([("follower", follower.as_str()), ("verb", *verb), ("code", code.as_str())], *count)
            }),
        )
    }

    /// One value of each follower that has it.
    fn each<'a>(
        &'a self,
        value: impl Fn(&Ledger) -> Option<f64> + 'a,
    ) -> impl Iterator<Item = ([(&'a str, &'a str); 1], f64)> + 'a {
        let followers = self.followers.iter();
        followers.filter_map(move |(follower, ledger)| Some(([("follower", follower.as_str())], value(ledger)?)))
    }
}

type Labels<'a, const N: usize> = [(&'a str, &'a str); N];

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn gauges<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl Iterator<Item = (Labels<'a, N>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in series {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn counters<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        series: impl Iterator<Item = (Labels<'a, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in series {
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, u64>(&value, None)?;
        }
        Ok(())
    }
}

/// Counts are far below 2^53, where a float is no longer exact.
fn float(count: usize) -> f64 {
    count as f64
}
