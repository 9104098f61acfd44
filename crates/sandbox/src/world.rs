//! What exists in AWS: accounts' roles, users, identity providers and clusters. Plain data; all of it may change at any time.

pub(crate) mod cluster;
mod identity;
pub(crate) mod provider;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

pub use cluster::Cluster;
pub use identity::{Role, User};
pub use provider::OidcProvider;

/// All that exists. Empty at first.
#[derive(Default)]
pub struct World {
    /// By ARN.
    roles: BTreeMap<String, Role>,
    /// By access key.
    users: BTreeMap<String, User>,
    /// By account and issuer.
    providers: BTreeMap<(String, String), OidcProvider>,
    /// By account, region and name: the order in which they are listed.
    clusters: BTreeMap<(String, String, String), Cluster>,
}

impl World {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a role, or replaces the one of that ARN: another role with another id, so sessions of the old one are worth nothing.
    pub fn add_role(&mut self, role: Role) {
        self.roles.insert(role.arn().to_owned(), role);
    }

    /// Adds a user with an access key.
    pub fn add_user(&mut self, user: User) {
        self.users.insert(user.access_key().to_owned(), user);
    }

    /// Tells an account of an identity provider. Several accounts may know the same one: see [`OidcProvider::in_account`].
    pub fn add_provider(&mut self, provider: OidcProvider) {
        self.providers.insert((provider.account().to_owned(), provider.issuer().to_owned()), provider);
    }

    /// Adds a cluster, or replaces the one of that account, region and name.
    pub fn add_cluster(&mut self, cluster: Cluster) {
        let place = (cluster.account.clone(), cluster.region.clone(), cluster.name.clone());
        self.clusters.insert(place, cluster);
    }

    /// The role of that ARN, to be changed.
    pub fn role_mut(&mut self, arn: &str) -> Result<&mut Role> {
        self.roles.get_mut(arn).with_context(|| format!("no role {arn}"))
    }

    /// The cluster, to be changed.
    pub fn cluster_mut(&mut self, account: &str, region: &str, name: &str) -> Result<&mut Cluster> {
        let place = (account.to_owned(), region.to_owned(), name.to_owned());
        self.clusters.get_mut(&place).with_context(|| format!("no cluster {name} in {account}, {region}"))
    }

    /// Deletes a role; its sessions are worth nothing any more.
    pub fn remove_role(&mut self, arn: &str) -> Option<Role> {
        self.roles.remove(arn)
    }

    /// Deletes a user's access key.
    pub fn remove_user(&mut self, access_key: &str) -> Option<User> {
        self.users.remove(access_key)
    }

    /// Takes an identity provider away from an account.
    pub fn remove_provider(&mut self, account: &str, issuer: &str) -> Option<OidcProvider> {
        self.providers.remove(&(account.to_owned(), issuer.to_owned()))
    }

    /// Deletes a cluster.
    pub fn remove_cluster(&mut self, account: &str, region: &str, name: &str) -> Option<Cluster> {
        self.clusters.remove(&(account.to_owned(), region.to_owned(), name.to_owned()))
    }

    pub(crate) fn role(&self, arn: &str) -> Option<&Role> {
        self.roles.get(arn)
    }

    pub(crate) fn user(&self, access_key: &str) -> Option<&User> {
        self.users.get(access_key)
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = &User> {
        self.users.values()
    }

    pub(crate) fn provider(&self, account: &str, issuer: &str) -> Option<&OidcProvider> {
        self.providers.get(&(account.to_owned(), issuer.to_owned()))
    }

    /// That issuer, whatever account knows it.
    pub(crate) fn issuer(&self, issuer: &str) -> Option<&OidcProvider> {
        self.providers.values().find(|provider| provider.issuer() == issuer)
    }

    pub(crate) fn cluster(&self, account: &str, region: &str, name: &str) -> Option<&Cluster> {
        self.clusters.get(&(account.to_owned(), region.to_owned(), name.to_owned()))
    }

    /// The clusters of an account in a region, by name.
    pub(crate) fn clusters_in(&self, account: &str, region: &str) -> impl Iterator<Item = &Cluster> {
        self.clusters.values().filter(move |cluster| cluster.account == account && cluster.region == region)
    }
}
