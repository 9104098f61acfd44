//! Decodes pages of lists and lines of watches, one object at a time, so that a bad one does not spoil the rest, and a page
//! of large ones is not held twice. Pure.

use super::{error::Error, status::Status, watch::Event};
use crate::api::names::ResourceVersion;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::ops::Range;
use zeroize::Zeroizing;

/// One page of a list.
pub struct Page {
    /// Its objects, in the server's order.
    pub items: Items,
    /// The version that the whole list shows.
    pub version: Option<ResourceVersion>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Objects of a page that are not decoded yet: there is one body, and never more than one object beside it.
pub struct Items {
    body: Zeroizing<Vec<u8>>,
    places: std::vec::IntoIter<Range<usize>>,
}

impl Items {
    /// The next object: `Listed` or `Undecodable`.
    pub fn take<T: DeserializeOwned>(&mut self) -> Option<Event<T>> {
        let item = self.body.get(self.places.next()?).unwrap_or_default();
        Some(serde_json::from_slice(item).map_or_else(|_| undecodable(item), Event::Listed))
    }
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
struct WireList<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
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

/// Reads one page, but for its objects.
pub fn page(body: Zeroizing<Vec<u8>>) -> Result<Page, Error> {
    let list: WireList<'_> = serde_json::from_slice(&body).map_err(|error| Error::decode("list", &error))?;
    let start = body.as_ptr().addr();
    let place = |item: &RawValue| {
        let begin = item.get().as_ptr().addr() - start;
        begin..begin + item.get().len()
    };
    let places: Vec<Range<usize>> = list.items.unwrap_or_default().into_iter().map(place).collect();
    let (version, next) = (version(list.metadata.resource_version), list.metadata.next);
    let items = Items { body, places: places.into_iter() };
    Ok(Page { items, version, next: next.filter(|token| !token.is_empty()) })
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
    fn one_bad_object_does_not_spoil_its_page() {
        let body = br#"{"kind":"SecretList","metadata":{"resourceVersion":"7","continue":"more"},"items":[
            {"data":1}, {"metadata":{"namespace":"web","name":"bad","resourceVersion":"5"},"data":"x"}, {"data":3}]}"#;
        let mut page = page(Zeroizing::new(body.to_vec())).unwrap();
        let bad = Event::Undecodable {
            namespace: "web".to_owned(),
            name: "bad".to_owned(),
            resource_version: Some("5".into()),
            deleted: false,
        };
        let events: Vec<Event<Object>> = std::iter::from_fn(|| page.items.take()).collect();
        assert_eq!(events, [Event::Listed(Object { data: 1 }), bad, Event::Listed(Object { data: 3 })]);
        assert_eq!((page.version, page.next.as_deref()), (Some("7".into()), Some("more")));
    }

    #[test]
    fn an_empty_list_may_have_no_items_at_all() {
        for body in [
            r#"{"metadata":{"resourceVersion":"7"},"items":null}"#,
            r#"{"metadata":{"resourceVersion":"7","continue":""}}"#,
        ] {
            let mut page = page(Zeroizing::new(body.as_bytes().to_vec())).unwrap();
            assert_eq!((page.items.take::<Object>(), page.next), (None, None), "{body}");
        }
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
