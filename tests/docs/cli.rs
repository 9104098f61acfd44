//! What the program takes, as its own help says.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

/// Each command, such as `manifests iam`, and its flags.
pub struct Cli(BTreeMap<String, BTreeSet<String>>);

impl Cli {
    /// Asks all commands for help.
    pub fn ask() -> Self {
        let mut cli = Self(BTreeMap::new());
        cli.ask_of(&[]);
        cli
    }

    fn ask_of(&mut self, path: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_towline")).args(path).arg("--help").env_clear().output().unwrap();
        assert!(output.status.success(), "{path:?}");
        let help = String::from_utf8(output.stdout).unwrap();
        let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let words = lines.flat_map(|line| line.split([' ', '=', '[', ','])).filter(|word| word.starts_with("--"));
        self.0.insert(path.join(" "), words.map(str::to_owned).collect());
        let commands = help.split_once("Commands:\n").map_or("", |(_, commands)| commands).split("\n\n").next();
        let indented = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
        for line in commands.unwrap_or_default().lines().filter(indented) {
            let name = line.split_whitespace().next().unwrap();
            if name != "help" {
                self.ask_of(&[path, &[name]].concat());
            }
        }
    }

    /// Whether a line, or code in a line, names only what there is. Lines for other programs are theirs.
    pub fn check(&self, typed: &str) -> Result<(), String> {
        let typed = typed.trim_start_matches("$ ").split(['#', '>', '|']).next().unwrap_or_default();
        self.check_variables(typed)?;
        let words = typed.trim_start_matches("args:").split([' ', '=', ',', '[', ']']).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        match words.first() {
            Some(&"towline") => self.check_command(&words[1..]),
            Some(&"run") if typed.contains("args:") => self.check_command(&words),
            Some(first) if first.starts_with("--") => {
                let all = self.0.values().flatten().map(String::as_str).collect();
                known(&all, &words)
            }
            _ => Ok(()),
        }
    }

    fn check_command(&self, words: &[&str]) -> Result<(), String> {
        let names = words.iter().take_while(|word| !word.starts_with('-'));
        let paths = (0..=names.count()).rev().map(|length| words[..length].join(" "));
        let found = paths.filter(|path| !path.is_empty()).find_map(|path| self.0.get(&path));
        match found {
            Some(flags) => known(&flags.iter().map(String::as_str).collect(), words),
            None if words.is_empty() => Ok(()),
            None => Err("no such command".to_owned()),
        }
    }

    /// A variable is the name of a flag.
    fn check_variables(&self, typed: &str) -> Result<(), String> {
        let all = self.0.values().flatten().map(String::as_str).collect();
        let words = typed.split(|c: char| !c.is_ascii_uppercase() && c != '_');
        let flags = words.filter_map(|word| word.strip_prefix("TOWLINE_"));
        let flags = flags.map(|name| format!("--{}", name.to_ascii_lowercase().replace('_', "-")));
        known(&all, &flags.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn known(flags: &BTreeSet<&str>, words: &[&str]) -> Result<(), String> {
    match words.iter().find(|word| word.starts_with("--") && !flags.contains(**word)) {
        Some(word) => Err(format!("no such flag: {word}")),
        None => Ok(()),
    }
}
