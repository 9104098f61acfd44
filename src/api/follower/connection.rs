//! How a follower is reached: exactly one kind of connection, and how to get to its server.

use super::{fields::Fields, syntax};
use crate::api::yaml::YamlError;
use std::{fmt, sync::Arc};

/// How a follower is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Where the server is, and as whom we come.
    pub method: Method,
    /// An `http://` proxy that understands CONNECT.
    pub proxy_url: Option<ProxyUrl>,
    /// The name that the server's certificate must have, if it is not the host's.
    pub tls_server_name: Option<String>,
}

/// The kinds of connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// `eks`.
    Eks(Eks),
    /// `awsIAMAuthenticator`.
    AwsIamAuthenticator(AwsIamAuthenticator),
}

/// A cluster that Amazon EKS runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eks {
    /// Its name in its account and region.
    pub cluster_name: String,
    /// Its region.
    pub region: String,
    /// Who we are there.
    pub role: Option<Role>,
    /// Where it is; `None`: EKS is asked.
    pub server: Option<Server>,
}

/// A cluster with the webhook of aws-iam-authenticator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsIamAuthenticator {
    /// The id that its webhook expects.
    pub cluster_id: String,
    /// The region of STS.
    pub region: String,
    /// Who we are there.
    pub role: Option<Role>,
    /// Where it is.
    pub server: Server,
}

/// A role to assume. Its default: the identity of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// `arn:PARTITION:iam::ACCOUNT:role/NAME`.
    pub arn: String,
    /// What the role's trust policy asks for.
    pub external_id: Option<String>,
    /// How the session is called in its account's logs.
    pub session_name: Option<String>,
}

/// An API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `https://host:port`.
    pub url: String,
    /// PEM: the only roots that its certificate may come from.
    pub certificate_authority: Arc<[u8]>,
}

/// A proxy. There may be a password in it: it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(String);

impl ProxyUrl {
    /// The URL, to be used and not shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for ProxyUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyUrl(..)")
    }
}

const KINDS: [&str; 2] = ["eks", "awsIAMAuthenticator"];
/// Known, so that whoever writes it is told the right thing.
const NOT_YET: &str = "kubeconfigSecretRef";
pub(super) const KEYS: [&str; 5] = ["eks", "awsIAMAuthenticator", NOT_YET, "proxyURL", "tlsServerName"];
const EKS: [&str; 7] =
    ["clusterName", "region", "roleARN", "externalID", "sessionName", "endpoint", "certificateAuthorityData"];
const AUTHENTICATOR: [&str; 7] =
    ["clusterID", "server", "certificateAuthorityData", "region", "roleARN", "externalID", "sessionName"];

/// Reads `connection`.
pub(super) fn read(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> Option<Connection> {
    let proxy_url = fields.optional("proxyURL", syntax::proxy, told);
    let tls_server_name = fields.optional("tlsServerName", syntax::host, told);
    if let Some(node) = fields.get(NOT_YET) {
        let problem = format!("is not supported yet: allowed is {}", KINDS.join(" or "));
        told.push(fields.mistake(node, NOT_YET, &problem));
    }
    let kinds = KEYS.into_iter().filter(|kind| KINDS.contains(kind) || *kind == NOT_YET);
    let found: Vec<&str> = kinds.filter(|kind| fields.get(kind).is_some()).collect();
    if found.len() != 1 {
        let found = if found.is_empty() { "none".to_owned() } else { found.join(" and ") };
        fields.tell(format!("allowed is exactly one of {}; there is {found}", KINDS.join(", ")), told);
    }
    let eks = fields.inner("eks", &EKS, told).and_then(|fields| eks(&fields, told));
    let authenticator = fields.inner("awsIAMAuthenticator", &AUTHENTICATOR, told);
    let authenticator = authenticator.and_then(|fields| aws_iam_authenticator(&fields, told));
    let method = eks.map(Method::Eks).or(authenticator.map(Method::AwsIamAuthenticator));
    Some(Connection { method: method?, proxy_url, tls_server_name })
}

fn eks(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> Option<Eks> {
    let cluster_name = fields.needed("clusterName", syntax::cluster_name, told);
    let region = fields.needed("region", syntax::region, told);
    let role = role(fields, told);
    let [one, other] = ["endpoint", "certificateAuthorityData"].map(|field| fields.get(field).is_some());
    if one != other {
        fields.tell("allowed are endpoint and certificateAuthorityData together, or neither", told);
    }
    let url = fields.optional("endpoint", syntax::server, told);
    let authority = fields.optional("certificateAuthorityData", syntax::certificates, told);
    let server = url.zip(authority).map(|(url, certificate_authority)| Server { url, certificate_authority });
    Some(Eks { cluster_name: cluster_name?, region: region?, role, server })
}

fn aws_iam_authenticator(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> Option<AwsIamAuthenticator> {
    let cluster_id = fields.needed("clusterID", syntax::cluster_id, told);
    let url = fields.needed("server", syntax::server, told);
    let authority = fields.needed("certificateAuthorityData", syntax::certificates, told);
    let region = fields.needed("region", syntax::region, told);
    let role = role(fields, told);
    let server = Server { url: url?, certificate_authority: authority? };
    Some(AwsIamAuthenticator { cluster_id: cluster_id?, region: region?, role, server })
}

/// `externalID` and `sessionName` without a role would mean nothing: whoever writes them forgot it.
fn role(fields: &Fields<'_>, told: &mut Vec<YamlError>) -> Option<Role> {
    let arn = fields.optional("roleARN", syntax::role_arn, told);
    let external_id = fields.optional("externalID", syntax::external_id, told);
    let session_name = fields.optional("sessionName", syntax::session_name, told);
    for field in ["externalID", "sessionName"] {
        if let (Some(node), None) = (fields.get(field), fields.get("roleARN")) {
            told.push(fields.mistake(node, field, "is of use only with roleARN"));
        }
    }
    Some(Role { arn: arn?, external_id, session_name })
}
