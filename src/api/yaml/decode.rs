//! Types that serde knows out of a tree: the same messages as for a whole document, at the place of the innermost mistake.

use super::{
    LONGEST, YamlError,
    tree::{Node, Place, Value},
    unknown_key,
};
use crate::api::grammar::cut;
use serde::{
    Deserialize, Deserializer,
    de::{
        self, Expected, IntoDeserializer, Unexpected, Visitor,
        value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use std::{collections::BTreeSet, fmt};

/// Reads a node. Messages of `T`'s own deserializers are passed on: they must not hold values. Numbers come as text.
pub(in crate::api) fn decode<'de, T: Deserialize<'de>>(node: &'de Node) -> Result<T, YamlError> {
    T::deserialize(node).map_err(|error| error.place.unwrap_or(node.place).mistake(error.problem))
}

/// A mistake, which gets the place of the innermost node that it passes. What serde says of the value found is dropped.
#[derive(Debug)]
pub(in crate::api) struct Mistake {
    place: Option<Place>,
    problem: String,
}

impl Mistake {
    fn new(problem: String) -> Self {
        Self { place: None, problem }
    }

    fn at(self, place: Place) -> Self {
        Self { place: self.place.or(Some(place)), ..self }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Mistake {}

fn allowed(what: &str) -> Mistake {
    Mistake::new(format!("allowed is {}", cut(what, LONGEST)))
}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        allowed(&message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        allowed(&expected.to_string())
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        allowed(&expected.to_string())
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        allowed(&expected.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        allowed(&expected.join(", "))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(unknown_key(field, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("key `{field}` stands here twice"))
    }
}

impl<'de> IntoDeserializer<'de, Mistake> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node {
    fn visit_text<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Mistake> {
        match self.text() {
            Some(text) => visitor.visit_borrowed_str(text).map_err(|error: Mistake| error.at(self.place)),
            None => Err(allowed(&(&visitor as &dyn Expected).to_string()).at(self.place)),
        }
    }
}

/// The second of two equal keys: a map of serde's would keep one of the values without a word.
fn twice(pairs: &[(Node, Node)]) -> Result<(), Mistake> {
    let mut seen = BTreeSet::new();
    let texts = pairs.iter().filter_map(|(key, _)| Some((key.place, key.text()?)));
    match texts.into_iter().find(|(_, text)| !seen.insert(*text)) {
        Some((place, text)) => Err(Mistake::new(format!("key `{}` stands here twice", cut(text, 64))).at(place)),
        None => Ok(()),
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let visited = match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Text { text, plain: true } if text == "true" => visitor.visit_bool(true),
            Value::Text { text, plain: true } if text == "false" => visitor.visit_bool(false),
            Value::Text { text, .. } => visitor.visit_borrowed_str(text),
            Value::List(nodes) => visitor.visit_seq(SeqDeserializer::new(nodes.iter())),
            Value::Map(pairs) => twice(pairs)
                .and_then(|()| visitor.visit_map(MapDeserializer::new(pairs.iter().map(|(key, value)| (key, value))))),
            Value::Tagged => Err(allowed(&(&visitor as &dyn Expected).to_string())),
        };
        visited.map_err(|error: Mistake| error.at(self.place))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.visit_text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.visit_text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.visit_text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let Some(text) = self.text() else { return Err(allowed(&variants.join(", ")).at(self.place)) };
        visitor.visit_enum(BorrowedStrDeserializer::new(text)).map_err(|error: Mistake| error.at(self.place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{policy::Policy, yaml::tree};
    use proptest::prelude::*;

    fn by_tree(text: &str) -> Result<Policy, YamlError> {
        decode(&tree::read(text).unwrap().unwrap())
    }

    /// The documents by which policies are tested.
    const DOCUMENTS: [&str; 12] = [
        "accept:\n- too: same\n",
        "acept: []",
        "accept:\n- allow: [Everything]",
        "accept:\n- kinds: [Pod]",
        "accept:\n- kinds: []",
        "accept:\n- to: other",
        "accept:\n- to: {}",
        "accept:\n- to: {names: [a]}",
        "accept:\n- from: {namespaces: ['!a']}",
        "accept:\n- from:\n    selector: a b",
        "accept:\n- from:\n    selector: {labels: {}}",
        "accept:\n- allow: [Rename]\n  allow: [Rename]\n",
    ];

    #[test]
    fn a_mistake_is_told_as_by_the_reader_of_whole_documents() {
        for text in DOCUMENTS {
            let (ours, theirs) = (by_tree(text).unwrap_err(), Policy::parse(text).unwrap_err());
            assert_eq!((ours.line, &ours.problem), (theirs.line, &theirs.problem), "{text}");
        }
        let labels = by_tree("accept: [{from: {selector: {matchLabels: {a: x, a: y}}}}]").unwrap_err();
        assert_eq!(labels.to_string(), "line 1, column 49: key `a` stands here twice");
        assert_eq!(by_tree("accept:\n- kinds: [Secret, Pod]").unwrap_err().column, 19);
    }

    #[test]
    fn what_is_right_is_read_as_by_the_reader_of_whole_documents() {
        let texts = [
            "accept:\n- from: {namespaces: [certs], selector: {matchLabels: {a: b}}}\n  to: {namespaces: [x, 'y-*'], selector: 'a in (b)'}\n  kinds: [Secret]\n  names: [n]\n  allow: [Rename, Overwrite]\n",
            "accept: [{to: same}, {kinds: [ConfigMap]}]\nbaseRoutes: false\n",
            "accept: [{from: {selector: {matchExpressions: [{key: a, operator: In, values: [b, '1']}]}}}]",
            "accept: [{from: {namespaces: [123, true]}}]",
            "{}",
        ];
        for text in texts {
            assert_eq!(by_tree(text), Policy::parse(text), "{text}");
            assert!(by_tree(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_value_is_ever_repeated(key in "accept|from|to|s", shape in 0..5_usize) {
            let text = match shape {
                0 => format!("{key}: s3cret"),
                1 => format!("{key}: [s3cret]"),
                2 => format!("accept: [{{{key}: s3cret}}]"),
                3 => format!("accept: [{{{key}: [s3cret]}}]"),
                _ => format!("accept: [{{{key}: {{namespaces: {{s3cret: s3cret}}}}}}]"),
            };
            if let Err(error) = by_tree(&text) {
                prop_assert!(!error.problem.contains("s3cret"), "{text}: {error}");
            }
        }
    }
}
