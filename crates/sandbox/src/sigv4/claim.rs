//! Reading what a request says about its signature.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use percent_encoding::percent_decode_str;

use super::{ALGORITHM, Claim, Flaw, Form, Scope};
use crate::request::Request;

const TIME: &str = "%Y%m%dT%H%M%SZ";

/// The largest `X-Amz-Expires` that exists: a week.
const LONGEST: u32 = 7 * 24 * 60 * 60;

pub(super) fn read(request: &Request) -> Result<Claim, Flaw> {
    let claim = match request.header("authorization") {
        Some(authorization) => from_header(request, authorization)?,
        None if request.query.contains("X-Amz-") => from_query(&request.query)?,
        None => return Err(Flaw::Absent),
    };
    check_signed_headers(request, &claim)?;
    if !claim.amz_date.starts_with(&claim.scope.date) {
        return Err(incomplete(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP",
        ));
    }
    Ok(claim)
}

fn from_header(request: &Request, authorization: &str) -> Result<Claim, Flaw> {
    let (algorithm, rest) = authorization.split_once(' ').unwrap_or((authorization, ""));
    check_algorithm(algorithm)?;
    let parts: BTreeMap<&str, &str> = rest.split(',').filter_map(|part| part.trim().split_once('=')).collect();
    let part = |name: &str| {
        let message = || incomplete(&format!("Authorization header requires '{name}' parameter."));
        parts.get(name).copied().ok_or_else(message)
    };
    let amz_date = request.header("x-amz-date").ok_or_else(|| {
        incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    })?;
    let parts = Parts {
        credential: part("Credential")?,
        signed_headers: part("SignedHeaders")?,
        signature: part("Signature")?,
        amz_date,
    };
    parts.claim(Form::Header, request.header("x-amz-security-token"))
}

fn from_query(query: &str) -> Result<Claim, Flaw> {
    let mut parameters = BTreeMap::new();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = percent_decode_str(value).decode_utf8().map_err(|_| incomplete("a parameter is not UTF-8"))?;
        if parameters.insert(name, value).is_some() {
            return Err(incomplete(&format!("'{name}' is there twice.")));
        }
    }
    let parameter = |name: &str| {
        let message = || incomplete(&format!("AWS query-string parameters must include '{name}'."));
        parameters.get(name).map(AsRef::as_ref).ok_or_else(message)
    };
    check_algorithm(parameter("X-Amz-Algorithm")?)?;
    check_expires(parameter("X-Amz-Expires")?)?;
    let parts = Parts {
        credential: parameter("X-Amz-Credential")?,
        signed_headers: parameter("X-Amz-SignedHeaders")?,
        signature: parameter("X-Amz-Signature")?,
        amz_date: parameter("X-Amz-Date")?,
    };
    parts.claim(Form::Presigned, parameters.get("X-Amz-Security-Token").map(AsRef::as_ref))
}

/// What both forms have, as text.
struct Parts<'a> {
    credential: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
    amz_date: &'a str,
}

impl Parts<'_> {
    fn claim(&self, form: Form, session_token: Option<&str>) -> Result<Claim, Flaw> {
        let [access_key, date, region, service, "aws4_request"] = *self.credential.split('/').collect::<Vec<_>>()
        else {
            return Err(incomplete(
                "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term",
            ));
        };
        let (date, region, service) = (date.to_owned(), region.to_owned(), service.to_owned());
        Ok(Claim {
            access_key: access_key.to_owned(),
            session_token: session_token.map(ToOwned::to_owned),
            scope: Scope { date, region, service },
            time: parse_time(self.amz_date)?,
            amz_date: self.amz_date.to_owned(),
            signed_headers: self.signed_headers.split(';').map(ToOwned::to_owned).collect(),
            signature: self.signature.to_owned(),
            form,
        })
    }
}

/// Sorted lower-case names, among them the host and every `x-amz-*` header: what is not signed could have been added by
/// anybody on the way.
fn check_signed_headers(request: &Request, claim: &Claim) -> Result<(), Flaw> {
    let signed = &claim.signed_headers;
    if !signed.is_sorted() || signed.iter().any(|name| name.chars().any(|character| character.is_ascii_uppercase())) {
        return Err(incomplete("SignedHeaders must be sorted and in lower case."));
    }
    let needed = request.headers.iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("x-amz-"));
    for name in needed.chain(["host"]) {
        if !signed.iter().any(|header| header == name) {
            return Err(incomplete(&format!("'{name}' must be a 'SignedHeader' in the AWS Authorization.")));
        }
    }
    Ok(())
}

fn check_algorithm(algorithm: &str) -> Result<(), Flaw> {
    match algorithm {
        ALGORITHM => Ok(()),
        _ => Err(incomplete("Unsupported AWS 'algorithm'.")),
    }
}

fn check_expires(expires: &str) -> Result<(), Flaw> {
    match expires.parse() {
        Ok(1..=LONGEST) => Ok(()),
        _ => Err(incomplete("X-Amz-Expires must be between 1 and 604800.")),
    }
}

fn parse_time(text: &str) -> Result<Timestamp, Flaw> {
    let parsed = DateTime::strptime(TIME, text).and_then(|time| time.to_zoned(TimeZone::UTC));
    let time = parsed.map(|time| time.timestamp());
    // One spelling only: `strptime` takes fewer digits, too.
    time.ok()
        .filter(|time| format_time(*time) == text)
        .ok_or_else(|| incomplete("Date must be in ISO-8601 'basic format'."))
}

/// `20260102T030405Z`.
pub(super) fn format_time(time: Timestamp) -> String {
    time.strftime(TIME).to_string()
}

fn incomplete(message: &str) -> Flaw {
    Flaw::Incomplete(message.to_owned())
}
