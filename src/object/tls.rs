//! Whether the pair in a `kubernetes.io/tls` Secret is sound: both parts parse, and the key belongs to the certificate.

use super::decode::Content;
use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::{
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use std::fmt;
use zeroize::Zeroizing;

/// The type of Secrets that hold a certificate and its key.
pub const TLS_TYPE: &str = "kubernetes.io/tls";

/// A sound pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound {
    /// End of the leaf certificate's validity, seconds since the epoch.
    pub not_after: i64,
}

/// Why a pair is not sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsound {
    /// `tls.crt` is missing, empty or holds no certificate that can be read.
    Certificate,
    /// `tls.key` is missing, empty or holds no private key that can be read.
    Key,
    /// The key is not the certificate's.
    Mismatch,
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "tls.crt holds no readable certificate",
            Self::Key => "tls.key holds no readable private key",
            Self::Mismatch => "tls.key does not belong to the certificate in tls.crt",
        })
    }
}

/// Looks at the pair; `None` if the object is not of type `kubernetes.io/tls`.
pub fn examine(content: &Content) -> Option<Result<Sound, Unsound>> {
    (content.type_.as_deref() == Some(TLS_TYPE)).then(|| pair(content))
}

fn pair(content: &Content) -> Result<Sound, Unsound> {
    let certificate = decoded(content, "tls.crt").ok_or(Unsound::Certificate)?;
    let key = decoded(content, "tls.key").ok_or(Unsound::Key)?;
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&certificate).collect::<Result<_, _>>().map_err(|_| Unsound::Certificate)?;
    let leaf = chain.first().ok_or(Unsound::Certificate)?;
    let (_, parsed) = x509_parser::parse_x509_certificate(leaf).map_err(|_| Unsound::Certificate)?;
    let not_after = parsed.validity().not_after.timestamp();
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| Unsound::Key)?;
    match CertifiedKey::from_der(chain, key, &provider()) {
        Ok(_) => Ok(Sound { not_after }),
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => Err(Unsound::Mismatch),
        Err(rustls::Error::InvalidCertificate(_)) => Err(Unsound::Certificate),
        Err(_) => Err(Unsound::Key),
    }
}

fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}

fn decoded(content: &Content, key: &str) -> Option<Zeroizing<Vec<u8>>> {
    STANDARD.decode(content.data.get(key)?.reveal()).ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(certificate: &str, key: &str) -> Content {
        let entry = |name: &str, pem: &str| (name.into(), STANDARD.encode(pem).as_str().into());
        Content {
            type_: Some(TLS_TYPE.into()),
            data: [entry("tls.crt", certificate), entry("tls.key", key)].into(),
            ..Content::default()
        }
    }

    fn certified() -> (String, String) {
        let pair = rcgen::generate_simple_self_signed(vec!["example.org".to_owned()]).unwrap();
        (pair.cert.pem(), pair.signing_key.serialize_pem())
    }

    #[test]
    fn a_pair_is_sound_only_if_both_parse_and_belong_together() {
        let ((one, one_key), (two, two_key)) = (certified(), certified());
        assert!(examine(&secret(&one, &one_key)).unwrap().is_ok());
        assert!(examine(&secret(&(one.clone() + &two), &one_key)).unwrap().is_ok(), "a chain");
        assert_eq!(examine(&secret(&one, &two_key)), Some(Err(Unsound::Mismatch)));
        assert_eq!(examine(&secret("", &one_key)), Some(Err(Unsound::Certificate)));
        assert_eq!(examine(&secret("garbage", &one_key)), Some(Err(Unsound::Certificate)));
        assert_eq!(examine(&secret(&one, "")), Some(Err(Unsound::Key)));
    }

    #[test]
    fn only_tls_secrets_are_looked_at() {
        assert_eq!(examine(&Content::default()), None);
    }

    #[test]
    fn the_end_of_validity_is_the_leafs() {
        let sound = examine(&secret(&certified().0, &certified().1)).unwrap();
        assert_eq!(sound, Err(Unsound::Mismatch));
        let (certificate, key) = certified();
        let sound = examine(&secret(&certificate, &key)).unwrap().unwrap();
        assert_eq!(sound.not_after, 67_090_118_400);
    }
}
