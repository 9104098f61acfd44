use super::*;
use futures::FutureExt;
use std::collections::VecDeque;
use tokio::time::advance;

/// Answers in turn; the last answer stays.
struct Eks {
    answers: Mutex<VecDeque<Result<Described, AwsError>>>,
    asked: Mutex<usize>,
}

impl Eks {
    fn saying(answers: impl IntoIterator<Item = Result<Described, AwsError>>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::new(0) }
    }

    fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }
}

impl Describer for Eks {
    fn describe<'a>(&'a self, _: &'a ClusterId) -> BoxFuture<'a, Result<Described, AwsError>> {
        *self.asked.lock().unwrap() += 1;
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { answers.front().unwrap().clone() };
        async move { answer }.boxed()
    }
}

fn active(endpoint: &str) -> Described {
    Described {
        status: "ACTIVE".into(),
        endpoint: Some(endpoint.into()),
        certificate_authority: Some(STANDARD.encode("pem")),
        public: true,
        ..Described::default()
    }
}

fn refused(code: &str) -> AwsError {
    AwsError::Refused {
        operation: "eks:DescribeCluster",
        subject: "prod".into(),
        caller: "test".into(),
        code: code.into(),
    }
}

fn prod() -> ClusterId {
    ClusterId { role_arn: None, region: "eu-west-1".into(), name: "prod".into() }
}

async fn endpoint(clusters: &Clusters, eks: &Eks) -> Result<String, String> {
    let facts = clusters.facts(&prod(), eks).await;
    facts.map(|facts| facts.endpoint).map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_asked_about_once_in_ten_minutes() {
    let (clusters, eks) = (Clusters::default(), Eks::saying([Ok(active("https://a")), Ok(active("https://b"))]));
    for _ in 0..10 {
        assert_eq!(endpoint(&clusters, &eks).await.unwrap(), "https://a");
    }
    assert_eq!(eks.asked(), 1);
    advance(FRESH).await;
    assert_eq!(endpoint(&clusters, &eks).await.unwrap(), "https://b");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_is_asked_about_again_at_most_twice_a_minute() {
    let (clusters, eks) = (Clusters::default(), Eks::saying([Ok(active("https://a")), Ok(active("https://b"))]));
    endpoint(&clusters, &eks).await.unwrap();
    clusters.distrust(&prod()).await;
    assert_eq!(endpoint(&clusters, &eks).await.unwrap(), "https://a");
    advance(AGAIN).await;
    assert_eq!(endpoint(&clusters, &eks).await.unwrap(), "https://b");
    assert_eq!(eks.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_was_known_is_used_while_eks_itself_fails() {
    let answers = [Ok(active("https://a")), Err(refused("ServerException"))];
    let (clusters, eks) = (Clusters::default(), Eks::saying(answers));
    endpoint(&clusters, &eks).await.unwrap();
    advance(FRESH).await;
    for _ in 0..10 {
        assert_eq!(endpoint(&clusters, &eks).await.unwrap(), "https://a");
    }
    assert_eq!(eks.asked(), 2, "and EKS is left in peace");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_repeated_for_each_attempt() {
    let (clusters, eks) = (Clusters::default(), Eks::saying([Err(refused("AccessDeniedException"))]));
    for _ in 0..10 {
        assert!(endpoint(&clusters, &eks).await.unwrap_err().contains("eks:DescribeCluster"));
    }
    assert_eq!(eks.asked(), 1);
}

#[test]
fn a_status_says_whether_a_cluster_can_be_used() {
    let with = |status: &str| Described { status: status.into(), ..active("https://a") };
    let bare = |status: &str| Described { status: status.into(), ..Described::default() };
    let usable = |described: &Described| super::usable(&prod(), described).map_err(|error| error.to_string());
    for status in ["ACTIVE", "UPDATING", "CREATING", "PENDING"] {
        assert_eq!(usable(&with(status)).unwrap().endpoint, "https://a", "{status}");
    }
    let table = [
        (with("DELETING"), "cluster prod in eu-west-1: it is being deleted: take it out of the followers"),
        (with("FAILED"), "cluster prod in eu-west-1: its creation failed: see its health in EKS"),
        (bare("CREATING"), "cluster prod in eu-west-1: it is being created and has no endpoint yet; asked again"),
        (bare("ACTIVE"), "cluster prod in eu-west-1: EKS names no endpoint for it"),
        (
            Described { certificate_authority: None, ..active("https://a") },
            "cluster prod in eu-west-1: EKS names no usable certificate authority for it",
        ),
        (
            Described { connected: true, ..active("https://a") },
            "cluster prod in eu-west-1: it runs elsewhere and is only shown in EKS: use a kubeconfig for it",
        ),
    ];
    for (described, expected) in table {
        assert_eq!(usable(&described).unwrap_err(), expected);
    }
}

#[test]
fn a_local_cluster_on_an_outpost_is_named_by_its_id_in_tokens() {
    let outpost = Described { id: Some("0123-abcd".into()), ..active("https://a") };
    assert_eq!(usable(&prod(), &outpost).unwrap().token_id, "0123-abcd");
    assert_eq!(usable(&prod(), &active("https://a")).unwrap().token_id, "prod");
}
