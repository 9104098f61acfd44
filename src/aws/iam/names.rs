//! Names of AWS as values. What does not fit is answered with what is allowed.
//!
//! None of them can hold a wildcard, a policy variable, a quote or a blank: a name stands in a policy, a template or a
//! command just as it is, and means itself.

use serde::Serialize;
use std::fmt;

macro_rules! checked {
    ($(#[$doc:meta])* $name:ident, $fits:ident, $allowed:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes what fits; the error says what is allowed.
            pub fn parse(text: &str) -> Result<Self, String> {
                if $fits(text) { Ok(Self(text.to_owned())) } else { Err(concat!("allowed is ", $allowed).to_owned()) }
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked! {
    /// An AWS account.
    AccountId, is_account, "an account ID: 12 digits, such as 111122223333"
}
checked! {
    /// A region.
    Region, is_region, "a region such as eu-west-1"
}
checked! {
    /// The name of an EKS cluster.
    ClusterName, is_cluster, "the name of an EKS cluster: 1 to 100 letters, digits, - and _, the first a letter or digit"
}
checked! {
    /// What tells a follower account that the hub role acts for the right one.
    ExternalId, is_external_id, "2 to 1224 letters, digits and +=,.@:/-_"
}
checked! {
    /// The name of a ServiceAccount.
    ServiceAccountName, is_service_account, "the name of a ServiceAccount: at most 253 of a-z, 0-9, and - and . inside"
}
checked! {
    /// Whom a web identity token is for.
    Audience, is_audience, "a token's audience, such as sts.amazonaws.com"
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_region(text: &str) -> bool {
    let Some((places, number)) = text.rsplit_once('-') else { return false };
    let is_place = |place: &str| !place.is_empty() && place.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_number = (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && text.len() <= 30 && places.contains('-') && places.split('-').all(is_place)
}

fn is_cluster(text: &str) -> bool {
    text.len() <= 100 && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && consists_of(text, "-_")
}

fn is_external_id(text: &str) -> bool {
    (2..=1224).contains(&text.len()) && consists_of(text, "+=,.@:/-_")
}

fn is_service_account(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.split('.').all(|label| label.starts_with(edge) && label.ends_with(edge))
        && text.chars().all(|c| edge(c) || "-.".contains(c))
}

fn is_audience(text: &str) -> bool {
    (1..=255).contains(&text.len()) && consists_of(text, ".:/-_")
}

fn consists_of(text: &str, others: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// An OIDC issuer, without `https://`: as IAM names its providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer(String);

impl Issuer {
    /// Takes `https://HOST/PATH`, as EKS shows it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let place = text.strip_prefix("https://").filter(|place| consists_of(place, "./-_"));
        match place.filter(|place| !place.split('/').any(str::is_empty) && place.contains('.')) {
            Some(place) => Ok(Self(place.to_owned())),
            None => Err("allowed is the cluster's issuer without a slash at its end, such as \
                https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF \
                (aws eks describe-cluster --query cluster.identity.oidc.issuer)"
                .to_owned()),
        }
    }

    /// `HOST/PATH`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A group of regions with accounts, roles and ARNs of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition(&'static str);

/// Partitions by what their regions begin with. What begins with none of these is in `aws`.
const PARTITIONS: [(&str, &str); 7] = [
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-iso-", "aws-iso"),
    ("us-isob-", "aws-iso-b"),
    ("eu-isoe-", "aws-iso-e"),
    ("us-isof-", "aws-iso-f"),
    ("eusc-", "aws-eusc"),
];

impl Partition {
    /// The commercial one.
    pub const AWS: Self = Self("aws");

    /// Takes one by name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let all = || std::iter::once(Self::AWS.0).chain(PARTITIONS.map(|(_, name)| name));
        match all().find(|name| *name == text) {
            Some(name) => Ok(Self(name)),
            None => Err(format!("allowed are {}", all().collect::<Vec<_>>().join(", "))),
        }
    }

    /// The one that a region belongs to.
    pub fn of(region: &Region) -> Self {
        let found = PARTITIONS.into_iter().find(|(start, _)| region.as_str().starts_with(start));
        found.map_or(Self::AWS, |(_, name)| Self(name))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A role's path and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleName {
    path: String,
    name: String,
}

impl RoleName {
    /// Takes `NAME` or `PATH/NAME`, with or without a slash before the path.
    ///
    /// IAM allows more in a path, wildcards among it, that would mean other roles in the policy that names this one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('/').unwrap_or(text);
        let (folders, name) = text.rsplit_once('/').map_or(("", text), |(folders, name)| (folders, name));
        let path = if folders.is_empty() { "/".to_owned() } else { format!("/{folders}/") };
        let fits = |part: &str| !part.is_empty() && consists_of(part, "+=,.@-_");
        if text.split('/').all(fits) && name.len() <= 64 && path.len() <= 512 {
            Ok(Self { path, name: name.to_owned() })
        } else {
            Err("allowed is a role's name, with its path before it if it has one: 1 to 64 letters, digits and +=,.@-_, \
                such as towline or platform/towline"
                .to_owned())
        }
    }

    /// The path: begins and ends with a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The name alone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The role's ARN.
    pub fn arn(&self, partition: Partition, account: &AccountId) -> String {
        format!("arn:{partition}:iam::{account}:role{}{}", self.path, self.name)
    }

    /// The ARN as aws-auth wants it: its authenticator never sees the path.
    pub fn arn_without_path(&self, partition: Partition, account: &AccountId) -> String {
        format!("arn:{partition}:iam::{account}:role/{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed<T>(parse: impl Fn(&str) -> Result<T, String>, good: &[&str], bad: &[&str]) {
        good.iter().for_each(|text| assert!(parse(text).is_ok(), "{text:?}"));
        bad.iter().for_each(|text| assert!(parse(text).err().is_some_and(|e| e.starts_with("allowed ")), "{text:?}"));
    }

    #[test]
    fn what_is_taken_is_what_aws_takes_and_nothing_that_means_more_than_itself() {
        allowed(
            AccountId::parse,
            &["111122223333", "000000000000"],
            &["", "11112222333", "1111222233334", "11112222333x"],
        );
        allowed(
            Region::parse,
            &["eu-west-1", "us-gov-east-1", "us-isob-east-1", "ap-southeast-12", "eusc-de-east-1"],
            &["", "eu", "eu-west", "eu-1", "EU-west-1", "eu-west-1a", "eu--west-1", "*", "eu-*-1"],
        );
        let long = "c".repeat(101);
        allowed(ClusterName::parse, &["prod", "1", "a_b-C"], &["", "-a", "_a", "a/b", "a.b", "a*", "a b", &long]);
        allowed(ExternalId::parse, &["ab", "towline:eu/1"], &["", "a", "a b", "a*b", "${a}", &"e".repeat(1225)]);
        allowed(ServiceAccountName::parse, &["towline", "a.b-c"], &["", "Tow", "-a", "a-", "a..b", "a*", "a:b"]);
        allowed(Audience::parse, &["sts.amazonaws.com"], &["", "a b", "*"]);
        allowed(Partition::parse, &["aws", "aws-cn", "aws-us-gov", "aws-eusc"], &["", "AWS", "aws-", "*"]);
        let path = format!("{}/towline", "p".repeat(511));
        allowed(
            RoleName::parse,
            &["towline", "platform/towline", "/a/b/c", "t+=,.@-_"],
            &["", "/", "a/", "a//b", "to wline", "*", "a*/b", "${aws:username}", &"r".repeat(65), &path],
        );
        allowed(
            Issuer::parse,
            &["https://oidc.eks.eu-west-1.amazonaws.com/id/ABC", "https://oidc.example.com"],
            &[
                "",
                "oidc.example.com",
                "http://oidc.example.com",
                "https://",
                "https://a.b/",
                "https://a.b/c?d",
                "https://*.b",
            ],
        );
    }

    #[test]
    fn a_partition_is_known_by_its_regions() {
        let table = [
            ("eu-west-1", "aws"),
            ("cn-north-1", "aws-cn"),
            ("us-gov-west-1", "aws-us-gov"),
            ("us-iso-east-1", "aws-iso"),
            ("us-isob-east-1", "aws-iso-b"),
            ("eusc-de-east-1", "aws-eusc"),
        ];
        for (region, partition) in table {
            assert_eq!(Partition::of(&Region::parse(region).unwrap()).to_string(), partition, "{region}");
        }
    }

    #[test]
    fn aws_auth_gets_the_role_without_its_path() {
        let role = RoleName::parse("platform/eu/towline").unwrap();
        let account = AccountId::parse("222222222222").unwrap();
        assert_eq!((role.path(), role.name()), ("/platform/eu/", "towline"));
        assert_eq!(role.arn(Partition::AWS, &account), "arn:aws:iam::222222222222:role/platform/eu/towline");
        assert_eq!(role.arn_without_path(Partition::AWS, &account), "arn:aws:iam::222222222222:role/towline");
        assert_eq!(RoleName::parse("/towline"), RoleName::parse("towline"));
    }
}
