//! Who we are to a server, and which cluster it is, judged. Pure.

use super::step::{Kind, Step};
use crate::{
    api::names::ClusterUid,
    cluster::{error::Error, login::LoginError},
};
use serde::Deserialize;

/// So many groups are shown.
const GROUPS: usize = 12;
const LONGEST: usize = 253;
const NOBODY: &str = "system:anonymous";

/// Who the server takes us for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) groups: Vec<String>,
}

/// A `SelfSubjectReview`, as far as it matters.
#[derive(Deserialize)]
pub(super) struct SubjectReview {
    status: SubjectStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubjectStatus {
    user_info: UserInfo,
}

#[derive(Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
}

impl From<SubjectReview> for User {
    fn from(review: SubjectReview) -> Self {
        let info = review.status.user_info;
        Self { name: word(&info.username), groups: info.groups.iter().map(|group| word(group)).collect() }
    }
}

/// What we log in with.
pub(super) fn credential(answer: Result<(), &LoginError>) -> Step {
    match answer {
        Ok(()) => Step::passed(Kind::Credential, "there is one"),
        Err(error) => Step::failed(Kind::Credential, error.to_string(), ""),
    }
}

/// Who the server takes us for. `role` is who we come as on AWS.
pub(super) fn user(answer: Result<&User, &Error>, role: Option<&str>) -> Step {
    let error = match answer {
        Ok(user) if user.name == NOBODY => {
            let fix = "give the connection credentials; a proxy on the way may take them off";
            return Step::failed(Kind::User, "the server takes us for nobody", fix);
        }
        Ok(user) => return Step::passed(Kind::User, shown(user)),
        Err(error) => error,
    };
    match (error.status().map(|status| status.code), role) {
        (Some(401), Some(role)) => {
            let fix = format!(
                "let {role} into the cluster by an access entry or aws-auth (towline manifests iam --part access); and is the cluster's name or id the right one?"
            );
            Step::failed(Kind::User, "the server does not accept the token", fix)
        }
        (Some(401), None) => {
            let fix = "renew the credentials of the connection: they are not, or no longer, good for this cluster";
            Step::failed(Kind::User, "the server does not accept the credentials", fix)
        }
        (Some(404), _) => {
            let found = "not known: the server is older than Kubernetes 1.28, which can say it first";
            Step::warned(Kind::User, found, "")
        }
        _ => Step::failed(Kind::User, error.to_string(), ""),
    }
}

/// Which cluster it is. `refused` says why it must not be this one.
pub(super) fn cluster(answer: Result<&ClusterUid, &Error>, refused: Option<String>) -> Step {
    match (answer, refused) {
        (Ok(_), Some(why)) => {
            Step::failed(Kind::Cluster, why, "correct spec.clusterUID, or where the connection leads")
        }
        (Ok(uid), None) => Step::passed(Kind::Cluster, format!("kube-system's UID is {uid}")),
        (Err(error), _) if error.status().is_some_and(|status| status.code == 403) => {
            Step::failed(Kind::Cluster, "not known: kube-system may not be read", super::rights::GRANT)
        }
        (Err(error), _) => Step::failed(Kind::Cluster, error.to_string(), ""),
    }
}

fn shown(user: &User) -> String {
    let more = if user.groups.len() > GROUPS { ", …" } else { "" };
    let groups = user.groups.iter().take(GROUPS).map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("{} in {}", user.name, if groups.is_empty() { "no group".to_owned() } else { groups + more })
}

/// A word that a server chose, fit for a line of ours.
fn word(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::step::Outcome, *};
    use crate::cluster::Status;

    fn somebody(name: &str, groups: &[&str]) -> User {
        User { name: name.to_owned(), groups: groups.iter().map(|group| (*group).to_owned()).collect() }
    }

    fn answered(code: u16) -> Error {
        Error::Status(Box::new(Status { code, ..Status::default() }))
    }

    #[test]
    fn the_server_says_user_and_groups() {
        let review = r#"{"status": {"userInfo": {"username": "arn:me\n", "uid": "1", "groups": ["towline", "system:authenticated"]}}}"#;
        let user = User::from(serde_json::from_str::<SubjectReview>(review).unwrap());
        assert_eq!(user, somebody("arn:me", &["towline", "system:authenticated"]));
        let step = super::user(Ok(&user), None);
        assert_eq!((step.result, &*step.found), (Outcome::Passed, "arn:me in towline, system:authenticated"));
    }

    #[test]
    fn a_token_that_is_refused_is_told_with_the_way_in() {
        let step = user(Err(&answered(401)), Some("arn:aws:iam::222222222222:role/towline"));
        assert!(step.fix.starts_with("let arn:aws:iam::222222222222:role/towline into the cluster by an access entry"));
        let step = user(Err(&answered(401)), None);
        assert!(step.result == Outcome::Failed && step.fix.contains("renew the credentials"));
    }

    #[test]
    fn an_old_server_cannot_say_and_anonymous_is_nobody() {
        assert_eq!(user(Err(&answered(404)), None).result, Outcome::Warned);
        assert_eq!(user(Err(&answered(500)), None).result, Outcome::Failed);
        assert_eq!(user(Ok(&somebody(NOBODY, &[])), None).result, Outcome::Failed);
    }

    #[test]
    fn a_cluster_that_is_not_the_pinned_one_is_refused() {
        let uid = ClusterUid::from("u-1");
        assert_eq!(cluster(Ok(&uid), None).found, "kube-system's UID is u-1");
        let step = cluster(Ok(&uid), Some("another cluster is behind the name".to_owned()));
        assert_eq!((step.result, step.fix.contains("spec.clusterUID")), (Outcome::Failed, true));
        let step = cluster(Err(&answered(403)), None);
        assert_eq!((step.result, step.fix.contains("deploy/rbac")), (Outcome::Failed, true));
    }
}
