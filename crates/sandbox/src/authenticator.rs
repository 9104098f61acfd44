//! The real aws-iam-authenticator, unmodified: it judges tokens as a self-managed cluster, or EKS, would.
//!
//! ```text
//! kube-apiserver ──(TokenReview)──▶ aws-iam-authenticator ──(HTTPS_PROXY)──▶ our proxy ──▶ our STS
//! ```
//!
//! It also serves its health on port 21363 of all interfaces. A second one does not get that port, does not mind, and does not
//! say so: everything else of it works.

mod program;

use std::fs::{self, Permissions};
use std::future::ready;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use controlplane::{Process, eventually};
use serde_json::{Value, json};

use crate::arn::Arn;
use crate::aws::Aws;

pub use program::{AUTHENTICATOR_VERSION, provide_authenticator};

/// How long it may take until it listens; it makes an RSA key first.
const LISTENS_WITHIN: Duration = Duration::from_secs(60);

/// A role, and whom Kubernetes sees in it.
#[derive(Clone, Debug)]
pub struct RoleMapping {
    /// The ARN of the role, without its path: that is how the authenticator sees it.
    pub role: String,
    /// The user.
    pub username: String,
    /// The user's groups.
    pub groups: Vec<String>,
}

/// A running authenticator. Killed when dropped, and at the end of this process.
pub struct Authenticator {
    process: Process,
    webhook_kubeconfig: PathBuf,
}

impl Authenticator {
    /// Starts one for the cluster that tokens call `cluster_id`, with its files in `folder`; `aws` is where it asks who signed a
    /// token. Builds the program if need be. Start it before the cluster: [`controlplane::Options::with_token_webhook`].
    pub async fn start(aws: &Aws, cluster_id: &str, roles: &[RoleMapping], folder: &Path) -> Result<Self> {
        let program = provide_authenticator(&|line| report(line)).await?;
        let folder = folder.join(format!("authenticator-{cluster_id}"));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let (ca, config) = (folder.join("aws-ca.pem"), folder.join("config.json"));
        let webhook_kubeconfig = folder.join("webhook.kubeconfig");
        fs::write(&ca, aws.ca_pem())?;
        fs::write(&config, configuration(cluster_id, roles, &folder, &webhook_kubeconfig).to_string())?;
        let arguments = ["server".to_owned(), "--config".to_owned(), config.display().to_string()];
        let log = folder.join("authenticator.log");
        let process = Process::start_in(&environment(aws, &ca), &program, &arguments, log)?;
        let mut authenticator = Self { process, webhook_kubeconfig };
        let port = authenticator.port().await?;
        authenticator.write_port(&port)?;
        Ok(authenticator)
    }

    /// The kubeconfig by which an API server asks it.
    pub fn webhook_kubeconfig(&self) -> &Path {
        &self.webhook_kubeconfig
    }

    /// All that it has said so far: why it refused a token stands only there.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The port that the kernel gave it. Choosing one ourselves would be a race that somebody else wins now and then.
    async fn port(&mut self) -> Result<String> {
        let look = |process: &mut Process| process.check_running().map(|()| port_in(&process.log()));
        let listens = eventually("aws-iam-authenticator to listen", LISTENS_WITHIN, || ready(look(&mut self.process)));
        match listens.await {
            Ok(port) => Ok(port),
            Err(error) => Err(error.context(format!("no authenticator; {}", self.process.last_words()))),
        }
    }

    /// It has written the kubeconfig with the port that it was asked to listen on, which was "any".
    fn write_port(&self, port: &str) -> Result<()> {
        let text = fs::read_to_string(&self.webhook_kubeconfig).context("it wrote no kubeconfig")?;
        let text = text.replace("https://127.0.0.1:0/", &format!("https://127.0.0.1:{port}/"));
        fs::write(&self.webhook_kubeconfig, text)?;
        fs::set_permissions(&self.webhook_kubeconfig, Permissions::from_mode(0o600))?;
        Ok(())
    }
}

fn configuration(cluster_id: &str, roles: &[RoleMapping], folder: &Path, kubeconfig: &Path) -> Value {
    let roles = roles
        .iter()
        .map(|mapping| json!({"roleARN": mapping.role, "username": mapping.username, "groups": mapping.groups}));
    let mapped: Vec<Value> = roles.collect();
    let partition = mapped.first().and_then(|mapping| Arn::parse(mapping["roleARN"].as_str()?));
    json!({"clusterID": cluster_id, "server": {
        "partition": partition.map_or("aws".to_owned(), |arn| arn.partition),
        "hostname": "127.0.0.1",
        "address": "127.0.0.1",
        "port": 0,
        "stateDir": folder,
        "generateKubeconfig": kubeconfig,
        "backendMode": ["MountedFile"],
        "mapRoles": mapped,
    }})
}

/// Its way to AWS is our proxy. Nothing that happens to be set for the AWS of whoever runs this may reach it.
fn environment(aws: &Aws, ca: &Path) -> [(&'static str, String); 7] {
    [
        ("HTTPS_PROXY", aws.proxy_url()),
        ("NO_PROXY", String::new()),
        ("no_proxy", String::new()),
        ("SSL_CERT_FILE", ca.display().to_string()),
        ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
        ("AWS_CONFIG_FILE", "/dev/null".to_owned()),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null".to_owned()),
    ]
}

fn port_in(log: &str) -> Option<String> {
    let (_, rest) = log.split_once("listening on 127.0.0.1:")?;
    // Not before the line is whole.
    let (line, _) = rest.split_once('\n')?;
    Some(line.chars().take_while(char::is_ascii_digit).collect())
}

#[allow(clippy::print_stderr, reason = "a developer waits for minutes when programs are built and wants to know why")]
fn report(line: &str) {
    eprintln!("{line}");
}
