//! Logins: paused time, small scripts for plugins, and no value ever printed.

use super::*;
use crate::cluster::{fake::until, kubeconfig};
use futures::FutureExt;
use std::sync::atomic::AtomicUsize;

/// Fails as often as told, then hands out `token-1`, `token-2`, each for a while.
struct Source {
    asked: AtomicUsize,
    refused: AtomicUsize,
    failures: usize,
    lifetime: Option<Duration>,
}

fn source(failures: usize, lifetime: Option<Duration>) -> Arc<Source> {
    Arc::new(Source { asked: AtomicUsize::new(0), refused: AtomicUsize::new(0), failures, lifetime })
}

impl TokenSource for Source {
    fn token(&self) -> BoxFuture<'_, Result<Token, LoginError>> {
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let asked = self.asked.fetch_add(1, Ordering::SeqCst);
            match asked.checked_sub(self.failures) {
                None => Err(LoginError::Source { reason: "sts".to_owned() }),
                Some(number) => {
                    Ok(Token { value: Zeroizing::new(format!("token-{}", number + 1)), lifetime: self.lifetime })
                }
            }
        }
        .boxed()
    }

    fn refused(&self) -> BoxFuture<'_, ()> {
        self.refused.fetch_add(1, Ordering::SeqCst);
        std::future::ready(()).boxed()
    }

    fn fingerprint(&self) -> Vec<u8> {
        Vec::new()
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_is_told_once_that_a_token_was_refused() {
    let source = source(0, None);
    let login = Login::source(source.clone());
    let old = login.credential().await.unwrap();
    login.renew(&old).await;
    let new = login.credential().await.unwrap();
    login.renew(&old).await;
    assert_eq!(source.refused.load(Ordering::SeqCst), 1, "the second was about a token of before");
    login.renew(&new).await;
    assert_eq!(source.refused.load(Ordering::SeqCst), 2);
}

async fn shown(login: &Login) -> String {
    login.bearer().await.unwrap().unwrap().to_str().unwrap().to_owned()
}

fn scratch(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("towline-login-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A login by a plugin that is a shell script.
fn plugin(script: &str, more: &str) -> Login {
    let text = serde_json::json!({
        "clusters": [{"name": "c", "cluster": {"server": "https://c"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "env": [{"name": "WHO", "value": "hunter2"}], "installHint": "get it", "provideClusterInfo": more == "cluster",
        }}}],
    });
    kubeconfig::parts(&kubeconfig::parse("test", &text.to_string()).unwrap(), "x").unwrap().login
}

fn credential(status: &str) -> String {
    format!(
        r#"printf %s '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{status}}}'"#
    )
}

#[tokio::test(start_paused = true)]
async fn any_number_of_callers_cause_one_fetch() {
    let source = source(0, Some(Duration::from_secs(600)));
    let login = Login::source(source.clone());
    let all = futures::future::join_all((0..50).map(|_| shown(&login))).await;
    assert!(all.iter().all(|header| header == "Bearer token-1"));
    tokio::time::advance(Duration::from_secs(538)).await;
    assert_eq!(shown(&login).await, "Bearer token-1");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(shown(&login).await, "Bearer token-2", "a minute before its expiry");
    assert_eq!(source.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_fetch_share_its_failure() {
    let source = source(1, None);
    let login = Login::source(source.clone());
    let begun = Instant::now();
    let all = futures::future::join_all((0..50).map(|_| login.bearer())).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!((source.asked.load(Ordering::SeqCst), begun.elapsed().as_secs()), (1, 1));
    assert_eq!(shown(&login).await, "Bearer token-1", "the next caller tries again");
}

#[tokio::test(start_paused = true)]
async fn only_the_refused_token_is_dropped() {
    let login = Login::source(source(0, None));
    let first = login.credential().await.unwrap();
    login.renew(&first).await;
    assert_eq!(shown(&login).await, "Bearer token-2");
    login.renew(&first).await;
    assert_eq!(shown(&login).await, "Bearer token-2", "a late refusal of the old one changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_short_lifetime_is_used_for_three_quarters() {
    let login = Login::source(source(0, Some(Duration::from_secs(40))));
    assert_eq!(shown(&login).await, "Bearer token-1");
    tokio::time::advance(Duration::from_secs(29)).await;
    assert_eq!(shown(&login).await, "Bearer token-1");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(shown(&login).await, "Bearer token-2");
}

#[tokio::test]
async fn a_token_file_is_read_again_and_its_last_token_outlives_it() {
    let path = scratch("token", " one\n");
    let login = Login::token_file(&path);
    let first = login.credential().await.unwrap();
    assert_eq!(shown(&login).await, "Bearer one");
    std::fs::write(&path, "two").unwrap();
    assert_eq!(shown(&login).await, "Bearer one");
    login.renew(&first).await;
    assert_eq!(shown(&login).await, "Bearer two");
    std::fs::remove_file(&path).unwrap();
    login.renew(&login.credential().await.unwrap()).await;
    assert_eq!(shown(&login).await, "Bearer two");
    let missing = Login::token_file(&path).bearer().await.unwrap_err();
    assert_eq!(missing, LoginError::File { path, kind: io::ErrorKind::NotFound });
}

#[tokio::test]
async fn a_plugin_is_told_who_asks_and_answers_once() {
    let runs = scratch("runs", "");
    let script = format!(
        r#"echo run >> {}; case "$KUBERNETES_EXEC_INFO" in *'"server":"https://c"'*) ;; *) exit 3;; esac; {}"#,
        runs.display(),
        credential(r#"{"token":"'$WHO'"}"#),
    );
    let login = plugin(&script, "cluster");
    assert_eq!(shown(&login).await, "Bearer hunter2");
    assert_eq!(shown(&login).await, "Bearer hunter2");
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
}

#[tokio::test]
async fn a_plugin_may_answer_a_client_certificate() {
    let status =
        r#"{"clientCertificateData":"CERT","clientKeyData":"KEY","expirationTimestamp":"2000-01-01T00:00:00Z"}"#;
    let credential = plugin(&credential(status), "").credential().await.unwrap();
    assert!(credential.authorization.is_none());
    assert_eq!(&**credential.identity.unwrap().certificate, b"CERT");
}

#[tokio::test]
async fn a_failing_plugin_is_named_and_not_quoted() {
    let table = [
        (
            "echo hunter2; echo hunter2 >&2; exit 7".to_owned(),
            "exec plugin sh failed (exit status: 7); run it by hand to see what it says",
        ),
        ("echo hunter2".to_owned(), "exec plugin sh printed no usable ExecCredential: it is not of that shape"),
        (
            credential("{}"),
            "exec plugin sh printed no usable ExecCredential: it has neither token nor client certificate",
        ),
        (credential("null"), "exec plugin sh printed no usable ExecCredential: it has no status"),
        (credential(r#"{"token":"a\nhunter2"}"#), "the token is not fit for a header"),
    ];
    for (script, said) in table {
        let error = plugin(&script, "").bearer().await.unwrap_err();
        assert_eq!(error.to_string(), said);
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_hangs_is_given_up() {
    let error = plugin("exec sleep 1000", "").bearer().await.unwrap_err();
    assert_eq!(error, LoginError::Exec(ExecError::Slow { command: "sh".to_owned() }));
}

#[tokio::test]
async fn a_plugin_ends_with_the_request_that_waits_for_it() {
    let pid = scratch("pid", "");
    let login = plugin(&format!("echo $$ > {}; exec sleep 1000", pid.display()), "");
    let written = || std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    tokio::select! { _ = login.bearer() => panic!("it hangs"), () = until("started", || !written().is_empty()) => {} }
    let process = PathBuf::from(format!("/proc/{}", written()));
    until("killed", || !process.exists()).await;
}

#[test]
fn what_is_secret_is_marked_sensitive() {
    for login in [Login::token("hunter2").unwrap(), Login::basic("u", "hunter2").unwrap()] {
        let header = login.bearer().now_or_never().unwrap().unwrap().unwrap();
        assert!(header.is_sensitive() && format!("{header:?}") == "Sensitive");
    }
    let basic = Login::basic("Aladdin", "open sesame").unwrap().bearer().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(basic.to_str().unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}
