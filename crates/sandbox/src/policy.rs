//! Policy documents and what they say: the part of IAM's language that roles of Towline need.
//!
//! A document is checked as a whole when it is read: an element, operator or principal that this evaluator does not know is an
//! error then, so that nothing is silently true. After that, judging cannot fail, and is pure.

mod condition;
mod document;
mod pattern;
mod principal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use condition::Condition;
use pattern::Pattern;
use principal::Principals;

pub use document::PolicyError;
pub use principal::Asker;

/// A policy document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Statement {
    effect: Effect,
    /// `None` in a permission policy: whoever it is attached to.
    principals: Option<Principals>,
    actions: Vec<Pattern>,
    /// `None` in a trust policy: the role itself.
    resources: Option<Vec<Pattern>>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Allow,
    Deny,
}

/// Facts of a request, by condition key: `sts:ExternalId`. Keys are matched without case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context(BTreeMap<String, String>);

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Who asks.
    pub asker: &'a Asker,
    /// `sts:AssumeRole`.
    pub action: &'a str,
    /// The ARN of what it is done to.
    pub resource: &'a str,
    /// The facts.
    pub context: &'a Context,
}

/// What policies say to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing: a refusal, unless another policy allows it.
    Silent,
    /// Allowed.
    Allow(Reach),
    /// Forbidden, whatever else allows it.
    Deny,
}

/// To whom it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// To the account of the asker, which has to pass it on by a policy of its own.
    Account,
    /// To the asker by name (or to everybody).
    Asker,
}

impl Context {
    /// The same with one more fact.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.0.insert(key.to_ascii_lowercase(), value.into());
        self
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(&key.to_ascii_lowercase()).map(String::as_str)
    }
}

impl Policy {
    /// What this document says.
    pub fn judge(&self, question: &Question<'_>) -> Verdict {
        self.statements.iter().map(|statement| statement.judge(question)).max().unwrap_or(Verdict::Silent)
    }

    /// What several documents say together.
    pub fn judge_all<'a>(policies: impl IntoIterator<Item = &'a Self>, question: &Question<'_>) -> Verdict {
        policies.into_iter().map(|policy| policy.judge(question)).max().unwrap_or(Verdict::Silent)
    }
}

impl Statement {
    fn judge(&self, question: &Question<'_>) -> Verdict {
        let reach = match &self.principals {
            None => Some(Reach::Asker),
            Some(principals) => principals.reach(question.asker),
        };
        match (reach, self.effect) {
            (Some(reach), Effect::Allow) if self.covers(question) => Verdict::Allow(reach),
            (Some(_), Effect::Deny) if self.covers(question) => Verdict::Deny,
            _ => Verdict::Silent,
        }
    }

    fn covers(&self, question: &Question<'_>) -> bool {
        let fits = |pattern: &Pattern| pattern.fits(question.resource);
        self.actions.iter().any(|pattern| pattern.fits_without_case(question.action))
            && self.resources.as_ref().is_none_or(|resources| resources.iter().any(fits))
            && self.conditions.iter().all(|condition| condition.holds(question.context))
    }
}
