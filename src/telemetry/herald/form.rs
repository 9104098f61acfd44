//! The two forms of an event, and where they are posted. Pure, but for the name.

use crate::{
    api::names::Namespace,
    cluster::{Call, paths},
    telemetry::{
        events::{ObjectRef, Telling},
        note::note,
    },
};
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        core::v1::{self as core, EventSource, ObjectReference},
        events::v1 as events,
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time},
};
use serde::Serialize;

/// The name of a controller is qualified.
const CONTROLLER: &str = "towline.dev/towline";
const ACTION: &str = "Sync";
/// An object's name has at most 253 characters; a dot and 16 hex digits are added.
const LONGEST_STEM: usize = 253 - 17;

/// Which API events are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `events.k8s.io/v1`.
    Events,
    /// `v1`: where the other is forbidden.
    Core,
}

/// One event, ready to be written in either form.
pub(super) struct Letter<'a> {
    pub(super) telling: &'a Telling,
    /// What it is attached to; it lies in that object's namespace.
    pub(super) object: &'a ObjectRef,
    pub(super) instance: &'a str,
    pub(super) now: Timestamp,
    /// Makes the name unique.
    pub(super) number: u64,
}

impl Letter<'_> {
    /// The request.
    pub(super) fn call(&self, form: Form) -> Option<Call> {
        let body = match form {
            Form::Events => body(&self.events()),
            Form::Core => body(&self.core()),
        };
        Some(Call::create(collection(form, &self.object.namespace.as_str().into()), body?.into()))
    }

    fn events(&self) -> events::Event {
        events::Event {
            metadata: self.metadata(),
            action: Some(ACTION.to_owned()),
            event_time: Some(MicroTime(self.now)),
            note: Some(note(self.telling)),
            reason: Some(self.telling.reason.to_owned()),
            regarding: Some(self.reference()),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.to_owned()),
            type_: Some(self.telling.tone.as_str().to_owned()),
            ..events::Event::default()
        }
    }

    fn core(&self) -> core::Event {
        core::Event {
            metadata: self.metadata(),
            count: Some(1),
            first_timestamp: Some(Time(self.now)),
            last_timestamp: Some(Time(self.now)),
            involved_object: self.reference(),
            message: Some(note(self.telling)),
            reason: Some(self.telling.reason.to_owned()),
            reporting_component: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.to_owned()),
            source: Some(EventSource { component: Some("towline".to_owned()), host: None }),
            type_: Some(self.telling.tone.as_str().to_owned()),
            ..core::Event::default()
        }
    }

    fn metadata(&self) -> ObjectMeta {
        let name = event_name(&self.object.name, self.number);
        let namespace = Some(self.object.namespace.clone());
        ObjectMeta { name: Some(name), namespace, ..ObjectMeta::default() }
    }

    fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some(self.object.kind.to_owned()),
            namespace: Some(self.object.namespace.clone()),
            name: Some(self.object.name.clone()),
            uid: Some(self.object.uid.clone()),
            resource_version: Some(self.object.resource_version.clone()),
            ..ObjectReference::default()
        }
    }
}

fn body(event: &impl Serialize) -> Option<Vec<u8>> {
    serde_json::to_vec(event).ok()
}

fn collection(form: Form, namespace: &Namespace) -> String {
    let path = paths::namespace(namespace);
    let path = match form {
        Form::Events => path.replacen("/api/v1/", "/apis/events.k8s.io/v1/", 1),
        Form::Core => path,
    };
    format!("{path}/events")
}

/// Each part of a name between dots ends with a letter or digit.
fn event_name(object: &str, number: u64) -> String {
    let stem: String = object.chars().take(LONGEST_STEM).collect();
    format!("{}.{number:016x}", stem.trim_end_matches(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::events::{About, Tone};
    use serde_json::{Value, json};

    fn written(form: Form) -> (String, Value) {
        let object = ObjectRef {
            kind: "Secret",
            namespace: "certs".into(),
            name: "tls".into(),
            uid: "u-1".into(),
            resource_version: "7".into(),
        };
        let telling = Telling {
            about: About::Source(object.clone()),
            reason: "Conflict",
            tone: Tone::Warning,
            followers: 1,
            follower_names: vec!["blue".into()],
            targets: 0,
            target_names: vec![],
            at_least: false,
            detail: None,
        };
        let now = "2026-01-02T03:04:05.678901Z".parse().unwrap();
        let letter = Letter { telling: &telling, object: &object, instance: "towline-0", now, number: 255 };
        let call = letter.call(form).unwrap();
        (call.path_and_query, serde_json::from_slice(&call.body.unwrap()).unwrap())
    }

    fn object() -> Value {
        let name = json!({"apiVersion": "v1", "kind": "Secret", "namespace": "certs", "name": "tls"});
        let mut object = name;
        object["uid"] = json!("u-1");
        object["resourceVersion"] = json!("7");
        object
    }

    #[test]
    fn an_event_has_all_that_its_api_asks_for() {
        let (path, event) = written(Form::Events);
        assert_eq!(path, "/apis/events.k8s.io/v1/namespaces/certs/events");
        let expected = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "tls.00000000000000ff", "namespace": "certs"},
            "eventTime": "2026-01-02T03:04:05.678901Z", "action": "Sync", "reason": "Conflict", "type": "Warning",
            "note": "Conflict on blue", "regarding": object(),
            "reportingController": "towline.dev/towline", "reportingInstance": "towline-0",
        });
        assert_eq!(event, expected);
    }

    #[test]
    fn the_older_form_has_times_and_a_count() {
        let (path, event) = written(Form::Core);
        assert_eq!(path, "/api/v1/namespaces/certs/events");
        let expected = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "tls.00000000000000ff", "namespace": "certs"},
            "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": "2026-01-02T03:04:05Z", "count": 1,
            "reason": "Conflict", "type": "Warning", "message": "Conflict on blue", "involvedObject": object(),
            "source": {"component": "towline"},
            "reportingComponent": "towline.dev/towline", "reportingInstance": "towline-0",
        });
        assert_eq!(event, expected);
    }

    #[test]
    fn a_long_name_is_cut_where_a_name_may_end() {
        let name = format!("{}.-tail", "a".repeat(LONGEST_STEM - 1));
        let event = event_name(&name, 1);
        assert_eq!(event, format!("{}.0000000000000001", "a".repeat(LONGEST_STEM - 1)));
        assert!(event_name(&"b".repeat(253), 1).len() == 253);
    }
}
