//! Credentials of chains of roles. One call serves all followers of a role; they are renewed before they expire, each role at
//! another moment, and old ones are used as long as they are good if a renewal fails.

use super::{
    chain::{Chain, Role, Root},
    error::{AwsError, Remedy},
};
use aws_credential_types::Credentials;
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// Keys without expiry are read again so often: a file may have changed.
const REREAD: Duration = Duration::from_secs(300);
/// Credentials are not used to the last second: a request takes time.
const MARGIN: Duration = Duration::from_secs(30);

/// Credentials are not doubted before: a cluster that knows no such role refuses all of them, all the time.
const BEYOND_DOUBT: Duration = Duration::from_secs(300);

/// Who hands out credentials: AWS, or a test.
pub trait Issuer: Send + Sync {
    /// The first credentials. A web identity is a call to STS in `region`.
    fn root<'a>(&'a self, root: &'a Root, region: &'a str) -> BoxFuture<'a, Result<Credentials, AwsError>>;

    /// Those of a role, asked for as `base`, which `caller` names.
    fn assume<'a>(
        &'a self,
        role: &'a Role,
        base: Credentials,
        caller: &'a Chain,
        region: &'a str,
    ) -> BoxFuture<'a, Result<Credentials, AwsError>>;

    /// The time as AWS sees it.
    fn now(&self) -> SystemTime;

    /// Is told until when new credentials of a role are good.
    fn issued(&self, chain: &Chain, expiry: SystemTime);
}

/// The credentials of all chains. Clones share them.
#[derive(Clone)]
pub struct Roles {
    issuer: Arc<dyn Issuer>,
    slots: Arc<Mutex<HashMap<Chain, Arc<Slot>>>>,
}

/// The credentials of one chain: whoever holds the lock asks for all.
type Slot = tokio::sync::Mutex<Held>;

#[derive(Default)]
struct Held {
    good: Option<Good>,
    /// What the last attempt came to, and until when it is not repeated.
    failed: Option<(AwsError, Instant)>,
}

struct Good {
    credentials: Credentials,
    since: Instant,
    /// When others are asked for.
    renew: Instant,
    /// When these are of no use any more.
    ends: Option<Instant>,
}

impl Roles {
    /// None yet.
    pub fn new(issuer: Arc<dyn Issuer>) -> Self {
        Self { issuer, slots: Arc::default() }
    }

    /// Credentials that are good now. `region` is where STS is asked, should it have to be.
    pub fn credentials<'a>(
        &'a self,
        chain: &'a Chain,
        region: &'a str,
    ) -> BoxFuture<'a, Result<Credentials, AwsError>> {
        async move {
            let slot = self.slot(chain);
            let mut held = slot.lock().await;
            if let Some(answer) = held.answer(Instant::now()) {
                return answer;
            }
            match self.ask(chain, region).await {
                Ok(credentials) => {
                    if let (Some(expiry), Some(_)) = (credentials.expiry(), chain.role_arn()) {
                        self.issuer.issued(chain, expiry);
                    }
                    held.good = Some(Good::new(credentials.clone(), self.issuer.now()));
                    held.failed = None;
                    Ok(credentials)
                }
                Err(error) => {
                    held.failed = Some((error.clone(), Instant::now() + spread(error.pause())));
                    held.usable(Instant::now()).ok_or(error)
                }
            }
        }
        .boxed()
    }

    /// Does not use these again: somebody refused what they signed. Others that came since are kept.
    pub async fn renew(&self, chain: &Chain, refused: &Credentials) {
        let slot = self.slot(chain);
        let mut held = slot.lock().await;
        if held.good.as_ref().is_some_and(|good| is_same(&good.credentials, refused)) {
            held.good = None;
        }
    }

    /// A cluster refused what they signed: a role that was deleted and made anew has other sessions. The next call gets others,
    /// or these again if there are none.
    pub async fn doubt(&self, chain: &Chain) {
        let slot = self.slot(chain);
        let mut held = slot.lock().await;
        let now = Instant::now();
        if let Some(good) = held.good.as_mut().filter(|good| now.duration_since(good.since) >= BEYOND_DOUBT) {
            good.renew = now;
        }
    }

    async fn ask(&self, chain: &Chain, region: &str) -> Result<Credentials, AwsError> {
        let Some((before, role)) = chain.split() else { return self.issuer.root(&chain.root, region).await };
        let base = self.credentials(&before, region).await?;
        match self.issuer.assume(role, base.clone(), &before, region).await {
            Err(error) if error.remedy() == Remedy::RenewBase => {
                self.renew(&before, &base).await;
                let renewed = self.credentials(&before, region).await?;
                self.issuer.assume(role, renewed, &before, region).await
            }
            answer => answer,
        }
    }

    fn slot(&self, chain: &Chain) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(chain.clone()).or_default().clone()
    }
}

impl Held {
    /// What can be said without asking.
    fn answer(&self, now: Instant) -> Option<Result<Credentials, AwsError>> {
        if let Some(good) = self.good.as_ref().filter(|good| now < good.renew) {
            return Some(Ok(good.credentials.clone()));
        }
        let (error, _) = self.failed.as_ref().filter(|(_, until)| now < *until)?;
        Some(self.usable(now).ok_or_else(|| error.clone()))
    }

    fn usable(&self, now: Instant) -> Option<Credentials> {
        let good = self.good.as_ref().filter(|good| good.ends.is_none_or(|ends| now < ends))?;
        Some(good.credentials.clone())
    }
}

impl Good {
    fn new(credentials: Credentials, now: SystemTime) -> Self {
        let lifetime = credentials.expiry().map(|expiry| expiry.duration_since(now).unwrap_or_default());
        let begin = Instant::now();
        match lifetime {
            // Each at another moment of the last sixth, or a thousand that began together would stay together.
            Some(lifetime) => Self {
                renew: begin + lifetime.mul_f64(0.83 + 0.12 * fastrand::f64()),
                ends: Some(begin + lifetime.saturating_sub(MARGIN.min(lifetime / 20))),
                since: begin,
                credentials,
            },
            None => Self { since: begin, renew: begin + REREAD, ends: None, credentials },
        }
    }
}

fn is_same(one: &Credentials, other: &Credentials) -> bool {
    one.access_key_id() == other.access_key_id() && one.session_token() == other.session_token()
}

fn spread(pause: Duration) -> Duration {
    pause.mul_f64(0.75 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests;
