//! Reading the lines of an audit log.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::requests::Request;

/// What a log holds from some offset on.
pub(super) struct Contents {
    /// Requests that were received and answered, in the order of their answers.
    pub(super) answered: Vec<Request>,
    /// How many were received, but not answered.
    pub(super) open: usize,
}

/// Reads the log from `offset` on. Lines about requests that were received before it are left out.
pub(super) fn read(path: &Path, offset: u64) -> Result<Contents> {
    let mut pairing = Pairing::default();
    for line in complete_lines(&text(path, offset)?) {
        let line: Line = serde_json::from_str(line).with_context(|| format!("bad line in {}", path.display()))?;
        pairing.add(line);
    }
    Ok(Contents { answered: pairing.answered, open: pairing.open.len() })
}

/// A server that has not been asked anything has no log yet.
fn text(path: &Path, offset: u64) -> Result<String> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        file => file.with_context(|| format!("cannot open {}", path.display()))?,
    };
    file.seek(SeekFrom::Start(offset))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The last line may be half written.
fn complete_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').filter(|line| line.ends_with('\n'))
}

/// Requests whose first stage was seen and which wait for their answer.
#[derive(Default)]
struct Pairing {
    open: HashSet<String>,
    answered: Vec<Request>,
}

impl Pairing {
    fn add(&mut self, line: Line) {
        if line.stage == "RequestReceived" {
            self.open.insert(line.audit_id);
        } else if self.open.remove(&line.audit_id) {
            // A watch is logged again when it ends; by then it is no longer open, so it counts once.
            self.answered.push(line.into());
        }
    }
}

/// One line, in the words of `audit.k8s.io/v1`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Status,
    request_received_timestamp: String,
    stage_timestamp: String,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

impl From<Line> for Request {
    fn from(line: Line) -> Self {
        Self {
            stage: line.stage,
            verb: line.verb,
            uri: line.request_uri,
            resource: line.object_ref.resource,
            subresource: line.object_ref.subresource,
            namespace: line.object_ref.namespace,
            name: line.object_ref.name,
            user: line.user.username,
            user_agent: line.user_agent,
            code: line.response_status.code,
            received: line.request_received_timestamp,
            answered: line.stage_timestamp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, stage: &str, verb: &str) -> Line {
        let text = format!(
            r#"{{"auditID":"{id}","stage":"{stage}","verb":"{verb}","requestURI":"/api","user":{{}},
                "requestReceivedTimestamp":"","stageTimestamp":""}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_request_counts_once_and_only_if_it_was_received_after_the_mark() {
        let mut pairing = Pairing::default();
        pairing.add(line("before", "ResponseComplete", "get"));
        pairing.add(line("watch", "RequestReceived", "watch"));
        pairing.add(line("get", "RequestReceived", "get"));
        pairing.add(line("watch", "ResponseStarted", "watch"));
        pairing.add(line("watch", "ResponseComplete", "watch"));
        let verbs: Vec<_> = pairing.answered.iter().map(|request| request.verb.as_str()).collect();
        assert_eq!((verbs, pairing.open.len()), (vec!["watch"], 1));
    }

    #[test]
    fn a_half_written_line_waits() {
        assert_eq!(complete_lines("a\nb\nc").collect::<Vec<_>>(), ["a\n", "b\n"]);
    }
}
