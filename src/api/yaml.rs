//! Reads YAML that operators write, and says where a mistake is without repeating what stands there: somebody may have
//! pointed a flag at the wrong file, and that one may hold a secret.

mod decode;
mod tree;

pub(super) use decode::decode;
pub(super) use tree::{Node, Place, Value, read as tree};

use super::grammar::{cut, nearest};
use serde::de::DeserializeOwned;
use serde_saphyr::Error;
use std::fmt;

/// A mistake in a YAML document. Holds no more of it than one key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct YamlError {
    /// The line, from 1; 0 if unknown.
    pub line: u64,
    /// The column, from 1; 0 if unknown.
    pub column: u64,
    /// What is wrong or allowed there.
    pub problem: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.problem),
            line => write!(f, "line {line}, column {}: {}", self.column, self.problem),
        }
    }
}

/// Characters of a key or of a list of what is allowed.
const LONGEST: usize = 200;

/// Reads one document. Messages of `T`'s own deserializers are passed on: they must not hold values.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    serde_saphyr::from_str(text).map_err(|error| explain(&error))
}

fn explain(error: &Error) -> YamlError {
    let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
    YamlError { line, column, problem: problem(error.without_snippet()) }
}

/// Never the error's own text: it quotes the lines around the mistake.
fn problem(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => unknown_key(field, expected),
        Error::SerdeUnknownVariant { expected, .. } => format!("allowed is {}", cut(&expected.join(", "), LONGEST)),
        Error::SerdeMissingField { field, .. } => format!("key `{field}` is missing"),
        Error::SerdeInvalidType { expected, .. }
        | Error::SerdeInvalidValue { expected, .. }
        | Error::SerdeInvalidLength { expected, .. } => format!("allowed is {}", cut(expected, LONGEST)),
        Error::Unexpected { expected, .. } => format!("allowed is {expected}"),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("key `{}` stands here twice", cut(key, 64)),
        Error::DuplicateMappingKey { key: None, .. } => "a key stands here twice".to_owned(),
        Error::Message { msg, .. } => format!("allowed is {}", cut(msg, LONGEST)),
        Error::AliasError { error, .. } => problem(error),
        Error::MultipleDocuments { .. } => "allowed is one document".to_owned(),
        Error::InvalidScalar { ty, .. } => format!("allowed is a value of type {ty}"),
        Error::InvalidBooleanStrict { .. } => "allowed is true or false".to_owned(),
        Error::NullIntoString { .. } => "allowed is a text".to_owned(),
        Error::Eof { .. } => "the document ends too early".to_owned(),
        Error::Budget { .. } => "the document is too big".to_owned(),
        _ => "this is not the YAML that is expected here".to_owned(),
    }
}

pub(super) fn unknown_key(typed: &str, known: &[&str]) -> String {
    let meant = nearest(typed, known.iter().copied()).map(|key| format!("; the nearest is {key}")).unwrap_or_default();
    format!("unknown key `{}`: allowed is {}{meant}", cut(typed, 64), cut(&known.join(", "), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        #[serde(rename = "mode")]
        _mode: Mode,
        #[serde(rename = "count", default)]
        _count: u8,
        #[serde(rename = "names", default)]
        _names: Vec<String>,
    }

    #[derive(Debug, Deserialize)]
    enum Mode {
        Fast,
        Slow,
    }

    #[test]
    fn a_mistake_is_placed_and_explained() {
        let table = [
            (
                "mode: Fast\nmood: 1\n",
                "line 2, column 1: unknown key `mood`: allowed is mode, count, names; the nearest is mode",
            ),
            ("mode: S3cret", "line 1, column 7: allowed is Fast, Slow"),
            ("mode: Fast\nmode: Slow", "line 2, column 1: key `mode` stands here twice"),
        ];
        for (text, message) in table {
            assert_eq!(parse::<Document>(text).unwrap_err().to_string(), message, "{text}");
        }
        assert!(parse::<Document>("count: 1").unwrap_err().to_string().contains("key `mode` is missing"));
    }

    #[test]
    fn no_value_is_ever_repeated() {
        let texts = [
            "s3cret",
            "- s3cret",
            "mode: s3cret",
            "mode: [s3cret]",
            "mode: {s3cret: s3cret}",
            "mode: Fast\ncount: s3cret",
            "mode: Fast\ncount: {a: s3cret}",
            "mode: Fast\nnames: s3cret",
            "mode: Fast\nnames: [s3cret",
            "mode: Fast\nnames: \"s3cret",
            "mode: *s3cret",
            "mode: !s3cret x",
            "mode: Fast # ok\n  s3cret: x",
            "mode: Fast\n\ts3cret",
            "mode: Fast\n---\ns3cret",
            "mode: !!binary s3cret",
            "mode: &a s3cret\ncount: *a",
            "apiVersion: s3cret\ndata: {tls.key: s3cret}",
        ];
        for text in texts {
            let error = parse::<Document>(text).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{text}: {error}");
            assert!(error.line > 0, "{text}: {error}");
        }
    }
}
