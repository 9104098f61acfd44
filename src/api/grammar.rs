//! What Kubernetes allows as names, label keys and label values (apimachinery's `validation`).

const LABEL_VALUE: usize = 63;
const SUBDOMAIN: usize = 253;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
