//! A session's requests, counted under the name of the follower that it leads to.

use super::metrics::Metrics;
use crate::cluster::Observer;
use std::{sync::Arc, time::Duration};

/// Counts the requests of one session.
pub struct Requests {
    metrics: Metrics,
    follower: Arc<str>,
}

impl Requests {
    /// Counts requests as those of `follower`. The management cluster goes by the name that its caller gives it.
    pub fn of(follower: impl Into<Arc<str>>, metrics: Metrics) -> Arc<dyn Observer> {
        Arc::new(Self { metrics, follower: follower.into() })
    }
}

impl Observer for Requests {
    fn request(&self, verb: &'static str, code: Option<u16>, took: Duration) {
        self.metrics.request(&self.follower, verb, code, took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_under_its_follower() {
        let metrics = Metrics::new();
        Requests::of("blue", metrics.clone()).request("patch", Some(409), Duration::from_millis(3));
        let text = metrics.render();
        assert!(
            text.contains(r#"towline_kube_requests_total{follower="blue",verb="patch",code="409"} 1"#),
            "counted: {text}"
        );
    }
}
