//! Resident memory of the process.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::ground::{FOLLOWERS, Ground, MORE_FOLLOWERS, SOURCES};
use super::table::{Figure, Reach};
use crate::eye::Eye;
use crate::towline::Towline;

const MINUTE: Duration = Duration::from_secs(60);
const KIB: f64 = 1024.0;

/// Of a process that has just copied everything to four followers, and a minute later. Towline is running, and in step.
pub(super) async fn resident(towline: &Towline, sources: u32) -> Result<Vec<Figure>> {
    let (at_once, private) = (mib(towline, "VmRSS")?, mib(towline, "RssAnon")?);
    sleep(MINUTE).await;
    let (later, private_later) = (mib(towline, "VmRSS")?, mib(towline, "RssAnon")?);
    let name = format!("resident memory, 4 followers × {sources} sources of 3 KB");
    Ok(vec![
        Figure::plain(&name, "MiB", at_once, Reach::AtMost(25.0)).with("of_it_private_mib", private),
        Figure::plain("the same a minute later", "MiB", later, Reach::AtMost(25.0))
            .with("of_it_private_mib", private_later),
    ])
}

/// Of one more follower: the same start with four and with eight real clusters, all in step. Towline is not running.
pub(super) async fn per_follower(ground: &mut Ground, sources: u32) -> Result<Vec<Figure>> {
    for _ in FOLLOWERS.len()..MORE_FOLLOWERS.len() {
        ground.lab.add_follower().await?;
    }
    ground.lab.ensure_namespace("bench").await?;
    for cluster in ground.lab.fleet.followers.iter().skip(FOLLOWERS.len()) {
        ground.copies.push(Eye::open(cluster, SOURCES).await?);
    }
    // Makes the copies that are missing, so that both of the others only find what is there.
    after_start(ground, &MORE_FOLLOWERS, sources).await?;
    let few = after_start(ground, &FOLLOWERS, sources).await?;
    let many = after_start(ground, &MORE_FOLLOWERS, sources).await?;
    let more = u32::try_from(MORE_FOLLOWERS.len() - FOLLOWERS.len())?;
    let name = format!("memory per further follower with {sources} copies");
    let figure = Figure::plain(&name, "KiB", (many - few) / f64::from(more), Reach::AtMost(200.0));
    Ok(vec![figure.with("four_followers_kib", few).with("eight_followers_kib", many)])
}

/// Its private memory: which pages of the program happen to be read is not the follower's doing.
async fn after_start(ground: &Ground, followers: &[&str], sources: u32) -> Result<f64> {
    let towline = ground.towline(followers).await?;
    towline.in_step(followers, sources).await?;
    sleep(Duration::from_secs(2)).await;
    let resident = mib(&towline, "RssAnon")? * KIB;
    towline.stop().await?;
    Ok(resident)
}

fn mib(towline: &Towline, field: &str) -> Result<f64> {
    let kib = towline.memory_kib(field)?;
    Ok(f64::from(u32::try_from(kib)?) / KIB)
}
