//! Objects for tests, built in a line.

use super::canary::marked;
use serde_json::{Map, Value, json};

/// An object in the making.
pub struct Maker(Value);

/// A Secret of type Opaque.
pub fn secret(namespace: &str, name: &str) -> Maker {
    Maker(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}}))
}

/// A ConfigMap.
pub fn config_map(namespace: &str, name: &str) -> Maker {
    Maker(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}}))
}

impl Maker {
    /// Data: text, encoded as the kind wants it. It is marked, so that it is noticed where it must not be; [`World::there`]
    /// takes the mark off.
    ///
    /// [`World::there`]: super::world::World::there
    pub fn data(mut self, key: &str, text: &str) -> Self {
        let field = if self.0["kind"] == "Secret" { "stringData" } else { "data" };
        put(&mut self.0, field, key, json!(marked(text)));
        self
    }

    /// `binaryData` of a ConfigMap, in base64.
    pub fn binary(mut self, key: &str, base64: &str) -> Self {
        put(&mut self.0, "binaryData", key, json!(base64));
        self
    }

    /// A label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        put(&mut self.0["metadata"], "labels", key, json!(value));
        self
    }

    /// An annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        put(&mut self.0["metadata"], "annotations", key, json!(value));
        self
    }

    /// kubed's route.
    pub fn contexts(self, contexts: &str) -> Self {
        self.annotation("kubed.appscode.com/sync-contexts", contexts)
    }

    /// `type`.
    pub fn of_type(mut self, type_: &str) -> Self {
        self.0["type"] = json!(type_);
        self
    }

    /// `immutable`.
    pub fn immutable(mut self) -> Self {
        self.0["immutable"] = json!(true);
        self
    }

    /// The object.
    pub fn build(self) -> Value {
        self.0
    }
}

fn put(object: &mut Value, field: &str, key: &str, value: Value) {
    let fields = object.as_object_mut().unwrap().entry(field).or_insert_with(|| Value::Object(Map::new()));
    fields[key] = value;
}
