//! Linters that know AWS, as programs.

use super::moto::{installed, run};
use controlplane::Scratch;
use serde_json::Value;
use std::process::{Command, Output};

/// What parliament has to say about a policy.
pub fn parliament(policy: &Value) -> String {
    let text = policy.to_string();
    let output = run(Command::new(installed("TEST_PARLIAMENT")).args(["--json", "--string", &text]));
    found(output)
}

/// What cfn-lint has to say about a template, down to mere information.
pub fn cfn_lint(template: &str) -> String {
    let folder = Scratch::new("cfn-lint").unwrap();
    let file = folder.path().join("template.yaml");
    std::fs::write(&file, template).unwrap();
    // In a region where a condition never holds, what depends on it is not looked at. Without `strict`, `on` is a text.
    let strict = ["--include-checks", "I", "--configure-rule", "E3012:strict=true"];
    let regions = ["--regions", "eu-west-1", "us-east-1", "cn-north-1", "--"];
    found(run(Command::new(installed("TEST_CFN_LINT")).args(strict).args(regions).arg(file)))
}

/// What was found; both say by their exit code whether there is something.
fn found(output: Output) -> String {
    let told = String::from_utf8(output.stdout).unwrap();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), told.is_empty(), "{}: {told}\n{failed}", output.status);
    told
}
