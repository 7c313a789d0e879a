//! Connections to code hosts.

use windlass_api as api;
use windlass_store::connections::Connection;

pub fn connection(row: Connection) -> api::Connection {
    api::Connection {
        install_url: row.install_url(),
        kind: row.kind,
        id: row.id,
        organization_id: row.organization_id,
        user_id: row.user_id,
        name: row.name,
        host: row.host,
        base_url: row.base_url,
        workspace: row.workspace,
        username: row.username,
        account: row.account,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
