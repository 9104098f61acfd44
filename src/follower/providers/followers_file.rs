//! `--followers-file`: each entry is a follower, with labels and a policy of its own. An entry that is wrong harms no other.

use super::file::{Format, Reading};
use crate::{
    api::{
        follower::{self, Follower, Listing},
        names::FollowerName,
        patterns::Patterns,
        policy::Policy,
    },
    cluster::kubeconfig::unreadable,
    follower::{
        catalog::{Entry, SUSPENDED},
        connection::AwsConnections,
        member::Member,
    },
};
use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Far more than 5,000 followers with their certificates need.
const LARGEST: u64 = 64 << 20;

/// What the entries of a file become.
#[derive(Clone)]
pub struct FollowersFile {
    /// The file.
    pub path: PathBuf,
    /// `--policy-file`: what an entry accepts is added to it.
    pub policy: Arc<Policy>,
    /// `--only-followers`.
    pub only: Option<Patterns>,
    /// How an entry is reached.
    pub aws: AwsConnections,
}

impl Format for FollowersFile {
    const NOUN: &str = "followers file";

    fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> Result<Reading, String> {
        let listing = self.listing()?;
        let nameless = listing.nameless.iter().map(|mistake| self.at(mistake)).collect();
        let mut reading = Reading { nameless, ..Reading::default() };
        let wanted = |name: &FollowerName| self.only.as_ref().is_none_or(|only| only.matches(name.as_str()));
        for (name, declared) in listing.followers.into_iter().filter(|(name, _)| wanted(name)) {
            let read = match declared {
                Ok(follower) => self.entry(&follower),
                Err(mistakes) => Err(mistakes.iter().map(|mistake| self.at(mistake)).collect::<Vec<_>>().join("; ")),
            };
            let entry = read.unwrap_or_else(|why| {
                reading.mistaken.insert(name.clone());
                self.unusable(&name, why)
            });
            reading.catalog.insert(name, entry);
        }
        Ok(reading)
    }
}

impl FollowersFile {
    /// What the file declares, of all followers.
    pub fn listing(&self) -> Result<Listing, String> {
        follower::parse(&self.text()?).map_err(|mistake| self.at(&mistake))
    }

    fn text(&self) -> Result<String, String> {
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
        let read = read.map_err(|error| format!("{}: {}", self.path.display(), unreadable(&self.path, &error)))?;
        if read as u64 > LARGEST {
            return Err(format!("{}: more than 64 MiB is not a file of followers", self.path.display()));
        }
        Ok(text)
    }

    fn at(&self, mistake: &impl fmt::Display) -> String {
        format!("{}: {mistake}", self.path.display())
    }

    /// A suspended follower is known and never reached: nothing is written, and no copy of its name is deleted.
    fn entry(&self, follower: &Follower) -> Result<Entry, String> {
        let spec = &follower.spec;
        let connection = match spec.suspend {
            true => Err(SUSPENDED.to_owned()),
            false => Ok(self.aws.declared(&follower.name, &spec.connection)?),
        };
        let own = &spec.accept;
        let policy = if own.accept.is_empty() { self.policy.clone() } else { Arc::new(self.policy.and(own)) };
        let labels = Arc::new(follower.labels.clone());
        let member = Member { name: follower.name.clone(), labels, namespace: None, policy };
        Ok(Entry { member, provider: PROVIDER, connection, pin: spec.cluster_uid.clone(), rivals: Vec::new() })
    }

    fn unusable(&self, name: &FollowerName, why: String) -> Entry {
        let (labels, policy) = (Arc::new(BTreeMap::new()), self.policy.clone());
        let member = Member { name: name.clone(), labels, namespace: None, policy };
        Entry { member, provider: PROVIDER, connection: Err(why), pin: None, rivals: Vec::new() }
    }
}

const PROVIDER: &str = "followers-file";

#[cfg(test)]
mod tests;
