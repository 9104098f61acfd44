//! What can happen to a cluster, and to the network in front of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use controlplane::{Behaviour, Cluster, Etcd, Options, Proxy, Scratch, eventually};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// Long enough for an answer on loopback, short enough to wait for one that must not come.
const MOMENT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_cluster_keeps_its_data_until_it_begins_anew() -> Result<()> {
    let scratch = Scratch::new("lifecycle")?;
    let etcd = Etcd::start(scratch.path()).await?;
    let cluster = Cluster::start(&etcd, scratch.path(), "only", Options::default()).await?;
    let (url, uid) = (cluster.url(), cluster.uid().await?);
    cluster.create(PATH, &json!({"metadata": {"name": "kept"}})).await?;

    cluster.stop().await?;
    ensure!(TcpStream::connect(cluster.address()).await.is_err(), "a stopped cluster accepts connections");
    cluster.start_again().await?;
    ensure!(cluster.get_opt(&format!("{PATH}/kept")).await?.is_some());

    cluster.kill();
    cluster.start_again().await?;
    ensure!(cluster.uid().await? == uid && cluster.url() == url);

    cluster.pause()?;
    ensure!(timeout(MOMENT, cluster.get(PATH)).await.is_err(), "a paused cluster answers");
    cluster.resume()?;
    cluster.get(PATH).await?;

    cluster.begin_anew().await?;
    ensure!(cluster.uid().await? != uid && cluster.url() == url);
    ensure!(cluster.get_opt(&format!("{PATH}/kept")).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn an_open_watch_does_not_hold_up_an_orderly_stop() -> Result<()> {
    let scratch = Scratch::new("lifecycle")?;
    let etcd = Etcd::start(scratch.path()).await?;
    let cluster = Cluster::start(&etcd, scratch.path(), "watched", Options::default()).await?;
    let client = cluster.client(cluster.admin_token())?;
    let request = http::Request::get(format!("{PATH}?watch=true")).body(Vec::new())?;
    let mut watch = JoinSet::new();
    watch.spawn(async move { client.request_text(request).await });
    let open = async || Ok((cluster.audit().all().await?.verb("watch").len() == 1).then_some(()));
    eventually("the watch to be open", Duration::from_secs(10), open).await?;
    timeout(Duration::from_secs(6), cluster.stop()).await??;
    timeout(MOMENT, watch.join_next()).await?;
    Ok(())
}

#[tokio::test]
async fn a_black_hole_holds_bytes_and_gives_them_back() -> Result<()> {
    let proxy = Proxy::start(echo().await?)?;
    let mut open = TcpStream::connect(proxy.address()).await?;
    ensure!(says(&mut open, "one").await? == "one");

    let target = echo().await?;
    proxy.set(Behaviour::BlackHole).await?;
    ensure!(timeout(MOMENT, says(&mut open, "two")).await.is_err());
    let mut new = TcpStream::connect(proxy.address()).await?;
    ensure!(timeout(MOMENT, says(&mut new, "hello")).await.is_err());

    proxy.set(Behaviour::Forward(target)).await?;
    ensure!(heard(&mut open, 3).await? == "two");
    ensure!(heard(&mut new, 5).await? == "hello");
    ensure!(proxy.accepted() == 2);
    Ok(())
}

#[tokio::test]
async fn refusing_resets_what_is_open_and_refuses_what_is_new() -> Result<()> {
    let target = echo().await?;
    let proxy = Proxy::start(target)?;
    let mut open = TcpStream::connect(proxy.address()).await?;
    ensure!(says(&mut open, "one").await? == "one");
    proxy.set(Behaviour::Refuse).await?;
    ensure!(says(&mut open, "two").await.is_err());
    ensure!(TcpStream::connect(proxy.address()).await.is_err());
    proxy.set(Behaviour::Forward(target)).await?;
    ensure!(says(&mut TcpStream::connect(proxy.address()).await?, "again").await? == "again");
    Ok(())
}

#[tokio::test]
async fn another_target_resets_what_is_open() -> Result<()> {
    let proxy = Proxy::start(echo().await?)?;
    let mut open = TcpStream::connect(proxy.address()).await?;
    ensure!(says(&mut open, "one").await? == "one");
    proxy.retarget(echo().await?).await?;
    ensure!(says(&mut open, "two").await.is_err());
    ensure!(says(&mut TcpStream::connect(proxy.address()).await?, "new").await? == "new");
    Ok(())
}

/// Says a word and waits for its echo.
async fn says(stream: &mut TcpStream, word: &str) -> Result<String> {
    stream.write_all(word.as_bytes()).await?;
    heard(stream, word.len()).await
}

async fn heard(stream: &mut TcpStream, length: usize) -> Result<String> {
    let mut bytes = vec![0; length];
    timeout(Duration::from_secs(5), stream.read_exact(&mut bytes)).await??;
    Ok(String::from_utf8(bytes)?)
}

/// A server that sends back what it gets.
async fn echo() -> Result<std::net::SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serve = async move {
        let mut connections = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            connections.spawn(async move {
                let (mut from, mut to) = stream.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    };
    let mut server = JoinSet::new();
    server.spawn(serve);
    // It ends with the runtime of the test.
    server.detach_all();
    Ok(address)
}
