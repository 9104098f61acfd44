use super::*;
use crate::api::{duration, names::Namespace};
use clap::{Arg, ArgAction};
use std::{collections::BTreeSet, path::PathBuf, time::Duration};

mod flags;
mod followers;
mod kubed;
mod manifests;
mod mistakes;
mod token;

/// Outside a pod.
fn nowhere() -> Surroundings {
    Surroundings::default()
}

fn task(line: &str) -> Result<Task, clap::Error> {
    read_words(line.split_whitespace())
}

fn read_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Task, clap::Error> {
    // Not `read`: the variables of whoever runs the tests are none of their business.
    let command = refine(Cli::command(), &|arg| arg.env(None));
    let matches = command.try_get_matches_from(std::iter::once("towline").chain(words))?;
    let cli = Cli::from_arg_matches(&matches)?;
    cli.check(&nowhere()).map_err(as_usage)
}

fn run_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Run {
    match read_words(words) {
        Ok(Task::Run(run)) => *run,
        Ok(other) => panic!("not run: {}", name(&other)),
        Err(error) => panic!("{error}"),
    }
}

fn run(line: &str) -> Run {
    run_words(line.split_whitespace())
}

fn name(task: &Task) -> &'static str {
    match task {
        Task::Run(_) => "run",
        Task::Plan(_) => "plan",
        Task::Check(_) => "check",
        Task::Deletions(_) => "deletions",
        Task::Token(_) => "token",
        Task::Kubeconfig(_) => "kubeconfig",
        Task::Manifests(_) => "manifests",
    }
}

fn mistake(line: &str) -> String {
    match task(line) {
        Ok(task) => panic!("{line} is taken as {}", name(&task)),
        Err(error) => {
            assert_eq!(error.exit_code(), 2, "{line}");
            error.to_string()
        }
    }
}

fn namespaces(names: &[&str]) -> BTreeSet<Namespace> {
    names.iter().copied().map(Namespace::from).collect()
}

/// Every command with its path, the root first.
fn commands() -> Vec<(String, clap::Command)> {
    fn below(path: &str, command: &clap::Command, all: &mut Vec<(String, clap::Command)>) {
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let path = format!("{path} {}", command.get_name());
            all.push((path.clone(), command.clone()));
            below(&path, command, all);
        }
    }
    let root = Cli::command();
    let mut all = vec![("towline".to_owned(), root.clone())];
    below("towline", &root, &mut all);
    all
}

fn flags(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| {
        let prints = matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::Version);
        !arg.is_hide_set() && !prints
    })
}

#[test]
fn the_grammar_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_flag_has_a_short_help_line_and_a_variable_of_its_name() {
    for (path, command) in commands() {
        for flag in flags(&command) {
            let name = flag.get_id();
            let help = flag.get_help().unwrap_or_default().to_string();
            assert!((10..=100).contains(&help.len()), "{path} {name}: {help}");
            assert!(!help.ends_with('.') && !help.contains('\n'), "{path} {name}: {help}");
            let Some(long) = flag.get_long() else { continue };
            // What stands in a kubeconfig means the same in every environment; and TOWLINE_OUTPUT is a format, not a file.
            if path == "towline token" || (path == "towline kubeconfig" && long == "output") {
                assert_eq!(flag.get_env(), None, "{name}");
                continue;
            }
            let variable = format!("TOWLINE_{}", long.to_uppercase().replace('-', "_"));
            assert_eq!(flag.get_env(), Some(OsStr::new(&variable)), "{path} {name}");
        }
    }
}

/// Kubernetes puts TOWLINE_PORT and the like into every pod of a namespace with a Service called towline.
#[test]
fn no_variable_is_one_that_kubernetes_sets_for_a_service() {
    for (path, command) in commands() {
        for variable in flags(&command).filter_map(Arg::get_env).filter_map(OsStr::to_str) {
            let of_service = ["_PORT", "_HOST", "_TCP", "_UDP", "_ADDR", "_PROTO"];
            assert!(!of_service.iter().any(|end| variable.ends_with(end)), "{path}: {variable}");
        }
    }
}

#[test]
fn every_flag_of_run_and_plan_stands_under_a_heading() {
    for (path, command) in commands().into_iter().filter(|(path, _)| path.ends_with("run") || path.ends_with("plan")) {
        for flag in flags(&command) {
            assert!(flag.get_help_heading().is_some(), "{path} {}", flag.get_id());
        }
    }
}

#[test]
fn help_is_printed_for_every_command_and_fits_a_screen_of_100_columns() {
    for (path, _) in commands() {
        for flag in ["-h", "--help"] {
            let words = path.split(' ').skip(1).chain([flag]);
            let error = read_words(words).unwrap_err();
            assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayHelp, 0), "{path}");
            let text = error.to_string();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("kubectl")) {
                assert!(line.chars().count() <= 110, "{path}: {line}");
            }
            assert!(!text.contains("audit-log-path"), "{path} shows flags that mean nothing");
        }
    }
}

#[test]
fn a_variable_is_read_like_its_flag_and_an_empty_one_is_not_set() {
    let set = |name: &'static str, value: &'static str| {
        move |asked: &OsStr| (asked == OsStr::new(name)).then(|| OsString::from(value))
    };
    let has_variable = |environment: &dyn Fn(&OsStr) -> Option<OsString>| {
        let command = super::command(environment);
        let plan = command.find_subcommand("plan").unwrap();
        plan.get_arguments().find(|arg| arg.get_id() == "policy_file").unwrap().get_env().is_some()
    };
    assert!(has_variable(&set("TOWLINE_POLICY_FILE", "policy.yaml")));
    assert!(!has_variable(&set("TOWLINE_POLICY_FILE", "")));
    assert!(has_variable(&set("TOWLINE_OTHER", "")));
}

#[test]
fn without_a_command_the_help_is_shown_and_it_is_a_mistake() {
    let error = task("").unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("Usage: towline"), "{error}");
}

#[test]
fn the_version_is_printed() {
    let error = task("--version").unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), (ErrorKind::DisplayVersion, 0));
}

#[test]
fn defaults_are_those_of_the_limits_themselves() {
    let default = crate::mirror::deletion::Limits::default();
    let limits = run("run").job.guard.limits;
    assert_eq!(limits.delay, default.delay, "{}", duration::format(limits.delay));
    assert_eq!((limits.max_sources, limits.max_unwitnessed), (default.max_sources, default.max_unwitnessed));
    assert_eq!(limits.delay, Duration::from_secs(30));
    assert_eq!(run("run").job.guard.max_unwitnessed_followers, 10);
}

/// A file that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("towline-args-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    fn display(&self) -> impl std::fmt::Display {
        self.0.display()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}
