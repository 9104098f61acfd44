//! Texts of flags as values. Messages say what is allowed; clap puts the flag and the text before them.

use crate::api::{duration, names::Namespace};
use anyhow::Result;
use std::{collections::BTreeSet, time::Duration};

/// A duration as in annotations.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|error| format!("allowed is {error}"))
}

/// A number of things.
pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse::<u32>().ok().and_then(|number| usize::try_from(number).ok()).ok_or_else(|| {
        let most = u32::MAX;
        format!("allowed is a whole number from 0 to {most}")
    })
}

/// A namespace, blanks around it trimmed.
pub(super) fn namespace(text: &str) -> Result<Namespace, String> {
    let text = text.trim();
    if text.contains(['*', '?', '!']) {
        return Err("allowed are names of namespaces, without wildcards".to_owned());
    }
    if !is_dns_label(text) {
        return Err("allowed is the name of a namespace: at most 63 of a-z, 0-9 and - inside".to_owned());
    }
    Ok(Namespace::from(text))
}

fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 63
        && text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || c == '-')
}

/// A name that people read: one line of at most 253 characters.
pub(super) fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 253 || text.chars().any(char::is_control) {
        return Err("allowed is a name of 1 to 253 characters on one line".to_owned());
    }
    Ok(text.to_owned())
}

/// Names for a message: `a, b`.
pub(super) fn join(names: &BTreeSet<Namespace>) -> String {
    names.iter().map(Namespace::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_not_negative() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("4294967295"), Ok(4_294_967_295));
        for text in ["", "-1", "1.5", "ten", "4294967296"] {
            assert!(count(text).unwrap_err().contains("from 0 to 4294967295"), "{text}");
        }
    }

    #[test]
    fn namespaces_are_names_without_wildcards() {
        assert_eq!(namespace(" certs "), Ok("certs".into()));
        for text in ["", "Certs", "a.b", "-a", "a-", "a b", &"a".repeat(64)] {
            assert!(namespace(text).unwrap_err().contains("name of a namespace"), "{text}");
        }
        assert!(namespace("web-*").unwrap_err().contains("without wildcards"));
    }

    #[test]
    fn a_label_stays_on_one_line() {
        assert_eq!(label(" hub "), Ok("hub".to_owned()));
        for text in ["", "  ", "a\nb", &"a".repeat(254)] {
            assert!(label(text).is_err(), "{text:?}");
        }
    }
}
