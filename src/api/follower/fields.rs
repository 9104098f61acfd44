//! The fields of one map of a tree: what is wrong with one of them hides no other.

use crate::api::yaml::{Node, Value, YamlError, unknown_key};
use std::{borrow::Cow, collections::BTreeMap};

/// What a field's text must be: the value, or what is allowed.
pub(super) type Check<T> = fn(&str) -> Result<T, &'static str>;

/// The fields of a map of which the keys are known.
pub(super) struct Fields<'a> {
    node: &'a Node,
    path: String,
    found: BTreeMap<&'a str, &'a Node>,
}

impl<'a> Fields<'a> {
    /// Opens a map at `path` (empty: an entry), and tells what is no map, not known, or there twice.
    pub(super) fn open(node: &'a Node, path: &str, known: &[&str], told: &mut Vec<YamlError>) -> Option<Self> {
        let mut fields = Self { node, path: path.to_owned(), found: BTreeMap::new() };
        let Value::Map(pairs) = &node.value else {
            let allowed = format!("allowed is a map with {}", known.join(", "));
            told.push(fields.mistake(node, "", &allowed));
            return None;
        };
        for (key, value) in pairs {
            let problem = match key.text() {
                Some(text) if !known.contains(&text) => unknown_key(text, known),
                Some(text) if fields.found.contains_key(text) => format!("key `{text}` stands here twice"),
                Some(text) => {
                    fields.found.insert(text, value);
                    continue;
                }
                None => format!("allowed is {}", known.join(", ")),
            };
            told.push(fields.mistake(key, "", &problem));
        }
        Some(fields)
    }

    /// A field as it is.
    pub(super) fn get(&self, field: &str) -> Option<&'a Node> {
        self.found.get(field).copied()
    }

    /// A field's name, from the entry on.
    pub(super) fn path(&self, field: &str) -> String {
        let dot = if self.path.is_empty() || field.is_empty() { "" } else { "." };
        format!("{}{dot}{field}", self.path)
    }

    /// A mistake at a node, in a field; the map itself if that is empty.
    pub(super) fn mistake(&self, node: &Node, field: &str, problem: &str) -> YamlError {
        let path = self.path(field);
        let colon = if path.is_empty() { "" } else { ": " };
        node.place.mistake(format!("{path}{colon}{problem}"))
    }

    /// A field that may be absent.
    pub(super) fn optional<T>(&self, field: &str, check: Check<T>, told: &mut Vec<YamlError>) -> Option<T> {
        let node = self.get(field)?;
        let checked = node.text().ok_or("a text; leave the key out if there is none").and_then(check);
        checked.map_err(|allowed| told.push(self.mistake(node, field, &format!("allowed is {allowed}")))).ok()
    }

    /// A field that must be there.
    pub(super) fn needed<T>(&self, field: &str, check: Check<T>, told: &mut Vec<YamlError>) -> Option<T> {
        self.is_there(field, told).then(|| self.optional(field, check, told)).flatten()
    }

    /// `true` or `false`; absent is false.
    pub(super) fn switch(&self, field: &str, told: &mut Vec<YamlError>) -> bool {
        match self.get(field).map(|node| (node, &node.value)) {
            None => false,
            Some((_, Value::Text { text, plain: true })) if text == "true" || text == "false" => text == "true",
            Some((node, _)) => {
                told.push(self.mistake(node, field, "allowed is true or false"));
                false
            }
        }
    }

    /// The map in a field.
    pub(super) fn inner(&self, field: &str, known: &[&str], told: &mut Vec<YamlError>) -> Option<Self> {
        Self::open(self.get(field)?, &self.path(field), known, told)
    }

    /// The map in a field that must be there.
    pub(super) fn inner_needed(&self, field: &str, known: &[&str], told: &mut Vec<YamlError>) -> Option<Self> {
        self.is_there(field, told).then(|| self.inner(field, known, told)).flatten()
    }

    /// Tells a rule that is about the map as a whole.
    pub(super) fn tell(&self, problem: impl Into<Cow<'static, str>>, told: &mut Vec<YamlError>) {
        told.push(self.mistake(self.node, "", &problem.into()));
    }

    fn is_there(&self, field: &str, told: &mut Vec<YamlError>) -> bool {
        let there = self.found.contains_key(field);
        if !there {
            self.tell(format!("key `{field}` is missing"), told);
        }
        there
    }
}
