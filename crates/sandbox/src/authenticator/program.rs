//! Where the program comes from: built once from its Go module, then kept beside the programs of the control planes.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use controlplane::binaries::GoProgram;

/// The version that is built.
pub const AUTHENTICATOR_VERSION: &str = "v0.7.2";

/// Names a ready program, and wins.
const VARIABLE: &str = "TOWLINE_AWS_IAM_AUTHENTICATOR";

const AUTHENTICATOR: GoProgram = GoProgram {
    name: "aws-iam-authenticator-v0.7.2",
    module: &[
        ("go.mod", include_str!("../../authenticator/go.mod")),
        ("go.sum", include_str!("../../authenticator/go.sum")),
        ("tools.go", include_str!("../../authenticator/tools.go")),
    ],
    package: "sigs.k8s.io/aws-iam-authenticator/cmd/aws-iam-authenticator",
    version: ("sigs.k8s.io/aws-iam-authenticator/pkg.Version", AUTHENTICATOR_VERSION),
    expectation: "about 3 minutes the first time",
    way_out: "set TOWLINE_AWS_IAM_AUTHENTICATOR to the path of the program",
};

/// The path of aws-iam-authenticator: what `TOWLINE_AWS_IAM_AUTHENTICATOR` names, or the one in the cache, which is built if it
/// is not there. `progress` is told what is going on then.
pub async fn provide_authenticator(progress: &(dyn Fn(&str) + Sync)) -> Result<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from) {
        Some(path) => {
            ensure!(path.is_file(), "{VARIABLE} names {}, which is not a file", path.display());
            Ok(path)
        }
        None => AUTHENTICATOR.find_or_build(progress).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_one_that_the_module_requires() {
        let text = AUTHENTICATOR.module[0].1;
        assert!(text.contains(&format!("require sigs.k8s.io/aws-iam-authenticator {AUTHENTICATOR_VERSION}\n")));
        assert!(AUTHENTICATOR.name.ends_with(AUTHENTICATOR_VERSION));
    }
}
