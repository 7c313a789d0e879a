//! Private keys of certificates, and what they are ordered or signed with.

use uuid::Uuid;
use windlass_store::Tx;
use windlass_store::sealed::{CERTIFICATE_KEY, CERTIFICATE_ORDER_KEY, INSTANCE_SECRET, Sealed};

use super::{SealedCell, Vault};
use crate::error::Result;

impl Vault {
    pub async fn certificate_key(&self, id: Uuid, sealed: &[u8]) -> Result<String> {
        self.open_text(SealedCell { column: CERTIFICATE_KEY, row: id }, sealed).await
    }

    pub async fn seal_certificate_key(&self, tx: &mut Tx, id: Uuid, pem: &str) -> Result<Vec<u8>> {
        self.seal(tx, SealedCell { column: CERTIFICATE_KEY, row: id }, pem.as_bytes()).await
    }

    pub async fn certificate_order_key(&self, id: Uuid, sealed: &[u8]) -> Result<String> {
        self.open_text(SealedCell { column: CERTIFICATE_ORDER_KEY, row: id }, sealed).await
    }

    pub async fn seal_certificate_order_key(&self, tx: &mut Tx, id: Uuid, pem: &str) -> Result<Vec<u8>> {
        self.seal(tx, SealedCell { column: CERTIFICATE_ORDER_KEY, row: id }, pem.as_bytes()).await
    }

    pub async fn instance_secret(&self, sealed: &Sealed) -> Result<String> {
        self.open_text(SealedCell { column: INSTANCE_SECRET, row: sealed.id }, &sealed.value).await
    }

    pub async fn seal_instance_secret(&self, tx: &mut Tx, id: Uuid, text: &str) -> Result<Vec<u8>> {
        self.seal(tx, SealedCell { column: INSTANCE_SECRET, row: id }, text.as_bytes()).await
    }
}
