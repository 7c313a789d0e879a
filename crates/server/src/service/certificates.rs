//! Certificates that members bring: checked, kept with their keys sealed, and served for the organization's own domains.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{ErrorCode, Timestamp, UploadCertificate};
use windlass_certificate::{Checked, Description, Part};
use windlass_store::certificates::{self, Certificate, Material};
use windlass_store::{Conn, certificate_orders, domain_settings, domains};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records::certificates as records;
use crate::served_certificates::{Choice, Served};
use crate::service::audit::{Action, Change, Resource};
use crate::service::work::Work;

/// Names that an entry of the audit log has.
const NAMES_TOLD: usize = 10;

pub async fn list(app: &App, organization_id: Uuid) -> Result<Vec<api::Certificate>> {
    let mut conn = app.db.read().await?;
    let all = certificates::of_organization(&mut conn, organization_id).await?;
    let mut served = served(app, &mut conn, organization_id).await?;
    let record = |row: Certificate| {
        let domains = served.take(row.id);
        records::certificate(row, organization_id, domains, app.now())
    };
    Ok(all.into_iter().map(record).collect())
}

pub async fn get(app: &App, granted: &Granted<Certificate>) -> Result<api::Certificate> {
    let organization_id = granted.authority().organization_id();
    record(app, &mut app.db.read().await?, organization_id, granted.row().clone()).await
}

pub async fn upload(app: &App, authority: &Authority, input: &UploadCertificate) -> Result<api::Certificate> {
    let checked = check(app, input).await?;
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let (organization_id, user_id) = (authority.organization_id(), authority.user_id());
    let certificate = row(app, Some(organization_id), Some(user_id), checked.description);
    if certificates::is_there(&mut work, certificate.organization_id, &certificate.fingerprint).await? {
        let message = "certificate_chain: the organization has this certificate already.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    check_room(&mut work, organization_id).await?;
    let sealed_key = app.vault.seal_certificate_key(&mut work, certificate.id, &checked.key_pem).await?;
    certificates::insert(&mut work, &certificate, &Material { chain_pem: checked.chain_pem, sealed_key }).await?;
    certificate_orders::look_now(&mut work, organization_id, app.now()).await?;
    write_down(&mut work, authority, Action::Create, &certificate, "uploaded a certificate for");
    let record = record(app, &mut work, organization_id, certificate).await?;
    work.wake_reconciler();
    work.commit().await?;
    Ok(record)
}

/// Domains that no other certificate is for are served over http alone from then on.
pub async fn delete(app: &App, granted: &Granted<Certificate>) -> Result<()> {
    let certificate = granted.row();
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    if certificate.user_id.is_none() {
        let message = "Windlass has ordered this certificate and renews it. It cannot be deleted.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    certificates::delete(&mut work, certificate.id).await?;
    certificate_orders::look_now(&mut work, authority.organization_id(), app.now()).await?;
    write_down(&mut work, &authority, Action::Delete, certificate, "removed the certificate for");
    work.wake_reconciler();
    work.commit().await?;
    Ok(())
}

/// Signatures take a processor for a moment, and a chain has up to ten of them.
async fn check(app: &App, input: &UploadCertificate) -> Result<Checked> {
    let (chain, key) = (input.certificate_chain.clone(), input.private_key.clone());
    let now = app.now().micros() / 1_000_000;
    let checked = tokio::task::spawn_blocking(move || windlass_certificate::check(chain.pem(), key.reveal(), now));
    let checked = checked.await.map_err(|error| Error::internal(error.to_string()))?;
    checked.map_err(|problem| match problem.part {
        Part::Chain => Error::field("certificate_chain", problem.words),
        Part::Key => Error::field("private_key", problem.words),
    })
}

/// A new row of what was found in a certificate. No user has uploaded one that Windlass has ordered.
pub fn row(app: &App, organization_id: Option<Uuid>, user_id: Option<Uuid>, found: Description) -> Certificate {
    Certificate {
        id: app.new_id(),
        organization_id,
        user_id,
        names: found.names.join(" "),
        issuer: found.issuer,
        serial_number: found.serial_number,
        fingerprint: found.fingerprint,
        key_type: found.key_type,
        not_before: Timestamp::from_micros(found.not_before.saturating_mul(1_000_000)),
        not_after: Timestamp::from_micros(found.not_after.saturating_mul(1_000_000)),
        created_at: app.now(),
    }
}

async fn record(
    app: &App,
    conn: &mut Conn,
    organization_id: Uuid,
    certificate: Certificate,
) -> Result<api::Certificate> {
    let domains = served(app, conn, organization_id).await?.take(certificate.id);
    Ok(records::certificate(certificate, organization_id, domains, app.now()))
}

/// What each of the organization's certificates is served for, as the edge is told.
async fn served(app: &App, conn: &mut Conn, organization_id: Uuid) -> Result<Served> {
    let domains = domains::of_organization(conn, organization_id).await?;
    let settings = domain_settings::of_organization(conn, organization_id).await?;
    // With those of the server, which the edge would choose too.
    let scopes = certificates::scopes_of_organization(conn, organization_id).await?;
    let (choice, now) = (Choice::new(scopes, &settings, &app.config), app.now());
    let mut served = Served::default();
    for domains::Domain { domain, .. } in domains {
        if let Some(chosen) = choice.of(Some(organization_id), &domain, now) {
            served.add(chosen, &domain);
        }
    }
    Ok(served)
}

async fn check_room(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    let limit = work.app.config.organization_certificates;
    if certificates::count_of_organization(work, organization_id).await? >= limit {
        let message = format!("An organization can have {limit} certificates. Delete one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

fn write_down(work: &mut Work<'_>, authority: &Authority, action: Action, certificate: &Certificate, verb: &str) {
    let count = certificate.names().count();
    let mut names = certificate.names().take(NAMES_TOLD).collect::<Vec<_>>().join(", ");
    if count > NAMES_TOLD {
        names.push_str(&format!(" and {} more", count - NAMES_TOLD));
    }
    let change = Change {
        organization_id: certificate.organization_id,
        action,
        resource: Resource::Certificate,
        resource_id: certificate.id,
        summary: &format!("{verb} {names}"),
        details: &[
            ("names", &names),
            ("issuer", &certificate.issuer),
            ("fingerprint", &certificate.fingerprint),
            ("not_after", &certificate.not_after.to_string()),
        ],
    };
    work.record(&authority.actor(), &change);
}
