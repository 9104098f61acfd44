//! The followers of the files, as they stand there now: for commands that look once.

use super::args::{Chosen, Followers};
use crate::{
    api::{follower, names::FollowerName},
    cluster::kubeconfig,
    follower::{
        catalog::{Catalog, Entry},
        connection::AwsConnections,
        providers::{
            file::{Format, Reading},
            followers_file::FollowersFile,
            kubeconfig_file::KubeconfigFile,
        },
        registry::unite,
    },
};
use anyhow::{Context, Result, anyhow};
use kube::config::Kubeconfig;
use std::{collections::BTreeMap, sync::Arc};

/// A follower, and what stands about it in its file.
#[derive(Clone)]
pub struct Listed {
    /// As `run` would serve it.
    pub entry: Entry,
    /// As it stands there.
    pub origin: Origin,
}

/// What stands about a follower in its file.
#[derive(Clone)]
pub enum Origin {
    /// A context of this kubeconfig.
    Context(Arc<Kubeconfig>),
    /// An entry of the other file.
    Declared(Box<follower::Connection>),
    /// Nothing that can be used.
    Mistaken,
}

/// All followers.
pub struct Roster {
    /// By their names.
    pub followers: BTreeMap<FollowerName, Listed>,
    /// What is wrong in the files and belongs to no follower.
    pub complaints: Vec<String>,
}

impl Roster {
    /// Those that are chosen. An error: what was typed is a mistake.
    pub fn choose(self, chosen: &Chosen) -> Result<BTreeMap<FollowerName, Listed>, String> {
        match chosen.mistake(&self.followers) {
            Some(mistake) => Err(mistake),
            None => Ok(self.followers.into_iter().filter(|(name, _)| chosen.has(name)).collect()),
        }
    }
}

/// Reads the files.
pub fn read(followers: &Followers, aws: &AwsConnections) -> Result<Roster> {
    let (mut parts, mut origins, mut complaints) = (Vec::new(), BTreeMap::new(), Vec::new());
    let (policy, only) = (&followers.policy, &followers.only);
    if let Some(path) = &followers.kubeconfig_file {
        let file = KubeconfigFile { path: path.clone(), policy: policy.clone(), only: only.clone(), aws: aws.clone() };
        let config = Arc::new(kubeconfig::read(path).context("--kubeconfig-file")?);
        let catalog = entries(&file, &mut complaints).context("--kubeconfig-file")?;
        origins.extend(catalog.keys().map(|name| (name.clone(), Origin::Context(config.clone()))));
        parts.push(catalog);
    }
    if let Some(path) = &followers.followers_file {
        let (path, policy, only) = (path.clone(), policy.clone(), only.clone());
        let file = FollowersFile { path, policy, only, aws: aws.clone() };
        let declared = file.listing().map_err(|why| anyhow!(why)).context("--followers-file")?.followers;
        let catalog = entries(&file, &mut complaints).context("--followers-file")?;
        for (name, declared) in declared {
            let origin = declared.map_or(Origin::Mistaken, |found| Origin::Declared(Box::new(found.spec.connection)));
            // A context of the other file wins its name.
            origins.entry(name).or_insert(origin);
        }
        parts.push(catalog);
    }
    let united = unite(&parts);
    complaints.extend(united.iter().filter_map(|(name, entry)| Some(format!("{name}: {}", entry.rivalry()?))));
    let listed = |(name, entry): (FollowerName, Entry)| {
        let origin = origins.get(&name).cloned().unwrap_or(Origin::Mistaken);
        (name, Listed { entry, origin })
    };
    Ok(Roster { followers: united.into_iter().map(listed).collect(), complaints })
}

fn entries(file: &impl Format, complaints: &mut Vec<String>) -> Result<Catalog> {
    let Reading { catalog, nameless, .. } = file.read().map_err(|why| anyhow!(why))?;
    complaints.extend(nameless);
    Ok(catalog)
}
