//! The domains of an organization: what leads where, and with which certificate.

use std::collections::HashMap;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{
    AddDomain, BuildPack, Configuration, DomainName, ErrorCode, EventName, Given, GivenId, Redirect, Timestamp,
    UpdateDomain,
};
use windlass_store::application_domains::{self, ApplicationDomain};
use windlass_store::applications::Application;
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::domain_settings::{self, DomainSettings};
use windlass_store::domains::{self, Domain};
use windlass_store::{Conn, certificates, instance};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records::domains as records;
use crate::served_certificates::Choice;
use crate::service::audit::{Action, Change, Resource};
use crate::service::certificate_orders::queue_job;
use crate::service::domain_choice::{self, Wanted};
use crate::service::domain_owners::Owners;
use crate::service::held_applications::{hold_to_change, refuse_preview};
use crate::service::work::Work;
use crate::service::{domain_owners, states};

/// Between two attempts at a certificate that a member asks for.
const LEAST_SECONDS: u64 = 60;
/// The same once the authority was asked: it allows five proofs of a host an hour that fail.
const LEAST_SECONDS_OF_ORDERS: u64 = 15 * 60;

/// The organization's domains, each with how its visitors come.
pub async fn list(app: &App, organization_id: Uuid) -> Result<Vec<api::Domain>> {
    let mut conn = app.db.read().await?;
    let rows = domains::of_organization(&mut conn, organization_id).await?;
    let known = Known::load(app, &mut conn, organization_id).await?;
    Ok(rows.into_iter().map(|row| known.record(row)).collect())
}

/// `POST /deploy/application/{application_id}/domains`: visitors come by another domain too.
pub async fn add(app: &App, granted: &Granted<Application>, input: &AddDomain) -> Result<api::Domain> {
    let path = input.path.as_deref().unwrap_or("/");
    let owners = domain_owners::claim(app, &input.domain, granted.authority().organization_id()).await?;
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    check_room(&mut work, application.organization_id).await?;
    let wanted = Wanted {
        domain: &input.domain,
        path,
        application_id: Some(application.id),
        organization_id: application.organization_id,
        owners: &owners,
    };
    refuse_main(&application, input, path)?;
    refuse_service(&application, input)?;
    domain_choice::check(&mut work, app, &wanted).await?;
    let added = ApplicationDomain {
        id: app.new_id(),
        application_id: application.id,
        domain: input.domain.to_string(),
        path: path.to_owned(),
        redirect: input.redirect.unwrap_or(Redirect::None),
        service: input.service.as_deref().unwrap_or_default().to_owned(),
        created_at: app.now(),
    };
    application_domains::insert(&mut work, &added).await?;
    write_down(&mut work, &authority, Action::Create, &application, &added);
    let row = Domain {
        id: Some(added.id),
        domain: added.domain,
        path: added.path,
        redirect: added.redirect,
        service: added.service,
        organization_id: application.organization_id,
        application_id: Some(application.id),
        installation_id: None,
    };
    let record = Known::load(app, &mut work, application.organization_id).await?.record(row);
    work.commit().await?;
    Ok(record)
}

/// One that an application of an extension is to have, which leads to one of its services.
pub async fn add_for_service(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &Application,
    (domain, service): (&DomainName, &str),
    owners: &Owners,
) -> Result<()> {
    let app = work.app;
    check_room(work, application.organization_id).await?;
    let (application_id, organization_id) = (application.id, application.organization_id);
    let wanted = Wanted { domain, path: "/", application_id: Some(application_id), organization_id, owners };
    domain_choice::check(work, app, &wanted).await?;
    let added = ApplicationDomain {
        id: app.new_id(),
        application_id,
        domain: domain.to_string(),
        path: "/".to_owned(),
        redirect: Redirect::None,
        service: service.to_owned(),
        created_at: app.now(),
    };
    application_domains::insert(work, &added).await?;
    write_down(work, authority, Action::Create, application, &added);
    Ok(())
}

/// The main domain leads to the application already; other paths of it can be added.
fn refuse_main(application: &Application, input: &AddDomain, path: &str) -> Result<()> {
    let is_redirect = input.redirect.is_some_and(|redirect| redirect != Redirect::None);
    match application.domain == *input.domain {
        true if path == "/" => Err(domain_choice::taken(&input.domain)),
        true if is_redirect => {
            Err(Error::field("redirect", "would send visitors where they are: it is the main domain"))
        }
        _ => Ok(()),
    }
}

/// Only a compose file has services. Whether it has this one, only a deployment can tell: the file may be about to change.
fn refuse_service(application: &Application, input: &AddDomain) -> Result<()> {
    if input.service.is_none() {
        return Ok(());
    }
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    match input.redirect {
        Some(Redirect::Permanent | Redirect::Temporary) => {
            Err(Error::field("service", "must be left out: visitors are sent to the main domain"))
        }
        _ if configuration.build_pack != BuildPack::DockerCompose => {
            Err(Error::field("service", "must be left out: build_pack is not docker-compose"))
        }
        _ => Ok(()),
    }
}

async fn check_room(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    let limit = work.app.config.organization_domains;
    if application_domains::count_of_organization(work, organization_id).await? >= limit {
        let message = format!(
            "An organization can add {limit} domains to its applications (organization-domains). Remove one first."
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// The main domain of an application stays: another one can be given to it.
pub async fn remove(app: &App, granted: &Granted<Application>, id: Uuid) -> Result<()> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let all = application_domains::of_application(&mut work, application.id).await?;
    let added = all.into_iter().find(|added| added.id == id).ok_or_else(|| Error::not_found("domain"))?;
    application_domains::delete(&mut work, id).await?;
    domain_choice::give_up(&mut work, app, &application, &added.domain).await?;
    write_down(&mut work, &authority, Action::Delete, &application, &added);
    work.commit().await?;
    Ok(())
}

fn write_down(
    work: &mut Work<'_>,
    authority: &Authority,
    action: Action,
    application: &Application,
    added: &ApplicationDomain,
) {
    let address = format!("{}{}", added.domain, if added.path == "/" { "" } else { &added.path });
    let summary = match action {
        Action::Create => format!("added the domain {address} to {}", application.name),
        _ => format!("removed the domain {address} from {}", application.name),
    };
    let change = Change {
        organization_id: Some(application.organization_id),
        action,
        resource: Resource::Domain,
        resource_id: added.id,
        summary: &summary,
        details: &[("domain", &address), ("application", &application.name), ("redirect", added.redirect.as_str())],
    };
    work.record(&authority.actor(), &change);
    work.wake_reconciler();
    let about = states::subject(application, None);
    work.tell(EventName::ApplicationUpdated, about, &[("application", &application.name)]);
}

/// `PUT /domains/{domain}`: how visitors of a domain come encrypted.
pub async fn update(
    app: &App,
    authority: &Authority,
    domain: &DomainName,
    input: &UpdateDomain,
) -> Result<api::Domain> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let organization_id = authority.organization_id();
    // It must not go to another organization meanwhile.
    instance::lock_domains(&mut work).await?;
    let row = own(&mut work, organization_id, domain).await?;
    let known = Known::load(app, &mut work, organization_id).await?;
    let mut settings = known.settings(&row.domain);
    if let Some(https_only) = input.https_only {
        settings.https_only = https_only;
    }
    match input.certificate_id {
        Given::Absent => {}
        Given::Empty => settings.certificate_id = None,
        Given::Value(GivenId(id)) => {
            check_certificate(&known, domain, id)?;
            settings.certificate_id = Some(id);
        }
    }
    domain_settings::put(&mut work, &settings, app.now()).await?;
    let certificate = settings.certificate_id.map(|id| id.to_string()).unwrap_or_default();
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Update,
        resource: Resource::Domain,
        resource_id: row.id.or(row.application_id).or(row.installation_id).unwrap_or(organization_id),
        summary: &format!("changed how visitors of {} come", row.domain),
        details: &[
            ("domain", &row.domain),
            ("https_only", if settings.https_only { "true" } else { "false" }),
            ("certificate", &certificate),
        ],
    };
    work.record(&authority.actor(), &change);
    work.wake_reconciler();
    let record = Known::load(app, &mut work, organization_id).await?.record(row);
    work.commit().await?;
    Ok(record)
}

fn check_certificate(known: &Known<'_>, domain: &str, id: Uuid) -> Result<()> {
    match known.choice.is_for(Some(known.organization_id), id, domain) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::field("certificate_id", format!("is a certificate that is not for {domain}"))),
        None => Err(Error::field("certificate_id", "is not a certificate of the organization")),
    }
}

/// One of the organization's.
pub async fn own(conn: &mut Conn, organization_id: Uuid, domain: &str) -> Result<Domain> {
    let row = domains::get(conn, domain).await?;
    row.filter(|row| row.organization_id == organization_id).ok_or_else(|| Error::not_found("domain"))
}

/// `POST /domains/{domain}/retry`: what waits for its next attempt is tried now.
pub async fn retry(app: &App, authority: &Authority, domain: &DomainName) -> Result<api::Domain> {
    let now = app.now();
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let row = own(&mut work, organization_id, domain).await?;
    let order = certificate_orders::of_domain(&mut work, domain).await?;
    let order = order.filter(|order| order.organization_id == Some(organization_id) && is_ordering(app));
    let Some(mut order) = order else {
        let message = format!("No certificate is ordered for {}.", row.domain);
        return Err(Error::new(ErrorCode::Conflict, message));
    };
    if !order.problem.is_empty() {
        refuse_too_soon(&order, now)?;
    }
    if !certificate_orders::try_now(&mut work, order.id, now).await? {
        let message = format!("The last order for {} has not failed.", row.domain);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    (order.next_at, order.problem) = (now, String::new());
    queue_job(&mut work, &order).await?;
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Update,
        resource: Resource::Certificate,
        resource_id: order.id,
        summary: &format!("asked for a certificate for {} again", row.domain),
        details: &[("domain", &row.domain)],
    };
    work.record(&authority.actor(), &change);
    let record = Known::load(app, &mut work, organization_id).await?.record(row);
    work.commit().await?;
    Ok(record)
}

fn refuse_too_soon(order: &CertificateOrder, now: Timestamp) -> Result<()> {
    let left = |least: u64, at: Timestamp| least.saturating_sub(at.seconds_until(now));
    let after_order = order.ordered_at.map_or(0, |at| left(LEAST_SECONDS_OF_ORDERS, Timestamp::from_micros(at)));
    let after_attempt = left(LEAST_SECONDS, order.updated_at);
    let wait = after_order.max(after_attempt);
    let message = match wait {
        0 => return Ok(()),
        _ if after_order > after_attempt => {
            format!(
                "The certificate authority was asked within the last 15 minutes, and counts what fails. Try again in {wait} s."
            )
        }
        _ => format!("It was tried a moment ago. Try again in {wait} s."),
    };
    Err(Error::rate_limited(message, wait))
}

fn is_ordering(app: &App) -> bool {
    !app.config.acme.directories.is_empty()
}

/// What is known of an organization's domains beside their rows.
struct Known<'a> {
    app: &'a App,
    organization_id: Uuid,
    choice: Choice,
    orders: HashMap<String, CertificateOrder>,
    settings: HashMap<String, DomainSettings>,
}

impl<'a> Known<'a> {
    async fn load(app: &'a App, conn: &mut Conn, organization_id: Uuid) -> Result<Self> {
        let settings = domain_settings::of_organization(conn, organization_id).await?;
        let scopes = certificates::scopes_of_organization(conn, organization_id).await?;
        let orders = match is_ordering(app) {
            true => certificate_orders::of_organization(conn, organization_id).await?,
            false => Vec::new(),
        };
        Ok(Self {
            app,
            organization_id,
            choice: Choice::new(scopes, &settings, &app.config),
            orders: orders.into_iter().map(|order| (order.domain.clone(), order)).collect(),
            settings: settings.into_iter().map(|settings| (settings.domain.clone(), settings)).collect(),
        })
    }

    fn settings(&self, domain: &str) -> DomainSettings {
        let usual = || DomainSettings::usual(domain, self.organization_id);
        self.settings.get(domain).cloned().unwrap_or_else(usual)
    }

    fn record(&self, row: Domain) -> api::Domain {
        let now = self.app.now();
        let served = self.choice.of(Some(self.organization_id), &row.domain, now);
        let (settings, order) = (self.settings(&row.domain), self.orders.get(&row.domain));
        records::domain(row, &settings, served, order, now)
    }
}
