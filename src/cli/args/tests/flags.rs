use super::*;
use crate::mirror::{request::KubedMarks, state::AdoptBy};

#[test]
fn run_without_flags_serves_the_cluster_it_finds() {
    let run = run("run");
    let job = run.job;
    assert_eq!(job.hub, Hub::default());
    let identity = Identity { cluster_name: None, namespace: "towline".into(), instance: "towline".to_owned() };
    assert_eq!(job.identity, identity);
    assert_eq!(job.sources.namespaces, SourceNamespaces::All);
    assert_eq!((job.followers.kubeconfig_file, job.followers.followers_file), (None, None));
    assert!(job.followers.local_sync && job.followers.only.is_none() && job.followers.target_namespaces.is_none());
    assert!(job.followers.policy.base_routes && job.followers.policy.accept.is_empty());
    let protected = namespaces(&["kube-system", "kube-public", "kube-node-lease", "towline"]);
    assert_eq!(*job.followers.protected, protected);
    assert_eq!((job.adoption, job.kubed_marks), (AdoptBy::Uid, KubedMarks::Remove));
    assert_eq!((run.rate, run.mode, run.audit_log), (None, WriteMode::Live, None));
    assert_eq!(run.listen, "0.0.0.0:8080".parse().unwrap());
    assert_eq!(run.logging, Logging { filter: "info".to_owned(), format: LogFormat::Plain });
    assert!(run.warnings.is_empty());
}

#[test]
fn every_flag_of_run_arrives() {
    let policy = Scratch::new("arrives.yaml", b"baseRoutes: false\n");
    let line = format!(
        "run --kubeconfig hub.yaml --context hub --cluster-name mgmt --namespace ops --instance east \
         --source-namespaces certs,shared --allow-types helm.sh/release.v1 --exclude-metadata team \
         --include-metadata helm.sh/* --kubeconfig-file fleet.yaml --followers-file eks.yaml --only-followers dev-*,!dev-old --local-sync=false \
         --target-namespaces web,ingress --policy-file {} --protected-namespaces kube-system,vault \
         --deletion-delay 1h30m --max-deletions 0 --max-unwitnessed-deletions 3 --max-unwitnessed-followers 4 \
         --adopt-kubed by-name --keep-kubed-marks --qps 2.5 --dry-run --listen [::1]:9000 \
         --log warn,towline::cluster=debug --log-format json --audit-log -",
        policy.display()
    );
    let run = run(&line);
    let job = run.job;
    assert_eq!(job.hub, Hub { kubeconfig: Some("hub.yaml".into()), context: Some("hub".to_owned()) });
    assert_eq!(job.identity.cluster_name.as_deref(), Some("mgmt"));
    assert_eq!((job.identity.namespace.as_str(), job.identity.instance.as_str()), ("ops", "east"));
    assert_eq!(job.sources.namespaces, SourceNamespaces::Only(namespaces(&["certs", "shared"])));
    assert_eq!(*job.sources.allowed_types, ["helm.sh/release.v1"]);
    assert!(!job.sources.metadata.carries_label("team") && job.sources.metadata.carries_label("helm.sh/chart"));
    assert_eq!(job.followers.kubeconfig_file, Some("fleet.yaml".into()));
    assert_eq!(job.followers.followers_file, Some("eks.yaml".into()));
    let only = job.followers.only.unwrap();
    assert!(only.matches("dev-1") && !only.matches("dev-old") && !only.matches("prod"));
    assert!(!job.followers.local_sync);
    assert!(job.followers.target_namespaces.unwrap().is_literal_only());
    assert!(!job.followers.policy.base_routes);
    assert_eq!(*job.followers.protected, namespaces(&["kube-system", "vault"]));
    assert_eq!(job.guard.limits.delay, Duration::from_secs(5_400));
    let guard = (job.guard.limits.max_sources, job.guard.limits.max_unwitnessed, job.guard.max_unwitnessed_followers);
    assert_eq!(guard, (0, 3, 4));
    assert_eq!((job.adoption, job.kubed_marks), (AdoptBy::Name, KubedMarks::Keep));
    assert_eq!(run.rate, Some(WriteRate { per_second: 2.5, burst: 3 }));
    assert_eq!((run.mode, run.listen), (WriteMode::DryRun, "[::1]:9000".parse().unwrap()));
    assert_eq!(run.logging, Logging { filter: "warn,towline::cluster=debug".to_owned(), format: LogFormat::Json });
    assert_eq!(run.audit_log, Some(AuditLog::StandardOutput));
    assert!(run.warnings.is_empty(), "{:?}", run.warnings);
}

#[test]
fn towlines_namespace_is_found_where_it_runs() {
    let around = |pod: &str, account: &str| Surroundings {
        pod_namespace: Some(pod.to_owned()),
        service_account_namespace: Some(account.to_owned()),
    };
    let table = [
        ("run", nowhere(), "towline"),
        ("run", around("", "account\n"), "account"),
        ("run", around("pod", "account"), "pod"),
        ("run --namespace flag", around("pod", "account"), "flag"),
    ];
    for (line, around, expected) in table {
        let cli = Cli::try_parse_from(std::iter::once("towline").chain(line.split(' '))).unwrap();
        let Ok(Task::Run(run)) = cli.check(&around) else { panic!("{line}") };
        assert_eq!((run.job.identity.namespace.as_str(), run.job.identity.instance.as_str()), (expected, expected));
        assert!(run.job.followers.protected.contains(expected), "{expected}");
    }
    let cli = Cli::try_parse_from(["towline", "run"]).unwrap();
    let error = cli.check(&around("Not A Name", "")).unwrap_err();
    assert!(error.to_string().starts_with("POD_NAMESPACE: allowed is"), "{error}");
}

#[test]
fn the_two_names_of_source_namespaces_agree() {
    let only = |names: &[&str]| SourceNamespaces::Only(namespaces(names));
    let table = [
        ("run --config-source-namespace=", SourceNamespaces::All),
        ("run --config-source-namespace=prod", only(&["prod"])),
        ("run --source-namespaces b,a --source-namespaces c", only(&["a", "b", "c"])),
        ("run --source-namespaces prod --config-source-namespace prod", only(&["prod"])),
        ("run --source-namespaces a,b --config-source-namespace=", only(&["a", "b"])),
    ];
    for (line, expected) in table {
        assert_eq!(run(line).job.sources.namespaces, expected, "{line}");
    }
}

#[test]
fn lists_may_have_blanks() {
    let words = ["run", "--source-namespaces", "a, b", "--target-namespaces", "*, !kube-*"];
    let job = run_words(words).job;
    assert_eq!(job.sources.namespaces, SourceNamespaces::Only(namespaces(&["a", "b"])));
    let targets = job.followers.target_namespaces.unwrap();
    assert!(targets.matches("web") && !targets.matches("kube-system"));
}

#[test]
fn switches_are_written_as_in_go_and_the_last_one_counts() {
    let mode = |line| run(line).mode;
    assert_eq!(mode("run --dry-run"), WriteMode::DryRun);
    assert_eq!(mode("run --dry-run=true"), WriteMode::DryRun);
    assert_eq!(mode("run --dry-run=false"), WriteMode::Live);
    assert_eq!(mode("run --dry-run --dry-run=no"), WriteMode::Live);
    assert_eq!(run("run --deletion-delay 1s --deletion-delay 2s").job.guard.limits.delay, Duration::from_secs(2));
}

#[test]
fn addresses_are_written_as_in_go_too() {
    assert_eq!(run("run --listen :9090").listen, "0.0.0.0:9090".parse().unwrap());
    assert_eq!(run("run --listen 127.0.0.1:0").listen, "127.0.0.1:0".parse().unwrap());
}

#[test]
fn an_audit_log_is_a_file_or_standard_output() {
    assert_eq!(run("run --audit-log=-").audit_log, Some(AuditLog::StandardOutput));
    assert_eq!(run("run --audit-log /a/b").audit_log, Some(AuditLog::File("/a/b".into())));
}

#[test]
fn unprotecting_kube_system_is_told() {
    let run = run("run --protected-namespaces vault");
    assert_eq!(*run.job.followers.protected, namespaces(&["vault"]));
    assert!(run.warnings.iter().any(|text| text.contains("does not name kube-system")), "{:?}", run.warnings);
}

#[test]
fn plan_takes_what_run_takes() {
    let plan = |line| match task(line) {
        Ok(Task::Plan(plan)) => *plan,
        Ok(_) | Err(_) => panic!("{line}"),
    };
    let short = plan("plan");
    assert_eq!((short.output, short.timeout), (Output::Table, Duration::from_secs(30)));
    let long =
        plan("plan -o json --timeout 5s --only-followers dev-* --kubeconfig-file f --qps 5 --v=3 --cluster-name c");
    assert_eq!((long.output, long.timeout), (Output::Json, Duration::from_secs(5)));
    assert_eq!(long.job.identity.cluster_name.as_deref(), Some("c"));
    assert!(long.job.followers.only.unwrap().matches("dev-1"));
    assert_eq!(long.warnings.len(), 1);
}

#[test]
fn deletions_are_listed_and_approved() {
    let Ok(Task::Deletions(Deletions::List(list))) = task("deletions list -o json --address http://tow:80/") else {
        panic!()
    };
    assert_eq!((list.address.as_str(), list.output), ("http://tow:80", Output::Json));
    let line = "deletions approve 0123456789ABCDEF fedcba9876543210 --context hub --namespace ops";
    let Ok(Task::Deletions(Deletions::Approve(approve))) = task(line) else { panic!() };
    let digests: Vec<_> = approve.digests.iter().map(BatchDigest::as_str).collect();
    assert_eq!(digests, ["0123456789abcdef", "fedcba9876543210"]);
    assert_eq!(approve.address.as_str(), "http://127.0.0.1:8080");
    assert_eq!((approve.hub.context.as_deref(), approve.namespace.as_str()), (Some("hub"), "ops"));
}

#[test]
fn a_file_of_followers_is_enough_for_run_and_plan() {
    for command in ["run", "plan"] {
        let line = format!("{command} --followers-file eks.yaml --only-followers dev-* --local-sync=false");
        let job = match task(&line).unwrap() {
            Task::Run(run) => run.job,
            Task::Plan(plan) => plan.job,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!((job.followers.kubeconfig_file, job.followers.followers_file), (None, Some("eks.yaml".into())));
        assert!(job.followers.only.unwrap().matches("dev-1"));
    }
}
