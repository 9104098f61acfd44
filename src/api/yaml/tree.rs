//! A YAML document as a tree in which every node knows its place: what is read from it can tell all mistakes of a document,
//! not only the first. Anchors, aliases and merge keys (`<<`) are resolved here.

use super::YamlError;
use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use std::collections::HashMap;

/// So many nodes after all aliases are resolved: far more than 5,000 followers need.
const MOST: usize = 1_000_000;
/// Lists in lists: far more than anybody writes.
const DEEPEST: usize = 64;
const MERGE: &str = "<<";

/// One node. Has no `Debug`: it may hold anything.
#[derive(Clone)]
pub(in crate::api) struct Node {
    pub(in crate::api) place: Place,
    pub(in crate::api) value: Value,
    size: usize,
    depth: usize,
}

/// Where a node begins; both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) struct Place {
    pub(in crate::api) line: u64,
    pub(in crate::api) column: u64,
}

/// What a node holds.
#[derive(Clone)]
pub(in crate::api) enum Value {
    Null,
    /// As it is written: nothing is taken for a number, so that `0123` stays what it is.
    Text {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    /// In the order of the document, keys that stand there twice included.
    Map(Vec<(Node, Node)>),
    /// Has a tag of its own (`!secret`), of which nobody knows what it means.
    Tagged,
}

impl Place {
    /// A mistake here.
    pub(in crate::api) fn mistake(self, problem: impl Into<String>) -> YamlError {
        YamlError { line: self.line, column: self.column, problem: problem.into() }
    }

    fn of(mark: &Marker) -> Self {
        let number = |number: usize| u64::try_from(number).unwrap_or_default();
        Self { line: number(mark.line()), column: number(mark.col()) + 1 }
    }
}

impl Node {
    /// The text of a scalar.
    pub(in crate::api) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    fn new(place: Place, value: Value) -> Self {
        let sums = |nodes: &mut dyn Iterator<Item = &Self>| {
            nodes.fold((1, 0), |(size, depth), node| (size + node.size, node.depth.max(depth)))
        };
        let (size, depth) = match &value {
            Value::List(nodes) => sums(&mut nodes.iter()),
            Value::Map(pairs) => sums(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
            Value::Null | Value::Text { .. } | Value::Tagged => (1, 0),
        };
        Self { place, value, size, depth: depth + 1 }
    }

    fn is_merge_key(&self) -> bool {
        matches!(&self.value, Value::Text { text, plain: true } if text == MERGE)
    }
}

/// The only document of a text; `None` if the text is empty.
pub(in crate::api) fn read(text: &str) -> Result<Option<Node>, YamlError> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Place::of(error.marker()).mistake("this is not YAML"))?;
        builder.take(event, Place::of(&span.start))?;
    }
    Ok(builder.root)
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    nodes: usize,
}

/// A list or map of which the end has not been read yet.
struct Open {
    place: Place,
    anchor: usize,
    nodes: Vec<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err(place.mistake("allowed is one document")),
            Event::Scalar(text, style, anchor, tag) => {
                self.close(Node::new(place, scalar(&text, style, tag.as_deref())), anchor, 1)
            }
            Event::SequenceStart(_, anchor, _) | Event::MappingStart(_, anchor, _) => {
                self.open.push(Open { place, anchor, nodes: Vec::new() });
                Ok(())
            }
            Event::SequenceEnd => self.end(Value::List),
            Event::MappingEnd => self.end(|nodes| Value::Map(merged(pairs(nodes)))),
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    let size = node.size;
                    self.close(node, 0, size)
                }
                None => Err(place.mistake("an alias stands inside of what it names")),
            },
            _ => Ok(()),
        }
    }

    fn end(&mut self, made_of: impl Fn(Vec<Node>) -> Value) -> Result<(), YamlError> {
        let Some(Open { place, anchor, nodes }) = self.open.pop() else { return Ok(()) };
        self.close(Node::new(place, made_of(nodes)), anchor, 1)
    }

    /// Puts a node, with so many new ones in it, where it belongs. What is copied for an anchor or alias counts again: a few lines of aliases of aliases
    /// could fill the memory.
    fn close(&mut self, node: Node, anchor: usize, new: usize) -> Result<(), YamlError> {
        self.nodes += new + if anchor == 0 { 0 } else { node.size };
        if self.nodes > MOST || node.depth > DEEPEST {
            return Err(node.place.mistake("the document is too big"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(open) => open.nodes.push(node),
            None => self.root = Some(node),
        }
        Ok(())
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
    if tag.is_some_and(|tag| !tag.is_yaml_core_schema()) {
        return Value::Tagged;
    }
    let plain = matches!(style, ScalarStyle::Plain) && !is_text;
    match text {
        "" | "~" | "null" | "Null" | "NULL" if plain => Value::Null,
        text => Value::Text { text: text.to_owned(), plain },
    }
}

fn pairs(nodes: Vec<Node>) -> Vec<(Node, Node)> {
    let mut nodes = nodes.into_iter();
    std::iter::from_fn(|| nodes.next().zip(nodes.next())).collect()
}

/// Adds what `<<` names, save the keys that stand in the map itself.
fn merged(pairs: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
    let (merges, mut pairs): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(key, value)| {
        key.is_merge_key()
            && match &value.value {
                Value::Map(_) => true,
                Value::List(maps) => maps.iter().all(|map| matches!(map.value, Value::Map(_))),
                _ => false,
            }
    });
    let maps = merges.into_iter().flat_map(|(_, node)| match node.value {
        Value::List(maps) => maps,
        _ => vec![node],
    });
    for map in maps {
        let Value::Map(others) = map.value else { continue };
        for (key, value) in others {
            if pairs.iter().all(|(own, _)| own.text() != key.text()) {
                pairs.push((key, value));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as text: `{a:1@1:4}`.
    fn shown(node: &Node) -> String {
        let text = match &node.value {
            Value::Null => "~".to_owned(),
            Value::Tagged => "!".to_owned(),
            Value::Text { text, plain: true } => text.clone(),
            Value::Text { text, plain: false } => format!("'{text}'"),
            Value::List(nodes) => format!("[{}]", nodes.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Value::Map(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{}:{}", key.text().unwrap_or("?"), shown(value)));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(" "))
            }
        };
        format!("{text}@{}:{}", node.place.line, node.place.column)
    }

    fn tree(text: &str) -> String {
        shown(&read(text).unwrap().unwrap())
    }

    fn mistake(text: &str) -> String {
        match read(text) {
            Ok(_) => panic!("{text} is read"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_node_knows_its_place() {
        let table = [
            ("a", "a@1:1"),
            ("- a\n- [b, 'c']\n-\n", "[a@1:3 [b@2:4 'c'@2:7]@2:3 ~@3:2]@1:1"),
            ("# x\na: 1\nb:\n  c: 0123\n", "{a:1@2:4 b:{c:0123@4:6}@4:3}@2:1"),
            ("{a: true, é: ~, c: \"~\"}", "{a:true@1:5 é:~@1:14 c:'~'@1:20}@1:1"),
            ("[!!str ~, !secret x]", "['~'@1:8 !@1:19]@1:1"),
        ];
        for (text, expected) in table {
            assert_eq!(tree(text), expected, "{text}");
        }
        assert!(read("").unwrap().is_none());
        assert!(read("# nothing\n").unwrap().is_none());
    }

    #[test]
    fn aliases_stand_for_what_they_name_and_keep_its_place() {
        assert_eq!(tree("- &a [x]\n- *a\n"), "[[x@1:7]@1:6 [x@1:7]@1:6]@1:1");
        assert_eq!(tree("- &a {x: 1, y: 2}\n- {<<: *a, y: 3}\n").split_once("} {"), None);
        assert!(tree("- &a {x: 1, y: 2}\n- {<<: *a, y: 3}\n").ends_with("{y:3@2:15 x:1@1:10}@2:3]@1:1"));
        assert!(tree("- &a {x: 1}\n- &b {y: 2}\n- <<: [*a, *b]\n").ends_with("{x:1@1:10 y:2@2:10}@3:3]@1:1"));
        assert!(tree("- {<<: 1}").contains("<<:1"), "a merge of what is no map stays, to be told as unknown");
    }

    #[test]
    fn what_is_no_document_or_too_much_of_one_is_refused() {
        assert_eq!(mistake("a: [b"), "line 1, column 4: this is not YAML");
        assert_eq!(mistake("a\n---\nb\n"), "line 2, column 1: allowed is one document");
        assert_eq!(mistake("&a [*a]"), "line 1, column 5: an alias stands inside of what it names");
        let mut bomb = "- &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        (1..9).for_each(|n| bomb += &format!("- &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", ")));
        assert!(mistake(&bomb).ends_with("the document is too big"));
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(mistake(&deep).ends_with("the document is too big"));
    }
}
