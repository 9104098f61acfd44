//! Endpoints from kubeconfigs: what is taken, what is refused, and that nothing is quoted.

use super::*;
use serde_json::{Value, json};

fn config(cluster: &Value, user: &Value) -> Kubeconfig {
    let text = json!({
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "web"}}],
        "users": [{"name": "u", "user": user}],
    });
    kubeconfig::parse("test", &text.to_string()).unwrap()
}

fn endpoint(cluster: &Value, user: &Value) -> Result<Endpoint, EndpointError> {
    Endpoint::from_context(&config(cluster, user), "x")
}

fn pem() -> (String, String) {
    let pair = rcgen::generate_simple_self_signed(["c".to_owned()]).unwrap();
    (STANDARD.encode(pair.cert.pem()), STANDARD.encode(pair.signing_key.serialize_pem()))
}

#[test]
fn a_context_says_all_that_is_needed() {
    let (certificate, key) = pem();
    let cluster = json!({"server": "https://c.example:6443/k8s/", "certificate-authority-data": certificate, "tls-server-name": "c"});
    let user = json!({"client-certificate-data": certificate, "client-key-data": key, "as": "bob", "as-groups": ["g", "h"],
        "as-user-extra": {"example.com/Scope": ["s"]}});
    let endpoint = endpoint(&cluster, &user).unwrap();
    assert_eq!(endpoint.server(), "https://c.example:6443");
    assert_eq!(endpoint.base().path(), "/k8s");
    assert_eq!(endpoint.default_namespace().map(Namespace::as_str), Some("web"));
    assert_eq!(endpoint.headers().get_all("impersonate-group").iter().count(), 2);
    assert_eq!(endpoint.headers().get("impersonate-extra-example.com%2Fscope").unwrap(), "s");
    let alpn = &endpoint.tls(None).unwrap().alpn_protocols;
    assert_eq!(*alpn, [b"h2".to_vec(), b"http/1.1".to_vec()]);
}

#[test]
fn a_user_that_is_missing_does_not_make_us_anonymous() {
    let mut config = config(&json!({"server": "https://c"}), &json!({"token": "t"}));
    config.auth_infos.clear();
    let error = Endpoint::from_context(&config, "x").err().unwrap();
    assert_eq!(error.to_string(), "context x: user: there is no user u");
    config.contexts[0].context.as_mut().unwrap().user = None;
    assert!(Endpoint::from_context(&config, "x").is_ok());
}

#[test]
fn what_is_wrong_is_told_by_context_and_field_and_never_quoted() {
    let fine = json!({"server": "https://c"});
    let (certificate, _) = pem();
    let table = [
        (json!({}), json!({}), "cluster.server: there is no server"),
        (json!({"server": "c:6443"}), json!({}), "server: must begin with https:// (or http://)"),
        (json!({"server": "https://hunter2@c"}), json!({}), "server: must be scheme, host, port and path only"),
        (
            json!({"server": "https://c", "certificate-authority-data": "hunter2!"}),
            json!({}),
            "cluster.certificate-authority-data: is not base64",
        ),
        (
            json!({"server": "https://c", "certificate-authority-data": "aHVudGVyMg=="}),
            json!({}),
            "certificate-authority: holds no PEM certificate",
        ),
        (
            json!({"server": "https://c", "proxy-url": "socks5://hunter2"}),
            json!({}),
            "proxy-url: only http:// proxies (CONNECT) are supported",
        ),
        (json!({"server": "https://c", "tls-server-name": "hunter2/"}), json!({}), "tls-server-name: is not a name"),
        (
            json!({"server": "https://c", "insecure-skip-tls-verify": true, "certificate-authority-data": certificate}),
            json!({}),
            "insecure-skip-tls-verify: cannot be combined with a certificate authority",
        ),
        (fine.clone(), json!({"token": "hunter2\n"}), "user.token: the token is not fit for a header"),
        (
            fine.clone(),
            json!({"client-certificate-data": "aHVudGVyMg=="}),
            "user: a client certificate needs both certificate and key",
        ),
        (
            fine.clone(),
            json!({"client-certificate-data": "aHVudGVyMg==", "client-key-data": "aHVudGVyMg=="}),
            "client-certificate: is not usable for TLS",
        ),
        (
            fine.clone(),
            json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}}),
            "user.exec.apiVersion: must be client.authentication.k8s.io/v1 or …/v1beta1",
        ),
        (
            fine.clone(),
            json!({"auth-provider": {"name": "gcp", "config": {"access-token": "hunter2"}}}),
            "user.auth-provider: gcp was removed from Kubernetes in 1.26: use an exec plugin",
        ),
    ];
    for (cluster, user, said) in table {
        let error = endpoint(&cluster, &user).err().unwrap();
        assert_eq!(error.to_string(), format!("context x: {said}"));
        assert!(!format!("{error:?}").contains("hunter2"));
    }
    let error = Endpoint::from_context(&config(&fine, &json!({})), "y").err().unwrap();
    assert_eq!(error.to_string(), "context y: contexts: there is no such context");
}

#[test]
fn a_kubeconfig_that_is_none_is_not_quoted() {
    for text in ["token: [hunter2", "users: hunter2", "users:\n- name: a\n  user: {token: [hunter2]}"] {
        let error = kubeconfig::parse("follower x", text).unwrap_err().to_string();
        assert!(error.starts_with("follower x: kubeconfig: is not a kubeconfig (line "), "{error}");
        assert!(!error.contains("hunter2"));
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_its_path() {
    let error = kubeconfig::read(Path::new("/nowhere/config")).unwrap_err().to_string();
    assert_eq!(error, "/nowhere/config: entity not found");
}

#[test]
fn the_fingerprint_changes_with_anything_that_matters_and_with_nothing_else() {
    let cluster = json!({"server": "https://c"});
    let of = |cluster: &Value, user: &Value| endpoint(cluster, user).unwrap().fingerprint();
    let extra = json!({"token": "a", "as-user-extra": {"p": ["1"], "q": ["2"], "r": ["3"], "s": ["4"], "t": ["5"]}});
    assert!(of(&cluster, &extra) == of(&cluster, &extra));
    let first = of(&cluster, &json!({"token": "a"}));
    let exec = |who: &str| json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "env": [{"name": "A", "value": who}]}});
    let others = [
        of(&json!({"server": "https://d"}), &json!({"token": "a"})),
        of(&json!({"server": "https://c", "tls-server-name": "d"}), &json!({"token": "a"})),
        of(&json!({"server": "https://c", "certificate-authority-data": pem().0}), &json!({"token": "a"})),
        of(&json!({"server": "https://c", "proxy-url": "http://p"}), &json!({"token": "a"})),
        of(&cluster, &json!({"token": "b"})),
        of(&cluster, &json!({"token": "a", "as": "bob"})),
        of(&cluster, &json!({"tokenFile": "/a"})),
        of(&cluster, &json!({"tokenFile": "/b"})),
        of(&cluster, &exec("a")),
        of(&cluster, &exec("b")),
        of(&cluster, &json!({})),
    ];
    let mut all = vec![first];
    for other in others {
        assert!(!all.contains(&other));
        all.push(other);
    }
}

#[test]
fn a_proxy_is_asked_with_its_password() {
    let endpoint = endpoint(&json!({"server": "https://c", "proxy-url": "http://u:p@proxy:3128"}), &json!({})).unwrap();
    let proxy = endpoint.proxy().unwrap();
    assert_eq!((proxy.uri.host(), proxy.uri.port_u16()), (Some("proxy"), Some(3128)));
    assert_eq!(proxy.authorization.as_ref().unwrap(), "Basic dTpw");
}

#[test]
fn a_connection_goes_to_the_server_or_to_the_proxy_before_it() {
    let hop = |server: &str, proxy: Option<&str>| {
        let parts = Parts { server: server.to_owned(), proxy_url: proxy.map(str::to_owned), ..Parts::default() };
        Endpoint::new("test", parts).unwrap().first_hop()
    };
    let there = |host: &str, port, is_proxy| Hop { host: host.to_owned(), port, is_proxy };
    assert_eq!(hop("https://127.0.0.1:6443/path", None), there("127.0.0.1", 6443, false));
    assert_eq!(hop("https://[::1]", None), there("::1", 443, false));
    assert_eq!(hop("http://localhost", None), there("localhost", 80, false));
    assert_eq!(hop("https://a.eks", Some("http://proxy:3128")), there("proxy", 3128, true));
}
