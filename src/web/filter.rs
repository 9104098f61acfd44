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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::key::Kind;
    use crate::mirror::report::Row;
    use std::collections::BTreeMap;

    fn filter(follower: Option<&str>, namespace: Option<&str>, name: Option<&str>) -> Filter {
        let owned = |part: Option<&str>| part.map(str::to_owned);
        Filter { follower: owned(follower), namespace: owned(namespace), name: owned(name) }
    }

    fn row(namespace: &str, name: &str) -> Row {
        Row {
            time: None,
            follower: "blue".into(),
            cluster_uid: "uid".into(),
            kind: Kind::Secret,
            namespace: namespace.into(),
            name: name.into(),
            source: format!("{namespace}/{name}"),
            action: "Conflict",
            class: None,
            result: "Conflict".to_owned(),
            code: None,
        }
    }

    fn blue() -> FollowerReport {
        FollowerReport {
            follower: "azure".into(),
            names: vec!["azure".into(), "blue".into()],
            cluster_uid: None,
            connected: true,
            problem: None,
            copies: BTreeMap::new(),
            strays: 0,
            rows: vec![row("web", "tls"), row("web", "other"), row("api", "tls")],
        }
    }

    #[test]
    fn a_follower_is_found_by_any_of_its_names() {
        for (name, found) in [("azure", 1), ("blue", 1), ("green", 0)] {
            assert_eq!(filter(Some(name), None, None).followers(vec![blue()]).len(), found, "{name}");
        }
    }

    #[test]
    fn rows_are_left_by_namespace_and_name() {
        let rows = |filter: Filter| filter.followers(vec![blue()]).remove(0).rows.len();
        assert_eq!(rows(Filter::default()), 3);
        assert_eq!(rows(filter(None, Some("web"), None)), 2);
        assert_eq!(rows(filter(None, Some("web"), Some("tls"))), 1);
    }

    #[test]
    fn a_batch_is_shown_as_a_whole_if_anything_in_it_fits() {
        let batch = DeletionReport {
            follower: "blue".into(),
            cluster_uid: "uid".into(),
            digest: "0123456789abcdef".to_owned(),
            reasons: vec!["Unwitnessed".to_owned()],
            copies: vec!["Secret/api/tls/u1".to_owned(), "Secret/web/tls/u2".to_owned()],
        };
        let copies =
            |filter: Filter| filter.deletions(vec![batch.clone()]).first().map_or(0, |batch| batch.copies.len());
        assert_eq!(copies(filter(None, Some("web"), Some("tls"))), 2);
        assert_eq!(copies(filter(Some("blue"), None, None)), 2);
        assert_eq!(copies(filter(None, Some("web"), Some("other"))), 0);
        assert_eq!(copies(filter(Some("azure"), None, None)), 0);
    }
}
