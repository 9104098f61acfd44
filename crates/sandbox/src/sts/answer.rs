//! Answers of STS: XML, or JSON for whoever asks for it (as aws-iam-authenticator does).

use serde_json::{Map, Value, json};

use super::Outcome;
use crate::answer::Answer;
use crate::random;
use crate::refusal::Refusal;
use crate::request::Request;

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// A part of an answer, for both notations.
#[derive(Clone, Debug)]
pub(super) struct Node {
    name: &'static str,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Text(String),
    Tree(Vec<Node>),
}

impl Node {
    pub(super) fn text(name: &'static str, text: &str) -> Self {
        Self { name, content: Content::Text(text.to_owned()) }
    }

    pub(super) fn tree(name: &'static str, nodes: Vec<Self>) -> Self {
        Self { name, content: Content::Tree(nodes) }
    }

    fn xml(&self) -> String {
        let content = match &self.content {
            Content::Text(text) => escape(text),
            Content::Tree(nodes) => nodes.iter().map(Self::xml).collect(),
        };
        format!("<{0}>{content}</{0}>", self.name)
    }
}

/// The document of what was done.
pub(crate) fn respond(request: &Request, outcome: &Outcome) -> Answer {
    let (operation, id) = (outcome.operation, random::uuid());
    if wants_json(request) {
        let document = json!({format!("{operation}Response"): {
            format!("{operation}Result"): object(&outcome.result),
            "ResponseMetadata": {"RequestId": id},
        }});
        return Answer::json(200, &document).with_request_id(&id);
    }
    let result: String = outcome.result.iter().map(Node::xml).collect();
    let document = format!(
        "<{operation}Response xmlns=\"{NAMESPACE}\"><{operation}Result>{result}</{operation}Result>\
         <ResponseMetadata><RequestId>{id}</RequestId></ResponseMetadata></{operation}Response>"
    );
    Answer::xml(200, document).with_request_id(&id)
}

/// The document of what was refused.
pub(crate) fn refuse(request: &Request, refusal: &Refusal) -> Answer {
    let Refusal { status, code, message } = refusal;
    let (id, fault) = (random::uuid(), if *status < 500 { "Sender" } else { "Receiver" });
    if wants_json(request) {
        let document = json!({"Error": {"Code": code, "Message": message, "Type": fault}, "RequestId": id});
        return Answer::json(*status, &document).with_request_id(&id);
    }
    let document = format!(
        "<ErrorResponse xmlns=\"{NAMESPACE}\"><Error><Type>{fault}</Type><Code>{}</Code><Message>{}</Message></Error>\
         <RequestId>{id}</RequestId></ErrorResponse>",
        escape(code),
        escape(message)
    );
    Answer::xml(*status, document).with_request_id(&id)
}

fn object(nodes: &[Node]) -> Value {
    let value = |node: &Node| match &node.content {
        Content::Text(text) => Value::String(text.clone()),
        Content::Tree(nodes) => object(nodes),
    };
    Value::Object(nodes.iter().map(|node| (node.name.to_owned(), value(node))).collect::<Map<_, _>>())
}

fn wants_json(request: &Request) -> bool {
    request.header("accept").is_some_and(|accept| accept.contains("application/json"))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
