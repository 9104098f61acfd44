//! Somebody who types what a document says, in front of two real control planes, the AWS CLI and moto.

use crate::moto::{AwsCli, installed, run};
use controlplane::{Cluster, Etcd, Options, Scratch};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

/// `aws`: moto does what it knows. What it does not know is checked by the CLI, word for word, and not sent; `deploy` has
/// no such check of its own, so its words are checked as those of `create-stack`.
const AWS: &str = r#"#!/bin/sh
set -eu
case "$*" in
*describe-cluster*) exec "$TEST_AWS" --endpoint-url "$MOTO" "$@" ;;
# Without an endpoint of its own, IAM needs no region.
*" iam "*) exec "$TEST_AWS" --endpoint-url "$MOTO" --region us-east-1 "$@" ;;
esac
for word; do
  shift
  case $word in
  deploy) word=create-stack ;;
  --template-file) word=--template-body ;;
  *.yaml) test -s "$word"; word=file://$word ;;
  esac
  set -- "$@" "$word"
done
exec "$TEST_AWS" "$@" --generate-cli-skeleton output
"#;
const PROFILES: &str = "[profile hub]\naws_access_key_id = a\naws_secret_access_key = b\n\
    [profile prod]\naws_access_key_id = c\naws_secret_access_key = d\n";

pub struct Stranger {
    mgmt: Cluster,
    prod: Cluster,
    _etcd: Etcd,
    cli: AwsCli,
    // Last, so that it goes last.
    folder: Scratch,
}

impl Stranger {
    /// With clusters `mgmt` and `prod`, which are the contexts of the kubeconfig, too.
    pub async fn arrive() -> Self {
        let folder = Scratch::new("stranger").unwrap();
        let etcd = Etcd::start(folder.path()).await.unwrap();
        let start = |name| Cluster::start(&etcd, folder.path(), name, Options::default());
        let (mgmt, prod) = tokio::try_join!(start("mgmt"), start("prod")).unwrap();
        let cli = AwsCli::start().await;
        let stranger = Self { mgmt, prod, _etcd: etcd, cli, folder };
        stranger.write("mgmt.kubeconfig", &stranger.mgmt.kubeconfig_admin());
        stranger.write("prod.kubeconfig", &stranger.prod.kubeconfig_admin());
        stranger.write("profiles", PROFILES);
        let bin = stranger.place("bin");
        fs::create_dir(&bin).unwrap();
        stranger.write("bin/aws", AWS);
        fs::set_permissions(bin.join("aws"), Permissions::from_mode(0o755)).unwrap();
        symlink(env!("CARGO_BIN_EXE_towline"), bin.join("towline")).unwrap();
        symlink(stranger.mgmt.kubectl_path(), bin.join("kubectl")).unwrap();
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy"), stranger.place("deploy")).unwrap();
        let cluster = ["eks", "create-cluster", "--name", "mgmt", "--resources-vpc-config", "{}", "--role-arn"];
        stranger.aws(&[&cluster[..], &["arn:aws:iam::123456789012:role/cluster"]].concat());
        stranger
    }

    /// Writes a file where commands are typed.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.place(name), text).unwrap();
    }

    /// Types all of it; stops at the first command that fails.
    pub fn types(&self, script: &str) {
        let output = run(Command::new("sh")
            .args(["-eu", "-c", script])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.place("bin").display()))
            .env("KUBECONFIG", format!("{0}/mgmt.kubeconfig:{0}/prod.kubeconfig", self.folder.path().display()))
            .env("HOME", self.folder.path())
            .env("AWS_CONFIG_FILE", self.place("profiles"))
            .env("TEST_AWS", installed("TEST_AWS"))
            .env("MOTO", &self.cli.endpoint));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Asks moto.
    pub fn aws(&self, words: &[&str]) -> String {
        self.cli.run(words).unwrap()
    }

    /// Asks a cluster.
    pub fn kubectl(&self, context: &str, line: &str) -> String {
        let kubeconfig = self.place(&format!("{context}.kubeconfig"));
        let mut kubectl = Command::new(self.mgmt.kubectl_path());
        let output = run(kubectl.arg("--kubeconfig").arg(kubeconfig).args(line.split(' ')));
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
