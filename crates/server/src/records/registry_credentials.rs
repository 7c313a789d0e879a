//! What organizations show to registries of images.

use windlass_api as api;
use windlass_store::registry_credentials::RegistryCredential;

pub fn registry_credential(row: RegistryCredential) -> api::RegistryCredential {
    api::RegistryCredential {
        id: row.id,
        organization_id: row.organization_id,
        user_id: row.user_id,
        host: row.host,
        username: row.username,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
