//! Certificates as the API shows them.

use windlass_api as api;
use windlass_api::{CertificateState, Timestamp};
use windlass_store::certificates::Certificate;

use crate::served_certificates::Choice;

/// Those that are shown, of one organization, with those of its domains that each is served for.
pub fn certificates(
    shown: Vec<Certificate>,
    choice: &Choice,
    domains: &[String],
    now: Timestamp,
) -> Vec<api::Certificate> {
    let record = |row: Certificate| {
        let is_served =
            |domain: &&String| choice.of(row.organization_id, domain, now).is_some_and(|chosen| chosen.id == row.id);
        api::Certificate {
            id: row.id,
            organization_id: row.organization_id,
            user_id: row.user_id,
            names: row.names().map(str::to_owned).collect(),
            state: state(&row, now),
            domains: domains.iter().filter(is_served).cloned().collect(),
            issuer: row.issuer,
            serial_number: row.serial_number,
            fingerprint: row.fingerprint,
            key_type: row.key_type,
            not_before: row.not_before,
            not_after: row.not_after,
            created_at: row.created_at,
        }
    };
    shown.into_iter().map(record).collect()
}

fn state(row: &Certificate, now: Timestamp) -> CertificateState {
    match row {
        _ if row.is_valid_at(now) => CertificateState::Valid,
        _ if now < row.not_before => CertificateState::NotYetValid,
        _ => CertificateState::Expired,
    }
}
