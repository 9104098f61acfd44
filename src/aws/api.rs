//! The calls to AWS: STS and EKS through the SDK, with the first credentials of each kind.

mod watch;

use super::{
    chain::{Chain, Role, Root, SessionName, WebIdentity},
    clock::Clock,
    clusters::{ClusterId, Described},
    error::AwsError,
    profile::Profiles,
    roles::Issuer,
};
use aws_config::{BehaviorVersion, Region, SdkConfig, provider_config::ProviderConfig, timeout::TimeoutConfig};
use aws_credential_types::{Credentials, provider::ProvideCredentials};
use aws_sdk_eks::types::VpcConfigResponse;
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use futures::{FutureExt, future::BoxFuture};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::timeout;
use watch::Watch;
use zeroize::Zeroizing;

/// One attempt; the SDK makes up to three.
const ATTEMPT: Duration = Duration::from_secs(10);

/// How long an agent or a program may take for the first credentials.
const ROOT_LIMIT: Duration = Duration::from_secs(20);

/// Is told of every call.
pub trait Observer: Send + Sync {
    /// A call ended: AWS's code, `OK`, or `Unreachable`.
    fn request(&self, service: &'static str, operation: &'static str, code: &str);

    /// Until when new credentials of a role are good.
    fn issued(&self, role_arn: &str, expiry: SystemTime);

    /// Seconds that AWS is ahead of our clock.
    fn skew(&self, seconds: i64);
}

/// AWS, as this process reaches it.
pub struct Api {
    config: SdkConfig,
    provider: ProviderConfig,
    session_name: String,
    clock: Clock,
    observer: Arc<dyn Observer>,
}

/// A call that was refused, or did not get through.
enum Failure {
    Code(Arc<str>),
    Unreachable(&'static str),
}

impl Api {
    /// Reads what the environment and the shared files say about endpoints, proxies and retries; no credentials.
    /// `session_name` is how CloudTrail shows us where nothing else is asked for.
    pub async fn load(session_name: String, observer: Arc<dyn Observer>) -> Self {
        let timeouts =
            TimeoutConfig::builder().connect_timeout(Duration::from_secs(5)).operation_attempt_timeout(ATTEMPT);
        let loader = aws_config::defaults(BehaviorVersion::latest()).no_credentials().timeout_config(timeouts.build());
        // A region of some kind is looked for in the metadata service of the node, where nothing answers: named by each call.
        let config = loader.region(Region::from_static("us-east-1")).load().await;
        let provider = ProviderConfig::without_region();
        Self { config, provider, session_name, clock: Clock::default(), observer }
    }

    /// The time as AWS sees it.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Who these credentials are: the ARN that AWS knows them by.
    pub async fn caller(&self, credentials: Credentials, chain: &Chain, region: &str) -> Result<String, AwsError> {
        let answer = self.sts(Some(credentials), region).get_caller_identity().send().await;
        let answer = self.ended("sts:GetCallerIdentity", answer, "this identity", chain)?;
        Ok(answer.arn().unwrap_or_default().to_owned())
    }

    /// What EKS says about a cluster.
    pub async fn describe(
        &self,
        cluster: &ClusterId,
        credentials: Credentials,
        chain: &Chain,
    ) -> Result<Described, AwsError> {
        let config = aws_sdk_eks::config::Builder::from(&self.config).credentials_provider(credentials);
        let config = config.region(Region::new(cluster.region.clone())).interceptor(self.watch());
        let eks = aws_sdk_eks::Client::from_conf(config.build());
        let answer = eks.describe_cluster().name(&cluster.name).send().await;
        let answer = self.ended("eks:DescribeCluster", answer, &cluster.name, chain)?;
        let found = answer.cluster().ok_or_else(|| AwsError::Unreachable {
            operation: "eks:DescribeCluster",
            subject: cluster.name.clone(),
            caller: chain.to_string(),
            why: "the answer holds no cluster",
        })?;
        Ok(Described {
            status: found.status().map(|status| status.as_str().to_owned()).unwrap_or_default(),
            endpoint: found.endpoint().map(str::to_owned),
            certificate_authority: found.certificate_authority().and_then(|ca| ca.data()).map(str::to_owned),
            id: found.id().map(str::to_owned),
            public: found.resources_vpc_config().is_none_or(VpcConfigResponse::endpoint_public_access),
            version: found.version().unwrap_or_default().to_owned(),
            connected: found.connector_config().is_some(),
        })
    }

    fn sts(&self, credentials: Option<Credentials>, region: &str) -> aws_sdk_sts::Client {
        let mut config = aws_sdk_sts::config::Builder::from(&self.config);
        config
            .set_credentials_provider(credentials.map(aws_credential_types::provider::SharedCredentialsProvider::new));
        let config = config.region(Region::new(region.to_owned())).interceptor(self.watch());
        aws_sdk_sts::Client::from_conf(config.build())
    }

    fn watch(&self) -> Watch {
        Watch { clock: self.clock.clone(), observer: self.observer.clone() }
    }

    /// Counts a call, and turns its failure into one of ours.
    fn ended<T, E: ProvideErrorMetadata>(
        &self,
        operation: &'static str,
        answer: Result<T, SdkError<E>>,
        subject: &str,
        caller: &impl ToString,
    ) -> Result<T, AwsError> {
        let (service, name) = operation.split_once(':').unwrap_or(("aws", operation));
        let failure = match answer {
            Ok(answer) => {
                self.observer.request(service, name, "OK");
                return Ok(answer);
            }
            Err(error) => failure(&error),
        };
        let (subject, caller) = (subject.to_owned(), caller.to_string());
        Err(match failure {
            Failure::Code(code) => {
                self.observer.request(service, name, &code);
                AwsError::Refused { operation, subject, caller, code }
            }
            Failure::Unreachable(why) => {
                self.observer.request(service, name, "Unreachable");
                AwsError::Unreachable { operation, subject, caller, why }
            }
        })
    }

    async fn web_identity(&self, identity: &WebIdentity, region: &str) -> Result<Credentials, AwsError> {
        let unreadable = |_| AwsError::Root {
            root: format!("the web identity for {}", identity.role),
            why: "its token file cannot be read: is the projected service account token mounted?",
        };
        let token = Zeroizing::new(tokio::fs::read_to_string(&identity.token_file).await.map_err(unreadable)?);
        let call = self.sts(None, region).assume_role_with_web_identity().role_arn(&identity.role);
        let call = call
            .web_identity_token(token.trim())
            .role_session_name(identity.session_name.as_ref().unwrap_or(&self.session_name));
        let answer = call.send().await;
        let caller = "a web identity";
        let answer = self.ended("sts:AssumeRoleWithWebIdentity", answer, &identity.role, &caller)?;
        credentials(answer.credentials(), "web identity")
            .ok_or_else(|| no_keys("sts:AssumeRoleWithWebIdentity", &identity.role, caller))
    }

    async fn first(&self, root: &Root) -> Result<Credentials, AwsError> {
        let refuse = |why| AwsError::Root { root: root.to_string(), why };
        let provided = match root {
            Root::Environment => {
                aws_config::environment::EnvironmentVariableCredentialsProvider::new().provide_credentials().await
            }
            Root::Container => {
                let agent = aws_config::ecs::EcsCredentialsProvider::builder().configure(&self.provider);
                agent.build().provide_credentials().await
            }
            Root::NodeRole => {
                let node = aws_config::imds::credentials::ImdsCredentialsProvider::builder().configure(&self.provider);
                node.build().provide_credentials().await
            }
            Root::Process { files, profile } => {
                let profiles = Profiles::load(files).await.map_err(|error| AwsError::Nobody(error.into()))?;
                let command = profiles.get(profile, "credential_process");
                let command = command.ok_or_else(|| refuse("it is gone from the shared files"))?.to_owned();
                aws_config::credential_process::CredentialProcessProvider::new(command).provide_credentials().await
            }
            Root::Keys { files, profile } => {
                let profiles = Profiles::load(files).await.map_err(|error| AwsError::Nobody(error.into()))?;
                let get = |key| profiles.get(profile, key).map(str::to_owned);
                let keys = get("aws_access_key_id").zip(get("aws_secret_access_key"));
                let (id, secret) = keys.ok_or_else(|| refuse("they are gone from the shared files"))?;
                return Ok(Credentials::new(id, secret, get("aws_session_token"), None, "profile"));
            }
            Root::WebIdentity(_) => return Err(refuse("is asked of STS")),
        };
        // Their own texts may quote what an agent or a program answered.
        provided.map_err(|_| refuse(why_not(root)))
    }
}

impl Issuer for Api {
    fn root<'a>(&'a self, root: &'a Root, region: &'a str) -> BoxFuture<'a, Result<Credentials, AwsError>> {
        match root {
            Root::WebIdentity(identity) => self.web_identity(identity, region).boxed(),
            _ => in_time(root, self.first(root)).boxed(),
        }
    }

    fn assume<'a>(
        &'a self,
        role: &'a Role,
        base: Credentials,
        caller: &'a Chain,
        region: &'a str,
    ) -> BoxFuture<'a, Result<Credentials, AwsError>> {
        async move {
            let session_name = match &role.session_name {
                SessionName::Ours => self.session_name.clone(),
                SessionName::Named(name) => name.clone(),
                SessionName::Forwarded => forwarded(&self.caller(base.clone(), caller, region).await?),
            };
            let call = self.sts(Some(base), region).assume_role().role_arn(&role.arn).role_session_name(session_name);
            let call = call.set_external_id(role.external_id.clone()).set_source_identity(role.source_identity.clone());
            let seconds = i32::try_from(role.duration.as_secs()).unwrap_or(i32::MAX);
            let answer = call.duration_seconds(seconds).send().await;
            let answer = self.ended("sts:AssumeRole", answer, &role.arn, caller)?;
            let caller = caller.to_string();
            credentials(answer.credentials(), "role").ok_or_else(|| no_keys("sts:AssumeRole", &role.arn, &caller))
        }
        .boxed()
    }

    fn now(&self) -> SystemTime {
        self.clock.now()
    }

    fn issued(&self, chain: &Chain, expiry: SystemTime) {
        if let Some(arn) = chain.role_arn() {
            self.observer.issued(arn, expiry);
        }
    }
}

/// `arn:aws:sts::111122223333:assumed-role/NAME/SESSION` → `SESSION`.
fn forwarded(arn: &str) -> String {
    arn.rsplit('/').next().unwrap_or_default().to_owned()
}

fn credentials(found: Option<&aws_sdk_sts::types::Credentials>, provider: &'static str) -> Option<Credentials> {
    let found = found?;
    let expiry = SystemTime::try_from(*found.expiration()).ok()?;
    let token = Some(found.session_token().to_owned());
    Some(Credentials::new(found.access_key_id(), found.secret_access_key(), token, Some(expiry), provider))
}

fn no_keys(operation: &'static str, role: &str, caller: &str) -> AwsError {
    let (subject, caller) = (role.to_owned(), caller.to_owned());
    AwsError::Unreachable { operation, subject, caller, why: "the answer holds no credentials" }
}

fn failure<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Failure {
    match error {
        SdkError::ServiceError(refusal) => match refusal.err().code() {
            Some(code) => Failure::Code(plain(code).into()),
            None => Failure::Code(format!("HTTP{}", refusal.raw().status().as_u16()).into()),
        },
        SdkError::TimeoutError(_) => Failure::Unreachable("no answer in time"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => Failure::Unreachable("no answer in time"),
        SdkError::DispatchFailure(_) => {
            Failure::Unreachable("no connection: is there a way (VPC endpoint, NAT, proxy) to AWS from here?")
        }
        SdkError::ConstructionFailure(_) => Failure::Unreachable("the call cannot be written down"),
        _ => Failure::Unreachable("the answer is not AWS's: is a proxy between?"),
    }
}

/// An agent or a program may never answer, and whoever asks holds up all others of the same identity.
async fn in_time(
    root: &Root,
    asked: impl Future<Output = Result<Credentials, AwsError>>,
) -> Result<Credentials, AwsError> {
    let silent = |_| AwsError::Root { root: root.to_string(), why: "it gave no answer within 20 s" };
    timeout(ROOT_LIMIT, asked).await.map_err(silent)?
}

/// A code as it may stand in a log and a metric: whatever answers in the place of AWS chooses neither.
fn plain(code: &str) -> &str {
    let fits =
        !code.is_empty() && code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    if fits { code } else { "Unknown" }
}

fn why_not(root: &Root) -> &'static str {
    match root {
        Root::Environment => "they are not complete: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        Root::Container => {
            "the agent gives no credentials: is the EKS Pod Identity agent on this node, and is the service account associated with a role?"
        }
        Root::NodeRole => {
            "the node's metadata service gives no credentials: does the node have a role, and a hop limit of 2?"
        }
        _ => "it gives no credentials: run it by hand to see what it says",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_program_that_never_answers_is_given_up() {
        let error = in_time(&Root::Container, std::future::pending()).await.err().unwrap();
        assert_eq!(error.to_string(), "the pod identity: it gave no answer within 20 s");
    }

    #[test]
    fn a_code_that_is_none_is_not_repeated() {
        assert_eq!(
            (plain("AccessDenied"), plain("a\nb"), plain(&"x".repeat(65)), plain("")),
            ("AccessDenied", "Unknown", "Unknown", "Unknown")
        );
    }
}
