//! TLS from files.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use types::{Error, Result, SqlState};

use crate::options::TlsFiles;

fn unusable(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::new(SqlState::CONFIG_FILE_ERROR, format!("{}: {reason}", path.display()))
}

/// An acceptor with the certificate and key of `files`.
///
/// # Errors
/// F0000 with the file that is missing or wrong.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor> {
    let path = files.certificate.as_path();
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| unusable(path, error))?;
    let key = PrivateKeyDer::from_pem_file(&files.key);
    let key = key.map_err(|error| unusable(&files.key, error))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| unusable(path, error))?;
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
