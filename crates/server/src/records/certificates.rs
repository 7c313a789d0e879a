//! Certificates as the API shows them.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{CertificateState, Timestamp};
use windlass_store::certificates::Certificate;

/// One of an organization, with the domains that it is served for.
pub fn certificate(row: Certificate, organization_id: Uuid, domains: Vec<String>, now: Timestamp) -> api::Certificate {
    api::Certificate {
        id: row.id,
        organization_id,
        user_id: row.user_id,
        names: row.names().map(str::to_owned).collect(),
        state: state(&row, now),
        domains,
        issuer: row.issuer,
        serial_number: row.serial_number,
        fingerprint: row.fingerprint,
        key_type: row.key_type,
        not_before: row.not_before,
        not_after: row.not_after,
        created_at: row.created_at,
    }
}

fn state(row: &Certificate, now: Timestamp) -> CertificateState {
    match row {
        _ if now < row.not_before => CertificateState::NotYetValid,
        _ if now < row.not_after => CertificateState::Valid,
        _ => CertificateState::Expired,
    }
}
