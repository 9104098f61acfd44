//! What the environment says about AWS: our own, or that of an `exec` entry laid over it.

use super::{
    chain::{Chain, Files, Root, WebIdentity},
    host::Variant,
    profile::{self, ProfileError, Profiles},
};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// Environment variables, those of AWS only.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Settings {
    variables: Arc<BTreeMap<String, String>>,
}

/// Whether the node's own role may be used when nothing else is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NodeRole {
    /// `--aws-allow-node-role`.
    Allowed,
    /// It is hardly ever what is meant: every pod of the node has it.
    #[default]
    Refused,
}

/// Nothing says who we are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NobodyError {
    /// No variable, no profile, no agent.
    #[error(
        "no AWS identity: give Towline's service account a role (IRSA or EKS Pod Identity), set AWS_PROFILE, or allow the node's role with --aws-allow-node-role"
    )]
    Nobody,
    /// Nothing says in which region to sign.
    #[error("no AWS region: name one with --region, AWS_REGION, or `region` in the profile")]
    Nowhere,
    /// A profile cannot be used.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

impl Settings {
    /// Those of this process.
    pub fn of_process() -> Self {
        Self::from_pairs(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// Of pairs; what is empty is not set.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let variables = pairs.into_iter().filter(|(name, value)| is_ours(name) && !value.is_empty());
        Self { variables: Arc::new(variables.collect()) }
    }

    /// With others laid over them, as a plugin's are over its parent's.
    pub fn with(&self, pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let before = self.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
        Self::from_pairs(before.chain(pairs).collect::<BTreeMap<_, _>>())
    }

    /// A variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// These, with a profile that wins over keys in the environment, as `--profile` does.
    pub fn as_profile(&self, profile: &str) -> Self {
        let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let others = self.variables.iter().filter(|(name, _)| !keys.contains(&name.as_str()));
        let others = others.map(|(name, value)| (name.clone(), value.clone()));
        Self::from_pairs(others.chain([("AWS_PROFILE".to_owned(), profile.to_owned())]).collect::<BTreeMap<_, _>>())
    }

    /// What tells these from others. To be hashed, never printed.
    pub(super) fn features(&self) -> String {
        self.variables.iter().flat_map(|(name, value)| [name, "=", value, "\n"].map(str::to_owned)).collect()
    }

    /// Where the shared files are.
    pub fn files(&self) -> Files {
        let path = |name| self.get(name).map(PathBuf::from);
        Files { config: path("AWS_CONFIG_FILE"), credentials: path("AWS_SHARED_CREDENTIALS_FILE") }
    }

    /// `AWS_PROFILE`, or its old name.
    pub fn profile(&self) -> Option<&str> {
        self.get("AWS_PROFILE").or_else(|| self.get("AWS_DEFAULT_PROFILE"))
    }

    /// `AWS_REGION`, or its old name.
    pub fn region(&self) -> Option<&str> {
        self.get("AWS_REGION").or_else(|| self.get("AWS_DEFAULT_REGION"))
    }

    /// Which STS hosts to use.
    pub fn variant(&self) -> Variant {
        let on = |name| self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Variant { fips: on("AWS_USE_FIPS_ENDPOINT"), dual_stack: on("AWS_USE_DUALSTACK_ENDPOINT") }
    }

    /// Who these variables and the shared files make us, in the order of the AWS CLI.
    pub fn chain(&self, profiles: &Profiles, node_role: NodeRole) -> Result<Chain, NobodyError> {
        if self.get("AWS_ACCESS_KEY_ID").is_some() && self.get("AWS_SECRET_ACCESS_KEY").is_some() {
            return Ok(Chain::of(Root::Environment));
        }
        match self.profile() {
            Some(name) => return Ok(profile::chain(profiles, &self.files(), name)?),
            None if profiles.says_who(profile::DEFAULT) => {
                return Ok(profile::chain(profiles, &self.files(), profile::DEFAULT)?);
            }
            None => {}
        }
        if let Some(identity) = self.web_identity() {
            return Ok(Chain::of(Root::WebIdentity(identity)));
        }
        let agent = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
        if agent.iter().any(|name| self.get(name).is_some()) {
            return Ok(Chain::of(Root::Container));
        }
        match node_role {
            NodeRole::Allowed => Ok(Chain::of(Root::NodeRole)),
            NodeRole::Refused => Err(NobodyError::Nobody),
        }
    }

    fn web_identity(&self) -> Option<WebIdentity> {
        Some(WebIdentity {
            role: self.get("AWS_ROLE_ARN")?.to_owned(),
            token_file: self.get("AWS_WEB_IDENTITY_TOKEN_FILE")?.into(),
            session_name: self.get("AWS_ROLE_SESSION_NAME").map(str::to_owned),
        })
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("AWS_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        Settings::from_pairs(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn root(pairs: &[(&str, &str)], files: &str) -> Result<Root, NobodyError> {
        let profiles = Profiles::parse(files).unwrap();
        settings(pairs).chain(&profiles, NodeRole::Refused).map(|chain| chain.root)
    }

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")];
    const IRSA: [(&str, &str); 2] = [("AWS_ROLE_ARN", "arn:role"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")];
    const AGENT: (&str, &str) = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials");
    const DEFAULT: &str = "[default]\naws_access_key_id = a\naws_secret_access_key = b\n";

    #[test]
    fn keys_then_profiles_then_web_identity_then_the_agent() {
        let all = [&KEYS[..], &IRSA, &[AGENT]].concat();
        assert_eq!(root(&all, DEFAULT), Ok(Root::Environment));
        let keys = Root::Keys { files: Files::default(), profile: "default".into() };
        assert_eq!(root(&[&IRSA[..], &[AGENT]].concat(), DEFAULT), Ok(keys));
        assert!(matches!(root(&[&IRSA[..], &[AGENT]].concat(), ""), Ok(Root::WebIdentity(_))));
        assert_eq!(root(&[AGENT], ""), Ok(Root::Container));
    }

    #[test]
    fn the_nodes_role_is_taken_only_if_allowed() {
        assert_eq!(root(&[], ""), Err(NobodyError::Nobody));
        let chain = settings(&[]).chain(&Profiles::parse("").unwrap(), NodeRole::Allowed);
        assert_eq!(chain, Ok(Chain::of(Root::NodeRole)));
    }

    #[test]
    fn a_default_profile_that_only_sets_a_region_says_nothing_about_who_we_are() {
        assert!(matches!(root(&IRSA, "[default]\nregion = eu-west-1\n"), Ok(Root::WebIdentity(_))));
    }

    #[test]
    fn a_profile_that_is_named_wins_over_keys_in_the_environment() {
        let named = settings(&KEYS).as_profile("default").chain(&Profiles::parse(DEFAULT).unwrap(), NodeRole::Refused);
        assert_eq!(named.unwrap().root.to_string(), "the keys of profile default");
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        assert_eq!(root(&[("AWS_PROFILE", ""), AGENT], ""), Ok(Root::Container));
    }

    #[test]
    fn a_plugins_variables_lie_over_ours() {
        let ours = settings(&[("AWS_PROFILE", "mine"), ("AWS_REGION", "eu-west-1"), ("HOME", "/root")]);
        let theirs = ours.with([("AWS_PROFILE".to_owned(), "theirs".to_owned())]);
        assert_eq!((theirs.profile(), theirs.region(), theirs.get("HOME")), (Some("theirs"), Some("eu-west-1"), None));
    }
}
