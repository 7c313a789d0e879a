//! The domains of an organization: what leads where, with which certificate, and what DNS says about it.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{
    AddDomain, DnsRecord, DomainCheck, DomainName, ErrorCode, EventName, Given, GivenId, RecordType, Redirect,
    Timestamp, UpdateDomain,
};
use windlass_dns::{DnsError, Issuer};
use windlass_outgoing::is_public;
use windlass_store::application_domains::{self, ApplicationDomain};
use windlass_store::applications::Application;
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::domain_settings::{self, DomainSettings};
use windlass_store::domains::{self, Domain};
use windlass_store::{Conn, certificates, freed_domains, instance};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::dns;
use crate::error::{Error, Result};
use crate::records::domains as records;
use crate::served_certificates::Choice;
use crate::service::audit::{Action, Change, Resource};
use crate::service::certificate_orders::queue_job;
use crate::service::domain_choice::{self, Wanted};
use crate::service::held_applications::{hold_to_change, refuse_preview};
use crate::service::work::Work;
use crate::service::{domain_owners, states};

/// Between two attempts at a certificate that a member asks for.
const LEAST_SECONDS: u64 = 60;
/// The same once the authority was asked: it allows five proofs of a host an hour that fail.
const LEAST_SECONDS_OF_ORDERS: u64 = 15 * 60;
/// How long name servers may take to answer all questions of one check.
const CHECK_LIMIT: Duration = Duration::from_secs(10);

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
    let owners = domain_owners::look(app, &input.domain, granted.authority().organization_id()).await?;
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    refuse_preview(&mut work, &application).await?;
    check_room(&mut work, application.organization_id).await?;
    let wanted = Wanted {
        domain: &input.domain,
        path,
        application_id: application.id,
        organization_id: application.organization_id,
        owners: &owners,
    };
    if application.domain == *input.domain {
        if path == "/" {
            return Err(domain_choice::taken(&input.domain));
        }
        if input.redirect.is_some_and(|redirect| redirect != Redirect::None) {
            return Err(Error::field("redirect", "would send visitors where they are: it is the main domain"));
        }
    }
    domain_choice::check(&mut work, app, &wanted).await?;
    let added = ApplicationDomain {
        id: app.new_id(),
        application_id: application.id,
        domain: input.domain.to_string(),
        path: path.to_owned(),
        redirect: input.redirect.unwrap_or(Redirect::None),
        created_at: app.now(),
    };
    application_domains::insert(&mut work, &added).await?;
    write_down(&mut work, &authority, Action::Create, &application, &added);
    let row = Domain {
        id: Some(added.id),
        domain: added.domain,
        path: added.path,
        redirect: added.redirect,
        organization_id: application.organization_id,
        application_id: Some(application.id),
        installation_id: None,
    };
    let record = Known::load(app, &mut work, application.organization_id).await?.record(row);
    work.commit().await?;
    Ok(record)
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
    if !application_domains::delete(&mut work, id).await? {
        return Err(Error::not_found("domain"));
    }
    // What led nowhere was in no link of visitors.
    if application.live_deployment_id.is_some() && domains::at(&mut work, &added.domain).await?.is_empty() {
        freed_domains::free(&mut work, &added.domain, application.organization_id, app.now()).await?;
    }
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
    match known.choice.is_for(known.organization_id, id, domain) {
        Some(true) => Ok(()),
        Some(false) => Err(Error::field("certificate_id", format!("is a certificate that is not for {domain}"))),
        None => Err(Error::field("certificate_id", "is not a certificate of the organization")),
    }
}

/// One of the organization's.
async fn own(conn: &mut Conn, organization_id: Uuid, domain: &str) -> Result<Domain> {
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
    let order = order.filter(|order| order.organization_id == organization_id && is_ordering(app));
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
            choice: Choice::new(scopes, &settings),
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
        let served = self.choice.of(self.organization_id, &row.domain, now);
        let (settings, order) = (self.settings(&row.domain), self.orders.get(&row.domain));
        records::domain(row, &settings, served, order, now)
    }
}

/// `GET /domains/{domain}/check`: what DNS says at this moment.
pub async fn check(app: &App, organization_id: Uuid, domain: &DomainName) -> Result<DomainCheck> {
    let row = own(&mut app.db.read().await?, organization_id, domain).await?;
    let name = row.domain.strip_prefix("*.").unwrap_or(&row.domain);
    let resolver = dns::resolver(app);
    let proof_name = domain_owners::record_name(name);
    let asking = async {
        let (found, here, texts, issuers) = tokio::join!(
            resolver.addresses(&row.domain),
            dns::here(app, &resolver),
            resolver.texts(&proof_name),
            resolver.issuers(name)
        );
        // The name of the proof is longer than the domain's, and may be too long.
        let texts = if matches!(texts, Err(DnsError::BadName(_))) { Vec::new() } else { texts? };
        Ok::<_, DnsError>((found?, here, texts, issuers?))
    };
    let answer = match tokio::time::timeout(CHECK_LIMIT, asking).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("the name servers took too long".to_owned()),
    };
    let (problem, (found, here, texts, issuers)) = match answer {
        Ok(answer) => (String::new(), answer),
        Err(problem) => (format!("DNS could not be asked: {problem}."), Default::default()),
    };
    let value = domain_owners::record_value(organization_id);
    Ok(DomainCheck {
        records: here.iter().map(|address| leading_to(&row.domain, *address, &found)).collect(),
        proof: DnsRecord { kind: RecordType::Txt, name: proof_name, is_found: texts.contains(&value), value },
        // What a name inside the operator's own network leads to is not for tenants to know.
        addresses: found
            .iter()
            .filter(|found| is_public(**found) || here.contains(found))
            .map(IpAddr::to_string)
            .collect(),
        issuers: who_may_issue(&issuers, row.domain.starts_with("*.")),
        domain: row.domain,
        problem,
    })
}

/// None where every authority may. What is said of wildcards goes before the rest for them (RFC 8659).
fn who_may_issue(issuers: &[Issuer], is_wildcard: bool) -> Option<Vec<String>> {
    let of_wildcards = is_wildcard && issuers.iter().any(|issuer| issuer.of_wildcards);
    let mut that_count = issuers.iter().filter(|issuer| issuer.of_wildcards == of_wildcards).peekable();
    that_count.peek()?;
    let names: BTreeSet<String> = that_count.filter_map(|issuer| issuer.name.clone()).collect();
    Some(names.into_iter().collect())
}

fn leading_to(domain: &str, address: IpAddr, found: &[IpAddr]) -> DnsRecord {
    let kind = if address.is_ipv4() { RecordType::A } else { RecordType::Aaaa };
    DnsRecord { kind, name: domain.to_owned(), value: address.to_string(), is_found: found.contains(&address) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_say_who_may_issue() {
        let issuer = |name: &str, of_wildcards| Issuer {
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            of_wildcards,
        };
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let both = [issuer("b", false), issuer("a", false), issuer("c", true)];
        for (records, of_host, of_wildcard) in [
            (&[][..], None, None),
            (&both, names(&["a", "b"]), names(&["c"])),
            (&both[..2], names(&["a", "b"]), names(&["a", "b"])),
            (&both[2..], None, names(&["c"])),
            (&[issuer("", false)], names(&[]), names(&[])),
        ] {
            assert_eq!(who_may_issue(records, false), of_host);
            assert_eq!(who_may_issue(records, true), of_wildcard);
        }
    }
}
