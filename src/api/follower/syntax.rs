//! What the fields of a follower may hold. Answers say what is allowed, and never repeat what is there.

use super::connection::ProxyUrl;
use crate::api::{
    grammar::{is_dns_subdomain, is_label_key, is_label_value},
    names::{ClusterUid, FollowerName},
    yaml::Node,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{Uri, uri::Scheme};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{net::IpAddr, ops::RangeInclusive, sync::Arc};

type Checked<T> = Result<T, &'static str>;

const ROLE: &str = "a role's ARN of 20 to 2048 characters: arn:PARTITION:iam::12 digits of the account:role/NAME";

pub(super) fn name(text: &str) -> Checked<FollowerName> {
    let fits = !text.contains(',') && text.trim() == text && !text.chars().any(char::is_control);
    if text == FollowerName::local().as_str() {
        return Err("any name but @local, which is the management cluster's own");
    }
    let is_good = fits && (1..=253).contains(&text.chars().count());
    is_good.then(|| text.into()).ok_or("a name of 1 to 253 characters on one line, without comma or blanks around it")
}

/// A label, or which node is wrong and what is allowed there.
pub(super) fn label<'a>(key: &'a Node, value: &'a Node) -> Result<(String, String), (&'a Node, &'static str)> {
    let is_key = key.text().filter(|text| is_label_key(text));
    let name = is_key.ok_or((key, "allowed is a label key: a name, or prefix/name"))?;
    let is_value = value.text().filter(|text| is_label_value(text));
    let allowed = "allowed is a label value: at most 63 letters, digits, `-`, `_`, `.`, or \"\"";
    Ok((name.to_owned(), is_value.ok_or((value, allowed))?.to_owned()))
}

pub(super) fn cluster_uid(text: &str) -> Checked<ClusterUid> {
    let is_uid = !text.is_empty() && is_label_value(text);
    is_uid.then(|| text.into()).ok_or("the UID of the cluster's namespace kube-system")
}

/// A file cannot do otherwise: somebody may have cut it off.
pub(super) fn retain(text: &str) -> Checked<()> {
    (text == "Retain").then_some(()).ok_or("Retain: a follower that leaves the file keeps its copies")
}

/// The name of an EKS cluster.
pub fn cluster_name(text: &str) -> Checked<String> {
    let fits = is_made_of(text, 1..=100, "_-") && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    owned_if(fits, text, "a cluster's name of 1 to 100 letters, digits, `-` and `_`")
}

/// The id that an authenticator expects. It is sent as a header.
pub fn cluster_id(text: &str) -> Checked<String> {
    let fits = (1..=253).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    owned_if(fits, text, "a cluster's id of 1 to 253 visible ASCII characters without blanks")
}

/// An AWS region.
pub fn region(text: &str) -> Checked<String> {
    let mut parts = text.split('-');
    let is_letters = |part: &str| part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_number = |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let ends = parts.next_back().is_some_and(is_number);
    let fits = ends && text.len() <= 32 && (2..=4).contains(&parts.clone().count()) && parts.all(is_letters);
    owned_if(fits, text, "an AWS region such as eu-west-1 or us-gov-east-1")
}

/// The ARN of a role.
pub fn role_arn(text: &str) -> Checked<String> {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let ["arn", partition, "iam", "", account, resource] = parts[..] else { return Err(ROLE) };
    let is_partition = partition.split('-').all(|part| !part.is_empty() && part.bytes().all(is_lower_or_digit));
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let role = resource.strip_prefix("role/").unwrap_or_default();
    let is_role = is_made_of(role, 1..=2048, "_+=,.@-/") && role.split('/').all(|part| !part.is_empty());
    let fits = is_partition && is_account && is_role && (20..=2048).contains(&text.len());
    owned_if(fits, text, ROLE)
}

/// What a trust policy may ask for.
pub fn external_id(text: &str) -> Checked<String> {
    let fits = is_made_of(text, 2..=1224, "_+=,.@:/-");
    owned_if(fits, text, "2 to 1224 letters, digits and _ + = , . @ : / -")
}

/// How CloudTrail may call a session.
pub fn session_name(text: &str) -> Checked<String> {
    owned_if(is_made_of(text, 2..=64, "_+=,.@-"), text, "2 to 64 letters, digits and _ + = , . @ -")
}

pub(super) fn server(text: &str) -> Checked<String> {
    let uri: Option<Uri> = text.parse().ok();
    let is_server = |uri: &Uri| {
        let plain = |authority: &http::uri::Authority| !authority.as_str().contains('@');
        uri.scheme() == Some(&Scheme::HTTPS) && uri.query().is_none() && uri.authority().is_some_and(plain)
    };
    owned_if(uri.is_some_and(|uri| is_server(&uri)), text, "https://HOST, with a port or path if it has one")
}

pub(super) fn proxy(text: &str) -> Checked<ProxyUrl> {
    let uri: Option<Uri> = text.parse().ok();
    let is_proxy = |uri: &Uri| {
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        uri.scheme() == Some(&Scheme::HTTP) && has_host && matches!(uri.path(), "" | "/") && uri.query().is_none()
    };
    let allowed = "http://HOST:PORT of a proxy that understands CONNECT";
    owned_if(uri.is_some_and(|uri| is_proxy(&uri)), text, allowed).map(ProxyUrl::from)
}

pub(super) fn host(text: &str) -> Checked<String> {
    let fits = is_dns_subdomain(&text.to_ascii_lowercase()) || text.parse::<IpAddr>().is_ok();
    owned_if(fits, text, "a host name or an IP address")
}

/// Line breaks in base64 are skipped, as in kubeconfigs.
pub(super) fn certificates(text: &str) -> Checked<Arc<[u8]>> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let pem = STANDARD.decode(text).map_err(|_| "the base64 of certificates in PEM: this is not base64")?;
    let mut found = CertificateDer::pem_slice_iter(&pem).peekable();
    if found.peek().is_some() && found.all(|certificate| certificate.is_ok()) {
        return Ok(pem.into());
    }
    Err("the base64 of certificates in PEM: this holds none")
}

/// `\w` and some more, in ASCII.
fn is_made_of(text: &str, length: RangeInclusive<usize>, others: &str) -> bool {
    length.contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn owned_if(fits: bool, text: &str, allowed: &'static str) -> Checked<String> {
    fits.then(|| text.to_owned()).ok_or(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syntax_of_regions_and_arns_is_that_of_all_partitions() {
        for good in
            ["eu-west-1", "us-gov-east-1", "us-iso-east-1", "us-isob-east-1", "eusc-de-east-1", "ap-southeast-12"]
        {
            assert!(region(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "eu-west",
            "eu-west-",
            "eu--west-1",
            "EU-west-1",
            "1-west-1",
            "eu-west-1a",
            "eu-west-123",
            "eu-1",
            " eu-west-1",
        ] {
            assert!(region(bad).is_err(), "{bad}");
        }
        let longest = format!("arn:aws:iam::111122223333:role/{}", "r".repeat(2048 - 31));
        let account = "iam::111122223333:role";
        for good in [
            "arn:aws:iam::111122223333:role/path/towline",
            &longest,
            &format!("arn:aws-us-gov:{account}/a.b@c"),
            &format!("arn:aws-iso-b:{account}/r"),
        ] {
            assert!(role_arn(good).is_ok(), "{good}");
        }
        let bad = [
            format!("{longest}r"),
            format!("arn:aws:{account}/"),
            format!("arn:aws:{account}/a/"),
            format!("arn:aws:{account}/a b"),
            format!("arn::{account}/a"),
            "arn:aws:iam::11112222333:role/a".to_owned(),
            "arn:aws:iam::111122223333:user/a".to_owned(),
            "arn:aws:sts::111122223333:assumed-role/a/b".to_owned(),
            "arn:aws:iam:eu-west-1:111122223333:role/a".to_owned(),
            String::new(),
        ];
        for bad in bad {
            assert!(role_arn(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_and_session_names_have_the_lengths_that_sts_takes() {
        for (length, external, session) in [
            (1, false, false),
            (2, true, true),
            (64, true, true),
            (65, true, false),
            (1224, true, false),
            (1225, false, false),
        ] {
            let text = "a".repeat(length);
            assert_eq!((external_id(&text).is_ok(), session_name(&text).is_ok()), (external, session), "{length}");
        }
        assert!(external_id("a:b/c").is_ok() && session_name("a:b").is_err() && external_id("éé").is_err());
        assert!(name(&"é".repeat(253)).is_ok() && name(&"é".repeat(254)).is_err());
    }
}
