//! The canary: the values that tests make are marked, and no mark may come out of Towline in any form.
//!
//! ```text
//! Maker::data ── marked() ──▶ management cluster ──▶ Towline ──▶ follower ── plain() ──▶ World::there
//!                                                       └──▶ log, pages, events: silent()
//! ```

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// What no log may hold.
pub const MARK: &str = "Qx7CanaryZk9";

/// Values that cannot carry the mark (a certificate, JSON): a piece of each stands for it.
static REGISTERED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// So long a piece is nowhere by chance.
const PIECE: usize = 24;
/// An object has an upper limit, and a test of it counts on its own bytes.
const LONGEST: usize = 64 << 10;

/// A value with the mark at its end, where it may have one.
pub fn marked(text: &str) -> String {
    let has_a_form = text.starts_with("-----BEGIN") || text.starts_with(['{', '[']);
    if text.is_empty() || has_a_form || text.len() > LONGEST {
        register(text);
        return text.to_owned();
    }
    format!("{text}{MARK}")
}

/// Nothing may show a piece of this value, from now on.
pub fn register(text: &str) {
    let middle = text.len() / 2;
    let piece = text.get(middle..middle + PIECE).unwrap_or(text);
    // A piece of `xxxx…` may be anywhere.
    if piece.bytes().collect::<BTreeSet<u8>>().len() >= PIECE / 3 {
        REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).insert(piece.to_owned());
    }
}

/// An object as its test wrote it: without the marks.
pub fn plain(mut object: Value) -> Value {
    let secret = object["kind"] == "Secret";
    if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
        unmark(data, secret);
    }
    object
}

fn unmark(data: &mut Map<String, Value>, base64: bool) {
    for value in data.values_mut() {
        let text = value.as_str().unwrap_or_default();
        let without = if base64 {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            bytes.strip_suffix(MARK.as_bytes()).map(|bytes| STANDARD.encode(bytes))
        } else {
            text.strip_suffix(MARK).map(str::to_owned)
        };
        if let Some(without) = without {
            *value = without.into();
        }
    }
}

/// Fails the test if a marked value is in this text in any form.
pub fn silent(what: &str, text: &str) {
    if let Some(form) = shown(text) {
        let before = text.split(&form).next().unwrap_or_default();
        panic!("{what} shows a value of an object: line {} holds {form:?}", before.lines().count());
    }
}

/// The form in which a text shows a marked value.
pub fn shown(text: &str) -> Option<String> {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let secrets = registered.iter().map(String::as_str).chain([MARK]);
    secrets.flat_map(|secret| forms(secret.as_bytes())).find(|form| text.contains(form))
}

/// As it is, in base64 at each place that it can have in a longer value, as Rust prints bytes, and in hex.
fn forms(secret: &[u8]) -> Vec<String> {
    let joined = |format: fn(&u8) -> String, by: &str| secret.iter().map(format).collect::<Vec<_>>().join(by);
    let mut forms = vec![String::from_utf8_lossy(secret).into_owned()];
    forms.extend((0..3).map(|before| aligned(secret, before)));
    forms.extend([joined(u8::to_string, ", "), joined(|byte| format!("{byte:02x}"), "")]);
    forms
}

/// The characters of base64 that depend on nothing but the secret, with this many bytes before it.
fn aligned(secret: &[u8], before: usize) -> String {
    let encoded = STANDARD.encode([&vec![0; before], secret].concat());
    let (from, to) = ((before * 8).div_ceil(6), (before + secret.len()) * 8 / 6);
    encoded.get(from..to).unwrap_or_default().to_owned()
}

#[test]
fn a_mark_is_found_wherever_it_stands_in_a_value() {
    for before in ["", "a", "ab", "abc"] {
        let text = format!("{before}{MARK} and more");
        for said in [text.clone(), STANDARD.encode(&text), format!("{:?}", text.as_bytes())] {
            assert!(shown(&said).is_some(), "{said}");
        }
    }
    assert_eq!(shown("nothing to see"), None);
}

#[test]
fn a_marked_object_reads_as_it_was_written() {
    let data = |value: &str| serde_json::json!({"kind": "Secret", "data": {"key": STANDARD.encode(value)}});
    assert_eq!(plain(data(&marked("one"))), data("one"));
}
