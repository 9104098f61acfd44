//! Reading a policy document, strictly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::condition::Condition;
use super::pattern::Pattern;
use super::principal::Principals;
use super::{Effect, Policy, Statement};

/// Why a document is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not the shape of a policy, or an element that this evaluator does not know (`NotAction`, `NotPrincipal`, …).
    #[error("not a policy that is understood here: {0}")]
    Element(String),
    /// A condition operator that this evaluator does not know.
    #[error("the condition operator {0} is not understood here")]
    Operator(String),
    /// A policy variable.
    #[error("the variable in {0} is not understood here")]
    Variable(String),
    /// Not a principal.
    #[error("{0} is not a principal")]
    Principal(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Document {
    version: String,
    #[serde(rename = "Id")]
    _id: Option<String>,
    statement: OneOrMany<Raw>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Raw {
    #[serde(rename = "Sid")]
    _sid: Option<String>,
    effect: RawEffect,
    principal: Option<RawPrincipal>,
    action: OneOrMany<String>,
    resource: Option<OneOrMany<String>>,
    #[serde(default)]
    condition: BTreeMap<String, BTreeMap<String, OneOrMany<Scalar>>>,
}

#[derive(Deserialize)]
enum RawEffect {
    Allow,
    Deny,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawPrincipal {
    Text(String),
    Kinds(BTreeMap<String, OneOrMany<String>>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// IAM takes `"true"` and `true` alike.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Truth(bool),
}

/// Which of the two kinds of documents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Trust,
    Permissions,
}

impl Policy {
    /// A role's trust policy: statements have a `Principal` and no `Resource`.
    pub fn trust(document: &Value) -> Result<Self, PolicyError> {
        read(document, Kind::Trust)
    }

    /// What a role or user may do: statements have a `Resource` and no `Principal`.
    pub fn permissions(document: &Value) -> Result<Self, PolicyError> {
        read(document, Kind::Permissions)
    }
}

fn read(document: &Value, kind: Kind) -> Result<Policy, PolicyError> {
    let document = Document::deserialize(document).map_err(|error| PolicyError::Element(error.to_string()))?;
    if document.version != "2012-10-17" {
        return Err(PolicyError::Element(format!("version {}", document.version)));
    }
    let statements = document.statement.into_vec();
    Ok(Policy { statements: statements.into_iter().map(|raw| raw.read(kind)).collect::<Result<_, _>>()? })
}

impl Raw {
    fn read(self, kind: Kind) -> Result<Statement, PolicyError> {
        let effect = match self.effect {
            RawEffect::Allow => Effect::Allow,
            RawEffect::Deny => Effect::Deny,
        };
        let (is_trust, has_principal, has_resource) =
            (kind == Kind::Trust, self.principal.is_some(), self.resource.is_some());
        if has_principal != is_trust || has_resource == is_trust {
            let message = "a trust policy has Principal and no Resource, another one the reverse";
            return Err(PolicyError::Element(message.to_owned()));
        }
        Ok(Statement {
            effect,
            principals: self.principal.as_ref().map(RawPrincipal::read).transpose()?,
            actions: patterns(&self.action)?,
            resources: self.resource.as_ref().map(patterns).transpose()?,
            conditions: conditions(&self.condition)?,
        })
    }
}

impl RawPrincipal {
    fn read(&self) -> Result<Principals, PolicyError> {
        match self {
            Self::Text(text) => Principals::read(&[("AWS", text)]),
            Self::Kinds(kinds) => {
                let names = kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (kind.as_str(), name)));
                Principals::read(&names.map(|(kind, name)| (kind, name.as_str())).collect::<Vec<_>>())
            }
        }
    }
}

fn patterns(texts: &OneOrMany<String>) -> Result<Vec<Pattern>, PolicyError> {
    let read = |text: &String| match text.contains("${") {
        true => Err(PolicyError::Variable(text.clone())),
        false => Ok(Pattern::new(text)),
    };
    texts.iter().map(read).collect()
}

fn conditions(raw: &BTreeMap<String, BTreeMap<String, OneOrMany<Scalar>>>) -> Result<Vec<Condition>, PolicyError> {
    let tests = raw.iter().flat_map(|(operator, keys)| keys.iter().map(move |(key, values)| (operator, key, values)));
    let read = |(operator, key, values): (&String, &String, &OneOrMany<Scalar>)| {
        let values: Vec<&str> = values.iter().map(Scalar::text).collect();
        Condition::read(operator, key, &values)
    };
    tests.map(read).collect()
}

impl Scalar {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Truth(true) => "true",
            Self::Truth(false) => "false",
        }
    }
}

impl<T> OneOrMany<T> {
    fn iter(&self) -> impl Iterator<Item = &T> {
        match self {
            Self::One(one) => std::slice::from_ref(one).iter(),
            Self::Many(many) => many.iter(),
        }
    }

    fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}
