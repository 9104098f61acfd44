//! What Kubernetes allows as names, label keys and label values (apimachinery's `validation`).

const LABEL_VALUE: usize = 63;
const SUBDOMAIN: usize = 253;
/// Characters of a typed word that are looked at.
const LONGEST_WORD: usize = 100;

/// A DNS-1123 label: a namespace.
pub(super) fn is_dns_label(text: &str) -> bool {
    text.len() <= LABEL_VALUE && is_dns_part(text)
}

/// A DNS-1123 subdomain: the name of a ConfigMap or Secret.
pub(super) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN && text.split('.').all(is_dns_part)
}

fn is_dns_part(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric) && text.ends_with(alphanumeric) && text.chars().all(|c| alphanumeric(c) || c == '-')
}

/// The key of a label or annotation: `name` or `prefix/name`.
pub(super) fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && !name.is_empty() && is_label_value(name),
        None => !text.is_empty() && is_label_value(text),
    }
}

/// The value of a label; empty is one.
pub(super) fn is_label_value(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.is_empty()
        || (text.len() <= LABEL_VALUE
            && text.starts_with(alphanumeric)
            && text.ends_with(alphanumeric)
            && text.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_' | '.')))
}

/// At most `characters` of a text for a message, on one line: a quoted mistake must not forge a second log line.
pub(super) fn cut(text: &str, characters: usize) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(characters).map(printable).collect();
    if text.chars().nth(characters).is_some() {
        short.push('…');
    }
    short
}

/// The known word that is most like a typed one.
pub(super) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = cut(typed, LONGEST_WORD).to_lowercase();
    known.min_by_key(|known| distance(&typed, &known.to_lowercase()))
}

/// How many characters must be put in, left out or changed to come from one text to the other.
fn distance(one: &str, two: &str) -> usize {
    let mut row: Vec<usize> = (0..=two.chars().count()).collect();
    for (line, typed) in one.chars().enumerate() {
        let (mut diagonal, mut left) = (line, line + 1);
        let mut cells = row.iter_mut();
        if let Some(first) = cells.next() {
            *first = left;
        }
        for (cell, known) in cells.zip(two.chars()) {
            let changed = diagonal + usize::from(typed != known);
            diagonal = *cell;
            left = changed.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn namespaces_are_dns_labels() {
        for good in ["a", "kube-system", "0", &"a".repeat(63)] {
            assert!(is_dns_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", "é", &"a".repeat(64)] {
            assert!(!is_dns_label(bad), "{bad}");
        }
    }

    #[test]
    fn object_names_are_dns_subdomains() {
        for good in ["a", "a.b", "tls-1.example.com", &"a".repeat(253)] {
            assert!(is_dns_subdomain(good), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a.-b", "A", &"a".repeat(254)] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
    }

    #[test]
    fn label_keys_may_have_a_prefix() {
        for good in ["a", "A_b.c-d", "example.com/a", "1/2", &format!("{}/x", "p".repeat(253))] {
            assert!(is_label_key(good), "{good}");
        }
        for bad in ["", "/", "a/", "/a", "A/b", "a/b/c", "-a", "a b", &"a".repeat(64)] {
            assert!(!is_label_key(bad), "{bad}");
        }
    }

    #[test]
    fn label_values_may_be_empty() {
        for good in ["", "a", "1.2_3-4", &"a".repeat(63)] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in [".", "a/b", "a ", "-", &"a".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }

    #[test]
    fn a_quoted_text_is_cut_between_characters_and_stays_on_one_line() {
        assert_eq!(cut("ééé", 2), "éé…");
        assert_eq!(cut("ééé", 3), "ééé");
        assert_eq!(cut("a\nb\u{1b}[2J", 10), "a b [2J");
    }

    #[test]
    fn the_nearest_word_is_the_one_with_the_fewest_changes_whatever_its_case() {
        let nearest = |typed| nearest(typed, ["roleARN", "region", "clusterName"].into_iter());
        for (typed, meant) in
            [("roleArn", "roleARN"), ("regoin", "region"), ("cluster_name", "clusterName"), ("", "region")]
        {
            assert_eq!(nearest(typed), Some(meant), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn distance_is_the_number_of_changes(one in "[ab]{0,6}", two in "[ab]{0,6}") {
            prop_assert_eq!(distance(&one, &two), distance(&two, &one));
            prop_assert_eq!(distance(&one, &two) == 0, one == two);
            prop_assert!(distance(&one, &two) <= one.len().max(two.len()));
            prop_assert_eq!(distance(&one, ""), one.len());
        }
    }
}
