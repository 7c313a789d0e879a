//! Domains as the API shows them.

use windlass_api as api;
use windlass_api::{HttpsState, Timestamp};
use windlass_store::certificate_orders::CertificateOrder;
use windlass_store::certificates::Scope;
use windlass_store::domain_settings::DomainSettings;
use windlass_store::domains::Domain;

/// With the certificate that it is served with, if there is one, and with what is ordered for it.
pub fn domain(
    row: Domain,
    settings: &DomainSettings,
    served: Option<&Scope>,
    order: Option<&CertificateOrder>,
    now: Timestamp,
) -> api::Domain {
    let served = served.filter(|certificate| certificate.is_valid_at(now));
    api::Domain {
        id: row.id,
        https: state(served, order),
        readable: windlass_api::readable(&row.domain),
        domain: row.domain,
        path: row.path,
        redirect: row.redirect,
        service: row.service,
        organization_id: row.organization_id,
        application_id: row.application_id,
        installation_id: row.installation_id,
        https_only: settings.https_only,
        // That of the server is no organization's to look at.
        certificate_id: served.filter(|one| one.organization_id.is_some()).map(|certificate| certificate.id),
        chosen_certificate_id: settings.certificate_id,
        problem: order.map(|order| order.problem.clone()).unwrap_or_default(),
        next_at: order.map(|order| order.next_at),
    }
}

fn state(served: Option<&Scope>, order: Option<&CertificateOrder>) -> HttpsState {
    match (served, order) {
        (Some(_), _) => HttpsState::Served,
        (None, Some(order)) if !order.problem.is_empty() => HttpsState::Failed,
        (None, Some(_)) => HttpsState::Ordering,
        (None, None) => HttpsState::None,
    }
}
