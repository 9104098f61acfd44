//! Asks AWS: who are we, with each role on the way, and where is the cluster.

use crate::{
    aws::{chain::Chain, error::AwsError, principal::Principal},
    cli::check::{
        identity,
        step::{Kind, Step},
    },
    cluster::endpoint::Endpoint,
    follower::connection::EksCluster,
};

/// Base identity, roles, clock. Whether a token can be had.
pub(super) async fn identity(signer: &Principal, has_plugin: bool, steps: &mut Vec<Step>) -> bool {
    let chain = match signer.chain().await {
        Ok(chain) => chain,
        Err(error) => {
            let step = identity::nobody(&error, has_plugin);
            let leads_on = step.leads_on();
            steps.push(step);
            return leads_on;
        }
    };
    let mut so_far = Chain::of(chain.root.clone());
    let answer = signer.arn_of(&so_far).await;
    let base = identity::base(&chain.root, answer.as_deref());
    let (mut leads_on, mut is_answered) = (base.leads_on(), has_answered(answer.as_ref().err()));
    steps.push(base);
    for role in &chain.roles {
        if !leads_on {
            steps.push(Step::not_tried(Kind::Role).about(&*role.arn));
            continue;
        }
        so_far = so_far.then(role.clone());
        let answer = signer.arn_of(&so_far).await;
        let step = identity::role(&role.arn, answer.as_deref());
        leads_on = step.leads_on();
        is_answered |= has_answered(answer.as_ref().err());
        steps.push(step);
    }
    steps.push(if is_answered { identity::clock(signer.skew()) } else { Step::not_tried(Kind::Clock) });
    leads_on
}

/// Where EKS says that the cluster is.
pub(super) async fn describe(cluster: &EksCluster, steps: &mut Vec<Step>) -> Option<Endpoint> {
    let facts = cluster.principal().facts(cluster.cluster()).await;
    steps.push(identity::describe(facts.as_ref()));
    facts.ok()?;
    match cluster.endpoint().await {
        Ok(endpoint) => Some(endpoint),
        Err(error) => {
            steps.push(Step::failed(Kind::Connection, error.to_string(), ""));
            None
        }
    }
}

/// Who must be let into the cluster.
pub(super) async fn name(signer: &Principal) -> Option<String> {
    Some(signer.chain().await.ok()?.to_string())
}

/// Only an answer of AWS says what time it is there.
fn has_answered(error: Option<&AwsError>) -> bool {
    error.is_none_or(|error| matches!(error, AwsError::Refused { .. }))
}
