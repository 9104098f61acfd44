//! The way to a server, judged. Pure.

use super::step::{Kind, Step};
use crate::cluster::endpoint::Hop;
use jiff::Timestamp;
use std::{io, net::IpAddr, net::SocketAddr};

/// A certificate that ends sooner is told.
const SOON: i64 = 30;
const DAY: i64 = 24 * 60 * 60;

/// Why no certificate was shown, or one that is not good: pieces of rustls' texts, what that means, what to change.
const TLS: [(&[&str], &str, &str); 6] = [
    (
        &["UnknownIssuer", "BadSignature", "unknown issuer", "signature"],
        "its certificate is not from the certificate authority of the connection",
        "take the certificate authority from the cluster again; or does a proxy on the way read TLS?",
    ),
    (
        &["not valid for name", "NotValidForName"],
        "its certificate is for another name",
        "name the server as its certificate does, or set tlsServerName (tls-server-name in a kubeconfig)",
    ),
    (
        &["expired", "Expired"],
        "its certificate has expired",
        "renew the server's certificate; and is the clock here right?",
    ),
    (&["not valid yet", "NotValidYet"], "its certificate is not valid yet", "set this machine's clock"),
    (&["corrupt message", "InvalidContentType"], "it does not speak TLS", "check scheme and port of the server"),
    (&["proxy: "], "the proxy makes no way to it", "let the proxy CONNECT to the server, or go without it (NO_PROXY)"),
];

/// What a name resolves to.
pub(super) fn dns(hop: &Hop, answer: Result<&[IpAddr], ()>) -> Step {
    if hop.host.parse::<IpAddr>().is_ok() {
        return Step::passed(Kind::Dns, format!("{} is an address", hop.host));
    }
    let name = if hop.is_proxy { format!("the proxy's name {}", hop.host) } else { hop.host.clone() };
    match answer {
        Ok(addresses) if !addresses.is_empty() => {
            let shown: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
            Step::passed(Kind::Dns, format!("{name} is {}", shown.join(", ")))
        }
        _ => {
            let fix = "check the name; one of a private zone resolves only where that zone is known";
            Step::failed(Kind::Dns, format!("{name} does not resolve"), fix)
        }
    }
}

/// A TCP connection; `None`: no answer in time.
pub(super) fn tcp(hop: &Hop, answer: Result<SocketAddr, Option<io::ErrorKind>>) -> Step {
    let whose = if hop.is_proxy { "the proxy" } else { "the server" };
    let failed = |why: String, fix: &str| Step::failed(Kind::Tcp, format!("{}:{}: {why}", hop.host, hop.port), fix);
    match answer {
        Ok(address) => Step::passed(Kind::Tcp, format!("{whose} answers at {address}")),
        Err(Some(io::ErrorKind::ConnectionRefused)) => {
            failed("connection refused".to_owned(), "nothing listens there: check host and port, and whether it is up")
        }
        Err(Some(kind)) => failed(kind.to_string(), "let packets from here reach it: route, firewall, security group"),
        Err(None) => failed(
            "no answer in time".to_owned(),
            "let packets from here reach it: firewall, security group, private endpoint",
        ),
    }
}

/// TLS; an error is what [`crate::cluster::Error::Connect`] says.
pub(super) fn tls(is_verified: bool, answer: Result<(), &str>) -> Step {
    match answer {
        Ok(()) if is_verified => Step::passed(Kind::Tls, "the server proves who it is"),
        Ok(()) => {
            let fix = "give the connection https and a certificate authority: whoever is on the way can read the token";
            Step::warned(Kind::Tls, "the server need not prove who it is", fix)
        }
        Err(why) => {
            let known = TLS.iter().find(|(pieces, ..)| pieces.iter().any(|piece| why.contains(piece)));
            match known {
                Some((_, found, fix)) => Step::failed(Kind::Tls, *found, *fix),
                None => {
                    Step::failed(Kind::Tls, why, "is there an API server behind this address, and nothing in between?")
                }
            }
        }
    }
}

/// How long the server's certificate is good, and how long that of its authority: of several, the one that lasts.
pub(super) fn certificates(shown: &[Vec<u8>], authorities: &[Vec<u8>], now: Timestamp) -> Vec<Step> {
    let server = shown.first().and_then(|der| end(der));
    let authority = authorities.iter().filter_map(|der| end(der)).max();
    let server = server.map(|end| validity(Kind::Certificate, end, now, "renew the server's certificate"));
    let authority = authority.map(|end| {
        validity(
            Kind::Authority,
            end,
            now,
            "take the certificate authority from the cluster again, once it has a new one",
        )
    });
    server.into_iter().chain(authority).collect()
}

fn validity(kind: Kind, end: i64, now: Timestamp, fix: &str) -> Step {
    let day = Timestamp::from_second(end).map(|end| end.strftime("%Y-%m-%d").to_string()).unwrap_or_default();
    let left = end.saturating_sub(now.as_second());
    match left / DAY {
        _ if left <= 0 => Step::failed(kind, format!("ended on {day}"), fix),
        days if days < SOON => Step::warned(kind, format!("good until {day}: {days} days"), fix),
        _ => Step::passed(kind, format!("good until {day}")),
    }
}

fn end(der: &[u8]) -> Option<i64> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

#[cfg(test)]
mod tests {
    use super::{super::step::Outcome, *};

    fn hop(host: &str, is_proxy: bool) -> Hop {
        Hop { host: host.to_owned(), port: 443, is_proxy }
    }

    #[test]
    fn names_and_addresses_are_told() {
        let ten: &[IpAddr] = &["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        let table = [
            (hop("a.eks", false), Ok(ten), Outcome::Passed, "a.eks is 10.0.0.1, 10.0.0.2"),
            (hop("p", true), Ok(ten), Outcome::Passed, "the proxy's name p is 10.0.0.1, 10.0.0.2"),
            (hop("10.0.0.1", false), Err(()), Outcome::Passed, "10.0.0.1 is an address"),
            (hop("a.eks", false), Ok(&[][..]), Outcome::Failed, "a.eks does not resolve"),
            (hop("a.eks", false), Err(()), Outcome::Failed, "a.eks does not resolve"),
        ];
        for (hop, answer, outcome, found) in table {
            let step = dns(&hop, answer);
            assert_eq!((step.result, step.found.as_str()), (outcome, found));
        }
    }

    #[test]
    fn a_connection_that_is_refused_is_told_from_one_that_is_swallowed() {
        let refused = tcp(&hop("a", false), Err(Some(io::ErrorKind::ConnectionRefused)));
        assert_eq!(
            (refused.found.as_str(), refused.fix.contains("nothing listens")),
            ("a:443: connection refused", true)
        );
        let swallowed = tcp(&hop("a", false), Err(None));
        assert_eq!(
            (swallowed.found.as_str(), swallowed.fix.contains("security group")),
            ("a:443: no answer in time", true)
        );
        let there = tcp(&hop("p", true), Ok("10.0.0.1:443".parse().unwrap()));
        assert_eq!((there.result, there.found.as_str()), (Outcome::Passed, "the proxy answers at 10.0.0.1:443"));
    }

    #[test]
    fn every_certificate_that_is_not_good_has_its_own_words() {
        use rustls::{CertificateError, Error, InvalidMessage};
        let table = [
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), "not from the certificate authority"),
            (Error::InvalidCertificate(CertificateError::BadSignature), "not from the certificate authority"),
            (Error::InvalidCertificate(CertificateError::NotValidForName), "another name"),
            (Error::InvalidCertificate(CertificateError::Expired), "has expired"),
            (Error::InvalidCertificate(CertificateError::NotValidYet), "not valid yet"),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "does not speak TLS"),
        ];
        for (error, found) in table {
            let step = tls(true, Err(&format!("TLS: {error}")));
            assert!(
                step.result == Outcome::Failed && step.found.contains(found) && !step.fix.is_empty(),
                "{error}: {step:?}"
            );
        }
        assert!(tls(true, Err("proxy: tunnel error: unsuccessful")).found.contains("proxy"));
        assert_eq!(tls(true, Err("connection reset")).found, "connection reset");
    }

    #[test]
    fn a_server_that_proves_nothing_is_told() {
        assert_eq!((tls(true, Ok(())).result, tls(false, Ok(())).result), (Outcome::Passed, Outcome::Warned));
    }

    /// A certificate that ends on this day of 2030.
    fn certificate(month: u8, day: u8) -> Vec<u8> {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["a".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2030, month, day);
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn an_end_is_told_a_month_ahead() {
        let now: Timestamp = "2030-03-01T00:00:00Z".parse().unwrap();
        let table = [
            (certificate(3, 1), Outcome::Failed, "ended on 2030-03-01"),
            (certificate(3, 11), Outcome::Warned, "good until 2030-03-11: 10 days"),
            (certificate(3, 31), Outcome::Passed, "good until 2030-03-31"),
        ];
        for (shown, outcome, found) in table {
            let steps = certificates(&[shown], &[], now);
            assert_eq!(steps.len(), 1);
            assert_eq!((steps[0].step, steps[0].result, steps[0].found.as_str()), (Kind::Certificate, outcome, found));
        }
    }

    #[test]
    fn of_two_authorities_the_one_that_lasts_counts() {
        let now: Timestamp = "2030-03-01T00:00:00Z".parse().unwrap();
        let steps = certificates(&[], &[certificate(1, 1), certificate(12, 1)], now);
        assert_eq!((steps.len(), steps[0].step, steps[0].result), (1, Kind::Authority, Outcome::Passed));
        assert!(certificates(&[], &[b"junk".to_vec()], now).is_empty());
    }
}
