//! Label selectors: kubectl's text (`env=prod,tier in (web,api),!legacy`) and metav1's `LabelSelector`, with the
//! meaning that apimachinery gives them (`labels.Parse`, `LabelSelectorAsSelector`).

use super::grammar::{cut, is_label_key, is_label_value};
use serde::{Deserialize, Deserializer, de};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    iter::Peekable,
    str::FromStr,
    sync::Arc,
};

/// Requirements that must all hold; without any, everything is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    requirements: Arc<[Requirement]>,
}

/// Why a text is not a selector. Holds no more of it than a label key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// Something else was expected at some place.
    #[error("a label selector such as `env=prod,tier in (web,api),!legacy`, with {0}")]
    Syntax(&'static str),
    /// A key that no label can have.
    #[error("a label key (a name, or prefix/name) in place of `{0}`")]
    Key(String),
    /// A value that no label can have.
    #[error("a label value (at most 63 letters, digits, `-`, `_`, `.`) for `{0}`")]
    Value(String),
    /// `>` and `<` compare numbers.
    #[error("an integer after `>` or `<` for `{0}`")]
    Number(String),
    /// `in` and `notin` of nothing.
    #[error("at least one value for `{0}`")]
    NoValues(String),
    /// `Exists` and `DoesNotExist` of something.
    #[error("no values for `{0}`: its operator takes none")]
    Values(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Requirement {
    key: Box<str>,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    In(BTreeSet<Box<str>>),
    NotIn(BTreeSet<Box<str>>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

impl Selector {
    /// Reads kubectl's text; blank selects everything.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { tokens: tokens(text).into_iter().peekable() };
        let mut requirements = Vec::new();
        if parser.tokens.peek().is_some() {
            requirements.push(parser.requirement()?);
        }
        while let Some(token) = parser.tokens.next() {
            if token != Token::Comma {
                return Err(SelectorError::Syntax("`,` between requirements"));
            }
            requirements.push(parser.requirement()?);
        }
        Ok(Self::from_requirements(requirements))
    }

    /// Whether labels fit, given how to look one up by its key.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.rule.holds(label(&requirement.key)))
    }

    /// The same for labels in a map.
    pub fn matches_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches(|key| labels.get(key).map(String::as_str))
    }

    /// Whether there is no requirement, so that labels need not be known.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    fn from_requirements(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self { requirements: requirements.into() }
    }
}

impl Rule {
    /// As in apimachinery: an absent label is not in any set, hence it is `notin` every one.
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Above(limit) => number().is_some_and(|number| number > *limit),
            Self::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

impl Requirement {
    fn new(key: &str, rule: Rule) -> Result<Self, SelectorError> {
        let quoted = || cut(key, 100);
        if !is_label_key(key) {
            return Err(SelectorError::Key(quoted()));
        }
        if let Rule::In(values) | Rule::NotIn(values) = &rule {
            if values.is_empty() {
                return Err(SelectorError::NoValues(quoted()));
            }
            if !values.iter().all(|value| is_label_value(value)) {
                return Err(SelectorError::Value(quoted()));
            }
        }
        Ok(Self { key: key.into(), rule })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Open,
    Close,
    Comma,
    Not,
    Equals,
    NotEquals,
    Greater,
    Less,
}

/// The longest first, as apimachinery's lexer does.
const SYMBOLS: [(&str, Token<'static>); 9] = [
    ("==", Token::Equals),
    ("!=", Token::NotEquals),
    ("=", Token::Equals),
    ("!", Token::Not),
    ("(", Token::Open),
    (")", Token::Close),
    (",", Token::Comma),
    (">", Token::Greater),
    ("<", Token::Less),
];

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    while !rest.is_empty() {
        let symbol = SYMBOLS.iter().find_map(|(text, token)| Some((*token, rest.strip_prefix(text)?)));
        let (token, after) = symbol.unwrap_or_else(|| {
            let ends = |c: char| BLANKS.contains(&c) || "=!(),><".contains(c);
            let (word, after) = rest.split_at_checked(rest.find(ends).unwrap_or(rest.len())).unwrap_or((rest, ""));
            (Token::Word(word), after)
        });
        tokens.push(token);
        rest = after.trim_start_matches(BLANKS);
    }
    tokens
}

struct Parser<'a> {
    tokens: Peekable<std::vec::IntoIter<Token<'a>>>,
}

impl<'a> Parser<'a> {
    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let absent = self.tokens.next_if_eq(&Token::Not).is_some();
        let Some(key) = self.word() else {
            return Err(SelectorError::Syntax("a label key at the start of each requirement"));
        };
        let rule = match self.tokens.peek() {
            None | Some(Token::Comma) if absent => Rule::Absent,
            None | Some(Token::Comma) => Rule::Exists,
            Some(_) if absent => return Err(SelectorError::Syntax("nothing after `!key`")),
            Some(_) => self.rule(key)?,
        };
        Requirement::new(key, rule)
    }

    fn rule(&mut self, key: &str) -> Result<Rule, SelectorError> {
        Ok(match self.tokens.next() {
            Some(Token::Equals) => Rule::In([self.value()?.into()].into()),
            Some(Token::NotEquals) => Rule::NotIn([self.value()?.into()].into()),
            Some(Token::Greater) => Rule::Above(self.number(key)?),
            Some(Token::Less) => Rule::Below(self.number(key)?),
            Some(Token::Word("in")) => Rule::In(self.values(key)?),
            Some(Token::Word("notin")) => Rule::NotIn(self.values(key)?),
            _ => return Err(SelectorError::Syntax("one of = == != in notin > < after a label key")),
        })
    }

    fn word(&mut self) -> Option<&'a str> {
        match self.tokens.peek() {
            Some(Token::Word(word)) => {
                let word = *word;
                self.tokens.next();
                Some(word)
            }
            _ => None,
        }
    }

    /// One value; nothing before the next `,` or the end is the empty value.
    fn value(&mut self) -> Result<&'a str, SelectorError> {
        match (self.word(), self.tokens.peek()) {
            (Some(word), _) => Ok(word),
            (None, None | Some(Token::Comma)) => Ok(""),
            (None, Some(_)) => Err(SelectorError::Syntax("one value after = == or !=")),
        }
    }

    fn number(&mut self, key: &str) -> Result<i64, SelectorError> {
        let number = self.word().filter(|word| is_label_value(word)).and_then(|word| word.parse().ok());
        number.ok_or_else(|| SelectorError::Number(cut(key, 100)))
    }

    /// `(x,y)`; nothing between commas is the empty value, `()` is no value.
    fn values(&mut self, key: &str) -> Result<BTreeSet<Box<str>>, SelectorError> {
        if self.tokens.next() != Some(Token::Open) {
            return Err(SelectorError::Syntax("`(` after in or notin"));
        }
        if self.tokens.next_if_eq(&Token::Close).is_some() {
            return Err(SelectorError::NoValues(cut(key, 100)));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.word().unwrap_or_default().into());
            match self.tokens.next() {
                Some(Token::Comma) => {}
                Some(Token::Close) => return Ok(values),
                _ => return Err(SelectorError::Syntax("values separated by `,` and closed by `)`")),
            }
        }
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, requirement) in self.requirements.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.rule {
            Rule::In(values) => write_set(f, key, values, ["=", "in"]),
            Rule::NotIn(values) => write_set(f, key, values, ["!=", "notin"]),
            Rule::Exists => write!(f, "{key}"),
            Rule::Absent => write!(f, "!{key}"),
            Rule::Above(limit) => write!(f, "{key}>{limit}"),
            Rule::Below(limit) => write!(f, "{key}<{limit}"),
        }
    }
}

fn write_set(f: &mut fmt::Formatter<'_>, key: &str, set: &BTreeSet<Box<str>>, [one, more]: [&str; 2]) -> fmt::Result {
    let values: Vec<&str> = set.iter().map(AsRef::as_ref).collect();
    match values.as_slice() {
        [value] => write!(f, "{key}{one}{value}"),
        values => write!(f, "{key} {more} ({})", values.join(",")),
    }
}

impl<'de> Deserialize<'de> for Selector {
    /// metav1's `LabelSelector`, or kubectl's text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SelectorVisitor)
    }
}

struct SelectorVisitor;

impl<'de> de::Visitor<'de> for SelectorVisitor {
    type Value = Selector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a label selector: matchLabels and matchExpressions, or a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Selector, E> {
        Selector::parse(text).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Selector, A::Error> {
        let fields = LabelSelector::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Selector::try_from(fields).map_err(de::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LabelSelector {
    #[serde(default)]
    match_labels: BTreeMap<String, Box<str>>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: BTreeSet<Box<str>>,
}

#[derive(Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl TryFrom<LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(fields: LabelSelector) -> Result<Self, SelectorError> {
        let labels =
            fields.match_labels.into_iter().map(|(key, value)| Requirement::new(&key, Rule::In([value].into())));
        let expressions = fields.match_expressions.into_iter().map(Requirement::try_from);
        labels.chain(expressions).collect::<Result<_, _>>().map(Self::from_requirements)
    }
}

impl TryFrom<Expression> for Requirement {
    type Error = SelectorError;

    fn try_from(Expression { key, operator, values }: Expression) -> Result<Self, SelectorError> {
        let rule = match operator {
            Operator::In => Rule::In(values),
            Operator::NotIn => Rule::NotIn(values),
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                return Err(SelectorError::Values(cut(&key, 100)));
            }
            Operator::Exists => Rule::Exists,
            Operator::DoesNotExist => Rule::Absent,
        };
        Self::new(&key, rule)
    }
}

#[cfg(test)]
mod tests;
