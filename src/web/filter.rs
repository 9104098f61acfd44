//! What a client may narrow an answer by. Pure.

use crate::mirror::report::{DeletionReport, FollowerReport, SourceReport};
use serde::Deserialize;

/// The query of a request: each part that is there must fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Any name of a follower.
    pub follower: Option<String>,
    /// Namespace of a source or copy.
    pub namespace: Option<String>,
    /// Name of a source or copy.
    pub name: Option<String>,
}

impl Filter {
    /// Leaves followers by name, and of each the rows that fit.
    pub fn followers(&self, mut reports: Vec<FollowerReport>) -> Vec<FollowerReport> {
        reports.retain(|report| {
            self.takes_follower(report.follower.as_str())
                || report.names.iter().any(|name| self.takes_follower(name.as_str()))
        });
        for report in &mut reports {
            report.rows.retain(|row| self.takes_object(row.namespace.as_str(), row.name.as_str()));
        }
        reports
    }

    /// Leaves sources by namespace and name.
    pub fn sources(&self, mut reports: Vec<SourceReport>) -> Vec<SourceReport> {
        reports.retain(|report| self.takes_object(report.namespace.as_str(), report.name.as_str()));
        reports
    }

    /// Leaves batches by follower and by what is in them. A batch is approved as a whole, so it is shown as a whole.
    pub fn deletions(&self, mut reports: Vec<DeletionReport>) -> Vec<DeletionReport> {
        reports.retain(|report| {
            self.takes_follower(report.follower.as_str()) && report.copies.iter().any(|copy| self.takes_copy(copy))
        });
        reports
    }

    fn takes_follower(&self, follower: &str) -> bool {
        fits(self.follower.as_deref(), follower)
    }

    fn takes_object(&self, namespace: &str, name: &str) -> bool {
        fits(self.namespace.as_deref(), namespace) && fits(self.name.as_deref(), name)
    }

    /// `Kind/namespace/name/uid`.
    fn takes_copy(&self, copy: &str) -> bool {
        let mut parts = copy.split('/').skip(1);
        self.takes_object(parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    }
}

fn fits(wanted: Option<&str>, found: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}
