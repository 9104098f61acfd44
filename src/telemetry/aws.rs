//! What is told about AWS: its calls, until when credentials are good, and how far our clock is off.

use super::metrics::Metrics;
use crate::aws::api::Observer;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tokens are signed by the time of AWS, so this harms nothing here; but much else on such a machine.
const WORTH_TELLING: i64 = 60;

impl Observer for Metrics {
    fn request(&self, service: &'static str, operation: &'static str, code: &str) {
        self.aws_request(service, operation, code);
    }

    fn issued(&self, role_arn: &str, expiry: SystemTime) {
        let seconds = expiry.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        self.credentials_expire(role_arn, seconds);
    }

    fn skew(&self, seconds: i64) {
        let before = self.clock_skew(seconds);
        let is_off = |seconds: i64| seconds.abs() >= WORTH_TELLING;
        if is_off(seconds) && !is_off(before) {
            let (by, way) = (seconds.abs(), if seconds > 0 { "behind" } else { "ahead of" });
            tracing::warn!(
                "this machine's clock is {by} s {way} AWS's: tokens are signed by AWS's time; set the clock"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn calls_credentials_and_skew_are_counted() {
        let metrics = Metrics::new();
        Observer::request(&metrics, "sts", "AssumeRole", "AccessDenied");
        metrics.issued("arn:aws:iam::111122223333:role/a", UNIX_EPOCH + Duration::from_secs(7));
        metrics.skew(1200);
        let page = metrics.render();
        for series in [
            r#"towline_aws_requests_total{service="sts",operation="AssumeRole",code="AccessDenied"} 1"#,
            r#"towline_credentials_expiry_timestamp_seconds{role_arn="arn:aws:iam::111122223333:role/a"} 7.0"#,
            "towline_clock_skew_seconds 1200",
        ] {
            assert!(page.contains(series), "{series} in {page}");
        }
    }
}
