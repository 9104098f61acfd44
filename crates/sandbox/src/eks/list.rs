//! Pages of cluster names.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::world::Cluster;

const LARGEST: usize = 100;

/// Which page of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    size: usize,
    /// The name after which it begins.
    after: Option<String>,
    include: Include,
}

/// Whether connected clusters are listed, too.
#[derive(Debug, PartialEq, Eq)]
enum Include {
    Own,
    All,
}

impl Page {
    pub(super) fn read(query: &str) -> Result<Self, Refusal> {
        let mut page = Self { size: LARGEST, after: None, include: Include::Own };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match (name.as_ref(), value.as_ref()) {
                ("maxResults", size) => page.size = read_size(size)?,
                ("nextToken", token) => page.after = Some(read_token(token)?),
                ("include", "all") => page.include = Include::All,
                (name, _) if name.starts_with("X-Amz-") => {}
                (name, _) => return Err(invalid(&format!("This stand-in does not know {name} of that value"))),
            }
        }
        Ok(page)
    }

    /// The page as a document. `clusters` are in order of names.
    pub(super) fn of<'a>(&self, clusters: impl Iterator<Item = &'a Cluster>) -> Result<Value, Refusal> {
        let mut names = clusters
            .filter(|cluster| self.include == Include::All || cluster.connector_provider.is_none())
            .map(|cluster| cluster.name.as_str())
            .filter(|name| self.after.as_deref().is_none_or(|after| *name > after));
        let page: Vec<&str> = names.by_ref().take(self.size).collect();
        let next = names.next().and(page.last()).map(|last| BASE64.encode(last));
        Ok(json!({"clusters": page, "nextToken": next}))
    }
}

fn read_size(text: &str) -> Result<usize, Refusal> {
    text.parse().ok().filter(|size| (1..=LARGEST).contains(size)).ok_or_else(|| invalid("maxResults is from 1 to 100"))
}

fn read_token(text: &str) -> Result<String, Refusal> {
    let name = BASE64.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| invalid("Invalid nextToken"))
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(400, "InvalidParameterException", message)
}
