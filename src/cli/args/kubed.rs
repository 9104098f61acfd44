//! What kubed's Deployments pass: flags that still mean something here, and all others, which are taken and ignored.

use super::heading;
use crate::{
    api::names::ClusterUid,
    mirror::{request::KubedMarks, state::AdoptBy},
};
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum,
    builder::{BoolishValueParser, NonEmptyStringValueParser},
};
use std::{collections::BTreeSet, sync::Arc};

#[derive(Debug, Args)]
#[command(next_help_heading = heading::KUBED)]
pub(super) struct KubedFlags {
    /// How copies that kubed made of the same source are recognised
    #[arg(long, env = "TOWLINE_ADOPT_KUBED", value_name = "HOW", value_enum, default_value_t = Adoption::ByUid)]
    adopt_kubed: Adoption,

    /// Leave kubed's marks on adopted copies, for a way back
    #[arg(
        long,
        env = "TOWLINE_KEEP_KUBED_MARKS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        hide_default_value = true,
        hide_possible_values = true,
        value_parser = BoolishValueParser::new()
    )]
    keep_kubed_marks: bool,

    /// Take over the wanted copies of management clusters that this one replaces: UIDs of their kube-system
    ///
    /// What such a cluster copied and nobody wants any more stays where it is.
    #[arg(
        long,
        env = "TOWLINE_ADOPT_ORIGIN",
        value_name = "UID",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = heading::FOLLOWERS
    )]
    adopt_origin: Vec<String>,

    /// Most writes per second to each follower; no limit by default
    #[arg(long, env = "TOWLINE_QPS", value_name = "N", allow_negative_numbers = true, value_parser = per_second)]
    qps: Option<f64>,

    /// Writes beyond --qps at once; as many as --qps by default
    #[arg(long, env = "TOWLINE_BURST", value_name = "N", allow_negative_numbers = true, value_parser = burst)]
    burst: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Adoption {
    /// The uid that kubed noted must be the source's
    ByUid,
    /// Name, namespace and cluster name are enough: the source was made anew since
    ByName,
}

/// How fast a follower is written to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteRate {
    /// Writes per second, above 0.
    pub per_second: f64,
    /// Writes at once, at least 1.
    pub burst: u32,
}

/// What is known of kubed.
#[derive(Clone, Debug)]
pub(super) struct Kubed {
    pub(super) old_hubs: Arc<BTreeSet<ClusterUid>>,
    pub(super) adoption: AdoptBy,
    pub(super) marks: KubedMarks,
    pub(super) rate: Option<WriteRate>,
}

fn per_second(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "allowed is a number above 0; leave it out for no limit".to_owned())
}

fn burst(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "allowed is a whole number above 0".to_owned())
}

impl KubedFlags {
    pub(super) fn check(self, warnings: &mut Vec<String>) -> Kubed {
        if self.qps.is_none() && self.burst.is_some() {
            warnings.push("--burst limits nothing without --qps".to_owned());
        }
        let rate =
            self.qps.map(|per_second| WriteRate { per_second, burst: self.burst.unwrap_or_else(|| whole(per_second)) });
        let adoption = match self.adopt_kubed {
            Adoption::ByUid => AdoptBy::Uid,
            Adoption::ByName => AdoptBy::Name,
        };
        let marks = if self.keep_kubed_marks { KubedMarks::Keep } else { KubedMarks::Remove };
        let old_hubs = Arc::new(self.adopt_origin.into_iter().map(ClusterUid::from).collect());
        Kubed { old_hubs, adoption, marks, rate }
    }
}

/// Rounded up, within what a `u32` holds.
fn whole(number: f64) -> u32 {
    format!("{:.0}", number.ceil()).parse().unwrap_or(u32::MAX)
}

/// Flags of kubed, of config-syncer and of the generic API server inside them that mean nothing here.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    given: Vec<&'static str>,
}

impl Ignored {
    /// One warning about all that was given, here or before the subcommand.
    pub(super) fn warn(self, before: Self, warnings: &mut Vec<String>) {
        let mut names: Vec<_> = before.given.into_iter().chain(self.given).map(|name| format!("--{name}")).collect();
        names.sort();
        names.dedup();
        if !names.is_empty() {
            warnings.push(format!("ignored, as Towline has no use for them: {}", names.join(", ")));
        }
    }
}

/// Go's switches: they take a value only after `=`.
const SWITCHES: [&str; 16] = [
    "alsologtostderr",
    "analytics",
    "audit-log-batch-throttle-enable",
    "audit-log-compress",
    "audit-log-truncate-enabled",
    "audit-webhook-batch-throttle-enable",
    "audit-webhook-truncate-enabled",
    "authentication-skip-lookup",
    "authentication-tolerate-lookup-failure",
    "contention-profiling",
    "enable-analytics",
    "logtostderr",
    "permit-address-sharing",
    "permit-port-sharing",
    "profiling",
    "use-kubeapiserver-fqdn-for-aks",
];

const VALUES: [&str; 68] = [
    "api.address",
    "audit-log-batch-buffer-size",
    "audit-log-batch-max-size",
    "audit-log-batch-max-wait",
    "audit-log-batch-throttle-burst",
    "audit-log-batch-throttle-qps",
    "audit-log-format",
    "audit-log-maxage",
    "audit-log-maxbackup",
    "audit-log-maxsize",
    "audit-log-mode",
    "audit-log-path",
    "audit-log-truncate-max-batch-size",
    "audit-log-truncate-max-event-size",
    "audit-log-version",
    "audit-policy-file",
    "audit-webhook-batch-buffer-size",
    "audit-webhook-batch-initial-backoff",
    "audit-webhook-batch-max-size",
    "audit-webhook-batch-max-wait",
    "audit-webhook-batch-throttle-burst",
    "audit-webhook-batch-throttle-qps",
    "audit-webhook-config-file",
    "audit-webhook-initial-backoff",
    "audit-webhook-mode",
    "audit-webhook-truncate-max-batch-size",
    "audit-webhook-truncate-max-event-size",
    "audit-webhook-version",
    "authentication-kubeconfig",
    "authentication-token-webhook-cache-ttl",
    "authorization-always-allow-paths",
    "authorization-kubeconfig",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
    "bind-address",
    "cert-dir",
    "client-ca-file",
    "clusterconfig",
    "egress-selector-config-file",
    "http2-max-streams-per-connection",
    "license-apiservice",
    "license-file",
    "log-flush-frequency",
    "log_backtrace_at",
    "log_dir",
    "prometheus-crd-apigroup",
    "prometheus-crd-kinds",
    "requestheader-allowed-names",
    "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix",
    "requestheader-group-headers",
    "requestheader-username-headers",
    "resync-period",
    "scratch-dir",
    "secure-port",
    "shutdown-delay-duration",
    "shutdown-send-retry-after",
    "stderrthreshold",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-min-version",
    "tls-private-key-file",
    "tls-sni-cert-key",
    "tracing-config-file",
    "v",
    "vmodule",
    "web.address",
    "web-address",
];

impl Args for Ignored {
    fn augment_args(command: Command) -> Command {
        let switch = |name| flag(name).num_args(0..=1).require_equals(true).default_missing_value("true");
        let value = |name| flag(name).num_args(1).allow_hyphen_values(true);
        let verbosity = |arg: Arg| if arg.get_id() == "v" { arg.short('v') } else { arg };
        command.args(SWITCHES.map(switch)).args(VALUES.map(value).map(verbosity))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::Append).hide(true)
}

impl FromArgMatches for Ignored {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let names = SWITCHES.into_iter().chain(VALUES);
        Ok(Self { given: names.filter(|name| matches.contains_id(name)).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|given| *self = given)
    }
}
