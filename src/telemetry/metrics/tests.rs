use super::*;

fn lines(metrics: &Metrics) -> Vec<String> {
    metrics.render().lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn about<'a>(lines: &'a [String], name: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.strip_prefix(name)).collect()
}

fn told() -> Metrics {
    let metrics = Metrics::new();
    let (account, region, cluster) = ("111122223333".to_owned(), "eu-west-1".to_owned(), "prod".to_owned());
    let kubernetes_version = "1.36".to_owned();
    let info = FollowerInfo { provider: "followers-file", account, region, cluster, kubernetes_version };
    metrics.follower_info("blue", info);
    metrics.up("blue", true);
    metrics.contact("blue", 1_700_000_000.5);
    metrics.oldest_pending("blue", Some(1_700_000_001.0));
    metrics.copies("blue", &[("InStep", 3), ("Conflict", 1)]);
    metrics.strays("blue", 2);
    metrics.wrote("blue", "Create", "Done");
    metrics.repaired("blue", "Edited");
    metrics.deletions("blue", 4, 5);
    metrics.request("blue", "get", None, Duration::from_millis(1));
    metrics.propagated(Duration::from_millis(33));
    metrics.sources(&[("Secret", "Ready", 7)]);
    metrics.source_certificate("certs", "wildcard", Some(1_800_000_000));
    metrics
}

#[test]
fn the_names_are_those_of_the_design() {
    let lines = lines(&told());
    for expected in [
        r#"towline_follower_info{follower="blue",provider="followers-file",account="111122223333",region="eu-west-1",cluster="prod",kubernetes_version="1.36"} 1.0"#,
        r#"towline_follower_up{follower="blue"} 1.0"#,
        r#"towline_follower_last_contact_timestamp_seconds{follower="blue"} 1700000000.5"#,
        r#"towline_follower_oldest_pending_timestamp_seconds{follower="blue"} 1700000001.0"#,
        r#"towline_copies{follower="blue",state="InStep"} 3.0"#,
        r#"towline_copies{follower="blue",state="Conflict"} 1.0"#,
        r#"towline_strays{follower="blue"} 2.0"#,
        r#"towline_writes_total{follower="blue",action="Create",result="Done"} 1"#,
        r#"towline_repairs_total{follower="blue",cause="Edited"} 1"#,
        r#"towline_deletions_pending{follower="blue"} 4.0"#,
        r#"towline_deletions_held{follower="blue"} 5.0"#,
        r#"towline_kube_requests_total{follower="blue",verb="get",code="none"} 1"#,
        r#"towline_kube_request_duration_seconds_count{verb="get"} 1"#,
        r#"towline_propagation_seconds_bucket{le="0.05"} 1"#,
        r#"towline_propagation_seconds_bucket{le="0.03"} 0"#,
        r#"towline_propagation_seconds_bucket{le="600.0"} 1"#,
        r#"towline_sources{kind="Secret",state="Ready"} 7.0"#,
        r#"towline_source_certificate_expiration_timestamp_seconds{namespace="certs",name="wildcard"} 1800000000.0"#,
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
    }
    assert_eq!(about(&lines, "towline_build_info{").len(), 1);
}

#[test]
fn the_text_ends_as_openmetrics_asks() {
    assert!(told().render().ends_with("# EOF\n"));
}

#[test]
fn a_follower_that_is_gone_leaves_no_series() {
    let metrics = told();
    metrics.up("green", false);
    metrics.forget_follower("blue");
    let lines = lines(&metrics);
    assert!(!lines.iter().any(|line| line.contains("blue")), "{lines:#?}");
    assert_eq!(about(&lines, "towline_follower_up"), [r#"{follower="green"} 0.0"#]);
}

#[test]
fn a_state_that_is_no_longer_told_counts_none() {
    let metrics = told();
    metrics.copies("blue", &[("InStep", 4)]);
    metrics.sources(&[("Secret", "Invalid", 1)]);
    let lines = lines(&metrics);
    let copies = [r#"{follower="blue",state="Conflict"} 0.0"#, r#"{follower="blue",state="InStep"} 4.0"#];
    assert_eq!(about(&lines, "towline_copies"), copies);
    let sources = [r#"{kind="Secret",state="Invalid"} 1.0"#, r#"{kind="Secret",state="Ready"} 0.0"#];
    assert_eq!(about(&lines, "towline_sources"), sources);
}

#[test]
fn nothing_pending_and_no_certificate_are_no_series() {
    let metrics = told();
    metrics.oldest_pending("blue", None);
    metrics.source_certificate("certs", "wildcard", None);
    let text = metrics.render();
    assert!(!text.contains("oldest_pending_timestamp_seconds{") && !text.contains("wildcard"), "{text}");
}

#[test]
fn a_name_cannot_write_series_of_its_own() {
    let metrics = Metrics::new();
    metrics.up("a\"} 1\nevil{x=\"", true);
    assert_eq!(about(&lines(&metrics), "towline_follower_up"), [r#"{follower="a\"} 1\nevil{x=\""} 1.0"#]);
}
