//! Followers as operators declare them: a list of `{name, labels, spec}`.
//!
//! ```yaml
//! - name: prod-eu
//!   labels: {env: prod}
//!   spec:
//!     connection:                      # exactly one kind, and beside it proxyURL, tlsServerName
//!       eks: {clusterName: prod, region: eu-west-1, roleARN: "arn:aws:iam::111122223333:role/towline"}
//!     clusterUID: 6f2c…                # another cluster behind the name is refused
//!     accept: [{from: {namespaces: [certs]}, allow: [Overwrite]}]
//!     suspend: false
//! ```
//! It is read strictly: a key that is not known is a mistake, and so is a value that is left empty. All mistakes are told,
//! each with its place and field, never with a value. One in an entry harms no other entry.
//!
//! **`accept` and the policy of all followers.** Rules only ever grant, and add up: an entry's rules serve routes by its
//! name, beside those of `--policy-file`, which hold for every follower whether the entry has `accept` or not. Without any
//! rule the base routes are what is left (same-named namespace, same name, `Refuse`), unless `--policy-file` closes them:
//! an entry has no `baseRoutes`, and cannot open them again.

mod connection;
mod fields;
mod syntax;

pub use connection::{AwsIamAuthenticator, Connection, Eks, Method, ProxyUrl, Role, Server};
pub use syntax::{cluster_id, cluster_name, external_id, region, role_arn, session_name};

use super::{
    names::{ClusterUid, FollowerName},
    policy::{Policy, Rule},
    yaml::{self, Node, Place, Value, YamlError},
};
use fields::Fields;
use std::collections::{BTreeMap, BTreeSet};

/// A follower, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follower {
    /// The name that sources call it by.
    pub name: FollowerName,
    /// For `towline.dev/follower-selector`.
    pub labels: BTreeMap<String, String>,
    /// How it is reached, and what it takes.
    pub spec: Spec,
}

/// How a follower is reached, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// How it is reached.
    pub connection: Connection,
    /// The only cluster that may be behind the name.
    pub cluster_uid: Option<ClusterUid>,
    /// Its own rules, with open base routes: to be joined to those of all followers.
    pub accept: Policy,
    /// Whether its copies are left as they are.
    pub suspend: bool,
}

/// What a file declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// By its name, each follower or all that is wrong with it.
    pub followers: BTreeMap<FollowerName, Result<Follower, Vec<YamlError>>>,
    /// What is wrong with entries that have no usable name.
    pub nameless: Vec<YamlError>,
}

const ENTRY: [&str; 3] = ["name", "labels", "spec"];
const SPEC: [&str; 5] = ["connection", "clusterUID", "accept", "suspend", "deletionPolicy"];
const LIST: &str = "allowed is a list of followers, each with name, labels and spec";

/// Reads a file. An error: it is no list, and says nothing about any follower.
pub fn parse(text: &str) -> Result<Listing, YamlError> {
    let nowhere = || YamlError { line: 0, column: 0, problem: format!("the file is empty: {LIST}") };
    let document = yaml::tree(text)?.ok_or_else(nowhere)?;
    let Value::List(entries) = &document.value else { return Err(document.place.mistake(LIST)) };
    let mut listing = Listing::default();
    let mut named: BTreeMap<FollowerName, Vec<(Place, Entry)>> = BTreeMap::new();
    for node in entries {
        let entry = entry(node);
        match entry.name.clone() {
            Some((name, place)) => named.entry(name).or_default().push((place, entry)),
            None => listing.nameless.extend(entry.mistakes),
        }
    }
    listing.followers = named.into_iter().map(|(name, entries)| (name, only_one(entries))).collect();
    Ok(listing)
}

/// What was read of one entry.
struct Entry {
    name: Option<(FollowerName, Place)>,
    follower: Option<Follower>,
    mistakes: Vec<YamlError>,
}

/// Of two entries of one name nobody can say which is meant: neither counts, and each is told where the other stands.
fn only_one(entries: Vec<(Place, Entry)>) -> Result<Follower, Vec<YamlError>> {
    let lines: BTreeSet<u64> = entries.iter().map(|(place, _)| place.line).collect();
    let are_many = entries.len() > 1;
    let mut mistakes = Vec::new();
    let mut follower = None;
    for (place, entry) in entries {
        if are_many {
            let others = lines.iter().filter(|line| **line != place.line).map(u64::to_string).collect::<Vec<_>>();
            let others = if others.is_empty() { "this line".to_owned() } else { format!("line {}", others.join(", ")) };
            mistakes.push(place.mistake(format!("name: stands at {others}, too: allowed is a name of its own")));
        }
        mistakes.extend(entry.mistakes);
        follower = entry.follower;
    }
    follower.filter(|_| mistakes.is_empty()).ok_or(mistakes)
}

fn entry(node: &Node) -> Entry {
    let mut told = Vec::new();
    let fields = Fields::open(node, "", &ENTRY, &mut told);
    let name = fields.as_ref().and_then(|fields| fields.needed("name", syntax::name, &mut told));
    let place = fields.as_ref().and_then(|fields| fields.get("name")).map_or(node.place, |node| node.place);
    let labels = fields.as_ref().map(|fields| labels(fields, &mut told)).unwrap_or_default();
    let spec = fields.as_ref().and_then(|fields| fields.inner_needed("spec", &SPEC, &mut told));
    let spec = spec.and_then(|fields| spec_of(&fields, &mut told));
    told.sort_by_key(|mistake| (mistake.line, mistake.column));
    let follower = name.clone().zip(spec).filter(|_| told.is_empty());
    Entry {
        name: name.map(|name| (name, place)),
        follower: follower.map(|(name, spec)| Follower { name, labels, spec }),
        mistakes: told,
    }
}

fn labels(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let Some(node) = fields.get("labels") else { return labels };
    let Value::Map(pairs) = &node.value else {
        told.push(fields.mistake(node, "labels", "allowed is a map of labels"));
        return labels;
    };
    for (key, value) in pairs {
        let known = key.text().filter(|key| labels.contains_key(*key));
        let read = match known {
            Some(_) => Err((key, "a key stands here twice")),
            None => syntax::label(key, value),
        };
        match read {
            Ok((key, value)) => drop(labels.insert(key, value)),
            Err((node, problem)) => told.push(fields.mistake(node, "labels", problem)),
        }
    }
    labels
}

fn spec_of(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> Option<Spec> {
    let connection = fields.inner_needed("connection", &connection::KEYS, told);
    let connection = connection.and_then(|fields| connection::read(&fields, told));
    let cluster_uid = fields.optional("clusterUID", syntax::cluster_uid, told);
    let accept = Policy { accept: rules(fields, told), base_routes: true };
    let suspend = fields.switch("suspend", told);
    fields.optional("deletionPolicy", syntax::retain, told);
    Some(Spec { connection: connection?, cluster_uid, accept, suspend })
}

/// Each rule by itself, so that the mistakes of all are told.
fn rules(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> Vec<Rule> {
    let Some(node) = fields.get("accept") else { return Vec::new() };
    let Value::List(rules) = &node.value else {
        told.push(fields.mistake(node, "accept", "allowed is a list of rules"));
        return Vec::new();
    };
    let mut read = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        match yaml::decode(rule) {
            Ok(rule) => read.push(rule),
            Err(mistake) => {
                let field = fields.path(&format!("accept[{index}]"));
                told.push(YamlError { problem: format!("{field}: {}", mistake.problem), ..mistake });
            }
        }
    }
    read
}

#[cfg(test)]
mod tests;
