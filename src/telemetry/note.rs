//! How an event reads. Pure.

use super::events::{About, SYNCED, Telling};

/// What the API server takes (†), in bytes.
const LONGEST_NOTE: usize = 1024;
/// A context of a kubeconfig may have any name.
const LONGEST_NAME: usize = 100;
/// What is about no certain follower is told in a text.
const LONGEST_TEXT: usize = 190;
const CUT: &str = "…";

/// The note of an event: one line, at most 1,024 bytes.
pub fn note(telling: &Telling) -> String {
    let text = match &telling.about {
        About::Source(source) if telling.reason == SYNCED => {
            let (copies, followers) =
                (count(telling.targets, "copy", "copies"), count(telling.followers, "follower", "followers"));
            format!("version {}: {}{copies} on {followers} in step", source.resource_version, at_least(telling))
        }
        _ => trouble(telling),
    };
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(line, LONGEST_NOTE)
}

/// `Conflict on 7 followers: a, b, c, d, e and 2 more: …`, `Conflict on a (web/tls): …`, `Invalid: …`.
/// What is about no certain follower lists what it is about: `FollowerDenied: a: …, b: …`.
fn trouble(telling: &Telling) -> String {
    let (reason, at_least) = (telling.reason, at_least(telling));
    let head = match (telling.follower_names.first(), telling.followers) {
        (None, _) if telling.target_names.is_empty() => reason.to_owned(),
        (None, _) => format!("{reason}: {}", list(&telling.target_names, telling.targets, LONGEST_TEXT)),
        (Some(follower), 1) => {
            let targets = list(&telling.target_names, telling.targets, LONGEST_NAME);
            let targets = if targets.is_empty() { targets } else { format!(" ({targets})") };
            format!("{reason} on {}{targets}", cut(follower.clone(), LONGEST_NAME))
        }
        (Some(_), followers) => {
            format!(
                "{reason} on {at_least}{followers} followers: {}",
                list(&telling.follower_names, followers, LONGEST_NAME)
            )
        }
    };
    match &telling.detail {
        Some(detail) => format!("{head}: {detail}"),
        None => head,
    }
}

fn at_least(telling: &Telling) -> &'static str {
    if telling.at_least { "at least " } else { "" }
}

fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `a, b and 2 more`.
fn list(names: &[String], of: usize, longest: usize) -> String {
    let listed: Vec<_> = names.iter().map(|name| cut(name.clone(), longest)).collect();
    match of.saturating_sub(listed.len()) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

/// At most so many bytes, without breaking a character.
fn cut(mut text: String, longest: usize) -> String {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest - CUT.len()));
        text.push_str(CUT);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::events::{ObjectRef, Tone};

    fn telling(reason: &'static str, followers: usize, targets: usize) -> Telling {
        let source = ObjectRef {
            kind: "Secret",
            namespace: "certs".into(),
            name: "tls".into(),
            uid: "u".into(),
            resource_version: "123".into(),
        };
        let names = ["a", "b", "c", "d", "e"];
        Telling {
            about: About::Source(source),
            reason,
            tone: Tone::Warning,
            followers,
            follower_names: names.iter().take(followers).map(|name| (*name).into()).collect(),
            targets,
            target_names: if followers == 1 { vec!["web/tls".to_owned(); targets.min(5)] } else { vec![] },
            at_least: false,
            detail: None,
        }
    }

    fn because(detail: &str, telling: Telling) -> Telling {
        Telling { detail: Some(detail.to_owned()), ..telling }
    }

    #[test]
    fn a_note_counts_and_lists_five_names_at_most() {
        for (telling, expected) in [
            (telling("Synced", 4, 4), "version 123: 4 copies on 4 followers in step"),
            (telling("Synced", 1, 1), "version 123: 1 copy on 1 follower in step"),
            (telling("Conflict", 7, 7), "Conflict on 7 followers: a, b, c, d, e and 2 more"),
            (telling("Conflict", 1, 1), "Conflict on a (web/tls)"),
            (telling("FollowerDenied", 1, 0), "FollowerDenied on a"),
            (because("403 Forbidden", telling("Refused", 2, 2)), "Refused on 2 followers: a, b: 403 Forbidden"),
            (because("unknown key", telling("Invalid", 0, 0)), "Invalid: unknown key"),
            (Telling { target_names: vec!["a: denied".to_owned()], ..telling("Denied", 0, 1) }, "Denied: a: denied"),
            (
                Telling { at_least: true, ..telling("Synced", 2, 9) },
                "version 123: at least 9 copies on 2 followers in step",
            ),
        ] {
            assert_eq!(note(&telling), expected);
        }
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        for length in 1000..1040 {
            let note = note(&because(&"ß".repeat(length), telling("Refused", 2, 2)));
            assert!(
                note.len() <= LONGEST_NOTE && note.len() > LONGEST_NOTE - 4 && note.ends_with('…'),
                "{}",
                note.len()
            );
        }
    }

    #[test]
    fn a_note_is_one_line_whatever_a_follower_is_called() {
        let named = Telling { follower_names: vec!["a\n\u{1b}[31mb".into()], ..telling("Conflict", 1, 0) };
        assert_eq!(note(&named), "Conflict on a  [31mb");
    }
}
