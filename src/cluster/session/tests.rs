//! Sessions against a server that misbehaves, over real sockets.

use super::*;
use crate::cluster::{
    Class, Login, LoginError, Token, TokenSource,
    fake::{Fake, Say, Seen, identity, until},
};
use futures::{FutureExt, future::BoxFuture};
use std::sync::atomic::{AtomicUsize, Ordering};
use zeroize::Zeroizing;

fn ok(_: &Seen) -> Say {
    Say::Json(200, "{}".to_owned())
}

fn hold(seen: &Seen) -> Say {
    if seen.is_watch() { Say::Open(Vec::new()) } else { ok(seen) }
}

async fn watching(session: &Session) -> Result<Reply, Error> {
    session.send(&Call::watch("/x?watch=1".to_owned()), Lane::Watch).await
}

/// Hands out `token-1`, `token-2` and so on.
#[derive(Default)]
struct Counting(AtomicUsize);

impl TokenSource for Counting {
    fn token(&self) -> BoxFuture<'_, Result<Token, LoginError>> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok(Token { value: Zeroizing::new(format!("token-{number}")), lifetime: None }) }.boxed()
    }

    fn fingerprint(&self) -> Vec<u8> {
        Vec::new()
    }
}

#[tokio::test]
async fn every_connection_begins_with_the_question_who_is_there() {
    for fake in [Fake::http1(hold).await, Fake::http2(hold).await] {
        let session = fake.session().await;
        assert_eq!(session.uid().as_str(), "one");
        let mut replies = Vec::new();
        for _ in 0..60 {
            replies.push(watching(&session).await.unwrap());
        }
        session.call(Call::get("/y")).await.unwrap();
        let seen = fake.seen();
        let connections = seen.iter().map(|seen| seen.connection).max().unwrap();
        for connection in 0..=connections {
            let first = seen.iter().find(|seen| seen.connection == connection).unwrap();
            assert!(first.is_identity(), "{first:?}");
        }
    }
}

#[tokio::test]
async fn beyond_fifty_watches_the_calls_have_a_link_of_their_own() {
    let fake = Fake::http2(hold).await;
    let session = fake.session().await;
    let mut replies = Vec::new();
    for _ in 0..50 {
        replies.push(watching(&session).await.unwrap());
    }
    session.call(Call::get("/y")).await.unwrap();
    assert_eq!(fake.connections(), 1);
    replies.push(watching(&session).await.unwrap());
    session.call(Call::get("/y")).await.unwrap();
    assert_eq!(fake.connections(), 3);
    let asked = fake.asked();
    let of_calls: Vec<_> = asked.iter().filter(|seen| !seen.is_watch()).map(|seen| seen.connection).collect();
    let of_watches: Vec<_> = asked.iter().filter(|seen| seen.is_watch()).map(|seen| seen.connection).collect();
    assert_eq!(of_calls, [0, 1]);
    assert!(!of_watches.contains(&1));
    drop(replies);
    replies = vec![watching(&session).await.unwrap()];
    assert_eq!((fake.connections(), replies.len()), (3, 1), "places on a link are used again");
}

#[tokio::test]
async fn http1_calls_share_idle_links_and_watches_do_not() {
    let fake = Fake::http1(hold).await;
    let session = fake.session().await;
    for _ in 0..3 {
        session.call(Call::get("/y")).await.unwrap();
    }
    assert_eq!(fake.connections(), 1);
    let _replies = (watching(&session).await.unwrap(), watching(&session).await.unwrap());
    let calls: Vec<_> = (0..20).map(|_| session.call(Call::get("/y"))).collect();
    assert!(futures::future::join_all(calls).await.iter().all(Result::is_ok));
    assert!(fake.connections() <= 2 + CALLS_HTTP1, "{}", fake.connections());
}

#[tokio::test]
async fn a_refusal_does_not_cost_http1_its_link() {
    let fake = Fake::http1(|_| Say::Json(404, r#"{"reason":"NotFound"}"#.to_owned())).await;
    let session = fake.session().await;
    for _ in 0..3 {
        assert!(session.call(Call::get("/y")).await.err().unwrap().is_not_found());
    }
    assert_eq!(fake.seen().iter().filter(|seen| seen.is_identity()).count(), 1);
}

#[tokio::test]
async fn another_cluster_on_a_second_connection_ends_the_session_and_hears_nothing() {
    let answer = |seen: &Seen| match (seen.is_identity(), seen.connection) {
        (true, 0) => identity("one"),
        (true, _) => identity("two"),
        _ => ok(seen),
    };
    let fake = Fake::raw(answer).await;
    let session = fake.session().await;
    let moved = Error::Moved { expected: "one".into(), found: "two".into() };
    assert_eq!(watching(&session).await.err(), Some(moved.clone()));
    assert_eq!(session.closed().await, moved);
    assert_eq!(session.call(Call::get("/y")).await.err(), Some(moved));
    assert_eq!(fake.asked().len(), 0);
}

/// Has one token, which ends at once.
#[derive(Default)]
struct Once(AtomicUsize);

impl TokenSource for Once {
    fn token(&self) -> BoxFuture<'_, Result<Token, LoginError>> {
        let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        let token = Token { value: Zeroizing::new("one".to_owned()), lifetime: Some(Duration::ZERO) };
        let gone = LoginError::Source { reason: "the role is gone".to_owned() };
        async move { if first { Ok(token) } else { Err(gone) } }.boxed()
    }

    fn fingerprint(&self) -> Vec<u8> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_session_that_gets_no_credentials_any_more_is_over_and_says_why() {
    let fake = Fake::http2(ok).await;
    let endpoint = fake.endpoint(Login::source(Arc::new(Once::default())));
    let session = Session::open(&endpoint, Options::default()).await.unwrap();
    let error = session.call(Call::get("/y")).await.err().unwrap();
    assert_eq!((error.class(), error.to_string().as_str()), (Class::Disconnected, "the role is gone"));
    assert_eq!(session.closed().await, error);
    assert_eq!(fake.asked().len(), 0);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let answer = |seen: &Seen| match seen.authorization.as_str() {
        "Bearer token-1" if !seen.is_identity() => Say::Json(401, "{}".to_owned()),
        _ => ok(seen),
    };
    for fake in [Fake::http1(answer).await, Fake::http2(answer).await] {
        let login = Login::source(Arc::new(Counting::default()));
        let session = Session::open(&fake.endpoint(login), Options::default()).await.unwrap();
        session.call(Call::get("/y")).await.unwrap();
        session.call(Call::get("/y")).await.unwrap();
        let tokens: Vec<_> = fake.asked().into_iter().map(|seen| seen.authorization).collect();
        assert_eq!(tokens, ["Bearer token-1", "Bearer token-2", "Bearer token-2"]);
    }
}

#[tokio::test]
async fn a_token_that_stays_refused_ends_the_session_after_two_requests() {
    let fake = Fake::http1(|_| Say::Json(401, r#"{"message":"hunter2"}"#.to_owned())).await;
    let login = Login::source(Arc::new(Counting::default()));
    let session = Session::open(&fake.endpoint(login), Options::default()).await.unwrap();
    let error = session.call(Call::get("/y")).await.err().unwrap();
    assert_eq!((error.class(), fake.asked().len()), (Class::Disconnected, 2));
    assert!(error.to_string().contains("401"), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    assert_eq!(session.closed().await, error);
}

#[tokio::test]
async fn a_server_that_hangs_up_on_a_refused_token_is_called_again_with_another() {
    let answer = |good: &'static str| {
        move |seen: &Seen| match seen.authorization.as_str() {
            token if token == good => identity("one"),
            _ => Say::With(401, "connection", "close"),
        }
    };
    let login = || Login::source(Arc::new(Counting::default()));
    let fake = Fake::raw(answer("Bearer token-2")).await;
    let session = Session::open(&fake.endpoint(login()), Options::default()).await.unwrap();
    assert_eq!(session.uid().as_str(), "one");
    let fake = Fake::raw(answer("none")).await;
    let error = Session::open(&fake.endpoint(login()), Options::default()).await.err().unwrap();
    assert_eq!((error.status().map(|status| status.code), fake.seen().len()), (Some(401), 2), "{error}");
}

#[tokio::test]
async fn refusals_are_told_and_not_repeated() {
    let table = [
        (Say::With(429, "retry-after", "7"), Class::Throttled(Duration::from_secs(7))),
        (Say::With(302, "location", "/elsewhere"), Class::Invalid),
        (Say::Json(503, String::new()), Class::Transient),
        (Say::Json(404, String::new()), Class::Gone),
    ];
    for (say, class) in table {
        let say = Mutex::new(Some(say));
        let fake = Fake::http1(move |_| say.lock().unwrap().take().unwrap()).await;
        let error = fake.session().await.call(Call::get("/y")).await.err().unwrap();
        assert_eq!((error.class(), fake.asked().len()), (class, 1));
    }
}

#[tokio::test]
async fn an_answer_beyond_the_cap_is_not_taken() {
    let large = || "x".repeat(100);
    let announced = Fake::http1(move |_| Say::Json(200, large())).await;
    let unannounced = Fake::http2(move |_| Say::Pieces((0..20).map(|_| "x".repeat(10)).collect())).await;
    for fake in [announced, unannounced] {
        let session = fake.session().await;
        let call = Call { cap: 99, ..Call::get("/y") };
        assert_eq!(session.call(call).await.err(), Some(Error::TooLarge { verb: "get", cap: 99 }));
        assert!(session.call(Call::get("/y")).await.is_ok());
    }
}

#[tokio::test]
async fn a_server_that_accepts_and_is_silent_fails_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for scheme in ["http", "https"] {
        let server = format!("{scheme}://{}", listener.local_addr().unwrap());
        let endpoint = Endpoint::new("hole", crate::cluster::Parts { server, ..Default::default() }).unwrap();
        tokio::time::pause();
        let begun = Instant::now();
        let error = Session::open(&endpoint, Options::default()).await.err().unwrap();
        assert!(begun.elapsed() <= Duration::from_secs(20), "{error}");
        assert!(matches!(error, Error::Connect { .. } | Error::Timeout { .. }), "{error}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn an_answer_that_stops_in_its_middle_fails_in_time() {
    for head in [Say::Open(vec!["{".to_owned()]), Say::Hang] {
        let say = Mutex::new(Some(head));
        let fake = Fake::http2(move |_| say.lock().unwrap().take().unwrap()).await;
        let session = fake.session().await;
        let call = async {
            let begun = Instant::now();
            (session.call(Call::get("/y")).await.err().unwrap(), begun.elapsed())
        };
        let hole = async {
            until("asked", || fake.asked().len() == 1).await;
            fake.freeze();
            tokio::time::pause();
        };
        let ((error, took), ()) = tokio::join!(call, hole);
        assert_eq!(error, Error::Timeout { verb: "get", after: Duration::from_secs(10) });
        assert!(took <= Duration::from_secs(25), "{took:?}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_black_hole_is_noticed_within_thirty_seconds() {
    for fake in [Fake::http1(hold).await, Fake::http2(hold).await] {
        let session = fake.session().await;
        let mut reply = watching(&session).await.unwrap();
        fake.freeze();
        tokio::time::pause();
        let begun = Instant::now();
        assert_eq!(session.closed().await.class(), Class::Disconnected);
        assert!(begun.elapsed() <= Duration::from_secs(30), "{:?}", begun.elapsed());
        let error = reply.piece(Duration::from_secs(300)).await.err().unwrap();
        assert_eq!(error.class(), Class::Disconnected, "{error}");
        assert_eq!(session.call(Call::get("/y")).await.err().map(|error| error.class()), Some(Class::Disconnected));
        assert!(begun.elapsed() <= Duration::from_secs(31), "{:?}", begun.elapsed());
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_silent_http1_session_stays_while_its_heart_beats() {
    let fake = Fake::http1(hold).await;
    let session = fake.session().await;
    *lock(&session.0.heard) = Instant::now() - HEARTBEAT;
    assert_eq!(session.beat().await, Ok(()));
    assert_eq!(fake.connections(), 1);
    assert!(session.closed().now_or_never().is_none());
}

#[tokio::test]
async fn nothing_is_left_when_the_last_clone_is_gone() {
    for fake in [Fake::http1(hold).await, Fake::http2(hold).await] {
        let session = fake.session().await;
        let (clone, reply) = (session.clone(), watching(&session).await.unwrap());
        drop(session);
        clone.call(Call::get("/y")).await.unwrap();
        drop((clone, reply));
        until("connections closed", || fake.connections() == 0).await;
    }
}

#[tokio::test]
async fn a_server_that_goes_away_closes_the_session() {
    let fake = Fake::http2(hold).await;
    let session = fake.session().await;
    drop(fake);
    assert_eq!(session.closed().await.class(), Class::Disconnected);
}

/// Answers one CONNECT, and hands on what it was asked.
async fn proxy(listener: tokio::net::TcpListener, asked: Arc<Mutex<String>>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let mut target = tokio::net::TcpStream::connect(head.split(' ').nth(1).unwrap()).await.unwrap();
    *asked.lock().unwrap() = head;
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    drop(tokio::io::copy_bidirectional(&mut stream, &mut target).await);
}

#[tokio::test]
async fn a_proxy_is_tunnelled_through_and_given_its_password() {
    let fake = Fake::http2(ok).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy_url = Some(format!("http://u:p@{}", listener.local_addr().unwrap()));
    let asked = Arc::new(Mutex::new(String::new()));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(proxy(listener, Arc::clone(&asked)));
    let endpoint = fake.endpoint_by(crate::cluster::Parts { proxy_url, ..Default::default() });
    let session = Session::open(&endpoint, Options::default()).await.unwrap();
    session.call(Call::get("/y")).await.unwrap();
    let asked = asked.lock().unwrap().clone();
    assert!(asked.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", fake.address)), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic dTpw\r\n"), "{asked}");
}
