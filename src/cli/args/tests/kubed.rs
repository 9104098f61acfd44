use super::*;

/// What the chart kubed 0.13 renders, with everything that its values can turn on.
const CHART: [&str; 11] = [
    "run",
    "--v=3",
    "--secure-port=8443",
    "--audit-log-path=-",
    "--tls-cert-file=/var/serving-cert/tls.crt",
    "--tls-private-key-file=/var/serving-cert/tls.key",
    "--use-kubeapiserver-fqdn-for-aks=true",
    "--enable-analytics=false",
    "--cluster-name=mc-mgmt",
    "--config-source-namespace=prod",
    "--kubeconfig-file=/srv/kubed/kubeconfig",
];

#[test]
fn the_arguments_of_kubeds_deployment_work_unchanged() {
    let run = run_words(CHART);
    assert_eq!(run.job.identity.cluster_name.as_deref(), Some("mc-mgmt"));
    assert_eq!(run.job.followers.kubeconfig_file, Some("/srv/kubed/kubeconfig".into()));
    assert_eq!(run.job.sources.namespaces, SourceNamespaces::Only(namespaces(&["prod"])));
    assert_eq!((run.audit_log, run.rate, run.mode), (None, None, WriteMode::Live));
    let warning = "ignored, as Towline has no use for them: --audit-log-path, --enable-analytics, --secure-port, \
                   --tls-cert-file, --tls-private-key-file, --use-kubeapiserver-fqdn-for-aks, --v";
    assert_eq!(run.warnings, [warning]);
}

#[test]
fn a_chart_that_sets_nothing_renders_empty_values() {
    let run = run("run --cluster-name= --config-source-namespace= --kubeconfig-file=");
    assert_eq!((run.job.identity.cluster_name, run.job.followers.kubeconfig_file), (None, None));
    assert_eq!(run.job.sources.namespaces, SourceNamespaces::All);
    assert!(run.warnings.is_empty());
}

#[test]
fn flags_of_the_api_server_inside_kubed_are_taken_in_every_notation() {
    let lines = [
        "run -v 3",
        "run -v3",
        "run -v=3",
        "run --v 3 --v=4",
        "run --logtostderr --alsologtostderr=false --stderrthreshold=0 --vmodule=a=1 --log_dir /tmp",
        "run --enable-analytics --analytics=false --profiling=false",
        "run --resync-period 10m --scratch-dir=/tmp --clusterconfig=/srv/kubed/config.yaml",
        "run --authentication-kubeconfig=/k --authorization-kubeconfig /k --authentication-skip-lookup --cert-dir=/c",
        "run --audit-log-maxage=1 --audit-log-maxbackup=5 --audit-log-maxsize=100 --bind-address 0.0.0.0",
        "run --license-file=/l --license-apiservice=v1.a.b --tls-sni-cert-key a,b --tls-sni-cert-key c,d",
        "run --shutdown-delay-duration=-1s",
        "--use-kubeapiserver-fqdn-for-aks=false run",
        "--v=3 run --v=3",
    ];
    for line in lines {
        assert_eq!(run(line).warnings.len(), 1, "{line}");
    }
}

#[test]
fn a_switch_of_kubed_does_not_take_the_next_word() {
    let run = run("run --enable-analytics --cluster-name hub");
    assert_eq!(run.job.identity.cluster_name.as_deref(), Some("hub"));
}

#[test]
fn the_warning_names_each_flag_once() {
    let run = run("--v=1 run --v=2 --v=3");
    assert_eq!(run.warnings, ["ignored, as Towline has no use for them: --v"]);
}

#[test]
fn a_rate_limits_writes_only_if_given() {
    let rate = |line| run(line).rate;
    assert_eq!(rate("run"), None);
    assert_eq!(rate("run --qps=1e6 --burst=1000000"), Some(WriteRate { per_second: 1e6, burst: 1_000_000 }));
    assert_eq!(rate("run --qps 0.2"), Some(WriteRate { per_second: 0.2, burst: 1 }));
    assert_eq!(rate("run --qps 1e300"), Some(WriteRate { per_second: 1e300, burst: u32::MAX }));
    assert_eq!(rate("run --burst 5"), None);
    assert!(run("run --burst 5").warnings.iter().any(|text| text.contains("without --qps")));
}

#[test]
fn what_is_ignored_is_no_flag_of_towlines() {
    let run = Cli::command().find_subcommand("run").unwrap().clone();
    let hidden: Vec<_> = run.get_arguments().filter(|arg| arg.is_hide_set()).collect();
    assert!(hidden.len() > 80);
    for arg in hidden {
        assert_eq!(arg.get_env(), None, "{}", arg.get_id());
    }
}
