//! A tenant: what one test may touch of AWS (three accounts, with the roles that `towline manifests iam` asks for) and of the
//! clusters (a world).

use super::{
    daemon::Daemon,
    documents,
    ground::{CLUSTERS, Ground, accounts, ground, number},
    world::{Rights, World},
};
use sandbox::{Association, Call, Cluster, OidcProvider, PodIdentityAgent};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::sync::{RwLockReadGuard, RwLockWriteGuard};

pub const REGION: &str = "eu-central-1";
const SUBJECT: &str = "system:serviceaccount:towline:towline";
const DAY: Duration = Duration::from_secs(24 * 3600);
/// As the stand-in begins.
const TOKEN_LENGTH: usize = 640;

/// What one test may touch.
pub struct Tenant {
    pub ground: &'static Ground,
    pub world: World,
    /// Of the hub, of followers blue and green, of follower red.
    pub accounts: [String; 3],
    issuer: String,
    turn: Turn,
}

/// Whether others are there meanwhile.
enum Turn {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

impl Tenant {
    /// A tenant that leaves AWS's clock, tokens and operations alone.
    pub async fn new(name: &str) -> Self {
        let ground = ground().await;
        Self::with(ground, name, Turn::Shared { _guard: ground.turn.read().await }).await
    }

    /// A tenant that has AWS to itself.
    pub async fn alone(name: &str) -> Self {
        let ground = ground().await;
        Self::with(ground, name, Turn::Alone { _guard: ground.turn.write().await }).await
    }

    async fn with(ground: &'static Ground, name: &str, turn: Turn) -> Self {
        let number = number(name);
        let [hub, followers @ ..] = ground.clusters.as_slice() else { panic!("no clusters") };
        let world = World::of(hub, followers.iter().collect(), &format!("aws-{name}"), Rights::Hub).await;
        let issuer = format!("https://oidc.eks.{REGION}.amazonaws.com/id/{number:032X}");
        let tenant = Self { ground, world, accounts: accounts(number), issuer, turn };
        let provider = OidcProvider::new(&tenant.accounts[0], &tenant.issuer, "sts.amazonaws.com").unwrap();
        ground.aws.change(|world| {
            world.add_provider(provider);
            (0..3).for_each(|index| world.add_cluster(tenant.cluster(index)));
        });
        tenant.settle(&tenant.irsa_bundle());
        tenant
    }

    /// Makes the roles as they are printed. Those of before and their sessions are gone.
    pub fn settle(&self, bundle: &Value) {
        self.ground.aws.change(|world| documents::load(bundle, world));
    }

    /// What `towline manifests iam` prints for this tenant with IRSA.
    pub fn irsa_bundle(&self) -> Value {
        self.bundle(&["--irsa-issuer", &self.issuer])
    }

    /// The same with other flags.
    pub fn bundle(&self, flags: &[&str]) -> Value {
        let place = |index: usize| format!("{}/{REGION}/{}", self.account(index), CLUSTERS[index + 1]);
        let followers = [0, 1, 2].map(place).join(",");
        documents::bundle(&[&["--hub-account", &self.accounts[0], "--follower", &followers], flags].concat())
    }

    /// A follower (0, 1, 2) as EKS describes it: its endpoint is the world's proxy.
    pub fn cluster(&self, index: usize) -> Cluster {
        let endpoint = self.world.proxies[index].url();
        Cluster::new(self.account(index), REGION, CLUSTERS[index + 1])
            .at(&endpoint, self.world.followers[index].ca_pem())
    }

    /// The account of a follower.
    pub fn account(&self, index: usize) -> &str {
        if index < 2 { &self.accounts[1] } else { &self.accounts[2] }
    }

    /// The role that Towline's pod starts as.
    pub fn hub_role(&self) -> String {
        format!("arn:aws:iam::{}:role/towline", self.accounts[0])
    }

    /// The role for a follower.
    pub fn role(&self, index: usize) -> String {
        format!("arn:aws:iam::{}:role/towline-follower", self.account(index))
    }

    /// A followers file with these, each by its cluster and role alone.
    pub fn followers_file(&self, indexes: &[usize]) -> PathBuf {
        self.followers_file_with(indexes, &json!({}))
    }

    /// The same, each with these fields, too.
    pub fn followers_file_with(&self, indexes: &[usize], more: &Value) -> PathBuf {
        let entry = |index: &usize| {
            let mut eks = json!({"clusterName": CLUSTERS[index + 1], "region": REGION, "roleARN": self.role(*index)});
            eks.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"name": CLUSTERS[index + 1], "spec": {"connection": {"eks": eks}}})
        };
        let entries: Vec<Value> = indexes.iter().map(entry).collect();
        self.world.file("followers.yaml", &Value::from(entries).to_string())
    }

    /// The file that kubelet would renew.
    pub fn web_identity(&self, lifetime: Duration) -> PathBuf {
        let token = self.ground.aws.web_identity_token(&self.issuer, SUBJECT, lifetime).unwrap();
        self.world.file("web-identity-token", &token)
    }

    /// The environment of a pod with IRSA.
    pub fn irsa(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ROLE_ARN", self.hub_role()),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", self.web_identity(DAY).display().to_string()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ENDPOINT_URL", self.ground.aws.url()),
        ]
    }

    /// The agent on the node of a pod with this role.
    pub fn agent(&self, role: &str) -> PodIdentityAgent {
        let [region, cluster, namespace, service_account, pod] =
            [REGION, CLUSTERS[0], "towline", "towline", "towline-0"].map(ToOwned::to_owned);
        let association = Association { role: role.to_owned(), region, cluster, namespace, service_account, pod };
        PodIdentityAgent::start(&self.ground.aws, association, self.world.scratch.path()).unwrap()
    }

    /// The environment of a pod with EKS Pod Identity.
    pub fn pod(&self, agent: &PodIdentityAgent) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.url()),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", agent.token_file().display().to_string()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ENDPOINT_URL", self.ground.aws.url()),
        ]
    }

    /// Starts Towline with these variables, for the sources of the world and the followers of a file.
    pub fn start(&self, environment: &[(&str, String)], followers: &Path) -> Daemon {
        let flags = ["--followers-file", followers.to_str().unwrap(), "--source-namespaces", &self.world.name];
        Daemon::start(self, environment, &flags)
    }

    /// The calls by this tenant's identities, and for its roles.
    pub fn calls(&self) -> Vec<Call> {
        let ours = |text: &Option<String>| {
            text.as_ref().is_some_and(|text| self.accounts.iter().any(|account| text.contains(account)))
        };
        let calls = self.ground.aws.calls().into_iter();
        calls.filter(|call| ours(&call.principal) || ours(&call.target)).collect()
    }

    /// How many of them were of this operation and ended so.
    pub fn count(&self, operation: &str, code: &str) -> usize {
        self.calls().iter().filter(|call| call.operation == operation && call.code == code).count()
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        if let Turn::Alone { .. } = self.turn {
            let aws = &self.ground.aws;
            aws.heal();
            aws.set_clock_offset(0);
            aws.set_lifetime(DAY);
            aws.set_session_token_length(TOKEN_LENGTH);
        }
    }
}
