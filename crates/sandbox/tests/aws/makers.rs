//! Worlds and clients.

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sts::error::ProvideErrorMetadata;
use aws_sdk_sts::operation::assume_role::builders::AssumeRoleFluentBuilder;
use sandbox::{Aws, Cluster, OidcProvider, Role, User, World};
use serde_json::{Value, json};

pub const HUB_ACCOUNT: &str = "111111111111";
pub const ACCOUNT: &str = "222222222222";
pub const REGION: &str = "eu-central-1";
pub const HUB: &str = "arn:aws:iam::111111111111:role/towline-hub";
pub const FOLLOWER: &str = "arn:aws:iam::222222222222:role/platform/towline-follower";
pub const ANNA: &str = "arn:aws:iam::111111111111:user/anna";
pub const ISSUER: &str = "https://oidc.eks.eu-central-1.amazonaws.com/id/0A1B2C3D";
pub const SUBJECT: &str = "system:serviceaccount:towline:towline";
pub const EXTERNAL_ID: &str = "towline-7";

/// A policy of one statement that allows.
pub fn allow(action: &Value, resource: &str) -> Value {
    json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": action, "Resource": resource}})
}

/// A trust policy of one statement.
pub fn trust(principal: &Value, action: &Value, condition: &Value) -> Value {
    let statement = json!({"Effect": "Allow", "Principal": principal, "Action": action, "Condition": condition});
    json!({"Version": "2012-10-17", "Statement": statement})
}

/// The trust policy of a follower role: hub role and user, with an external id.
pub fn follower_trust(action: &Value) -> Value {
    trust(&json!({"AWS": [HUB, ANNA]}), action, &json!({"StringEquals": {"sts:ExternalId": EXTERNAL_ID}}))
}

/// The trust policy of a hub role with IRSA.
fn irsa_trust() -> Value {
    let host = ISSUER.strip_prefix("https://").unwrap();
    let provider = json!({"Federated": format!("arn:aws:iam::{HUB_ACCOUNT}:oidc-provider/{host}")});
    let condition =
        json!({"StringEquals": {format!("{host}:sub"): SUBJECT, format!("{host}:aud"): "sts.amazonaws.com"}});
    trust(&provider, &json!("sts:AssumeRoleWithWebIdentity"), &condition)
}

/// An AWS with two accounts, and the access key of user anna in the first one. Anna and the hub role (by IRSA) may take on the
/// follower role in the second one, which may look at its clusters.
pub struct Ground {
    pub aws: Aws,
    pub anna: Credentials,
}

impl Ground {
    pub fn new() -> Self {
        let mut world = World::new();
        world.add_provider(OidcProvider::new(HUB_ACCOUNT, ISSUER, "sts.amazonaws.com").unwrap());
        let to_follower = allow(&json!("sts:AssumeRole"), FOLLOWER);
        world.add_role(Role::new(HUB, &irsa_trust()).unwrap().with_policy(&to_follower).unwrap());
        let follower = Role::new(FOLLOWER, &follower_trust(&json!("sts:AssumeRole"))).unwrap();
        let look = allow(&json!(["eks:DescribeCluster", "eks:ListClusters"]), "*");
        world.add_role(follower.with_policy(&look).unwrap());
        world.add_cluster(Cluster::new(ACCOUNT, REGION, "prod").at("https://prod.example.com", "PEM"));
        let anna = User::new(ANNA).unwrap().with_policy(&to_follower).unwrap();
        let credentials = Credentials::new(anna.access_key(), anna.secret_key(), None, None, "test");
        world.add_user(anna);
        Self { aws: Aws::start(world).unwrap(), anna: credentials }
    }

    pub fn sts(&self, credentials: &Credentials) -> aws_sdk_sts::Client {
        aws_sdk_sts::Client::new(&self.config(credentials, REGION))
    }

    pub fn eks(&self, credentials: &Credentials) -> aws_sdk_eks::Client {
        aws_sdk_eks::Client::new(&self.config(credentials, REGION))
    }

    /// What an SDK needs to get here. One attempt: a retry would hide what a test wants to see.
    pub fn config(&self, credentials: &Credentials, region: &str) -> SdkConfig {
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .credentials_provider(SharedCredentialsProvider::new(credentials.clone()))
            .endpoint_url(self.aws.url())
            .retry_config(RetryConfig::disabled())
            .build()
    }

    /// The request for the follower role that should be granted.
    pub fn assume_follower(&self, credentials: &Credentials) -> AssumeRoleFluentBuilder {
        self.sts(credentials)
            .assume_role()
            .role_arn(FOLLOWER)
            .role_session_name("towline-prod")
            .external_id(EXTERNAL_ID)
    }

    /// Credentials of the follower role, by way of anna.
    pub async fn follower(&self) -> Credentials {
        let answer = self.assume_follower(&self.anna).send().await.unwrap();
        credentials(answer.credentials().unwrap())
    }

    /// Credentials of the hub role, by a web identity.
    pub async fn hub(&self) -> Credentials {
        let lifetime = std::time::Duration::from_secs(600);
        let token = self.aws.web_identity_token(ISSUER, SUBJECT, lifetime).unwrap();
        let request = self.sts(&self.anna).assume_role_with_web_identity();
        let request = request.role_arn(HUB).role_session_name("towline").web_identity_token(token);
        credentials(request.send().await.unwrap().credentials().unwrap())
    }

    /// Changes the trust policy of the follower role.
    pub fn set_trust(&self, document: &Value) {
        self.aws.change(|world| world.role_mut(FOLLOWER).unwrap().set_trust(document)).unwrap();
    }

    /// Changes the permission policies of the hub role.
    pub fn set_hub_policy(&self, document: &Value) {
        let documents = [document.clone()];
        self.aws.change(|world| world.role_mut(HUB).unwrap().set_policies(&documents)).unwrap();
    }
}

/// What STS handed out.
pub fn credentials(answer: &aws_sdk_sts::types::Credentials) -> Credentials {
    let token = Some(answer.session_token().to_owned());
    Credentials::new(answer.access_key_id(), answer.secret_access_key(), token, None, "test")
}

/// `OK`, or the code of the error.
pub fn code<T, E: ProvideErrorMetadata>(outcome: Result<T, E>) -> String {
    match outcome {
        Ok(_) => "OK".to_owned(),
        Err(error) => error.code().unwrap_or("no code").to_owned(),
    }
}
