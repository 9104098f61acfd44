use super::*;
use crate::aws::chain::SessionName;
use futures::FutureExt;

impl Profiles {
    /// Profiles as in a credentials file.
    pub(in crate::aws) fn parse(text: &str) -> Option<Self> {
        let files = EnvConfigFiles::builder().with_contents(EnvConfigFileKind::Credentials, text).build();
        Self::from_files(files).now_or_never()?.ok()
    }
}

fn resolve(text: &str, profile: &str) -> Result<Chain, String> {
    chain(&Profiles::parse(text).unwrap(), &Files::default(), profile).map_err(|error| error.to_string())
}

fn arns(chain: &Chain) -> Vec<&str> {
    chain.roles.iter().map(|role| role.arn.as_str()).collect()
}

#[test]
fn kubeds_two_profiles_are_a_web_identity_and_a_role() {
    let text = "[mc-mgmt]\nrole_arn = arn:aws:iam::111111111111:role/mgmt\nweb_identity_token_file = /token\n\
                [mc-project]\nrole_arn = arn:aws:iam::222222222222:role/project\nsource_profile = mc-mgmt\nrole_session_name = kubed\n";
    let chain = resolve(text, "mc-project").unwrap();
    let Root::WebIdentity(identity) = &chain.root else { panic!("{chain:?}") };
    assert_eq!(
        (identity.role.as_str(), identity.session_name.as_deref()),
        ("arn:aws:iam::111111111111:role/mgmt", None)
    );
    assert_eq!(arns(&chain), ["arn:aws:iam::222222222222:role/project"]);
    assert_eq!(chain.roles[0].session_name, SessionName::Named("kubed".into()));
}

#[test]
fn roles_are_assumed_from_the_source_to_the_profile() {
    let text = "[a]\nrole_arn = A\nsource_profile = b\nexternal_id = x\nduration_seconds = 900\n\
                [b]\nrole_arn = B\nsource_profile = c\n[c]\naws_access_key_id = k\naws_secret_access_key = s\n";
    let chain = resolve(text, "a").unwrap();
    assert_eq!(chain.root, Root::Keys { files: Files::default(), profile: "c".into() });
    assert_eq!(arns(&chain), ["B", "A"]);
    let last = &chain.roles[1];
    assert_eq!((last.external_id.as_deref(), last.duration), (Some("x"), Duration::from_secs(900)));
}

#[test]
fn a_profile_that_is_its_own_source_starts_from_its_own_keys() {
    let text = "[a]\nrole_arn = A\nsource_profile = a\naws_access_key_id = k\naws_secret_access_key = s\n";
    let chain = resolve(text, "a").unwrap();
    assert_eq!((chain.root.to_string().as_str(), arns(&chain)), ("the keys of profile a", vec!["A"]));
}

#[test]
fn a_credential_source_is_a_root() {
    for (source, root) in
        [("Environment", Root::Environment), ("EcsContainer", Root::Container), ("Ec2InstanceMetadata", Root::NodeRole)]
    {
        let chain = resolve(&format!("[a]\nrole_arn = A\ncredential_source = {source}\n"), "a").unwrap();
        assert_eq!((chain.root.clone(), arns(&chain)), (root, vec!["A"]));
    }
}

#[test]
fn mistakes_name_the_profile_and_what_would_be_right() {
    let table = [
        ("", "there is no AWS profile a"),
        ("[a]\nrole_arn = A\nsource_profile = b\n", "there is no AWS profile b (source_profile of a)"),
        ("[a]\nregion = eu-west-1\n", "AWS profile a: has neither a role_arn nor keys nor a credential_process"),
        (
            "[a]\nrole_arn = A\n",
            "AWS profile a: role_arn needs source_profile, credential_source or web_identity_token_file beside it",
        ),
        ("[a]\nsso_session = s\n", "AWS profile a: signs a person in by browser: a daemon needs a role or keys"),
        (
            "[a]\nrole_arn = A\nsource_profile = a\nmfa_serial = m\n",
            "AWS profile a: mfa_serial asks for a person, and nobody is there",
        ),
        (
            "[a]\nrole_arn = A\nsource_profile = b\nduration_seconds = 60\n",
            "AWS profile a: duration_seconds must be a number from 900 to 43200",
        ),
        (
            "[a]\nrole_arn = A\ncredential_source = Moon\n",
            "AWS profile a: credential_source must be Environment, EcsContainer or Ec2InstanceMetadata",
        ),
        (
            "[a]\nrole_arn = A\nsource_profile = b\n[b]\nrole_arn = B\nsource_profile = a\n",
            "AWS profile a: its source_profile leads back to itself",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(resolve(text, "a").unwrap_err(), expected);
    }
}

#[tokio::test]
async fn a_file_that_is_no_configuration_is_told_without_a_line_of_it() {
    let files = EnvConfigFiles::builder().with_contents(EnvConfigFileKind::Credentials, "[a]\nhunter2\n").build();
    let error = Profiles::from_files(files).await.err().unwrap();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}
