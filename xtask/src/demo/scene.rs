//! Where the story takes place: the objects' names, and eyes on the places where copies will be.

use anyhow::{Context, Result};
use controlplane::{Api, Fleet};

use super::FOLLOWERS;
use crate::eye::Eye;
use crate::lab::Lab;

/// Where the certificate is.
pub(super) const SECRETS: &str = "/api/v1/namespaces/ingress/secrets";
/// Where the settings are.
pub(super) const SETTINGS: &str = "/api/v1/namespaces/apps/configmaps";

/// The clusters with an eye on each follower.
pub(super) struct Scene<'a> {
    fleet: &'a Fleet,
    followers: Vec<Follower>,
}

/// A follower, watched.
pub(super) struct Follower {
    pub(super) name: &'static str,
    pub(super) secrets: Eye,
    pub(super) settings: Eye,
}

impl<'a> Scene<'a> {
    /// Makes the namespaces and opens the eyes.
    pub(super) async fn set(lab: &'a Lab) -> Result<Self> {
        lab.ensure_namespace("ingress").await?;
        lab.ensure_namespace("apps").await?;
        let mut followers = Vec::new();
        for (cluster, name) in lab.fleet.followers.iter().zip(FOLLOWERS) {
            let (secrets, settings) = (Eye::open(cluster, SECRETS).await?, Eye::open(cluster, SETTINGS).await?);
            followers.push(Follower { name, secrets, settings });
        }
        Ok(Self { fleet: &lab.fleet, followers })
    }

    /// The management cluster, as its admin.
    pub(super) fn hub(&self) -> &Api {
        self.fleet.management.api()
    }

    /// The followers.
    pub(super) fn followers(&self) -> &[Follower] {
        &self.followers
    }

    /// A follower by name, and somebody who may do everything in it.
    pub(super) fn somebody_in(&self, name: &str) -> Result<(&Follower, &Api)> {
        let mut all = self.followers.iter().zip(&self.fleet.followers);
        let (follower, cluster) = all.find(|(follower, _)| follower.name == name).context("no such follower")?;
        Ok((follower, cluster.api()))
    }
}
