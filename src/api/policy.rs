//! Who may send what where: `accept` rules, for one follower or for all. The annotation on a source is not the
//! authority; a rule is.

use super::{
    key::Kind,
    names::{Namespace, ObjectName},
    patterns::Patterns,
    selector::Selector,
    yaml::{self, YamlError},
};
use serde::{Deserialize, Deserializer, de};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Labels of a namespace.
pub type Labels = BTreeMap<String, String>;

/// Rules that add up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Policy {
    /// What is granted.
    pub accept: Vec<Rule>,
    /// Whether routes that need no rule are open: same-named (or context) namespace, same name, `Refuse`.
    pub base_routes: bool,
}

/// One grant: from these sources, to these namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    from: Places,
    #[serde(default)]
    to: To,
    #[serde(default)]
    kinds: Option<Kinds>,
    #[serde(default)]
    names: Option<Patterns>,
    #[serde(default)]
    allow: BTreeSet<Permission>,
}

/// What a rule may grant beyond a copy of the same name in a namespace that exists and a place that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Permission {
    /// `target-name`.
    Rename,
    /// `create-namespace`.
    CreateNamespace,
    /// `on-conflict: Overwrite`.
    Overwrite,
}

/// Namespaces that are in the list and fit the selector; what is absent restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Places {
    namespaces: Option<Patterns>,
    selector: Option<Selector>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum To {
    #[default]
    Same,
    Places(Places),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Kinds(BTreeSet<Kind>);

/// A source that wants to send.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: &'a Namespace,
    /// Labels of that namespace; none while they are not known, which no selector matches.
    pub namespace_labels: Option<&'a Labels>,
    /// Its name.
    pub name: &'a ObjectName,
}

/// What the rules that cover a source and a namespace grant together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Whether one of them names the namespace literally; the same-named namespace counts as that.
    pub literal: bool,
    /// All that they allow.
    pub allow: BTreeSet<Permission>,
}

impl Default for Policy {
    /// No rule, open base routes.
    fn default() -> Self {
        Self { accept: Vec::new(), base_routes: true }
    }
}

impl Policy {
    /// Reads a policy file.
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        yaml::parse(text)
    }

    /// The rules of both; base routes are open only if both leave them open.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let accept = self.accept.iter().chain(&other.accept).cloned().collect();
        Self { accept, base_routes: self.base_routes && other.base_routes }
    }

    /// What `sender` may do in the namespace `to`; none if no rule covers the two.
    pub fn grants(&self, sender: &Sender<'_>, to: &Namespace, to_labels: Option<&Labels>) -> Option<Grant> {
        let covering = self.accept.iter().filter(|rule| rule.covers(sender, to, to_labels));
        covering.fold(None, |sum, rule| {
            let mut sum: Grant = sum.unwrap_or_default();
            sum.literal |= rule.names_literally(to);
            sum.allow.extend(&rule.allow);
            Some(sum)
        })
    }

    /// Whether labels of namespaces of the management cluster decide anything.
    pub fn needs_source_namespace_labels(&self) -> bool {
        self.accept.iter().any(|rule| rule.from.needs_labels())
    }

    /// Whether labels of the follower's namespaces decide anything.
    pub fn needs_target_namespace_labels(&self) -> bool {
        self.accept.iter().any(|rule| matches!(&rule.to, To::Places(places) if places.needs_labels()))
    }

    /// The only namespaces that rules lead to, if all of them say so by name. Base routes are not counted.
    pub fn literal_target_namespaces(&self) -> Option<BTreeSet<Namespace>> {
        let mut all = BTreeSet::new();
        for rule in &self.accept {
            let places = match &rule.to {
                To::Same => &rule.from,
                To::Places(places) => places,
            };
            let namespaces = places.namespaces.as_ref().filter(|list| list.is_literal_only())?;
            all.extend(namespaces.literals().map(Namespace::from));
        }
        Some(all)
    }
}

impl Rule {
    fn covers(&self, sender: &Sender<'_>, to: &Namespace, to_labels: Option<&Labels>) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.0.contains(&sender.kind))
            && self.names.as_ref().is_none_or(|names| names.matches(sender.name.as_str()))
            && self.from.include(sender.namespace, sender.namespace_labels)
            && match &self.to {
                To::Same => to == sender.namespace,
                To::Places(places) => places.include(to, to_labels),
            }
    }

    fn names_literally(&self, to: &Namespace) -> bool {
        match &self.to {
            To::Same => true,
            To::Places(places) => {
                places.namespaces.as_ref().is_some_and(|list| list.literals().any(|name| name == to.as_str()))
            }
        }
    }
}

impl Places {
    fn include(&self, namespace: &Namespace, labels: Option<&Labels>) -> bool {
        let fits = |selector: &Selector| match labels {
            Some(labels) => selector.matches_labels(labels),
            None => selector.is_everything(),
        };
        self.namespaces.as_ref().is_none_or(|list| list.matches(namespace.as_str()))
            && self.selector.as_ref().is_none_or(fits)
    }

    fn needs_labels(&self) -> bool {
        self.selector.as_ref().is_some_and(|selector| !selector.is_everything())
    }
}

impl Permission {
    /// The permission as in a rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rename => "Rename",
            Self::CreateNamespace => "CreateNamespace",
            Self::Overwrite => "Overwrite",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The rule, as YAML, that would grant `sender` these permissions in the namespace `to`.
pub fn missing_rule(sender: &Sender<'_>, to: &Namespace, permissions: &BTreeSet<Permission>) -> String {
    // Quoted, because a namespace may be called 123 or true.
    let (from, to, name) = (quoted(sender.namespace.as_str()), quoted(to.as_str()), quoted(sender.name.as_str()));
    let mut rule = format!(
        "accept:\n- from: {{namespaces: [{from}]}}\n  to: {{namespaces: [{to}]}}\n  kinds: [{}]\n  names: [{name}]\n",
        sender.kind
    );
    if !permissions.is_empty() {
        let allow: Vec<&str> = permissions.iter().map(|permission| permission.as_str()).collect();
        rule.push_str(&format!("  allow: [{}]\n", allow.join(", ")));
    }
    rule
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kinds = BTreeSet::deserialize(deserializer)?;
        let none = || de::Error::custom("at least one of ConfigMap, Secret");
        if kinds.is_empty() { Err(none()) } else { Ok(Self(kinds)) }
    }
}

impl<'de> Deserialize<'de> for To {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToVisitor)
    }
}

struct ToVisitor;

const TO: &str = "`same`, or namespaces and selector";

impl<'de> de::Visitor<'de> for ToVisitor {
    type Value = To;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TO)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<To, E> {
        if text == "same" { Ok(To::Same) } else { Err(E::custom(TO)) }
    }

    /// An empty map could be read as everything or as nothing: `namespaces: ["*"]` says which.
    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<To, A::Error> {
        let places = Places::deserialize(de::value::MapAccessDeserializer::new(map))?;
        if places == Places::default() { Err(de::Error::custom(TO)) } else { Ok(To::Places(places)) }
    }
}

#[cfg(test)]
mod tests;
