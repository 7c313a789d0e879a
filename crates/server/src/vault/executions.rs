//! The values that executions are carried out with.

use uuid::Uuid;
use windlass_extension::Values;
use windlass_store::Tx;
use windlass_store::sealed::EXECUTION_VALUES;

use super::{SealedCell, Vault};
use crate::error::Result;

impl Vault {
    pub async fn execution_values(&self, id: Uuid, sealed: &[u8]) -> Result<Values> {
        self.open_json(SealedCell { column: EXECUTION_VALUES, row: id }, sealed).await
    }

    pub async fn seal_execution_values(&self, tx: &mut Tx, id: Uuid, values: &Values) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: EXECUTION_VALUES, row: id }, values).await
    }
}
