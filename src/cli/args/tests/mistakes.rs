use super::*;

#[test]
fn a_wrong_value_is_told_with_its_flag_and_what_is_allowed() {
    let table = [
        ("run --deletion-delay soon", "'soon' for '--deletion-delay", "a duration such as 300ms, 30s or 1h30m"),
        ("run --deletion-delay=-1s", "--deletion-delay", "a duration such as"),
        ("run --deletion-delay 721h", "--deletion-delay", "at most 30 days"),
        ("run --max-deletions -1", "'-1' for '--max-deletions", "a whole number from 0"),
        ("run --max-unwitnessed-deletions 1.5", "--max-unwitnessed-deletions", "a whole number from 0"),
        ("run --max-unwitnessed-followers many", "--max-unwitnessed-followers", "a whole number from 0"),
        ("run --qps -1", "--qps", "a number above 0"),
        ("run --qps nan", "--qps", "a number above 0"),
        ("run --qps 0", "--qps", "a number above 0"),
        ("run --burst 0", "--burst", "a whole number above 0"),
        ("run --source-namespaces web-*", "--source-namespaces", "without wildcards"),
        ("run --source-namespaces=", "--source-namespaces", "name of a namespace"),
        ("run --source-namespaces a,,b", "--source-namespaces", "name of a namespace"),
        ("run --config-source-namespace A_B", "--config-source-namespace", "name of a namespace"),
        ("run --namespace UP", "--namespace", "name of a namespace"),
        ("run --protected-namespaces=", "--protected-namespaces", "name of a namespace"),
        ("run --target-namespaces=", "--target-namespaces", "at least one name or glob"),
        ("run --target-namespaces ,", "--target-namespaces", "at least one name or glob"),
        ("run --only-followers !a", "--only-followers", "add `*`"),
        ("run --exclude-metadata !", "--exclude-metadata", "after each `!`"),
        ("run --allow-types Opaque", "--allow-types", "bootstrap.kubernetes.io/token and helm.sh/release.v1"),
        ("run --allow-types kubernetes.io/service-account-token", "--allow-types", "never copied"),
        ("run --adopt-kubed always", "--adopt-kubed", "by-uid, by-name"),
        ("run --local-sync=maybe", "--local-sync", "'maybe'"),
        ("run --listen 8080", "--listen", "0.0.0.0:8080"),
        ("run --listen localhost:8080", "--listen", "an IP address and a port"),
        ("run --log inof", "--log", "off, error, warn, info, debug, trace"),
        ("run --log towline=inof", "--log", "MODULE=LEVEL"),
        ("run --log-format xml", "--log-format", "plain, json"),
        ("run --deletion-dely 1s", "--deletion-dely", "--deletion-delay"),
        ("plan --output yaml", "--output", "table, json"),
        ("plan --timeout 0s", "--timeout", "above 0"),
        ("deletions approve", "<DIGEST>", "required"),
        ("deletions approve abc", "'abc'", "16 hex digits"),
        ("deletions list --address tow:8080", "--address", "http://127.0.0.1:8080"),
        ("deletions list --address https://tow", "--address", "http://127.0.0.1:8080"),
        ("deletions list --address http://u:p@tow", "--address", "http://127.0.0.1:8080"),
        ("copy", "'copy'", "Usage: towline"),
    ];
    for (line, flag, allowed) in table {
        let error = mistake(line);
        assert!(error.starts_with("error: ") && error.contains(flag) && error.contains(allowed), "{line}: {error}");
    }
}

#[test]
fn contradictions_are_told_with_what_to_leave_out() {
    let table = [
        (
            "run --source-namespaces a,b --config-source-namespace c",
            "--source-namespaces (a, b) and --config-source-namespace (c) contradict each other",
        ),
        (
            "run --copy-all-metadata --exclude-metadata team",
            "--copy-all-metadata and --exclude-metadata contradict each other",
        ),
        ("run --local-sync=false", "there is nowhere to copy to: give --kubeconfig-file or --followers-file, or"),
        ("plan --local-sync=false --kubeconfig-file=", "there is nowhere to copy to"),
        ("run --only-followers dev-*", "--only-followers needs --kubeconfig-file or --followers-file"),
    ];
    for (line, message) in table {
        let error = mistake(line);
        assert!(error.starts_with(&format!("error: {message}")), "{line}: {error}");
        assert_eq!(error.lines().count(), 1, "{line}: {error}");
    }
    assert!(task("run --copy-all-metadata=false --exclude-metadata team").is_ok());
}

#[test]
fn a_typo_in_the_policy_file_is_placed() {
    let policy = Scratch::new("typo.yaml", b"accept:\n- from: {namespaces: [certs]}\n  too: same\n");
    let error = mistake(&format!("run --policy-file {}", policy.display()));
    let expected = format!("error: {}:3:3: unknown key `too`: allowed is from, to,", policy.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_policy_file_that_is_none_is_told_without_what_it_holds() {
    let missing = std::env::temp_dir().join("towline-no-such-policy.yaml");
    let error = mistake(&format!("run --policy-file {}", missing.display()));
    assert!(error.contains("--policy-file") && error.contains("not found"), "{error}");
    let secret = Scratch::new("secret.yaml", b"data:\n  tls.key: czNjcmV0\n");
    let error = mistake(&format!("run --policy-file {}", secret.display()));
    assert!(error.contains("unknown key `data`") && !error.contains("czNjcmV0"), "{error}");
    let binary = Scratch::new("binary.yaml", &[0xff, 0xfe, 0x00]);
    let error = mistake(&format!("run --policy-file {}", binary.display()));
    assert!(error.contains("--policy-file"), "{error}");
    let big = Scratch::new("big.yaml", &vec![b'#'; (1 << 20) + 1]);
    let error = mistake(&format!("run --policy-file {}", big.display()));
    assert!(error.contains("more than 1 MiB"), "{error}");
}
