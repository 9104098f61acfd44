//! Watches against a server that misbehaves, over real sockets.

use super::*;
use crate::cluster::fake::{Fake, Say, Seen, until};
use serde::Deserialize;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Deserialize, Debug, PartialEq)]
struct Object {
    data: u32,
}

fn selection() -> Selection {
    Selection {
        path: "/objects".to_owned(),
        label_selector: Some("a=b".to_owned()),
        field_selector: None,
        metadata_only: false,
    }
}

fn permits() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1))
}

async fn watch_of(fake: &Fake) -> Watch<Object> {
    Watch::new(fake.session().await, selection(), permits())
}

fn item(data: u32, version: u32) -> String {
    format!(r#"{{"metadata":{{"namespace":"web","name":"o{data}","resourceVersion":"{version}"}},"data":{data}}}"#)
}

fn list(version: u32, next: &str, items: &[String]) -> Say {
    let items = items.join(",");
    Say::Json(200, format!(r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{next}"}},"items":[{items}]}}"#))
}

fn line(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn gone() -> String {
    line("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired"}"#)
}

/// Answers lists, and watches by their number.
fn server(
    lists: impl Fn(&Seen) -> Say + Send + Sync + 'static,
    watches: impl Fn(usize) -> Say + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Say + Send + Sync {
    let count = AtomicUsize::new(0);
    move |seen| if seen.is_watch() { watches(count.fetch_add(1, Ordering::SeqCst)) } else { lists(seen) }
}

async fn take(watch: &mut Watch<Object>, count: usize) -> Vec<Event<Object>> {
    let mut events = Vec::new();
    while events.len() < count {
        events.push(watch.next().await.unwrap());
    }
    events
}

#[tokio::test]
async fn pages_then_events_from_where_the_list_ended() {
    let lists = |seen: &Seen| match seen.url.contains("continue=more") {
        false => list(7, "more", &[item(1, 1)]),
        true => list(7, "", &[item(2, 2)]),
    };
    let events = || vec![line("ADDED", &item(3, 8)), line("BOOKMARK", &item(0, 11)), line("DELETED", &item(1, 9))];
    let fake = Fake::http2(server(lists, move |_| Say::Open(events()))).await;
    let mut watch = watch_of(&fake).await;
    let object = |data| Object { data };
    let seen = take(&mut watch, 4).await;
    assert_eq!(seen, [Event::RelistBegun, Event::Listed(object(1)), Event::Listed(object(2)), Event::RelistDone]);
    assert_eq!(watch.resource_version(), Some("7".into()));
    assert_eq!(take(&mut watch, 2).await, [Event::Applied(object(3)), Event::Deleted(object(1))]);
    let urls: Vec<_> = fake.asked().into_iter().map(|seen| seen.url).collect();
    assert_eq!(urls[0], "/objects?labelSelector=a%3Db&limit=250");
    assert_eq!(urls[1], "/objects?labelSelector=a%3Db&limit=250&continue=more");
    assert!(
        urls[2].contains("watch=1&allowWatchBookmarks=true&timeoutSeconds=") && urls[2].ends_with("&resourceVersion=7")
    );
}

#[tokio::test]
async fn a_version_that_is_too_old_is_listed_anew_whatever_form_it_comes_in() {
    for first in [|| Say::Pieces(vec![gone()]), || Say::Json(410, "{}".to_owned())] {
        let watches = move |number| if number == 0 { first() } else { Say::Open(Vec::new()) };
        let fake = Fake::http1(server(|_| list(7, "", &[]), watches)).await;
        let mut watch = watch_of(&fake).await;
        let expected = [Event::RelistBegun, Event::RelistDone, Event::RelistBegun, Event::RelistDone];
        assert_eq!(take(&mut watch, 4).await, expected);
    }
}

#[tokio::test]
async fn a_list_whose_token_expired_begins_again() {
    let expired = AtomicUsize::new(0);
    let lists = move |seen: &Seen| match seen.url.contains("continue=more") {
        false => list(7, "more", &[item(1, 1)]),
        true if expired.fetch_add(1, Ordering::SeqCst) == 0 => Say::Json(410, "{}".to_owned()),
        true => list(7, "", &[]),
    };
    let fake = Fake::http1(server(lists, |_| Say::Open(Vec::new()))).await;
    let mut watch = watch_of(&fake).await;
    let (begun, listed) = (|| Event::RelistBegun, || Event::Listed(Object { data: 1 }));
    assert_eq!(take(&mut watch, 5).await, [begun(), listed(), begun(), listed(), Event::RelistDone]);
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_is_named_and_the_rest_goes_on() {
    let bad = r#"{"metadata":{"namespace":"web","name":"bad","resourceVersion":"8"},"data":"hunter2"}"#;
    let watches = move |_| Say::Open(vec![line("MODIFIED", bad), line("DELETED", bad), line("ADDED", &item(4, 9))]);
    let fake = Fake::http1(server(|_| list(7, "", &[]), watches)).await;
    let mut watch = watch_of(&fake).await;
    let events = take(&mut watch, 5).await;
    let named = |deleted| Event::Undecodable {
        namespace: "web".to_owned(),
        name: "bad".to_owned(),
        resource_version: Some("8".into()),
        deleted,
    };
    assert_eq!(events[2..], [named(false), named(true), Event::Applied(Object { data: 4 })]);
    assert_eq!(watch.resource_version(), Some("9".into()));
}

#[tokio::test]
async fn a_denied_list_is_told_and_tried_again() {
    let denied = AtomicUsize::new(0);
    let lists = move |_: &Seen| match denied.fetch_add(1, Ordering::SeqCst) {
        0 => Say::Json(403, r#"{"reason":"Forbidden"}"#.to_owned()),
        _ => list(7, "", &[]),
    };
    let fake = Fake::http1(server(lists, |_| Say::Open(Vec::new()))).await;
    let mut watch = watch_of(&fake).await;
    assert_eq!(watch.next().await, Ok(Event::RelistBegun));
    assert_eq!(watch.next().await.map_err(|error| error.class()), Err(Class::Denied));
    assert_eq!(take(&mut watch, 2).await, [Event::RelistBegun, Event::RelistDone]);
}

#[tokio::test]
async fn a_denied_watch_is_told_and_begins_with_a_list() {
    let denied = || Say::Json(403, r#"{"reason":"Forbidden"}"#.to_owned());
    let watches = move |number| if number == 0 { denied() } else { Say::Open(Vec::new()) };
    let fake = Fake::http1(server(|_| list(7, "", &[]), watches)).await;
    let mut watch = watch_of(&fake).await;
    assert_eq!(take(&mut watch, 2).await, [Event::RelistBegun, Event::RelistDone]);
    assert_eq!(watch.next().await.map_err(|error| error.class()), Err(Class::Denied));
    assert_eq!(take(&mut watch, 2).await, [Event::RelistBegun, Event::RelistDone]);
}

#[tokio::test]
async fn a_watch_that_is_closed_at_once_again_and_again_does_not_spin() {
    let fake = Fake::http2(server(|_| list(7, "", &[]), |_| Say::Pieces(Vec::new()))).await;
    let mut watch = watch_of(&fake).await;
    take(&mut watch, 2).await;
    let endless = tokio::time::timeout(Duration::from_millis(1400), watch.next()).await;
    assert!(endless.is_err(), "a closed watch is no event");
    let reopened = fake.asked().iter().filter(|seen| seen.is_watch()).count();
    assert!((2..=3).contains(&reopened), "{reopened}");
}

#[tokio::test]
async fn a_dropped_next_loses_nothing() {
    let lists = |seen: &Seen| {
        let late = |say| Say::Late(Duration::from_millis(20), Box::new(say));
        late(if seen.url.contains("continue") { list(7, "", &[item(2, 2)]) } else { list(7, "more", &[item(1, 1)]) })
    };
    let fake = Fake::http1(server(lists, |_| Say::Open(vec![line("ADDED", &item(3, 8))]))).await;
    let mut watch = watch_of(&fake).await;
    let (mut events, mut dropped) = (Vec::new(), 0);
    while events.len() < 5 {
        match tokio::time::timeout(Duration::from_millis(3), watch.next()).await {
            Ok(event) => events.push(event.unwrap()),
            Err(_) => dropped += 1,
        }
    }
    assert!(dropped > 3);
    assert_eq!(fake.asked().len(), 3, "no request was made twice");
}

#[tokio::test]
async fn a_resumed_watch_does_not_list() {
    let fake = Fake::http1(server(|_| list(7, "", &[]), |_| Say::Open(vec![line("ADDED", &item(3, 8))]))).await;
    let mut watch = watch_of(&fake).await;
    take(&mut watch, 3).await;
    let mut watch = watch.resume(fake.session().await);
    take(&mut watch, 1).await;
    let asked = fake.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked[2].url.ends_with("&resourceVersion=8"));
}

#[tokio::test]
async fn a_watch_resumed_in_the_middle_of_a_list_lists_anew() {
    let fake = Fake::http1(server(|_| list(7, "", &[item(1, 1)]), |_| Say::Open(Vec::new()))).await;
    let mut watch = watch_of(&fake).await;
    take(&mut watch, 2).await;
    let mut watch = watch.resume(fake.session().await);
    let expected = [Event::RelistBegun, Event::Listed(Object { data: 1 }), Event::RelistDone];
    assert_eq!(take(&mut watch, 3).await, expected);
}

#[tokio::test]
async fn a_page_that_is_too_large_is_asked_for_in_smaller_pieces() {
    let large = || format!(r#"{{"data":1,"filler":"{}"}},"#, "x".repeat(1 << 20));
    let lists = move |seen: &Seen| match seen.url.contains("limit=250") {
        true => Say::Pieces(std::iter::once(r#"{"items":["#.to_owned()).chain((0..17).map(|_| large())).collect()),
        false => list(7, "", &[item(2, 1)]),
    };
    let fake = Fake::http1(server(lists, |_| Say::Open(Vec::new()))).await;
    let mut watch = watch_of(&fake).await;
    let events = take(&mut watch, 18).await;
    assert_eq!(events[0], Event::RelistBegun);
    assert_eq!(
        events[1..16],
        std::iter::repeat_with(|| Event::Listed(Object { data: 1 })).take(15).collect::<Vec<_>>()
    );
    assert_eq!(events[16..], [Event::Listed(Object { data: 2 }), Event::RelistDone]);
    assert!(fake.asked()[1].url.contains("limit=31"));
}

#[tokio::test]
async fn a_list_that_stalls_gives_its_permit_up() {
    let fake = Fake::http1(server(|_| Say::Hang, |_| Say::Hang)).await;
    let permits = permits();
    let mut watch = Watch::<Object>::new(fake.session().await, selection(), Arc::clone(&permits));
    assert_eq!(watch.next().await, Ok(Event::RelistBegun));
    let other = async {
        until("asked", || fake.asked().len() == 1).await;
        assert_eq!(permits.available_permits(), 0);
        tokio::time::pause();
        let begun = Instant::now();
        let _permit = permits.acquire().await.unwrap();
        begun.elapsed()
    };
    let waited = tokio::select! { waited = other => waited, _ = watch.next() => panic!("it must still wait") };
    assert!(waited <= PERMIT_PATIENCE + Duration::from_secs(1), "{waited:?}");
}

#[tokio::test]
async fn metadata_only_is_asked_for_in_both_forms() {
    let fake = Fake::http1(server(|_| list(7, "", &[]), |_| Say::Open(vec![line("ADDED", &item(3, 8))]))).await;
    let selection = Selection { metadata_only: true, ..selection() };
    let mut watch = Watch::<Object>::new(fake.session().await, selection, permits());
    take(&mut watch, 3).await;
    let accepted: Vec<_> = fake.asked().into_iter().map(|seen| seen.accept).collect();
    assert!(accepted[0].contains("as=PartialObjectMetadataList;") && accepted[1].contains("as=PartialObjectMetadata;"));
}
