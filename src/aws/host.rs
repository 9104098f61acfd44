//! Which STS host serves a region: asked of the SDK's own rules, which know partitions, FIPS and dual-stack.

use aws_sdk_sts::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};

/// Which of a region's hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Variant {
    /// `AWS_USE_FIPS_ENDPOINT`.
    pub fips: bool,
    /// `AWS_USE_DUALSTACK_ENDPOINT`.
    pub dual_stack: bool,
}

/// There is no such host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("region {region:?} has no STS{kind}: check the region's name")]
pub struct NoHost {
    region: String,
    kind: &'static str,
}

/// The regional STS host of a region, for example `sts.eu-west-1.amazonaws.com`.
///
/// An `AWS_ENDPOINT_URL` has no say here: it is for our own calls, and the authenticator would refuse another host.
pub fn sts_host(region: &str, variant: Variant) -> Result<String, NoHost> {
    let kind = match (variant.fips, variant.dual_stack) {
        (false, false) => "",
        (true, false) => " with FIPS",
        (false, true) => " with dual stack",
        (true, true) => " with FIPS and dual stack",
    };
    let none = || NoHost { region: region.to_owned(), kind };
    let params = Params::builder().region(region).use_fips(variant.fips).use_dual_stack(variant.dual_stack);
    let params = params.use_global_endpoint(false).build().map_err(|_| none())?;
    let resolver = DefaultResolver::new();
    let endpoint = futures::FutureExt::now_or_never(resolver.resolve_endpoint(&params));
    let endpoint = endpoint.and_then(Result::ok).ok_or_else(none)?;
    let url: http::Uri = endpoint.url().parse().map_err(|_| none())?;
    url.host().map(str::to_owned).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_region_is_told() {
        let error = sts_host("eu west", Variant::default()).unwrap_err();
        assert_eq!(error.to_string(), r#"region "eu west" has no STS: check the region's name"#);
    }
}
