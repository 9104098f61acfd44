//! Keys and certificates of a cluster.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// The certificate that clients trust, in both of its forms.
pub(crate) struct Authority {
    pub(crate) pem: String,
    pub(crate) der: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
}

/// A client certificate and its key. Both PEM.
pub struct ClientCertificate {
    /// Says who the client is.
    pub certificate: String,
    /// Proves it.
    pub key: String,
}

impl Authority {
    /// A certificate for a client that the API server takes for `user`.
    pub(crate) fn client(&self, user: &str) -> Result<ClientCertificate> {
        let key = KeyPair::generate()?;
        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::CommonName, user);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = client.signed_by(&key, &self.issuer)?.pem();
        Ok(ClientCertificate { certificate, key: key.serialize_pem() })
    }
}

/// What an API server needs to prove who it is and to sign tokens. All PEM.
pub(crate) struct Certificates {
    /// The certificate authority that clients trust.
    pub(crate) authority: Authority,
    /// The server's certificate, good for 127.0.0.1 and localhost on any port.
    pub(crate) server: String,
    /// Its key.
    pub(crate) server_key: String,
    /// The key that signs service-account tokens.
    pub(crate) service_account_key: String,
    /// The key that proves them. The API server does not find it in the private one.
    pub(crate) service_account_public_key: String,
}

impl Certificates {
    /// Makes new ones, for nobody else to trust.
    pub(crate) fn generate(cluster: &str) -> Result<Self> {
        let authority_key = KeyPair::generate()?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        authority.distinguished_name.push(DnType::CommonName, format!("{cluster} authority"));
        let certificate = authority.self_signed(&authority_key)?;
        let (pem, der) = (certificate.pem(), certificate.der().to_vec());
        let trusted = Authority { pem, der, issuer: Issuer::new(authority, authority_key) };

        let server_key = KeyPair::generate()?;
        let names = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default"].map(String::from);
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, cluster);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let server_pem = server.signed_by(&server_key, &trusted.issuer)?.pem();

        let service_accounts = KeyPair::generate()?;
        Ok(Self {
            authority: trusted,
            server: server_pem,
            server_key: server_key.serialize_pem(),
            service_account_key: service_accounts.serialize_pem(),
            service_account_public_key: service_accounts.public_key_pem(),
        })
    }
}
