//! The AWS of the demo: one account with Towline in it, two with its followers. Their roles are what `towline manifests iam`
//! prints, and nothing else.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use sandbox::{OidcProvider, Role, RoleMapping, World};
use serde_json::Value;
use tokio::process::Command;

/// The account that Towline runs in.
const HUB_ACCOUNT: &str = "111111111111";
/// Who signs the tokens of ServiceAccounts in the management cluster.
pub(super) const ISSUER: &str = "https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF";
/// Where the management cluster is.
pub(super) const REGION: &str = "eu-central-1";

/// Where a follower is.
pub(super) struct Place {
    pub(super) follower: &'static str,
    pub(super) account: &'static str,
    pub(super) region: &'static str,
    pub(super) cluster: &'static str,
}

/// All followers.
pub(super) const PLACES: [Place; 3] = [
    Place { follower: "alpha", account: "222222222222", region: "eu-central-1", cluster: "prod-eu" },
    Place { follower: "beta", account: "222222222222", region: "us-east-1", cluster: "prod-us" },
    Place { follower: "gamma", account: "333333333333", region: "eu-west-1", cluster: "dev" },
];

/// What `towline manifests iam` prints.
pub(super) struct Documents(Value);

impl Documents {
    /// Lets Towline print them.
    pub(super) async fn print(program: &Path) -> Result<Self> {
        let place = |place: &Place| format!("--follower={}/{}/{}", place.account, place.region, place.cluster);
        let mut towline = Command::new(program);
        towline.args(["manifests", "iam", &format!("--hub-account={HUB_ACCOUNT}")]);
        towline.arg(format!("--irsa-issuer={ISSUER}")).args(PLACES.iter().map(place));
        let output = towline.kill_on_drop(true).output().await.context("cannot run Towline")?;
        ensure!(output.status.success(), "no documents: {}", String::from_utf8_lossy(&output.stderr));
        Ok(Self(serde_json::from_slice(&output.stdout)?))
    }

    /// Accounts with just these roles. There is no cluster in them yet.
    pub(super) fn world(&self) -> Result<World> {
        let mut world = World::new();
        world.add_provider(OidcProvider::new(HUB_ACCOUNT, ISSUER, "sts.amazonaws.com")?);
        world.add_role(role(self.at("/hub")?)?);
        for follower in self.list("/followers")? {
            world.add_role(role(follower)?);
        }
        Ok(world)
    }

    /// The role that Towline starts as.
    pub(super) fn hub_role(&self) -> Result<&str> {
        text(self.at("/hub")?, "/arn")
    }

    /// The role by which a follower is reached.
    pub(super) fn role_at(&self, place: &Place) -> Result<&str> {
        text(self.access(place)?, "/accessEntry/principalArn")
    }

    /// Whom that role is in its cluster.
    pub(super) fn mapping(&self, place: &Place) -> Result<RoleMapping> {
        let groups = self.access(place)?.pointer("/accessEntry/kubernetesGroups").context("no groups")?;
        let groups = serde_json::from_value(groups.clone())?;
        Ok(RoleMapping { role: self.role_at(place)?.to_owned(), username: "towline".to_owned(), groups })
    }

    /// Rights in followers, for `kubectl apply`.
    pub(super) fn rbac(&self) -> Result<&str> {
        text(&self.0, "/rbac")
    }

    /// The file that tells Towline of its followers.
    pub(super) fn followers_file(&self) -> Result<String> {
        let entry = |place: &Place| {
            let Place { follower, region, cluster, .. } = place;
            let eks = format!("{{clusterName: {cluster}, region: {region}, roleARN: \"{}\"}}", self.role_at(place)?);
            Ok(format!("- name: {follower}\n  spec:\n    connection:\n      eks: {eks}\n"))
        };
        PLACES.iter().map(entry).collect()
    }

    fn access(&self, place: &Place) -> Result<&Value> {
        let is = |one: &Value, path: &str, wanted: &str| one.pointer(path).is_some_and(|found| found == wanted);
        let is_here = |one: &&Value| {
            is(one, "/account", place.account)
                && is(one, "/region", place.region)
                && is(one, "/accessEntry/clusterName", place.cluster)
        };
        self.list("/access")?.iter().find(is_here).with_context(|| format!("no access to {}", place.cluster))
    }

    fn list(&self, path: &str) -> Result<&Vec<Value>> {
        self.at(path)?.as_array().with_context(|| format!("{path} is no list"))
    }

    fn at(&self, path: &str) -> Result<&Value> {
        self.0.pointer(path).with_context(|| format!("no {path} in the documents"))
    }
}

fn role(document: &Value) -> Result<Role> {
    let trust = document.get("trustPolicy").context("no trust policy")?;
    let role = Role::new(text(document, "/arn")?, trust)?;
    let policies = document.get("policies").and_then(Value::as_object).context("no policies")?;
    policies.values().try_fold(role, Role::with_policy)
}

fn text<'a>(value: &'a Value, path: &str) -> Result<&'a str> {
    value.pointer(path).and_then(Value::as_str).with_context(|| format!("no {path} in the documents"))
}
