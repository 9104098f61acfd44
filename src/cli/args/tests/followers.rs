//! `check` and `kubeconfig`: commands about followers alone.

use super::*;

fn check(line: &str) -> Check {
    match task(line) {
        Ok(Task::Check(check)) => *check,
        Ok(other) => panic!("not check: {}", name(&other)),
        Err(error) => panic!("{error}"),
    }
}

fn kubeconfig(line: &str) -> Kubeconfig {
    match task(line) {
        Ok(Task::Kubeconfig(kubeconfig)) => *kubeconfig,
        Ok(other) => panic!("not kubeconfig: {}", name(&other)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn followers_are_chosen_by_what_stands_beside_the_flags() {
    let all = check("check --followers-file eks.yaml");
    assert!(all.chosen.has(&"any".into()) && all.output == Output::Table);
    let some = check("check prod dev-* --kubeconfig-file f -o json --target-namespaces a,b --qps 5");
    assert!(some.chosen.has(&"dev-1".into()) && !some.chosen.has(&"test".into()) && some.output == Output::Json);
    assert!(some.job.followers.target_namespaces.unwrap().is_literal_only());
}

#[test]
fn every_flag_of_kubeconfig_arrives() {
    let plain = kubeconfig("kubeconfig --kubeconfig-file f");
    assert_eq!((plain.output, plain.aws_tools), (None, AwsTools::Keep));
    let all = kubeconfig("kubeconfig prod --followers-file eks.yaml --output out --replace-exec");
    assert_eq!((all.output, all.aws_tools), (Some("out".into()), AwsTools::Replace));
    assert!(all.chosen.has(&"prod".into()) && !all.chosen.has(&"dev".into()));
}

#[test]
fn without_a_file_there_are_no_followers_to_speak_of() {
    for command in ["check", "kubeconfig"] {
        let told = mistake(command);
        assert!(told.contains("give --kubeconfig-file or --followers-file"), "{told}");
        let told = mistake(&format!("{command} !prod --kubeconfig-file f"));
        assert!(told.contains("FOLLOWER: allowed is"), "{told}");
    }
}

#[test]
fn only_the_flags_about_followers_are_shown() {
    for (path, command) in commands() {
        if !["towline check", "towline kubeconfig"].contains(&path.as_str()) {
            continue;
        }
        let shown: BTreeSet<&str> = flags(&command).filter_map(Arg::get_long).collect();
        assert!(shown.contains("followers-file") && shown.contains("aws-allow-node-role"), "{path}: {shown:?}");
        assert!(!shown.contains("deletion-delay") && !shown.contains("source-namespaces"), "{path}: {shown:?}");
    }
}
