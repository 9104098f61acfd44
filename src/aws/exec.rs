//! `exec` entries of kubeconfigs that sign a token: `aws eks get-token` and `aws-iam-authenticator token`. What they say is
//! done in this process. Pure.

use super::chain::{Role, SessionName};
use std::collections::BTreeMap;

/// What an entry asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetToken {
    /// The cluster's name or id.
    pub cluster: String,
    /// The region of STS; `None`: as the environment or the profile says.
    pub region: Option<String>,
    /// Wins over `AWS_PROFILE`.
    pub profile: Option<String>,
    /// Assumed before anything is signed.
    pub role: Option<Role>,
    /// Where STS is when nothing says it.
    pub fallback: Option<&'static str>,
}

/// The authenticator's program signs for the global endpoint then, which is in this region.
const GLOBAL: &str = "us-east-1";

/// Variables of an entry that are understood. With others, keys for example, the program is somebody else than we would be.
const VARIABLES: [&str; 17] = [
    "AWS_CLI_AUTO_PROMPT",
    "AWS_CONFIG_FILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_DEFAULT_REGION",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_PAGER",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SDK_LOAD_CONFIG",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_STS_REGIONAL_ENDPOINTS",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "PATH",
];

/// What an entry says about an AWS token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// This one.
    GetToken(GetToken),
    /// Something that only AWS's own tool can do.
    Beyond,
    /// Nothing: it is another plugin.
    Another,
}

/// What a command with these arguments and variables would sign.
pub fn understand<'a>(command: &str, args: &[String], variables: impl IntoIterator<Item = &'a str>) -> Meaning {
    let asked = match command.rsplit('/').next() {
        Some("aws") => aws(args),
        Some("aws-iam-authenticator" | "heptio-authenticator-aws") => authenticator(args),
        _ => return Meaning::Another,
    };
    let known = variables.into_iter().all(|name| VARIABLES.contains(&name));
    asked.filter(|_| known).map_or(Meaning::Beyond, Meaning::GetToken)
}

fn aws(args: &[String]) -> Option<GetToken> {
    const VALUES: [&str; 9] = [
        "--cluster-name",
        "--cluster-id",
        "--role-arn",
        "--region",
        "--profile",
        "--output",
        "--color",
        "--cli-connect-timeout",
        "--cli-read-timeout",
    ];
    const SWITCHES: [&str; 2] = ["--no-cli-pager", "--no-paginate"];
    let mut typed = Typed::read(args, &VALUES, &SWITCHES)?;
    // Whatever else it prints is no ExecCredential.
    let prints_json = typed.values.remove("--output").is_none_or(|output| output == "json");
    if typed.words != ["eks", "get-token"] || !prints_json {
        return None;
    }
    let cluster = typed.values.remove("--cluster-id").or_else(|| typed.values.remove("--cluster-name"))?;
    Some(GetToken {
        cluster,
        region: typed.values.remove("--region"),
        profile: typed.values.remove("--profile"),
        role: typed.values.remove("--role-arn").map(Role::new),
        fallback: None,
    })
}

fn authenticator(args: &[String]) -> Option<GetToken> {
    const VALUES: [&str; 10] = [
        "--cluster-id",
        "--role",
        "--external-id",
        "--session-name",
        "--region",
        "--log-format",
        "-i",
        "-r",
        "-e",
        "-s",
    ];
    const SWITCHES: [&str; 2] = ["--forward-session-name", "--cache"];
    let mut typed = Typed::read(args, &VALUES, &SWITCHES)?;
    if typed.words != ["token"] {
        return None;
    }
    let mut either = |long: &str, short: &str| typed.values.remove(long).or_else(|| typed.values.remove(short));
    let cluster = either("--cluster-id", "-i")?;
    let session_name = match either("--session-name", "-s") {
        _ if typed.switches.contains(&"--forward-session-name") => SessionName::Forwarded,
        Some(name) => SessionName::Named(name),
        None => SessionName::Ours,
    };
    let mut either = |long: &str, short: &str| typed.values.remove(long).or_else(|| typed.values.remove(short));
    let external_id = either("--external-id", "-e");
    let role = either("--role", "-r").map(|arn| Role { external_id, session_name, ..Role::new(arn) });
    Some(GetToken { cluster, region: typed.values.remove("--region"), profile: None, role, fallback: Some(GLOBAL) })
}

/// A command line, sorted.
#[derive(Default)]
struct Typed {
    words: Vec<String>,
    values: BTreeMap<&'static str, String>,
    switches: Vec<&'static str>,
}

impl Typed {
    /// `--key value`, `--key=value` and `-kvalue`; an empty value is one that is not given.
    fn read(args: &[String], values: &[&'static str], switches: &[&'static str]) -> Option<Self> {
        let mut typed = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if !arg.starts_with('-') {
                typed.words.push(arg.clone());
                continue;
            }
            let (name, attached) = split(arg);
            if let Some(key) = values.iter().find(|known| **known == name) {
                let value = attached.or_else(|| args.next().cloned())?;
                typed.values.insert(key, value);
            } else {
                typed.switches.push(switches.iter().find(|known| **known == arg)?);
            }
        }
        typed.values.retain(|_, value| !value.is_empty());
        Some(typed)
    }
}

fn split(arg: &str) -> (&str, Option<String>) {
    match arg.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
        _ if arg.starts_with("--") => (arg, None),
        _ => match arg.split_at_checked(2) {
            Some((name, "")) => (name, None),
            Some((name, value)) => (name, Some(value.trim_start_matches('=').to_owned())),
            None => (arg, None),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(line: &str, variables: &[&str]) -> Meaning {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().unwrap();
        understand(&command, &words.collect::<Vec<_>>(), variables.iter().copied())
    }

    fn read(line: &str) -> Option<GetToken> {
        match meaning(line, &["AWS_PROFILE"]) {
            Meaning::GetToken(asked) => Some(asked),
            Meaning::Beyond | Meaning::Another => None,
        }
    }

    fn plain(cluster: &str) -> GetToken {
        GetToken { cluster: cluster.into(), region: None, profile: None, role: None, fallback: None }
    }

    #[test]
    fn what_aws_eks_update_kubeconfig_writes_is_understood() {
        let here = GetToken { region: Some("eu-west-1".into()), ..plain("prod") };
        assert_eq!(read("aws --region eu-west-1 eks get-token --cluster-name prod --output json"), Some(here.clone()));
        let line =
            "/usr/local/bin/aws --region eu-west-1 eks get-token --cluster-name prod --output json --role-arn arn:r";
        assert_eq!(read(line), Some(GetToken { role: Some(Role::new("arn:r")), ..here.clone() }));
        let line = "aws eks get-token --cluster-name=prod --profile=p --region=eu-west-1 --no-cli-pager";
        assert_eq!(read(line), Some(GetToken { profile: Some("p".into()), ..here }));
        assert_eq!(read("aws eks get-token --cluster-id 0123-ab"), Some(plain("0123-ab")));
    }

    #[test]
    fn what_aws_iam_authenticator_takes_is_understood() {
        let id = GetToken { fallback: Some(GLOBAL), ..plain("id") };
        for line in ["token -i id", "token -iid", "token --cluster-id id", "token --cluster-id=id --cache"] {
            assert_eq!(read(&format!("aws-iam-authenticator {line}")), Some(id.clone()), "{line}");
        }
        let role =
            Role { external_id: Some("x".into()), session_name: SessionName::Named("s".into()), ..Role::new("arn:r") };
        let all = GetToken { role: Some(role.clone()), region: Some("eu-west-1".into()), ..id.clone() };
        assert_eq!(read("aws-iam-authenticator token -i id -r arn:r -e x -s s --region eu-west-1"), Some(all));
        let forwarded = Role { session_name: SessionName::Forwarded, ..role };
        let line = "aws-iam-authenticator token -i id --role arn:r --external-id x --forward-session-name";
        assert_eq!(read(line), Some(GetToken { role: Some(forwarded), ..id }));
    }

    #[test]
    fn anything_else_is_left_to_the_plugin() {
        assert_eq!(meaning("gke-gcloud-auth-plugin", &[]), Meaning::Another);
        let keys = meaning("aws eks get-token --cluster-name a", &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
        assert_eq!(keys, Meaning::Beyond);
        for line in [
            "aws sts get-caller-identity",
            "aws eks get-token",
            "aws eks get-token --cluster-name",
            "aws eks get-token --cluster-name a --endpoint-url http://x",
            "aws eks get-token --cluster-name a --output text",
            "aws --debug eks get-token --cluster-name a",
            "aws-iam-authenticator token",
            "aws-iam-authenticator token -i a --token-only",
            "aws-iam-authenticator version -i a",
        ] {
            assert_eq!(meaning(line, &[]), Meaning::Beyond, "{line}");
        }
    }

    #[test]
    fn an_empty_argument_is_one_that_is_not_given() {
        assert_eq!(read("aws eks get-token --cluster-name prod --role-arn="), Some(plain("prod")));
    }
}
