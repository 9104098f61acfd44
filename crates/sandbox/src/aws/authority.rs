//! Certificates for the hosts of AWS, that only our own clients trust.

use std::sync::Arc;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority.
pub(super) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn generate() -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        authority.distinguished_name.push(DnType::CommonName, "stand-in of AWS");
        let pem = authority.self_signed(&key)?.pem();
        Ok(Self { pem, issuer: Issuer::new(authority, key) })
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// What a server needs to be taken for `host`.
    pub(super) fn server(&self, host: &str) -> Result<Arc<ServerConfig>> {
        let key = KeyPair::generate()?;
        let mut server = CertificateParams::new([host.to_owned()])?;
        server.distinguished_name.push(DnType::CommonName, host);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let certificate = server.signed_by(&key, &self.issuer)?.der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        Ok(Arc::new(config))
    }
}
