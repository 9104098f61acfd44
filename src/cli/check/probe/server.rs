//! Asks the server: who are we, which cluster is it, what may we do.

use crate::{
    cli::check::{
        access::{self, SubjectReview, User},
        rights::{self, AccessAnswer, Places, Right},
        step::{Kind, Step},
    },
    cluster::{
        endpoint::Endpoint,
        error::Error,
        inquiry::{Inquiry, Review},
    },
    follower::catalog::Entry,
};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};

/// So many questions are open at a time.
const AT_ONCE: usize = 8;
const WHO: &[u8] = br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;

/// A server that can be talked to.
pub(super) struct Visit<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) entry: &'a Entry,
    /// Who we come as on AWS.
    pub(super) role: Option<&'a str>,
}

impl Visit<'_> {
    /// Asks all.
    pub(super) async fn steps(&self, places: &Places, steps: &mut Vec<Step>) {
        let login = self.endpoint.login().credential().await;
        let credential = access::credential(login.as_ref().map(drop));
        let has_one = credential.leads_on();
        steps.push(credential);
        if !has_one {
            return steps.extend([Kind::User, Kind::Cluster, Kind::Rights, Kind::Excess].map(Step::not_tried));
        }
        let asked = match Inquiry::open(self.endpoint).await {
            Ok(inquiry) => subject(&inquiry).await.map(|user| (inquiry, user)),
            Err(error) => Err(error),
        };
        let (inquiry, user) = match asked {
            Ok((inquiry, user)) => (inquiry, user),
            Err(error) => {
                steps.push(access::user(Err(&error), self.role));
                return steps.extend([Kind::Cluster, Kind::Rights, Kind::Excess].map(Step::not_tried));
            }
        };
        let step = match &user {
            Ok(user) => access::user(Ok(user), self.role),
            Err(too_old) => access::user(Err(too_old), self.role),
        };
        let is_somebody = step.leads_on();
        steps.push(step);
        if !is_somebody {
            return steps.extend([Kind::Cluster, Kind::Rights, Kind::Excess].map(Step::not_tried));
        }
        let uid = inquiry.cluster().await;
        let refused = uid.as_ref().ok().and_then(|uid| self.entry.refuses(uid));
        steps.push(access::cluster(uid.as_ref(), refused));
        may(&inquiry, places, user.ok().as_ref(), steps).await;
    }
}

/// Who we are, or that the server cannot say it.
async fn subject(inquiry: &Inquiry) -> Result<Result<User, Error>, Error> {
    match inquiry.review(Review::Subject, Bytes::from_static(WHO)).await {
        Ok(answer) => answer.decode::<SubjectReview>().map(User::from).map(Ok),
        Err(error) if error.is_not_found() => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Needed rights, and those that are too many.
async fn may(inquiry: &Inquiry, places: &Places, user: Option<&User>, steps: &mut Vec<Step>) {
    for need in rights::needed(places) {
        steps.push(match allowed(inquiry, need.rights.iter()).await {
            Ok(allowed) => rights::judge(&need, &allowed),
            Err(error) => Step::failed(Kind::Rights, error.to_string(), "").about(need.subject),
        });
    }
    let needless = rights::needless(places);
    steps.push(match allowed(inquiry, needless.iter().map(|excess| &excess.right)).await {
        Ok(allowed) => {
            let held = needless.iter().zip(allowed).filter(|(_, allowed)| *allowed).map(|(excess, _)| excess.words);
            rights::judge_excess(user, &held.collect::<Vec<_>>(), places)
        }
        Err(error) => Step::failed(Kind::Excess, error.to_string(), ""),
    });
}

/// Whether we may do each of these, in their order.
async fn allowed<'a>(inquiry: &Inquiry, rights: impl Iterator<Item = &'a Right>) -> Result<Vec<bool>, Error> {
    let questions = rights.map(|right| {
        let body = serde_json::to_vec(&right.review()).unwrap_or_default();
        async move {
            let answer = inquiry.review(Review::Access, body.into()).await?;
            Ok(answer.decode::<AccessAnswer>()?.is_allowed())
        }
    });
    futures::stream::iter(questions.collect::<Vec<_>>()).buffered(AT_ONCE).try_collect().await
}
