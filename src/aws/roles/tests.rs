use super::*;
use std::{collections::VecDeque, time::UNIX_EPOCH};
use tokio::time::advance;

const HOUR: Duration = Duration::from_secs(3600);

/// Hands out credentials that last an hour, by a clock that is the runtime's.
struct Book {
    began: Instant,
    calls: Mutex<Vec<String>>,
    refusals: Mutex<VecDeque<AwsError>>,
}

impl Book {
    fn open() -> (Arc<Self>, Roles) {
        let book = Arc::new(Self { began: Instant::now(), calls: Mutex::default(), refusals: Mutex::default() });
        (book.clone(), Roles::new(book))
    }

    fn write(&self, who: String) -> Result<Credentials, AwsError> {
        if let Some(error) = self.refusals.lock().unwrap().pop_front() {
            self.calls.lock().unwrap().push(format!("{who}!"));
            return Err(error);
        }
        let mut calls = self.calls.lock().unwrap();
        calls.push(who);
        Ok(Credentials::new(format!("key-{}", calls.len()), "secret", None, Some(self.now() + HOUR), "test"))
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn refuse(&self, code: &str) {
        self.refusals.lock().unwrap().push_back(AwsError::Refused {
            operation: "sts:AssumeRole",
            subject: "role".into(),
            caller: "test".into(),
            code: code.into(),
        });
    }
}

impl Issuer for Book {
    fn root<'a>(&'a self, root: &'a Root, _: &'a str) -> BoxFuture<'a, Result<Credentials, AwsError>> {
        async move {
            tokio::task::yield_now().await;
            self.write(root.to_string())
        }
        .boxed()
    }

    fn assume<'a>(
        &'a self,
        role: &'a Role,
        base: Credentials,
        _: &'a Chain,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Credentials, AwsError>> {
        async move {
            tokio::task::yield_now().await;
            self.write(format!("{} by {}", role.arn, base.access_key_id()))
        }
        .boxed()
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + HOUR + self.began.elapsed()
    }

    fn issued(&self, _: &Chain, _: SystemTime) {}
}

fn role(arn: &str) -> Chain {
    Chain::of(Root::Container).then(Role::new(arn))
}

async fn key(roles: &Roles, chain: &Chain) -> Result<String, String> {
    let credentials = roles.credentials(chain, "eu-west-1").await;
    credentials.map(|credentials| credentials.access_key_id().to_owned()).map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn any_number_of_followers_of_a_role_cause_one_call() {
    let (book, roles) = Book::open();
    let chain = role("A");
    let asked = futures::future::join_all((0..100).map(|_| key(&roles, &chain))).await;
    assert!(asked.iter().all(|key| *key == Ok("key-2".to_owned())));
    assert_eq!(book.calls(), ["the pod identity", "A by key-1"]);
}

#[tokio::test(start_paused = true)]
async fn chains_share_what_they_have_in_common() {
    let (book, roles) = Book::open();
    let hub = role("hub");
    for chain in [hub.clone().then(Role::new("A")), hub.then(Role::new("B"))] {
        key(&roles, &chain).await.unwrap();
    }
    assert_eq!(book.calls(), ["the pod identity", "hub by key-1", "A by key-2", "B by key-2"]);
}

#[tokio::test(start_paused = true)]
async fn fifty_roles_of_a_thousand_followers_are_renewed_once_an_hour_and_not_together() {
    let (book, roles) = Book::open();
    let chains: Vec<Chain> = (0..50).map(|number| role(&format!("R{number}"))).collect();
    let mut minutes = vec![0; 60];
    for minute in &mut minutes {
        for chain in &chains {
            key(&roles, chain).await.unwrap();
        }
        *minute = book.calls().iter().filter(|call| call.starts_with('R')).count();
        advance(Duration::from_secs(60)).await;
    }
    assert_eq!(minutes[0], 50);
    assert_eq!(minutes[1..].iter().sum::<usize>(), 50, "{minutes:?}");
    assert!(minutes[1..].iter().filter(|renewed| **renewed > 0).count() >= 5, "{minutes:?}");
}

#[tokio::test(start_paused = true)]
async fn credentials_that_a_cluster_refused_are_replaced_unless_they_are_new() {
    let (book, roles) = Book::open();
    let chain = role("A");
    key(&roles, &chain).await.unwrap();
    advance(Duration::from_secs(299)).await;
    roles.doubt(&chain).await;
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-2");
    advance(Duration::from_secs(1)).await;
    roles.doubt(&chain).await;
    book.refuse("Throttling");
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-2", "better than none");
    advance(Duration::from_secs(30)).await;
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-4");
    roles.doubt(&chain).await;
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-4");
    assert_eq!(book.calls().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn old_credentials_are_used_while_they_are_good_if_a_renewal_fails() {
    let (book, roles) = Book::open();
    let chain = role("A");
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-2");
    advance(HOUR.mul_f64(0.96)).await;
    book.refuse("Throttling");
    book.refuse("AccessDenied");
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-2", "both are refused, and good for another two minutes");
    assert_eq!(book.calls().len(), 4);
    advance(HOUR.mul_f64(0.04)).await;
    for _ in 0..4 {
        book.refuse("AccessDenied");
    }
    assert!(key(&roles, &chain).await.unwrap_err().contains("AccessDenied"));
}

#[tokio::test(start_paused = true)]
async fn a_refused_role_is_not_asked_for_again_by_each_of_its_followers() {
    let (book, roles) = Book::open();
    let chain = Chain::of(Root::Container);
    book.refuse("AccessDenied");
    for _ in 0..100 {
        assert!(key(&roles, &chain).await.is_err());
    }
    assert_eq!(book.calls(), ["the pod identity!"]);
    advance(Duration::from_secs(90)).await;
    assert!(key(&roles, &chain).await.is_ok(), "it is asked for again after a while");
}

#[tokio::test(start_paused = true)]
async fn expired_base_credentials_are_renewed_once() {
    let (book, roles) = Book::open();
    let chain = role("A");
    key(&roles, &Chain::of(Root::Container)).await.unwrap();
    book.refuse("ExpiredToken");
    assert_eq!(key(&roles, &chain).await.unwrap(), "key-4");
    assert_eq!(book.calls(), ["the pod identity", "A by key-1!", "the pod identity", "A by key-3"]);
    advance(HOUR).await;
    key(&roles, &Chain::of(Root::Container)).await.unwrap();
    book.calls();
    book.refuse("ExpiredToken");
    book.refuse("ExpiredToken");
    assert!(key(&roles, &chain).await.is_err());
    assert_eq!(book.calls().len(), 2, "the renewal of the base fails, too: no third call");
}
