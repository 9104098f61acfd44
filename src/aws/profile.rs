//! Profiles of the shared AWS files (`~/.aws/config`, `~/.aws/credentials`): who a profile is, as a chain of roles.

use super::chain::{Chain, Files, ROLE_DURATION, Role, Root, WebIdentity};
use aws_config::profile::ProfileSet;
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_types::os_shim_internal::{Env, Fs};
use std::{path::PathBuf, time::Duration};

/// The profile that is taken when none is named.
pub const DEFAULT: &str = "default";
/// More than anybody chains; a circle of `source_profile`s is longer.
const LONGEST: usize = 16;

/// The profiles of the shared files.
pub struct Profiles(ProfileSet);

/// Why a profile does not say who we are. Holds names only.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The files cannot be read or parsed.
    #[error(
        "the shared AWS files cannot be used: one of them is closed to us, or has a line that is neither [section] nor key = value"
    )]
    Files,
    /// There is no such profile.
    #[error("there is no AWS profile {profile}{named}")]
    Missing {
        /// The profile.
        profile: String,
        /// Who names it.
        named: String,
    },
    /// A profile cannot be used.
    #[error("AWS profile {profile}: {reason}")]
    Unusable {
        /// The profile.
        profile: String,
        /// What is wrong with it and what would be right.
        reason: String,
    },
}

impl ProfileError {
    fn unusable(profile: &str, reason: impl Into<String>) -> Self {
        Self::Unusable { profile: profile.to_owned(), reason: reason.into() }
    }
}

impl Profiles {
    /// Reads the files. Ones that are not there hold no profiles.
    pub async fn load(files: &Files) -> Result<Self, ProfileError> {
        let places = [(EnvConfigFileKind::Config, &files.config), (EnvConfigFileKind::Credentials, &files.credentials)];
        let mut builder = EnvConfigFiles::builder();
        for (kind, path) in places {
            builder = match (path, kind) {
                (Some(path), _) => builder.with_file(kind, path),
                (None, EnvConfigFileKind::Config) => builder.include_default_config_file(true),
                (None, _) => builder.include_default_credentials_file(true),
            };
        }
        Self::from_files(builder.build()).await
    }

    async fn from_files(files: EnvConfigFiles) -> Result<Self, ProfileError> {
        let loaded = aws_config::profile::load(&Fs::real(), &Env::real(), &files, None).await;
        // Its own text quotes the line.
        loaded.map(Self).map_err(|_| ProfileError::Files)
    }

    /// Whether a profile is there and says more than a region.
    pub(super) fn says_who(&self, profile: &str) -> bool {
        const WHO: [&str; 6] =
            ["aws_access_key_id", "role_arn", "credential_process", "sso_session", "sso_start_url", "login_session"];
        WHO.iter().any(|key| self.get(profile, key).is_some())
    }

    /// A value of a profile.
    pub fn get(&self, profile: &str, key: &str) -> Option<&str> {
        self.0.get_profile(profile)?.get(key).map(str::trim).filter(|value| !value.is_empty())
    }

    fn has(&self, profile: &str) -> bool {
        self.0.get_profile(profile).is_some()
    }

    fn has_keys(&self, profile: &str) -> bool {
        ["aws_access_key_id", "aws_secret_access_key"].iter().all(|key| self.get(profile, key).is_some())
    }
}

/// Who a profile is.
pub fn chain(profiles: &Profiles, files: &Files, profile: &str) -> Result<Chain, ProfileError> {
    let (mut roles, mut name, mut named) = (Vec::new(), profile.to_owned(), String::new());
    while roles.len() < LONGEST {
        if !profiles.has(&name) {
            return Err(ProfileError::Missing { profile: name, named });
        }
        let step = step(profiles, files, &name)?;
        roles.extend(step.role);
        match step.from {
            From::Root(root) => {
                roles.reverse();
                return Ok(Chain { root, roles });
            }
            From::Profile(source) => {
                named = format!(" (source_profile of {name})");
                name = source;
            }
        }
    }
    Err(ProfileError::unusable(profile, "its source_profile leads back to itself"))
}

struct Step {
    role: Option<Role>,
    from: From,
}

enum From {
    Root(Root),
    Profile(String),
}

fn step(profiles: &Profiles, files: &Files, name: &str) -> Result<Step, ProfileError> {
    let get = |key| profiles.get(name, key);
    let Some(arn) = get("role_arn") else { return root(profiles, files, name) };
    if let Some(token_file) = get("web_identity_token_file") {
        let session_name = get("role_session_name").map(str::to_owned);
        let identity = WebIdentity { role: arn.to_owned(), token_file: PathBuf::from(token_file), session_name };
        return Ok(Step { role: None, from: From::Root(Root::WebIdentity(identity)) });
    }
    if get("mfa_serial").is_some() {
        return Err(ProfileError::unusable(name, "mfa_serial asks for a person, and nobody is there"));
    }
    let role = role(profiles, name, arn)?;
    let from = match (get("source_profile"), get("credential_source")) {
        (Some(_), Some(_)) => {
            return Err(ProfileError::unusable(name, "has both source_profile and credential_source: take one out"));
        }
        // A profile may be its own source: then it starts from its own keys.
        (Some(source), None) if source == name && profiles.has_keys(name) => From::Root(keys(files, name)),
        (Some(source), None) => From::Profile(source.to_owned()),
        (None, Some(source)) => From::Root(credential_source(name, source)?),
        (None, None) => {
            let reason = "role_arn needs source_profile, credential_source or web_identity_token_file beside it";
            return Err(ProfileError::unusable(name, reason));
        }
    };
    Ok(Step { role: Some(role), from })
}

fn root(profiles: &Profiles, files: &Files, name: &str) -> Result<Step, ProfileError> {
    let get = |key| profiles.get(name, key);
    let root = if profiles.has_keys(name) {
        keys(files, name)
    } else if get("credential_process").is_some() {
        Root::Process { files: files.clone(), profile: name.to_owned() }
    } else if ["sso_session", "sso_start_url", "login_session"].into_iter().any(|key| get(key).is_some()) {
        return Err(ProfileError::unusable(name, "signs a person in by browser: a daemon needs a role or keys"));
    } else {
        return Err(ProfileError::unusable(name, "has neither a role_arn nor keys nor a credential_process"));
    };
    Ok(Step { role: None, from: From::Root(root) })
}

fn keys(files: &Files, name: &str) -> Root {
    Root::Keys { files: files.clone(), profile: name.to_owned() }
}

fn role(profiles: &Profiles, name: &str, arn: &str) -> Result<Role, ProfileError> {
    let get = |key| profiles.get(name, key).map(str::to_owned);
    let seconds = match get("duration_seconds") {
        Some(text) => {
            let allowed = || ProfileError::unusable(name, "duration_seconds must be a number from 900 to 43200");
            text.parse::<u64>().ok().filter(|seconds| (900..=43_200).contains(seconds)).ok_or_else(allowed)?
        }
        None => ROLE_DURATION.as_secs(),
    };
    Ok(Role {
        external_id: get("external_id"),
        session_name: get("role_session_name").into(),
        duration: Duration::from_secs(seconds),
        ..Role::new(arn)
    })
}

fn credential_source(name: &str, source: &str) -> Result<Root, ProfileError> {
    match source {
        "Environment" => Ok(Root::Environment),
        "EcsContainer" => Ok(Root::Container),
        "Ec2InstanceMetadata" => Ok(Root::NodeRole),
        _ => Err(ProfileError::unusable(
            name,
            "credential_source must be Environment, EcsContainer or Ec2InstanceMetadata",
        )),
    }
}

#[cfg(test)]
mod tests;
