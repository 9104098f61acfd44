//! A world: what one test may touch in the shared fleet. Everything in it has the test's name.

use super::canary::{plain, silent};
use anyhow::{Context, Result};
use controlplane::{Api, Audit, Cluster, Fleet, Mark, Proxy, Scratch, eventually};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use tokio::sync::OnceCell;

/// How long a condition may take to come true: long enough for the slowest machine, for it costs nothing when it is true.
pub const CAP: Duration = Duration::from_secs(60);

static FLEET: OnceCell<(Fleet, Scratch)> = OnceCell::const_new();

/// One management cluster and three followers, started once.
pub async fn fleet() -> &'static Fleet {
    let start = || async {
        let scratch = Scratch::new("towline-e2e").unwrap();
        let fleet = Fleet::start(3, scratch.path()).await.unwrap();
        (fleet, scratch)
    };
    &FLEET.get_or_init(start).await.0
}

/// The rights that a test's Towline has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// `deploy/rbac/*.yaml`: the whole cluster.
    Cluster,
    /// `deploy/rbac/*-namespaced.yaml`: the world's namespace only.
    Named,
    /// None in followers: there it comes as somebody else.
    #[allow(dead_code, reason = "the tests of AWS, which share this file, are a program of their own")]
    Hub,
}

/// What one test may touch.
pub struct World {
    /// The test's name: of its namespace everywhere, and of its ServiceAccount.
    pub name: String,
    pub hub: &'static Cluster,
    pub followers: Vec<&'static Cluster>,
    /// In front of the management cluster.
    pub hub_proxy: Proxy,
    /// In front of each follower.
    pub proxies: Vec<Proxy>,
    pub scratch: Scratch,
    pub hub_token: String,
    pub tokens: Vec<String>,
}

impl World {
    /// A world with a namespace of this name in every cluster, and cluster-wide rights.
    pub async fn new(name: &str) -> Self {
        Self::with(name, Rights::Cluster).await
    }

    /// A world with these rights.
    pub async fn with(name: &str, rights: Rights) -> Self {
        Self::on(fleet().await, name, rights).await
    }

    /// A world with clusters of its own: for tests that count what other tests' copies would change.
    pub async fn alone(name: &str) -> Self {
        let scratch = Box::leak(Box::new(Scratch::new(name).unwrap()));
        let fleet = Fleet::start(3, scratch.path()).await.unwrap();
        Self::on(Box::leak(Box::new(fleet)), name, Rights::Cluster).await
    }

    async fn on(fleet: &'static Fleet, name: &str, rights: Rights) -> Self {
        Self::of(&fleet.management, fleet.followers.iter().collect(), name, rights).await
    }

    /// A world in these clusters.
    pub async fn of(hub: &'static Cluster, followers: Vec<&'static Cluster>, name: &str, rights: Rights) -> Self {
        let scratch = Scratch::new(name).unwrap();
        let hub_token = ready(hub, name, rights, "management").await.unwrap();
        let mut tokens = Vec::new();
        for follower in &followers {
            tokens.push(ready(follower, name, rights, "follower").await.unwrap());
        }
        let proxies = followers.iter().map(|follower| Proxy::start(follower.address()).unwrap()).collect();
        let (name, hub_proxy) = (name.to_owned(), Proxy::start(hub.address()).unwrap());
        Self { name, hub, followers, hub_proxy, proxies, scratch, hub_token, tokens }
    }

    /// The user that Towline is in all clusters.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{0}:{0}", self.name)
    }

    /// The kubeconfig of the management cluster.
    pub fn hub_kubeconfig(&self) -> PathBuf {
        self.file("hub.kubeconfig", &self.hub.kubeconfig(&self.hub_proxy.url(), &self.hub_token))
    }

    /// A kubeconfig with these contexts, each leading to a follower (0, 1, 2) through its proxy.
    pub fn contexts(&self, contexts: &[(&str, usize)]) -> String {
        let entries: Vec<Value> = contexts.iter().map(|(name, follower)| self.context(name, *follower)).collect();
        kubeconfig(&entries)
    }

    /// One context, to be changed and put into [`kubeconfig`].
    pub fn context(&self, name: &str, follower: usize) -> Value {
        let made = self.followers[follower].kubeconfig(&self.proxies[follower].url(), &self.tokens[follower]);
        let made: Value = serde_json::from_str(&made).unwrap();
        json!({
            "name": name,
            "server": made["clusters"][0]["cluster"]["server"],
            "ca": made["clusters"][0]["cluster"]["certificate-authority-data"],
            "token": self.tokens[follower],
            "namespace": null,
        })
    }

    /// The same, by another way than the world's own proxy.
    pub fn context_by(&self, name: &str, follower: usize, proxy: &Proxy) -> Value {
        let mut context = self.context(name, follower);
        context["server"] = json!(proxy.url());
        context
    }

    /// Writes a file into the world's scratch folder, at once and whole.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let (path, draft) = (self.scratch.path().join(name), self.scratch.path().join(format!("{name}.new")));
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(&draft, &path).unwrap();
        path
    }

    /// Creates or replaces an object of the management cluster.
    pub async fn apply(&self, object: Value) -> Value {
        plain(apply(self.hub, &object).await.unwrap())
    }

    /// Deletes an object of the management cluster.
    pub async fn delete(&self, kind: &str, name: &str) {
        self.hub.delete(&path(kind, &self.name, name)).await.unwrap();
    }

    /// A follower's object of the world's namespace, if it is there, as the test wrote it: without marks.
    pub async fn there(&self, follower: usize, kind: &str, name: &str) -> Option<Value> {
        self.followers[follower].get_opt(&path(kind, &self.name, name)).await.unwrap().map(plain)
    }

    /// Waits until a follower's object of the world's namespace satisfies a condition.
    pub async fn copy(&self, follower: usize, kind: &str, name: &str, holds: impl Fn(&Value) -> bool) -> Value {
        found(self.followers[follower], &path(kind, &self.name, name), holds).await
    }

    /// Waits until a follower's object is gone.
    pub async fn gone(&self, follower: usize, kind: &str, name: &str) {
        gone(self.followers[follower], &path(kind, &self.name, name)).await;
    }

    /// Creates or replaces an object of a follower, as somebody else.
    pub async fn put(&self, follower: usize, object: Value) -> Value {
        plain(apply(self.followers[follower], &object).await.unwrap())
    }

    /// Changes a follower's object of the world's namespace, as somebody else.
    pub async fn edit(&self, follower: usize, kind: &str, name: &str, patch: Value) -> Value {
        plain(self.somebody(follower).patch(&path(kind, &self.name, name), &patch).await.unwrap())
    }

    /// Changes a source.
    pub async fn amend(&self, kind: &str, name: &str, patch: Value) -> Value {
        plain(self.hub.patch(&path(kind, &self.name, name), &patch).await.unwrap())
    }

    /// A namespace of a cluster, with labels; its name begins with the world's.
    pub async fn namespace(&self, cluster: &Cluster, suffix: &str, labels: Value) -> String {
        let name = format!("{}-{suffix}", self.name);
        let object = json!({"metadata": {"name": name, "labels": labels}});
        cluster.create("/api/v1/namespaces", &object).await.unwrap();
        name
    }

    /// Waits until an event with this reason is told in the world's namespace of the management cluster.
    pub async fn event(&self, reason: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", self.name);
        let look = async || {
            let told = self.hub.list(&events).await?;
            silent("an event", &Value::from(told.clone()).to_string());
            Ok(told.into_iter().find(|event| event["reason"] == reason && holds(event)))
        };
        eventually(&format!("an event {reason}"), CAP, look).await.unwrap()
    }

    /// Makes namespaces in a follower, with the rights of the names-only form in each of them.
    pub async fn grant(&self, follower: usize, namespaces: &[String]) {
        let cluster = self.followers[follower];
        let manifest = manifest("follower-namespaced.yaml").unwrap();
        let (per_namespace, once): (Vec<&str>, Vec<&str>) =
            manifest.split("\n---\n").partition(|part| part.contains("  namespace: ingress\n"));
        let all = format!("[kube-system, {}]", namespaces.join(", "));
        let mut parts: Vec<String> = once.iter().map(|part| part.replace("[kube-system, ingress]", &all)).collect();
        for namespace in namespaces {
            parts.push(format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}"));
            parts.extend(per_namespace.iter().map(|part| part.replace("ingress", namespace)));
        }
        let parts: Vec<String> = parts.iter().map(|part| rename(part, &self.name)).collect();
        cluster.apply_yaml(&parts.join("\n---\n")).await.unwrap();
    }

    /// Waits for an event about an object of the world's namespace; its note.
    pub async fn note(&self, reason: &str, name: &str) -> String {
        let event = self.event(reason, |event| event["regarding"]["name"] == name).await;
        event["note"].as_str().unwrap().to_owned()
    }

    /// The writes that Towline has sent to a follower since a moment: verb and path.
    pub async fn writes(&self, follower: usize, since: Mark) -> Vec<String> {
        let requests = self.audit(follower).since(since).await.unwrap().by(&self.user()).writes();
        requests.iter().map(|request| format!("{} {}", request.verb, request.uri)).collect()
    }

    /// The audit log of a follower.
    pub fn audit(&self, follower: usize) -> &'static Audit {
        self.followers[follower].audit()
    }

    /// Somebody else in a follower, who may do everything.
    pub fn somebody(&self, follower: usize) -> &'static Api {
        self.followers[follower].api()
    }
}

/// A kubeconfig of contexts that were made by [`World::context`].
pub fn kubeconfig(contexts: &[Value]) -> String {
    let named = |part: &str, of: &dyn Fn(&Value) -> Value| -> Vec<Value> {
        contexts.iter().map(|context| json!({"name": context["name"], part: of(context)})).collect()
    };
    let context = |context: &Value| {
        let mut fields = json!({"cluster": context["name"], "user": context["name"]});
        if !context["namespace"].is_null() {
            fields["namespace"] = context["namespace"].clone();
        }
        fields
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": named("cluster", &|context| json!({
            "server": context["server"], "certificate-authority-data": context["ca"],
        })),
        "users": named("user", &|context| match &context["user"] {
            Value::Null => json!({"token": context["token"]}),
            user => user.clone(),
        }),
        "contexts": named("context", &context),
    })
    .to_string()
}

/// Waits until an object, without marks, satisfies a condition.
pub async fn found(cluster: &Cluster, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let look = async || Ok(cluster.get_opt(path).await?.map(plain).filter(|object| holds(object)));
    eventually(&format!("{path} of {}", cluster.name()), CAP, look).await.unwrap()
}

/// Waits until an object is gone.
pub async fn gone(cluster: &Cluster, path: &str) {
    let look = async || Ok(cluster.get_opt(path).await?.is_none().then_some(()));
    eventually(&format!("{path} to be gone from {}", cluster.name()), CAP, look).await.unwrap();
}

/// The path of a namespaced object.
pub fn path(kind: &str, namespace: &str, name: &str) -> String {
    format!("{}/{name}", collection(kind, namespace))
}

/// The path of a kind in a namespace.
pub fn collection(kind: &str, namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{}s", kind.to_lowercase())
}

/// Creates or replaces an object.
pub async fn apply(cluster: &Cluster, object: &Value) -> Result<Value> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
    match cluster.get_opt(&path(&kind, &namespace, &name)).await? {
        None => cluster.create(&collection(&kind, &namespace), object).await,
        Some(_) => cluster.replace(&path(&kind, &namespace, &name), object).await,
    }
}

/// The namespace, the ServiceAccount and its rights: what the manifests grant to `towline` in namespace `towline`, granted
/// to the test's own account.
async fn ready(cluster: &Cluster, name: &str, rights: Rights, role: &str) -> Result<String> {
    cluster.ensure_namespace(name).await?;
    let token = cluster.service_account_token(name, name).await?;
    let file = match rights {
        Rights::Hub if role == "follower" => return Ok(token),
        Rights::Cluster | Rights::Hub => format!("{role}.yaml"),
        Rights::Named => format!("{role}-namespaced.yaml"),
    };
    cluster.apply_yaml(&rename(&manifest(&file)?, name)).await?;
    Ok(token)
}

fn manifest(file: &str) -> Result<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("deploy/rbac");
    std::fs::read_to_string(folder.join(file)).with_context(|| file.to_owned())
}

/// `towline`'s manifests for another account, so that many tests can have their own in one cluster.
fn rename(manifest: &str, name: &str) -> String {
    let kept = [("towline-approvals", "@approvals@"), ("app.kubernetes.io/name: towline", "@label@")];
    let hidden = kept.iter().fold(manifest.to_owned(), |text, (kept, token)| text.replace(kept, token));
    // The namespace that the names-only forms are written for.
    let placed = hidden.replace("namespace: certs", &format!("namespace: {name}"));
    let placed = placed.replace("namespace: ingress", &format!("namespace: {name}"));
    let placed = placed.replace("[kube-system, ingress]", &format!("[kube-system, {name}]"));
    let renamed = placed.replace("towline", name);
    kept.iter().fold(renamed, |text, (kept, token)| text.replace(token, kept))
}
