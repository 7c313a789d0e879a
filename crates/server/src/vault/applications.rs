//! What applications and releases keep secret: their variables, and what their repository asks for.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;
use windlass_api::{RepositoryCredentials, Variables};
use windlass_store::applications::Application;
use windlass_store::releases::{self, Release};
use windlass_store::sealed::{APPLICATION_CREDENTIALS, APPLICATION_VARIABLES, RELEASE_SERVICES, RELEASE_VARIABLES};
use windlass_store::{Conn, Tx};

use super::{SealedCell, Vault, damaged};
use crate::error::{Error, Result};
use crate::release_services::ReleaseServices;

impl Vault {
    pub async fn application_variables(&self, application: &Application) -> Result<Variables> {
        let cell = SealedCell { column: APPLICATION_VARIABLES, row: application.id };
        self.open_json(cell, &application.sealed_variables).await
    }

    pub async fn seal_application_variables(&self, tx: &mut Tx, id: Uuid, variables: &Variables) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: APPLICATION_VARIABLES, row: id }, variables).await
    }

    pub async fn release_variables(&self, release: &Release) -> Result<Variables> {
        self.open_json(SealedCell { column: RELEASE_VARIABLES, row: release.id }, &release.sealed_variables).await
    }

    pub async fn seal_release_variables(&self, tx: &mut Tx, id: Uuid, variables: &Variables) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: RELEASE_VARIABLES, row: id }, variables).await
    }

    /// None if it has no services.
    pub async fn release_services(&self, conn: &mut Conn, id: Uuid) -> Result<Option<ReleaseServices>> {
        match releases::sealed_services(conn, id).await? {
            Some(sealed) => self.open_json(SealedCell { column: RELEASE_SERVICES, row: id }, &sealed).await.map(Some),
            None => Ok(None),
        }
    }

    pub async fn seal_release_services(&self, tx: &mut Tx, id: Uuid, services: &ReleaseServices) -> Result<Vec<u8>> {
        self.seal_json(tx, SealedCell { column: RELEASE_SERVICES, row: id }, services).await
    }

    /// Empty for a public repository.
    pub async fn repository_credentials(&self, application: &Application) -> Result<RepositoryCredentials> {
        match &application.sealed_credentials {
            Some(sealed) => {
                self.open_json(SealedCell { column: APPLICATION_CREDENTIALS, row: application.id }, sealed).await
            }
            None => Ok(RepositoryCredentials::default()),
        }
    }

    pub async fn seal_repository_credentials(
        &self,
        tx: &mut Tx,
        id: Uuid,
        credentials: &RepositoryCredentials,
    ) -> Result<Option<Vec<u8>>> {
        if credentials.is_empty() {
            return Ok(None);
        }
        self.seal_json(tx, SealedCell { column: APPLICATION_CREDENTIALS, row: id }, credentials).await.map(Some)
    }

    pub(super) async fn open_json<T: DeserializeOwned>(&self, cell: SealedCell, sealed: &[u8]) -> Result<T> {
        serde_json::from_slice(&self.open(cell, sealed).await?).map_err(|_| damaged(cell))
    }

    pub(super) async fn seal_json<T: Serialize>(&self, tx: &mut Tx, cell: SealedCell, value: &T) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(value).map_err(Error::internal)?;
        self.seal(tx, cell, &json).await
    }
}
