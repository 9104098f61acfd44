//! The Elastic Kubernetes Service: DescribeCluster and ListClusters.

mod document;
mod list;

use percent_encoding::percent_decode_str;

use crate::answer::Answer;
use crate::policy::Context;
use crate::random;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::session::Caller;
use crate::sts::require_permission;
use crate::world::{World, cluster};

use list::Page;

/// A request that was understood.
pub(crate) enum Operation {
    DescribeCluster { name: String },
    ListClusters(Page),
}

impl Operation {
    /// The name that a request has, understood or not.
    pub(crate) fn name_in(request: &Request) -> Option<String> {
        let name = match (request.method.as_str(), request.path.split('/').count()) {
            ("GET", 2) => "ListClusters",
            ("GET", 3) => "DescribeCluster",
            _ => return None,
        };
        Some(name.to_owned())
    }

    /// The cluster that a request is about.
    pub(crate) fn target_in(request: &Request) -> Option<String> {
        let name = request.path.strip_prefix("/clusters/")?;
        Some(percent_decode_str(name).decode_utf8_lossy().into_owned())
    }

    /// Reads a request.
    pub(crate) fn read(request: &Request) -> Result<Self, Refusal> {
        match (Self::name_in(request).as_deref(), Self::target_in(request)) {
            (Some("DescribeCluster"), Some(name)) if !name.is_empty() => Ok(Self::DescribeCluster { name }),
            (Some("ListClusters"), None) => Page::read(&request.query).map(Self::ListClusters),
            _ => Err(Refusal::new(404, "UnknownOperationException", "This stand-in does not know the operation")),
        }
    }

    /// Does it, in the caller's account.
    pub(crate) fn perform(&self, world: &World, caller: &Caller, region: &str) -> Result<Answer, Refusal> {
        let id = random::uuid();
        let document = match self {
            Self::DescribeCluster { name } => {
                let found = describe(world, caller, region, name)?;
                document::cluster(found)
            }
            Self::ListClusters(page) => {
                let resource = cluster::arn(&caller.account, region, "*");
                require_permission(world, caller, "eks:ListClusters", &resource, in_region(region))?;
                page.of(world.clusters_in(&caller.account, region))?
            }
        };
        Ok(Answer::json(200, &document).with_request_id(&id))
    }
}

/// Rights first: who may not look does not learn what there is.
fn describe<'a>(
    world: &'a World,
    caller: &Caller,
    region: &str,
    name: &str,
) -> Result<&'a crate::world::Cluster, Refusal> {
    let found = world.cluster(&caller.account, region, name);
    let tags = found.into_iter().flat_map(|cluster| &cluster.tags);
    let context =
        tags.fold(in_region(region), |context, (key, value)| context.with(&format!("aws:ResourceTag/{key}"), value));
    let resource = cluster::arn(&caller.account, region, name);
    require_permission(world, caller, "eks:DescribeCluster", &resource, context)?;
    found.ok_or_else(|| Refusal::new(404, "ResourceNotFoundException", format!("No cluster found for name: {name}.")))
}

fn in_region(region: &str) -> Context {
    Context::default().with("aws:RequestedRegion", region)
}

/// The document of what was refused; what it is stands in a header.
pub(crate) fn refuse(refusal: &Refusal) -> Answer {
    let document = serde_json::json!({"message": refusal.message});
    Answer::json(refusal.status, &document).with_request_id(&random::uuid()).with("x-amzn-errortype", &refusal.code)
}
