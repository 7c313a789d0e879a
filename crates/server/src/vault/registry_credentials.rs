//! What organizations show to registries of images.

use uuid::Uuid;
use windlass_store::Tx;
use windlass_store::registry_credentials::RegistryCredential;
use windlass_store::sealed::REGISTRY_PASSWORD;

use super::{SealedCell, Vault};
use crate::error::Result;

impl Vault {
    pub async fn registry_password(&self, row: &RegistryCredential) -> Result<String> {
        self.open_text(SealedCell { column: REGISTRY_PASSWORD, row: row.id }, &row.sealed_password).await
    }

    pub async fn seal_registry_password(&self, tx: &mut Tx, id: Uuid, password: &str) -> Result<Vec<u8>> {
        self.seal(tx, SealedCell { column: REGISTRY_PASSWORD, row: id }, password.as_bytes()).await
    }
}
