//! A file of followers: read again when it changes, also when it is one of a mounted Secret or ConfigMap. A file that cannot
//! be read keeps the last good set, and so does an entry that is wrong; each complaint is told once.

use crate::{
    api::names::FollowerName,
    follower::catalog::{Catalog, is_same},
};
use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, SystemTime},
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

/// How often the file is looked at: a change is effective within a second.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is read although it looks the same: certificate files that it names may have changed.
const READ_ANYWAY: u32 = 120;

/// What a file says when it is read.
#[derive(Default)]
pub struct Reading {
    /// Its followers.
    pub catalog: Catalog,
    /// Those of them that are wrong, of which the endpoint says why.
    pub mistaken: BTreeSet<FollowerName>,
    /// What is wrong and belongs to no name.
    pub nameless: Vec<String>,
}

/// What a file's text means.
pub trait Format: Send + Sync + 'static {
    /// How logs call such a file.
    const NOUN: &str;

    /// The file.
    fn path(&self) -> &Path;

    /// Reads it. An error: it says nothing about any follower.
    fn read(&self) -> Result<Reading, String>;
}

/// A file that was read once, and is to be watched.
pub struct WatchedFile<F> {
    format: F,
    /// What was last right of each name that is still there.
    good: Catalog,
    complaint: Option<String>,
}

impl<F: Format> WatchedFile<F> {
    /// Reads the file for the first time: without any good set, nothing could be kept.
    pub fn open(format: F) -> Result<(Self, Catalog), String> {
        let reading = format.read()?;
        let mut file = Self { format, good: Catalog::new(), complaint: None };
        let catalog = file.take(reading);
        Ok((file, catalog))
    }

    /// What is wrong in the file and not told by its followers.
    pub fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// Publishes the followers whenever they change.
    pub async fn watch(mut self, catalog: watch::Sender<Catalog>, stop: CancellationToken) {
        // Not as it looks now: it may have changed since it was read for the first time.
        let mut seen = None;
        let mut looks = 0_u32;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(LOOK) => {}
            }
            looks = looks.wrapping_add(1);
            let now = self.look().await;
            if now != seen || looks.is_multiple_of(READ_ANYWAY) {
                seen = now;
                self.publish(&catalog);
            }
        }
    }

    fn publish(&mut self, catalog: &watch::Sender<Catalog>) {
        let reading = match self.format.read() {
            Ok(reading) => reading,
            Err(why) => return self.complain(Some(why)),
        };
        let read = self.take(reading);
        catalog.send_if_modified(|published| {
            let changed = !is_same(published, &read);
            if changed {
                let file = self.format.path().display();
                tracing::info!(followers = read.len(), %file, "{} read again", F::NOUN);
                *published = read;
            }
            changed
        });
    }

    /// What was good and is not any more stays as it was, as in a file that was cut off.
    fn take(&mut self, reading: Reading) -> Catalog {
        let Reading { mut catalog, mistaken, nameless: mut reasons } = reading;
        let mut still_bad = BTreeSet::new();
        for name in mistaken {
            match (catalog.get_mut(&name), self.good.get(&name)) {
                (Some(entry), Some(good)) => {
                    reasons.extend(entry.connection.as_ref().err().cloned());
                    *entry = good.clone();
                }
                _ => drop(still_bad.insert(name)),
            }
        }
        self.good = catalog.clone();
        self.good.retain(|name, _| !still_bad.contains(name));
        self.complain((!reasons.is_empty()).then(|| reasons.join("; ")));
        catalog
    }

    fn complain(&mut self, why: Option<String>) {
        if let Some(why) = why.as_deref().filter(|why| self.complaint.as_deref() != Some(*why)) {
            let file = self.format.path().display();
            tracing::error!(why, %file, "{} cannot be used: the last good one stays in force", F::NOUN);
        }
        self.complaint = why;
    }

    /// What the file looks like from outside; a mounted Secret changes its inode.
    async fn look(&self) -> Option<(SystemTime, u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let metadata = tokio::fs::metadata(self.format.path()).await.ok()?;
        Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::policy::Policy,
        follower::{catalog::Entry, member::Member},
    };
    use std::sync::Arc;

    /// Reads nothing: readings are given by hand.
    struct Unread;

    impl Format for Unread {
        const NOUN: &str = "test";

        fn path(&self) -> &Path {
            Path::new("unread")
        }

        fn read(&self) -> Result<Reading, String> {
            Ok(Reading::default())
        }
    }

    /// Names with what their endpoints say; those with `wrong` are mistaken.
    fn reading(names: &[(&str, &str)]) -> Reading {
        let member = |name: &str| Member {
            name: name.into(),
            labels: Arc::default(),
            namespace: None,
            policy: Arc::new(Policy::default()),
        };
        let entry = |name: &str, says: &str| Entry {
            member: member(name),
            provider: "test",
            connection: Err(says.to_owned()),
            pin: None,
            rivals: Vec::new(),
        };
        let wrong = names.iter().filter(|(_, says)| says.starts_with("wrong")).map(|(name, _)| (*name).into());
        Reading {
            catalog: names.iter().map(|(name, says)| ((*name).into(), entry(name, says))).collect(),
            mistaken: wrong.collect(),
            nameless: Vec::new(),
        }
    }

    fn shown(catalog: &Catalog) -> Vec<String> {
        let says = |entry: &Entry| entry.connection.as_ref().err().cloned().unwrap_or_default();
        catalog.iter().map(|(name, entry)| format!("{name} {}", says(entry))).collect()
    }

    #[test]
    fn what_was_last_good_of_a_name_stays_while_its_entry_is_wrong() {
        let (mut file, _) = WatchedFile::open(Unread).unwrap();
        file.take(reading(&[("a", "one"), ("b", "one")]));
        let kept = file.take(reading(&[("a", "wrong a"), ("b", "two"), ("c", "wrong c")]));
        assert_eq!(shown(&kept), ["a one", "b two", "c wrong c"]);
        assert_eq!(file.complaint(), Some("wrong a"), "c is told by its own entry");
        let kept = file.take(reading(&[("a", "wrong again"), ("b", "wrong b"), ("c", "three")]));
        assert_eq!(shown(&kept), ["a one", "b two", "c three"]);
        assert_eq!(file.complaint(), Some("wrong again; wrong b"));
        assert_eq!(shown(&file.take(reading(&[("a", "four")]))), ["a four"]);
        assert_eq!(file.complaint(), None);
    }

    #[test]
    fn a_name_that_left_the_file_comes_back_with_nothing_to_keep() {
        let (mut file, _) = WatchedFile::open(Unread).unwrap();
        file.take(reading(&[("a", "one")]));
        file.take(reading(&[]));
        assert_eq!(shown(&file.take(reading(&[("a", "wrong")]))), ["a wrong"]);
        assert_eq!(file.complaint(), None);
    }
}
