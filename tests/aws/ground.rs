//! What all tests stand on: AWS, a management cluster and three followers, started once.

use super::documents::rbac;
use controlplane::{Cluster, Etcd, Options, Scratch};
use sandbox::{Authenticator, Aws, RoleMapping, World};
use tokio::sync::{OnceCell, RwLock};

/// The tests, each with three accounts: the authenticators must know all roles when they start.
const TENANTS: [&str; 21] = [
    "irsa",
    "pods",
    "external",
    "steps",
    "kubed",
    "aging",
    "revoked",
    "late",
    "throttled",
    "disabled",
    "stale",
    "busy",
    "creating",
    "deleting",
    "bare",
    "moved",
    "long",
    "needs-irsa",
    "needs-pod",
    "moto",
    "canary",
];

/// The clusters, by what EKS and the authenticators call them: the management cluster and the followers.
pub const CLUSTERS: [&str; 4] = ["management", "blue", "green", "red"];

static GROUND: OnceCell<Ground> = OnceCell::const_new();

/// What is started once.
pub struct Ground {
    pub aws: Aws,
    /// In the order of [`CLUSTERS`].
    pub clusters: Vec<Cluster>,
    /// Held to read while a test runs, and to write while it changes AWS for everybody.
    pub turn: RwLock<()>,
    _authenticators: Vec<Authenticator>,
    _etcd: Etcd,
    _scratch: Scratch,
}

/// The ground.
pub async fn ground() -> &'static Ground {
    GROUND.get_or_init(Ground::start).await
}

/// Which number a test has.
pub fn number(tenant: &str) -> usize {
    TENANTS.iter().position(|name| *name == tenant).unwrap_or_else(|| panic!("{tenant} is not among TENANTS"))
}

/// The accounts of a test: of the hub, and of two for followers.
pub fn accounts(number: usize) -> [String; 3] {
    [1, 2, 3].map(|first| format!("{first}000000000{number:02}"))
}

impl Ground {
    async fn start() -> Self {
        let (aws, scratch) = (Aws::start(World::new()).unwrap(), Scratch::new("towline-aws").unwrap());
        let etcd = Etcd::start(scratch.path()).await.unwrap();
        let start = |name: &'static str| start(&aws, &etcd, &scratch, name);
        let [one, two, three, four] = CLUSTERS.map(start);
        let started = tokio::join!(one, two, three, four);
        let (clusters, authenticators) = [started.0, started.1, started.2, started.3].into_iter().unzip();
        let (turn, _authenticators, _etcd, _scratch) = (RwLock::new(()), authenticators, etcd, scratch);
        Self { aws, clusters, turn, _authenticators, _etcd, _scratch }
    }
}

/// A cluster that asks an authenticator of its own who a token is, and lets the group `towline` do what Towline needs.
async fn start(aws: &Aws, etcd: &Etcd, scratch: &Scratch, name: &str) -> (Cluster, Authenticator) {
    let authenticator = Authenticator::start(aws, name, &mappings(), scratch.path()).await.unwrap();
    let options = Options::default().with_token_webhook(authenticator.webhook_kubeconfig());
    let cluster = Cluster::start(etcd, scratch.path(), name, options).await.unwrap();
    cluster.apply_yaml(&rbac()).await.unwrap();
    (cluster, authenticator)
}

/// As the lines for `aws-auth` say: every role is the same user and in the same group.
fn mappings() -> Vec<RoleMapping> {
    let role = |account: String, name: &str| RoleMapping {
        role: format!("arn:aws:iam::{account}:role/{name}"),
        username: "towline".to_owned(),
        groups: vec!["towline".to_owned()],
    };
    let of_tenant = |number| {
        let [hub, one, other] = accounts(number);
        [role(hub, "towline"), role(one, "towline-follower"), role(other, "towline-follower")]
    };
    (0..TENANTS.len()).flat_map(of_tenant).collect()
}
