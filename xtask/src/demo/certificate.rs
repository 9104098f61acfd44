//! A wildcard certificate, signed by itself.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, KeyPair, SerialNumber};
use serde_json::{Value, json};

/// A certificate and its key, PEM.
pub(super) struct Certificate {
    /// What tells it apart, and may be shown.
    pub(super) serial: String,
    chain: String,
    key: String,
}

impl Certificate {
    /// Makes a new one for `*.example.com`.
    pub(super) fn issue() -> Result<Self> {
        let serial = [0x0A, fastrand::u8(..), fastrand::u8(..), fastrand::u8(..)];
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(["*.example.com".to_owned()])?;
        parameters.distinguished_name.push(DnType::CommonName, "*.example.com");
        parameters.serial_number = Some(SerialNumber::from_slice(&serial));
        let chain = parameters.self_signed(&key)?.pem();
        let serial: Vec<String> = serial.iter().map(|byte| format!("{byte:02X}")).collect();
        Ok(Self { serial: serial.join(":"), chain, key: key.serialize_pem() })
    }

    /// The data of a `kubernetes.io/tls` Secret.
    pub(super) fn data(&self) -> Value {
        json!({"tls.crt": self.encoded(), "tls.key": STANDARD.encode(&self.key)})
    }

    /// `tls.crt` as it stands in a Secret.
    pub(super) fn encoded(&self) -> String {
        STANDARD.encode(&self.chain)
    }
}
