//! Conditions: an operator, a key of the context, and values of which one must fit.

use super::Context;
use super::document::PolicyError;
use super::pattern::Pattern;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    key: String,
    test: Test,
    negated: bool,
    /// `…IfExists`: holds without the key.
    if_exists: bool,
    values: Vec<Pattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Equals,
    EqualsIgnoringCase,
    Like,
    /// Each of the six parts by itself.
    ArnLike,
    Null,
}

impl Condition {
    pub(super) fn read(operator: &str, key: &str, values: &[&str]) -> Result<Self, PolicyError> {
        let (name, if_exists) = match operator.strip_suffix("IfExists") {
            Some(name) => (name, true),
            None => (operator, false),
        };
        let (test, negated) = match name {
            "StringEquals" | "Bool" => (Test::Equals, false),
            "StringNotEquals" => (Test::Equals, true),
            "StringEqualsIgnoreCase" => (Test::EqualsIgnoringCase, false),
            "StringNotEqualsIgnoreCase" => (Test::EqualsIgnoringCase, true),
            "StringLike" => (Test::Like, false),
            "StringNotLike" => (Test::Like, true),
            "ArnLike" | "ArnEquals" => (Test::ArnLike, false),
            "ArnNotLike" | "ArnNotEquals" => (Test::ArnLike, true),
            "Null" if !if_exists => (Test::Null, false),
            _ => return Err(PolicyError::Operator(operator.to_owned())),
        };
        if let Some(variable) = values.iter().find(|value| value.contains("${")) {
            return Err(PolicyError::Variable((*variable).to_owned()));
        }
        if test == Test::Null && !matches!(values, ["true" | "false"]) {
            return Err(PolicyError::Element("Null takes true or false".to_owned()));
        }
        let values = values.iter().map(|value| Pattern::new(value)).collect();
        Ok(Self { key: key.to_owned(), test, negated, if_exists, values })
    }

    pub(super) fn holds(&self, context: &Context) -> bool {
        match (context.get(&self.key), self.test) {
            (found, Test::Null) => self.values.iter().all(|value| (value.text() == "true") == found.is_none()),
            // As in IAM: a negated test holds when there is nothing to test.
            (None, _) => self.if_exists || self.negated,
            (Some(found), _) => self.values.iter().any(|value| self.fits(value, found)) != self.negated,
        }
    }

    fn fits(&self, value: &Pattern, found: &str) -> bool {
        match self.test {
            Test::Equals | Test::Null => value.text() == found,
            Test::EqualsIgnoringCase => value.text().eq_ignore_ascii_case(found),
            Test::Like => value.fits(found),
            Test::ArnLike => value.fits_by_parts(found),
        }
    }
}
