//! What `towline manifests iam` prints, loaded into the stand-in.

use sandbox::{Role, World};
use serde_json::Value;
use std::process::Command;

/// Roles and access, as printed for these flags.
pub fn bundle(flags: &[&str]) -> Value {
    serde_json::from_str(&print(flags)).unwrap()
}

/// The rights of the group.
pub fn rbac() -> String {
    print(&["--hub-account", "111111111111", "--follower", "222222222222/eu-central-1/blue", "--part", "rbac"])
}

/// Adds the roles, each with just the policies printed for it.
pub fn load(bundle: &Value, world: &mut World) {
    for role in roles(bundle) {
        let made = Role::new(role["arn"].as_str().unwrap(), &role["trustPolicy"]).unwrap();
        let policies = role["policies"].as_object().unwrap().values();
        world.add_role(policies.fold(made, |role, policy| role.with_policy(policy).unwrap()));
    }
}

fn roles(bundle: &Value) -> impl Iterator<Item = &Value> {
    std::iter::once(&bundle["hub"]).chain(bundle["followers"].as_array().unwrap())
}

fn print(flags: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_towline"))
        .env_clear()
        .args(["manifests", "iam"])
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
