//! How somebody becomes who they are on AWS: what they start as, and the roles that they assume one after another.

use std::{fmt, path::PathBuf, time::Duration};

/// A chained role cannot last longer, and a role that is assumed from a pod's identity always is one.
pub const ROLE_DURATION: Duration = Duration::from_secs(3600);

/// A root and the roles that follow. Equal chains share credentials.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    /// What the first call is signed with.
    pub root: Root,
    /// Each assumed by the one before it.
    pub roles: Vec<Role>,
}

/// Where the first credentials come from. No variant holds any: they are read when they are needed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`.
    Environment,
    /// Keys in the shared files.
    Keys {
        /// Where they are.
        files: Files,
        /// Whose they are.
        profile: String,
    },
    /// A program that a profile names (`credential_process`).
    Process {
        /// Where the profile is.
        files: Files,
        /// Whose it is.
        profile: String,
    },
    /// A role for a token that somebody else signed: IRSA.
    WebIdentity(WebIdentity),
    /// The agent beside the container: EKS Pod Identity.
    Container,
    /// The role of the node, from its metadata service.
    NodeRole,
}

/// A web identity token and the role that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebIdentity {
    /// The role.
    pub role: String,
    /// The file that kubelet renews.
    pub token_file: PathBuf,
    /// How CloudTrail shows us; `None`: our default.
    pub session_name: Option<String>,
}

/// How CloudTrail shows us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionName {
    /// By our own default.
    #[default]
    Ours,
    /// By this name.
    Named(String),
    /// As the session that assumes the role.
    Forwarded,
}

impl From<Option<String>> for SessionName {
    fn from(name: Option<String>) -> Self {
        name.map_or(Self::Ours, Self::Named)
    }
}

/// A role to assume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Role {
    /// Its ARN.
    pub arn: String,
    /// What its trust policy asks for.
    pub external_id: Option<String>,
    /// How CloudTrail shows us.
    pub session_name: SessionName,
    /// Stays with all roles that follow, if the trust policy allows it to be set.
    pub source_identity: Option<String>,
    /// How long it lasts.
    pub duration: Duration,
}

/// The shared configuration files; `None`: in `~/.aws`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Files {
    /// `AWS_CONFIG_FILE`.
    pub config: Option<PathBuf>,
    /// `AWS_SHARED_CREDENTIALS_FILE`.
    pub credentials: Option<PathBuf>,
}

impl Role {
    /// A role that asks for nothing but its name.
    pub fn new(arn: impl Into<String>) -> Self {
        Self {
            arn: arn.into(),
            external_id: None,
            session_name: SessionName::Ours,
            source_identity: None,
            duration: ROLE_DURATION,
        }
    }
}

impl Chain {
    /// Somebody without roles.
    pub fn of(root: Root) -> Self {
        Self { root, roles: Vec::new() }
    }

    /// With one more role at the end.
    pub fn then(mut self, role: Role) -> Self {
        self.roles.push(role);
        self
    }

    /// The last role and those before it; `None` if there is no role.
    pub fn split(&self) -> Option<(Self, &Role)> {
        let (last, before) = self.roles.split_last()?;
        Some((Self { root: self.root.clone(), roles: before.to_vec() }, last))
    }

    /// The ARN of the role that this chain ends in, if it ends in one that is known by name.
    pub fn role_arn(&self) -> Option<&str> {
        match (self.roles.last(), &self.root) {
            (Some(role), _) => Some(&role.arn),
            (None, Root::WebIdentity(identity)) => Some(&identity.role),
            (None, _) => None,
        }
    }
}

/// As in a message: who this is, without the way there.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role_arn() {
            Some(arn) => f.write_str(arn),
            None => self.root.fmt(f),
        }
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("the keys in the environment"),
            Self::Keys { profile, .. } => write!(f, "the keys of profile {profile}"),
            Self::Process { profile, .. } => write!(f, "the credential_process of profile {profile}"),
            Self::WebIdentity(identity) => write!(f, "the web identity for {}", identity.role),
            Self::Container => f.write_str("the pod identity"),
            Self::NodeRole => f.write_str("the node's role"),
        }
    }
}
