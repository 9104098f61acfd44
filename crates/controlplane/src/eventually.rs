//! Waiting for a condition, with a cap.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long to wait before the condition is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks `attempt` until it answers with a value, for at most `cap`.
///
/// `what` completes the sentence "gave up waiting for …". An error of `attempt` ends the wait at once; "not yet" is `None`:
/// `eventually("the copy", cap, async || cluster.get_opt(path).await)`.
pub async fn eventually<T, F>(what: &str, cap: Duration, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let began = Instant::now();
    loop {
        if let Some(value) = attempt().await? {
            return Ok(value);
        }
        if began.elapsed() > cap {
            bail!("gave up waiting for {what} after {} s", cap.as_secs());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
