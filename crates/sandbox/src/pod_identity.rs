//! The agent that hands out credentials to pods on a node of EKS.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::State as Shares;
use axum::routing::get;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::json;

use crate::answer::Answer;
use crate::arn::Arn;
use crate::aws::{Aws, empty, read, respond};
use crate::call::Call;
use crate::listener::{Listener, speak_http};
use crate::policy::Asker;
use crate::random;
use crate::refusal::{Refusal, Service};
use crate::request::Request;
use crate::session::{Caller, Traits};
use crate::state::{Shared, State};
use crate::sts::{Assumption, is_trusted};
use crate::world::cluster;

const PRINCIPAL: &str = "pods.eks.amazonaws.com";
const OPERATION: &str = "GetCredentials";
const LIFETIME: Duration = Duration::from_secs(6 * 3600);

/// Which role a service account has, as a pod identity association says, and the pod that asks.
#[derive(Clone, Debug)]
pub struct Association {
    /// The ARN of the role.
    pub role: String,
    /// The region of the cluster; its account is the role's.
    pub region: String,
    /// The cluster.
    pub cluster: String,
    /// The namespace.
    pub namespace: String,
    /// The service account.
    pub service_account: String,
    /// The pod.
    pub pod: String,
}

/// An agent for one pod. Ends when it is dropped.
pub struct PodIdentityAgent {
    listener: Listener,
    shared: Arc<Shared>,
    token_file: PathBuf,
}

/// What the agent works with.
struct Agent {
    shared: Arc<Shared>,
    association: Association,
    token_file: PathBuf,
}

impl PodIdentityAgent {
    /// Starts an agent in front of `aws` that knows one association. It accepts whatever token is in the file
    /// `eks-pod-identity-token` in `folder`, and writes a first one there.
    pub fn start(aws: &Aws, association: Association, folder: &Path) -> Result<Self> {
        let (shared, token_file) = (aws.shared(), folder.join("eks-pod-identity-token"));
        let agent = Arc::new(Agent { shared: shared.clone(), association, token_file: token_file.clone() });
        let router = Router::new().route("/v1/credentials", get(handle)).with_state(agent);
        let listener = Listener::start(move |stream| speak_http(stream, router.clone()))?;
        let agent = Self { listener, shared, token_file };
        agent.rotate()?;
        Ok(agent)
    }

    /// For `AWS_CONTAINER_CREDENTIALS_FULL_URI`.
    pub fn url(&self) -> String {
        format!("http://{}/v1/credentials", self.listener.address())
    }

    /// For `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`.
    pub fn token_file(&self) -> &Path {
        &self.token_file
    }

    /// Writes another token, as kubelet does; the old one is refused from now on.
    pub fn rotate(&self) -> Result<()> {
        let token = random::id("", 120);
        self.shared.lock().keep_secret(token.clone());
        fs::write(&self.token_file, token).with_context(|| format!("cannot write {}", self.token_file.display()))
    }
}

async fn handle(Shares(agent): Shares<Arc<Agent>>, request: http::Request<Body>) -> Response<Body> {
    let Some(request) = read(request).await else { return empty(StatusCode::BAD_REQUEST) };
    let (answer, delay, time) = agent.answer(&request);
    respond(answer, delay, time).await
}

impl Agent {
    fn answer(&self, request: &Request) -> (Answer, Duration, Timestamp) {
        let mut state = self.shared.lock();
        let time = state.now();
        let mut call = self.record(time);
        let strike = state.faults.strike(Service::PodIdentity, OPERATION, Some(&self.association.role));
        let outcome = match strike.refusal {
            Some(refusal) => Err(refusal),
            None => self.hand_out(&mut state, request, time),
        };
        let answer = outcome.unwrap_or_else(|refusal| {
            call.code.clone_from(&refusal.code);
            Answer::text(refusal.status, &format!("[{}]: {}", refusal.code, refusal.message))
        });
        state.calls.push(call);
        (answer, strike.delay, time)
    }

    fn record(&self, time: Timestamp) -> Call {
        Call {
            service: Service::PodIdentity,
            operation: OPERATION.to_owned(),
            region: self.association.region.clone(),
            principal: None,
            target: Some(self.association.role.clone()),
            code: "OK".to_owned(),
            time,
        }
    }

    fn hand_out(&self, state: &mut State, request: &Request, now: Timestamp) -> Result<Answer, Refusal> {
        self.check_token(request)?;
        let caller = self.assume(state)?;
        let account = caller.account.clone();
        let session = state.open_session(caller, now, LIFETIME);
        Ok(Answer::json(
            200,
            &json!({
                "AccessKeyId": session.access_key,
                "SecretAccessKey": session.secret_key,
                "Token": session.token,
                "AccountId": account,
                "Expiration": session.expires.to_string(),
            }),
        ))
    }

    fn check_token(&self, request: &Request) -> Result<(), Refusal> {
        let expected = fs::read_to_string(&self.token_file).unwrap_or_default();
        match request.header("authorization") {
            None | Some("") => {
                Err(Refusal::new(400, "InvalidRequestException", "Service account token cannot be empty"))
            }
            Some(token) if token == expected => Ok(()),
            Some(_) => Err(Refusal::new(400, "InvalidTokenException", "The token included in the request is invalid")),
        }
    }

    /// A session with six tags, all of which go on into every further role.
    fn assume(&self, state: &State) -> Result<Caller, Refusal> {
        let Association { role, pod, cluster, .. } = &self.association;
        let tags = self.tags();
        let transitive = tags.keys().cloned().collect();
        let assumption = Assumption { tags, transitive, source_identity: None };
        let (asker, context) = (Asker::Service(PRINCIPAL.to_owned()), assumption.context());
        let trusts =
            |action: &str| state.world.role(role).filter(|role| is_trusted(role, &asker, action, &context)).is_some();
        let denied = || {
            Refusal::new(
                400,
                "AccessDeniedException",
                "Unauthorized Exception! EKS does not have permissions to assume the associated role.",
            )
        };
        if !assumption.actions("sts:AssumeRole").into_iter().all(trusts) {
            return Err(denied());
        }
        let Assumption { tags, transitive, source_identity } = assumption;
        let name: String = format!("eks-{cluster}-{pod}").chars().take(27).collect();
        let name = format!("{name}-{}", random::uuid());
        let role = state.world.role(role).ok_or_else(denied)?;
        Ok(Caller::session(role, &name, Traits { tags, transitive, source_identity, ..Traits::default() }))
    }

    fn tags(&self) -> BTreeMap<String, String> {
        let Association { role, region, cluster: name, namespace, service_account, pod } = &self.association;
        let account = Arn::parse(role).map(|arn| arn.account).unwrap_or_default();
        let tags = [
            ("eks-cluster-arn", cluster::arn(&account, region, name)),
            ("eks-cluster-name", name.clone()),
            ("kubernetes-namespace", namespace.clone()),
            ("kubernetes-service-account", service_account.clone()),
            ("kubernetes-pod-name", pod.clone()),
            ("kubernetes-pod-uid", "5b9e2a6c-1f0d-4c57-9a0e-3f6f2d1c8b7a".to_owned()),
        ];
        tags.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}
