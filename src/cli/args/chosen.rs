//! Which of the followers a command is about.

use super::Job;
use crate::api::{names::FollowerName, patterns::Patterns};
use anyhow::{Result, anyhow, bail};
use std::collections::BTreeMap;

/// Names and globs as they were typed; all if there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen(Option<Patterns>);

/// So many names are told.
const SHOWN: usize = 5;

impl Chosen {
    pub(super) fn parse(typed: &[String]) -> Result<Self> {
        if typed.is_empty() {
            return Ok(Self::default());
        }
        let patterns = Patterns::from_items(typed.iter().map(String::as_str));
        patterns.map(|patterns| Self(Some(patterns))).map_err(|allowed| anyhow!("FOLLOWER: allowed is {allowed}"))
    }

    /// Whether a follower is one of them.
    pub fn has(&self, name: &FollowerName) -> bool {
        self.0.as_ref().is_none_or(|patterns| patterns.matches(name.as_str()))
    }

    /// What is wrong with the choice, where these followers are all there are.
    pub fn mistake<T>(&self, followers: &BTreeMap<FollowerName, T>) -> Option<String> {
        let names = || {
            let more = if followers.len() > SHOWN { ", …" } else { "" };
            followers.keys().take(SHOWN).map(FollowerName::as_str).collect::<Vec<_>>().join(", ") + more
        };
        if followers.is_empty() {
            return Some("there are no followers".to_owned());
        }
        let patterns = self.0.as_ref()?;
        if let Some(unknown) = patterns.literals().find(|name| !followers.contains_key(*name)) {
            return Some(format!("there is no follower {unknown}; there are {}", names()));
        }
        let none = !followers.keys().any(|name| self.has(name));
        none.then(|| format!("no follower matches {patterns}; there are {}", names()))
    }
}

/// There are no followers without one of the two files.
pub(super) fn named_somewhere(job: &Job) -> Result<()> {
    if job.followers.kubeconfig_file.is_none() && job.followers.followers_file.is_none() {
        bail!("there are no followers: give --kubeconfig-file or --followers-file");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(typed: &[&str]) -> Chosen {
        Chosen::parse(&typed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn followers_are_chosen_by_names_and_globs_and_a_name_that_is_none_is_told() {
        let followers: BTreeMap<FollowerName, ()> = ["dev-a", "dev-b", "prod"].map(|name| (name.into(), ())).into();
        let table = [
            (&[][..], 3, None),
            (&["dev-*"], 2, None),
            (&["dev-*", "!dev-b"], 1, None),
            (&["dev-a", "prod"], 2, None),
            (&["dev-a", "dev-c"], 1, Some("there is no follower dev-c; there are dev-a, dev-b, prod")),
            (&["test-*"], 0, Some("no follower matches test-*; there are dev-a, dev-b, prod")),
        ];
        for (typed, count, mistake) in table {
            let chosen = chosen(typed);
            assert_eq!(followers.keys().filter(|name| chosen.has(name)).count(), count, "{typed:?}");
            assert_eq!(chosen.mistake(&followers).as_deref(), mistake, "{typed:?}");
        }
        assert!(chosen(&[]).mistake::<()>(&BTreeMap::new()).is_some());
        assert!(Chosen::parse(&["!a".to_owned()]).unwrap_err().to_string().starts_with("FOLLOWER: allowed is"));
    }
}
