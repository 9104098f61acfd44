//! Cuts the body of a list into its objects as it comes in, so that of a page of 250 objects no more than one is held. Pure.
//!
//! ```text
//! {"kind":"SecretList","metadata":{…},"items":[ {…} , {…} , … ]}
//! ╰──────────────── frame ────────────────────╯ ╰object╯       ╰─╯ frame
//! ```

use super::buffer::Buffer;
use bytes::{Buf, Bytes};
use zeroize::Zeroizing;

/// The most that a list may say beside its objects, in bytes: a continue token is by far the longest.
const LONGEST_FRAME: usize = 64 << 10;

/// Why a body cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncut {
    /// An object, or what is beside the objects, is longer than the cap.
    TooLong,
    /// Something else than an object is among the items.
    NoObject,
}

/// Pieces of a body come in, whole objects go out; what is beside them is kept for the end.
pub struct Objects {
    cap: usize,
    rest: Bytes,
    frame: Buffer,
    object: Buffer,
    place: Place,
    scan: Scan,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Frame,
    /// Among the items, in none of them.
    Between,
    Object,
}

/// Where in the JSON text we are.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last string of the outermost object, as far as it may be `items`, and whether a colon followed.
    key: Vec<u8>,
    colon: bool,
}

const KEY: &[u8] = b"items";
/// The depth inside of the outermost object, and inside of its items.
const OUTERMOST: usize = 1;
const AMONG_ITEMS: usize = 2;

impl Objects {
    /// Objects of at most `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            rest: Bytes::new(),
            frame: Buffer::default(),
            object: Buffer::default(),
            place: Place::Frame,
            scan: Scan::default(),
        }
    }

    /// Adds a piece. The one before must have been used up: [`Self::cut`] said `None`.
    pub fn push(&mut self, piece: Bytes) {
        debug_assert!(self.rest.is_empty(), "objects of the last piece are left");
        self.rest = piece;
    }

    /// The next whole object; `None`: push another piece.
    pub fn cut(&mut self) -> Result<Option<Zeroizing<Vec<u8>>>, Uncut> {
        let mut kept = 0;
        for index in 0..self.rest.len() {
            let Some(byte) = self.rest.get(index).copied() else { break };
            let before = self.place;
            self.place = self.scan.step(byte, before);
            match (before, self.place) {
                (Place::Frame, Place::Between) => self.keep(kept..index + 1, Place::Frame)?,
                (Place::Between, Place::Between) if byte.is_ascii_whitespace() || byte == b',' => {}
                (Place::Between, Place::Between) => return Err(Uncut::NoObject),
                (Place::Between, _) => {
                    kept = index;
                    continue;
                }
                (Place::Object, Place::Between) => {
                    self.keep(kept..index + 1, Place::Object)?;
                    self.rest.advance(index + 1);
                    return Ok(Some(self.object.take()));
                }
                _ => continue,
            }
            kept = index + 1;
        }
        self.keep(kept..self.rest.len(), self.place)?;
        self.rest.clear();
        Ok(None)
    }

    /// What was beside the objects, once the body has ended.
    pub fn frame(mut self) -> Zeroizing<Vec<u8>> {
        self.frame.take()
    }

    fn keep(&mut self, range: std::ops::Range<usize>, place: Place) -> Result<(), Uncut> {
        let bytes = self.rest.get(range).unwrap_or_default();
        let fits = match place {
            Place::Frame => self.frame.push(bytes, LONGEST_FRAME),
            Place::Object => self.object.push(bytes, self.cap),
            Place::Between => true,
        };
        if fits { Ok(()) } else { Err(Uncut::TooLong) }
    }
}

impl Scan {
    /// Takes one byte and says where we are after it.
    fn step(&mut self, byte: u8, place: Place) -> Place {
        if self.in_string {
            self.string(byte);
            return place;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == OUTERMOST {
                    self.key.clear();
                    self.colon = false;
                }
            }
            b':' if self.depth == OUTERMOST => self.colon = true,
            b'{' | b'[' => return self.open(byte, place),
            b'}' | b']' => return self.close(place),
            _ => {}
        }
        place
    }

    fn string(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => {
                self.in_string = false;
                return;
            }
            _ => {}
        }
        if self.depth == OUTERMOST && self.key.len() <= KEY.len() {
            self.key.push(byte);
        }
    }

    fn open(&mut self, byte: u8, place: Place) -> Place {
        let items = self.depth == OUTERMOST && byte == b'[' && self.colon && self.key == KEY;
        self.depth += 1;
        match place {
            Place::Frame if items => Place::Between,
            Place::Between if byte == b'{' => Place::Object,
            place => place,
        }
    }

    fn close(&mut self, place: Place) -> Place {
        self.depth = self.depth.saturating_sub(1);
        match place {
            Place::Object if self.depth == AMONG_ITEMS => Place::Between,
            Place::Between => Place::Frame,
            place => place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn cut(pieces: &[&[u8]], cap: usize) -> Result<(Vec<String>, String), Uncut> {
        let (mut objects, mut out) = (Objects::new(cap), Vec::new());
        for piece in pieces {
            objects.push(Bytes::copy_from_slice(piece));
            while let Some(object) = objects.cut()? {
                out.push(String::from_utf8(object.to_vec()).unwrap());
            }
        }
        Ok((out, String::from_utf8(objects.frame().to_vec()).unwrap()))
    }

    fn whole(body: &str) -> (Vec<String>, String) {
        cut(&[body.as_bytes()], 1000).unwrap()
    }

    #[test]
    fn objects_are_cut_out_of_their_frame() {
        let (objects, frame) =
            whole(r#"{"metadata":{"resourceVersion":"7"}, "items" : [ {"a":1} ,{"b":[{}]}], "kind":"L"}"#);
        assert_eq!(objects, [r#"{"a":1}"#, r#"{"b":[{}]}"#]);
        assert_eq!(frame, r#"{"metadata":{"resourceVersion":"7"}, "items" : [], "kind":"L"}"#);
    }

    #[test]
    fn only_the_outermost_items_are_objects_of_the_list() {
        let (objects, frame) = whole(r#"{"metadata":{"items":[{"a":1}]},"x":"items","y":[{"b":2}],"items":null}"#);
        assert!(objects.is_empty());
        assert_eq!(frame, r#"{"metadata":{"items":[{"a":1}]},"x":"items","y":[{"b":2}],"items":null}"#);
    }

    #[test]
    fn brackets_and_quotes_in_strings_mean_nothing() {
        let (objects, _) = whole(r#"{"items":[{"a":"}]\"{[\\"},{"items":[1]}]}"#);
        assert_eq!(objects, [r#"{"a":"}]\"{[\\"}"#, r#"{"items":[1]}"#]);
    }

    #[test]
    fn what_is_no_object_and_what_is_too_long_is_refused() {
        assert_eq!(cut(&[br#"{"items":[1]}"#], 10), Err(Uncut::NoObject));
        assert_eq!(cut(&[br#"{"items":[{"a":"0123456789"}]}"#], 10), Err(Uncut::TooLong));
        let frame = format!(r#"{{"metadata":"{}"}}"#, "x".repeat(LONGEST_FRAME));
        assert_eq!(cut(&[frame.as_bytes()], 10), Err(Uncut::TooLong));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            r#"[a-z"\\{}\[\],:]{0,8}"#.prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(r#"[a-z"{]{0,3}|items"#, inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn however_a_body_is_cut_into_pieces_the_objects_are_the_same(
            items in proptest::collection::vec(proptest::collection::btree_map("[a-z]{1,3}", value(), 0..3), 0..6),
            metadata in value(),
            cuts in proptest::collection::vec(1..40_usize, 0..20),
        ) {
            let body = serde_json::to_vec(&json!({"a": metadata, "items": items, "z": metadata})).unwrap();
            let (mut pieces, mut rest) = (Vec::new(), &*body);
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let (objects, frame) = cut(&pieces, 1 << 20).unwrap();
            let expected: Vec<String> = items.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
            prop_assert_eq!(objects, expected);
            prop_assert_eq!(serde_json::from_str::<Value>(&frame).unwrap(), json!({"a": metadata, "items": [], "z": metadata}));
        }
    }
}
