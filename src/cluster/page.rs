//! Decodes what lists and watches hold, one object at a time, so that a bad one does not spoil the rest. Pure.

use super::{error::Error, status::Status, watch::Event};
use crate::api::names::ResourceVersion;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

/// What a page of a list says beside its objects.
pub struct Page {
    /// The version that the whole list shows.
    pub version: Option<ResourceVersion>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// One line of a watch.
pub enum Line<T> {
    /// An object changed, and the watch has come to this version.
    Event(Event<T>, Option<ResourceVersion>),
    /// Nothing changed up to this version.
    Bookmark(Option<ResourceVersion>),
    /// The server ends the watch.
    Error(Status),
}

#[derive(Deserialize)]
struct WireList {
    #[serde(default)]
    metadata: ListMeta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ListMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// What is read even of an object that is not a `T`.
#[derive(Deserialize, Default)]
struct Minimal {
    #[serde(default)]
    metadata: MinimalMeta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct MinimalMeta {
    namespace: Option<String>,
    name: Option<String>,
    resource_version: Option<String>,
}

/// Reads a page without its objects.
pub fn page(frame: &[u8]) -> Result<Page, Error> {
    let list: WireList = serde_json::from_slice(frame).map_err(|error| Error::decode("list", &error))?;
    let (version, next) = (version(list.metadata.resource_version), list.metadata.next);
    Ok(Page { version, next: next.filter(|token| !token.is_empty()) })
}

/// Decodes one object of a list: `Listed` or `Undecodable`.
pub fn listed<T: DeserializeOwned>(object: &[u8]) -> Event<T> {
    serde_json::from_slice(object).map_or_else(|_| undecodable(object), Event::Listed)
}

/// Decodes one line of a watch.
pub fn line<T: DeserializeOwned>(line: &[u8]) -> Result<Line<T>, Error> {
    let event: WireEvent<'_> = serde_json::from_slice(line).map_err(|error| Error::decode("watch", &error))?;
    let decode = |made: fn(T) -> Event<T>| {
        serde_json::from_str(event.object.get()).map_or_else(|_| undecodable(event.object.get().as_bytes()), made)
    };
    let reached = || version(minimal(event.object.get().as_bytes()).resource_version);
    match event.kind.as_str() {
        "ADDED" | "MODIFIED" => Ok(Line::Event(decode(Event::Applied), reached())),
        "DELETED" => Ok(Line::Event(gone(decode(Event::Deleted)), reached())),
        "BOOKMARK" => Ok(Line::Bookmark(reached())),
        "ERROR" => Ok(Line::Error(Status::from_object(event.object.get().as_bytes()))),
        _ => Err(Error::Decode { verb: "watch", category: "event type", position: 0 }),
    }
}

fn gone<T>(event: Event<T>) -> Event<T> {
    match event {
        Event::Undecodable { namespace, name, resource_version, .. } => {
            Event::Undecodable { namespace, name, resource_version, deleted: true }
        }
        event => event,
    }
}

fn undecodable<T>(object: &[u8]) -> Event<T> {
    let MinimalMeta { namespace, name, resource_version } = minimal(object);
    Event::Undecodable {
        namespace: namespace.unwrap_or_default(),
        name: name.unwrap_or_default(),
        resource_version: version(resource_version),
        deleted: false,
    }
}

fn minimal(object: &[u8]) -> MinimalMeta {
    serde_json::from_slice::<Minimal>(object).unwrap_or_default().metadata
}

/// `0` and nothing mean "any version" to the API server: never go on from there.
fn version(text: Option<String>) -> Option<ResourceVersion> {
    text.filter(|text| !text.is_empty() && text != "0").map(ResourceVersion::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Debug, PartialEq)]
    struct Object {
        data: u8,
    }

    #[test]
    fn a_bad_object_is_told_by_its_name() {
        let bad = br#"{"metadata":{"namespace":"web","name":"bad","resourceVersion":"5"},"data":"x"}"#;
        let expected = Event::Undecodable {
            namespace: "web".to_owned(),
            name: "bad".to_owned(),
            resource_version: Some("5".into()),
            deleted: false,
        };
        assert_eq!((listed::<Object>(bad), listed(br#"{"data":1}"#)), (expected, Event::Listed(Object { data: 1 })));
    }

    #[test]
    fn a_page_says_which_version_it_shows_and_where_the_next_one_begins() {
        let read = |frame: &str| page(frame.as_bytes()).map(|page| (page.version, page.next)).ok();
        let more = r#"{"kind":"SecretList","metadata":{"resourceVersion":"7","continue":"more"},"items":[]}"#;
        assert_eq!(read(more), Some((Some("7".into()), Some("more".to_owned()))));
        let last = r#"{"metadata":{"resourceVersion":"7","continue":""}}"#;
        assert_eq!((read(last), read(r#"{"metadata":{"#)), (Some((Some("7".into()), None)), None));
    }

    #[test]
    fn each_type_of_event_is_told() {
        let read = |text: &str| line::<Object>(text.as_bytes());
        let object = r#"{"metadata":{"name":"a","resourceVersion":"9"},"data":1}"#;
        for (kind, event) in [
            ("ADDED", Event::Applied(Object { data: 1 })),
            ("MODIFIED", Event::Applied(Object { data: 1 })),
            ("DELETED", Event::Deleted(Object { data: 1 })),
        ] {
            match read(&format!(r#"{{"type":"{kind}","object":{object}}}"#)) {
                Ok(Line::Event(read, version)) => assert_eq!((read, version), (event, Some("9".into()))),
                _ => panic!("{kind}"),
            }
        }
        let bookmark = read(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}"#);
        assert!(matches!(bookmark, Ok(Line::Bookmark(Some(version))) if version == "12".into()));
        let gone = read(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"x"}}"#);
        assert!(matches!(gone, Ok(Line::Error(status)) if status.code == 410));
        assert!(read(r#"{"type":"NEWS","object":{}}"#).is_err() && read("{").is_err());
    }

    #[test]
    fn no_watch_goes_on_from_version_zero() {
        let bookmark = line::<Object>(br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"0"}}}"#);
        assert!(matches!(bookmark, Ok(Line::Bookmark(None))));
    }
}
