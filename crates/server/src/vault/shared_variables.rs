//! Shared variables at rest.

use uuid::Uuid;
use windlass_store::Tx;
use windlass_store::sealed::SHARED_VARIABLES;
use windlass_store::shared_variables::SharedVariables;

use super::{SealedCell, Vault};
use crate::error::Result;
use crate::shared_variables::SharedSet;

impl Vault {
    pub async fn shared_variables(&self, row: &SharedVariables) -> Result<SharedSet> {
        self.open_json(SealedCell { column: SHARED_VARIABLES, row: row.id }, &row.sealed_variables).await
    }

    pub async fn seal_shared_variables(&self, tx: &mut Tx, id: Uuid, set: &SharedSet) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: SHARED_VARIABLES, row: id }, set).await
    }
}
