//! The parameters of a request, and the limits that STS sets them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::refusal::Refusal;
use crate::request::Request;

/// Parameters that are taken out one by one; what is left over in the end is not known here.
pub(super) struct Parameters(BTreeMap<String, String>);

/// What a text may be.
pub(super) struct Limits {
    pub(super) length: RangeInclusive<usize>,
    /// Beyond letters, digits and `_`.
    pub(super) characters: &'static str,
}

/// A `RoleSessionName` or `SourceIdentity`.
pub(super) const NAME: Limits = Limits { length: 2..=64, characters: "+=,.@-" };
pub(super) const EXTERNAL_ID: Limits = Limits { length: 2..=1224, characters: "+=,.@:/-" };
const ROLE_ARN: Limits = Limits { length: 20..=2048, characters: "+=,.@:/-" };
const DURATION: RangeInclusive<u64> = 900..=43_200;

impl Parameters {
    /// From the body of a POST or the query of a GET, without those of the signature.
    pub(super) fn read(request: &Request) -> Result<Self, Refusal> {
        let encoded = match request.method.as_str() {
            "POST" => request.body.as_ref(),
            _ => request.query.as_bytes(),
        };
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(encoded).filter(|(name, _)| !name.starts_with("X-Amz-")) {
            let name = name.into_owned();
            if parameters.contains_key(&name) {
                return Err(Refusal::new(400, "MalformedInput", format!("{name} is there twice")));
            }
            parameters.insert(name, value.into_owned());
        }
        Ok(Self(parameters))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    pub(super) fn require(&mut self, name: &str) -> Result<String, Refusal> {
        self.take(name).ok_or_else(|| violation(name, "Member must not be null"))
    }

    /// A text within limits, if it is there.
    pub(super) fn text(&mut self, name: &str, limits: &Limits) -> Result<Option<String>, Refusal> {
        self.take(name).map(|text| limits.check(name, text)).transpose()
    }

    pub(super) fn role_arn(&mut self) -> Result<String, Refusal> {
        let arn = self.require("RoleArn")?;
        ROLE_ARN.check("RoleArn", arn)
    }

    pub(super) fn session_name(&mut self) -> Result<String, Refusal> {
        let name = self.require("RoleSessionName")?;
        NAME.check("RoleSessionName", name)
    }

    pub(super) fn duration(&mut self) -> Result<Option<Duration>, Refusal> {
        let Some(text) = self.take("DurationSeconds") else { return Ok(None) };
        let seconds = text.parse().ok().filter(|seconds| DURATION.contains(seconds));
        let message = "Member must have value between 900 and 43200";
        seconds.map(|seconds| Some(Duration::from_secs(seconds))).ok_or_else(|| violation("DurationSeconds", message))
    }

    /// `Name.member.1`, `Name.member.2` and so on, each with these parts.
    pub(super) fn members<const N: usize>(
        &mut self,
        name: &str,
        parts: [&str; N],
    ) -> Result<Vec<[String; N]>, Refusal> {
        let mut members = Vec::new();
        loop {
            let number = members.len() + 1;
            let values = parts.map(|part| self.take(&format!("{name}.member.{number}{part}")));
            if values.iter().all(Option::is_none) {
                return Ok(members);
            }
            if values.iter().any(Option::is_none) {
                return Err(violation(name, "Member must not be null"));
            }
            members.push(values.map(Option::unwrap_or_default));
        }
    }

    /// Refuses what nobody took: a parameter without effect would be a test without meaning.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        match self.0.into_keys().next() {
            Some(name) => Err(Refusal::validation(format!("This stand-in does not know the parameter {name}"))),
            None => Ok(()),
        }
    }
}

impl Limits {
    pub(super) fn check(&self, name: &str, text: String) -> Result<String, Refusal> {
        let length = text.chars().count();
        if length < *self.length.start() {
            let least = self.length.start();
            return Err(violation(name, &format!("Member must have length greater than or equal to {least}")));
        }
        if length > *self.length.end() {
            let most = self.length.end();
            return Err(violation(name, &format!("Member must have length less than or equal to {most}")));
        }
        let fits = |character: char| {
            character.is_ascii_alphanumeric() || character == '_' || self.characters.contains(character)
        };
        if !text.chars().all(fits) {
            let pattern = format!("Member must satisfy regular expression pattern: [\\w{}]*", self.characters);
            return Err(violation(name, &pattern));
        }
        Ok(text)
    }
}

/// As AWS says it; the value is left out, as it may be a secret.
fn violation(name: &str, constraint: &str) -> Refusal {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    Refusal::validation(format!(
        "1 validation error detected: Value at '{name}' failed to satisfy constraint: {constraint}"
    ))
}
