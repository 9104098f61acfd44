//! Amazon Resource Names: `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`.

use std::fmt;

/// A name of something in AWS, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arn {
    /// `aws`, `aws-cn`, …
    pub partition: String,
    /// `iam`, `sts`, `eks`.
    pub service: String,
    /// Empty for what is global.
    pub region: String,
    /// Twelve digits.
    pub account: String,
    /// The rest: `role/path/name`.
    pub resource: String,
}

impl Arn {
    /// Takes `text` apart; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let ["arn", partition, service, region, account, resource] =
            std::array::from_fn(|_| parts.next().unwrap_or(""))
        else {
            return None;
        };
        let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
        let [partition, service, region, account, resource] =
            [partition, service, region, account, resource].map(ToOwned::to_owned);
        let arn = Self { partition, service, region, account, resource };
        (is_account && !arn.partition.is_empty() && !arn.service.is_empty() && !arn.resource.is_empty()).then_some(arn)
    }

    /// The same, if it names `kind` (`role`, `user`) of IAM.
    pub fn of_iam(text: &str, kind: &str) -> Option<Self> {
        let arn = Self::parse(text)?;
        let name = arn.resource.strip_prefix(kind)?.strip_prefix('/')?;
        (arn.service == "iam" && arn.region.is_empty() && !name.is_empty() && !name.ends_with('/')).then_some(arn)
    }

    /// The last part of the resource: a role's name without its path.
    pub fn name(&self) -> &str {
        self.resource.rsplit_once('/').map_or(&self.resource, |(_, name)| name)
    }
}

impl fmt::Display for Arn {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { partition, service, region, account, resource } = self;
        write!(to, "arn:{partition}:{service}:{region}:{account}:{resource}")
    }
}

/// The partition that a region belongs to.
pub fn partition_of(region: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 7] = [
        ("cn-", "aws-cn"),
        ("us-gov-", "aws-us-gov"),
        ("us-iso-", "aws-iso"),
        ("us-isob-", "aws-iso-b"),
        ("eu-isoe-", "aws-iso-e"),
        ("us-isof-", "aws-iso-f"),
        ("eusc-", "aws-eusc"),
    ];
    PREFIXES.iter().find(|(prefix, _)| region.starts_with(prefix)).map_or("aws", |(_, partition)| partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_survives_being_taken_apart() {
        for text in [
            "arn:aws:iam::111111111111:role/path/to/hub",
            "arn:aws-cn:eks:cn-north-1:111111111111:cluster/prod",
            "arn:aws:sts::111111111111:assumed-role/hub/a:b",
        ] {
            assert_eq!(Arn::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["", "arn", "arn:aws:iam::1:role/x", "arn:aws:iam::111111111111:", "urn:aws:iam::111111111111:role/x"]
        {
            assert_eq!(Arn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_role_has_a_name_and_perhaps_a_path() {
        assert_eq!(Arn::of_iam("arn:aws:iam::111111111111:role/path/to/hub", "role").unwrap().name(), "hub");
        for text in
            ["arn:aws:iam::111111111111:user/x", "arn:aws:iam::111111111111:role/", "arn:aws:sts::111111111111:role/x"]
        {
            assert_eq!(Arn::of_iam(text, "role"), None, "{text}");
        }
    }
}
