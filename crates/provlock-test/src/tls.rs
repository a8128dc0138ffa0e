//! Certificates made at run time: an authority, and a certificate of its for each host name that a
//! client asks for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, NoClientAuth, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;

/// The host with a self-signed certificate, whatever the authority.
pub const UNTRUSTED_HOST: &str = "untrusted.example.com";

/// A certificate authority whose servers can be any host.
pub struct Authority {
    certificates: Arc<Certificates>,
}

impl Authority {
    /// An authority with a key of its own. Clients of the same process can use TLS from then on.
    pub fn new() -> Self {
        let _ = ring::default_provider().install_default();
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        parameters
            .distinguished_name
            .push(DnType::CommonName, "provlock test authority");
        let issuer =
            CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        Self {
            certificates: Arc::new(Certificates {
                issuer,
                made: Mutex::default(),
            }),
        }
    }

    /// The certificate to trust, as PEM text.
    pub fn pem(&self) -> String {
        self.certificates.issuer.pem()
    }

    /// The certificate to trust, as DER.
    pub fn der(&self) -> Vec<u8> {
        self.certificates.issuer.der().to_vec()
    }

    /// The configuration of a server that offers the application protocol `alpn`, such as
    /// `http/1.1` or `h2`.
    pub(crate) fn server(&self, alpn: &str) -> Arc<ServerConfig> {
        self.server_with(alpn, Arc::new(NoClientAuth))
    }

    /// The same for a server that asks each client for a certificate of this authority, and also
    /// serves clients without one.
    pub(crate) fn asking_server(&self, alpn: &str) -> Arc<ServerConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der().into()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .allow_unauthenticated()
            .build()
            .unwrap();
        self.server_with(alpn, verifier)
    }

    fn server_with(&self, alpn: &str, verifier: Arc<dyn ClientCertVerifier>) -> Arc<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::clone(&self.certificates) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        Arc::new(config)
    }

    /// A certificate for a client and its key, as PEM texts.
    pub fn client_identity(&self) -> [String; 2] {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters
            .distinguished_name
            .push(DnType::CommonName, "provlock test client");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = parameters
            .signed_by(&key, &self.certificates.issuer)
            .unwrap();
        [certificate.pem(), key.serialize_pem()]
    }
}

#[derive(Debug)]
struct Certificates {
    issuer: CertifiedIssuer<'static, KeyPair>,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Certificates {
    fn make(&self, name: &str) -> CertifiedKey {
        let names = [name, "localhost", "127.0.0.1"].map(str::to_owned);
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().unwrap();
        let certificate = match name {
            UNTRUSTED_HOST => parameters.self_signed(&key).unwrap(),
            _ => parameters.signed_by(&key, &self.issuer).unwrap(),
        };
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        CertifiedKey::from_der(
            vec![certificate.der().clone()],
            key.into(),
            &ring::default_provider(),
        )
        .unwrap()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // A client that was given an address instead of a name asks for none.
        let name = hello.server_name().unwrap_or("localhost").to_owned();
        let mut made = self.made.lock().unwrap();
        Some(Arc::clone(
            made.entry(name)
                .or_insert_with_key(|name| Arc::new(self.make(name))),
        ))
    }
}
