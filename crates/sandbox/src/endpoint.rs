//! Hosts of AWS: which service, in which region.

use crate::refusal::Service;

/// What the name of a host says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) service: Service,
    pub(crate) region: String,
}

/// The domains of all partitions, of classic and dual-stack hosts.
const DOMAINS: [&str; 9] = [
    ".amazonaws.com",
    ".amazonaws.com.cn",
    ".api.aws",
    ".api.amazonwebservices.com.cn",
    ".c2s.ic.gov",
    ".sc2s.sgov.gov",
    ".cloud.adc-e.uk",
    ".csp.hci.ic.gov",
    ".amazonaws.eu",
];

impl Endpoint {
    /// `None` for a host that is not AWS's (ours on loopback), or of a service that is not here.
    pub(crate) fn of_host(host: &str) -> Option<Self> {
        let name = DOMAINS.iter().find_map(|domain| host.strip_suffix(domain))?;
        let (service, region) = match name.split('.').collect::<Vec<_>>()[..] {
            // The global endpoint is in us-east-1.
            ["sts"] => (Service::Sts, "us-east-1"),
            ["sts" | "sts-fips", region] => (Service::Sts, region),
            ["eks" | "eks-fips", region] | ["fips", "eks", region] => (Service::Eks, region),
            _ => return None,
        };
        Some(Self { service, region: region.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_name_a_service_and_a_region() {
        for (host, service, region) in [
            ("sts.amazonaws.com", Service::Sts, "us-east-1"),
            ("sts.eu-central-1.amazonaws.com", Service::Sts, "eu-central-1"),
            ("sts-fips.us-east-2.amazonaws.com", Service::Sts, "us-east-2"),
            ("sts.cn-north-1.amazonaws.com.cn", Service::Sts, "cn-north-1"),
            ("sts.eu-west-1.api.aws", Service::Sts, "eu-west-1"),
            ("sts.us-iso-east-1.c2s.ic.gov", Service::Sts, "us-iso-east-1"),
            ("eks.eu-west-1.amazonaws.com", Service::Eks, "eu-west-1"),
            ("fips.eks.us-east-1.amazonaws.com", Service::Eks, "us-east-1"),
            ("eks.eu-west-1.api.aws", Service::Eks, "eu-west-1"),
        ] {
            assert_eq!(Endpoint::of_host(host), Some(Endpoint { service, region: region.into() }), "{host}");
        }
        for host in ["127.0.0.1", "localhost", "ec2.us-east-1.amazonaws.com", "sts.evil.com", "eks.amazonaws.com"] {
            assert_eq!(Endpoint::of_host(host), None, "{host}");
        }
    }
}
