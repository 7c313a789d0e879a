//! Private keys of certificates.

use uuid::Uuid;
use windlass_store::Tx;
use windlass_store::sealed::CERTIFICATE_KEY;

use super::{SealedCell, Vault};
use crate::error::Result;

impl Vault {
    pub async fn certificate_key(&self, id: Uuid, sealed: &[u8]) -> Result<String> {
        self.open_text(SealedCell { column: CERTIFICATE_KEY, row: id }, sealed).await
    }

    pub async fn seal_certificate_key(&self, tx: &mut Tx, id: Uuid, pem: &str) -> Result<Vec<u8>> {
        self.seal(tx, SealedCell { column: CERTIFICATE_KEY, row: id }, pem.as_bytes()).await
    }
}
