//! Status pages of organizations: where they are, and what they show. The files are written by `status_pages/mod.rs`.

use std::collections::HashSet;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, Given, Timestamp, UpdateStatusPage};
use windlass_store::status_pages::{self as rows, PageApplication, StatusPage};
use windlass_store::{Conn, Tx, applications, domains, freed_domains};

use crate::app::App;
use crate::auth::{Actor, Authority};
use crate::error::{Error, Result};
use crate::records::status_pages as records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::domain_choice::{self, Wanted};
use crate::service::domain_owners::{self, Owners};
use crate::service::work::Work;

const TITLE: &str = "Status";

/// As it is while nothing was said about it.
fn usual(organization_id: Uuid) -> StatusPage {
    StatusPage {
        organization_id,
        enabled: false,
        title: TITLE.to_owned(),
        domain: String::new(),
        edition: Uuid::nil(),
        updated_at: Timestamp::from_micros(0),
    }
}

pub async fn get(app: &App, organization_id: Uuid) -> Result<api::StatusPage> {
    let mut conn = app.db.read().await?;
    let stored = rows::get(&mut conn, organization_id).await?;
    let all = rows::applications(&mut conn, organization_id).await?;
    records::status_page(stored.unwrap_or_else(|| usual(organization_id)), all)
}

/// A page gets a domain as an application does: it must be free, and what another organization has or had must be proven.
pub async fn update(app: &App, authority: &Authority, input: &UpdateStatusPage) -> Result<api::StatusPage> {
    if input.enabled == Some(true) || input.domain != Given::Absent {
        authority.require(app, Can::DomainCreate)?;
    }
    let owners = claim(app, authority.organization_id(), input).await?;
    let (mut work, now) = (app.begin().await?, app.now());
    let authority = work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let before = rows::get(&mut work, organization_id).await?.unwrap_or_else(|| usual(organization_id));
    let page = StatusPage { edition: app.new_id(), updated_at: now, ..changed(&before, input) };
    if page.enabled && page.domain.is_empty() {
        return Err(Error::field("domain", "is needed before the status page is turned on"));
    }
    if page.enabled && (!before.enabled || before.domain != page.domain) {
        let wanted = Wanted { domain: &page.domain, path: "/", application_id: None, organization_id, owners: &owners };
        domain_choice::check(&mut work, app, &wanted).await?;
    }
    rows::put(&mut work, &page).await?;
    if before.enabled && !(page.enabled && before.domain == page.domain) {
        give_up(&mut work, &before, now).await?;
    }
    if let Some(all) = &input.applications {
        let all: Vec<_> = all
            .iter()
            .map(|one| PageApplication { application_id: one.application_id, name: one.name.to_string() })
            .collect();
        check_applications(&mut work, organization_id, &all).await?;
        rows::set_applications(&mut work, organization_id, &all).await?;
    }
    let all = rows::applications(&mut work, organization_id).await?;
    note(&mut work, &authority.actor(), &before, &page, all.len());
    let record = records::status_page(page, all)?;
    work.wake_reconciler();
    work.commit().await?;
    app.uptime_changed.notify_one();
    Ok(record)
}

/// Whose the domain is that the page would have from now on. Nothing is asked about one that stays off.
async fn claim(app: &App, organization_id: Uuid, input: &UpdateStatusPage) -> Result<Owners> {
    let stored = rows::get(&mut app.db.read().await?, organization_id).await?;
    let page = changed(&stored.unwrap_or_else(|| usual(organization_id)), input);
    match page.enabled && !page.domain.is_empty() {
        true => domain_owners::claim(app, &page.domain, organization_id).await,
        false => Ok(Owners::default()),
    }
}

fn changed(before: &StatusPage, input: &UpdateStatusPage) -> StatusPage {
    StatusPage {
        enabled: input.enabled.unwrap_or(before.enabled),
        title: input.title.as_ref().map_or_else(|| before.title.clone(), |title| title.to_string()),
        domain: match &input.domain {
            Given::Absent => before.domain.clone(),
            Given::Empty => String::new(),
            Given::Value(domain) => domain.to_string(),
        },
        ..before.clone()
    }
}

async fn check_applications(conn: &mut Conn, organization_id: Uuid, all: &[PageApplication]) -> Result<()> {
    let own: HashSet<Uuid> = applications::names(conn, organization_id).await?.into_iter().map(|(id, _)| id).collect();
    match all.iter().find(|one| !own.contains(&one.application_id)) {
        Some(foreign) => {
            let problem = format!("{} is not an application of the organization", foreign.application_id);
            Err(Error::field("applications", problem))
        }
        None => Ok(()),
    }
}

/// Visitors may still come there, so the name is kept from other organizations for a while, unless it is still this one's.
async fn give_up(tx: &mut Tx, before: &StatusPage, now: Timestamp) -> windlass_store::Result<()> {
    if domains::at(tx, &before.domain).await?.is_empty() {
        freed_domains::free(tx, &before.domain, before.organization_id, now).await?;
    }
    Ok(())
}

fn note(work: &mut Work<'_>, actor: &Actor, before: &StatusPage, page: &StatusPage, count: usize) {
    let verb = match (before.enabled, page.enabled) {
        (false, true) => "turned on",
        (true, false) => "turned off",
        _ => "changed",
    };
    let change = Change {
        organization_id: Some(page.organization_id),
        action: Action::Update,
        resource: Resource::StatusPage,
        resource_id: page.organization_id,
        summary: &format!("{verb} the status page"),
        details: &[("title", &page.title), ("domain", &page.domain), ("applications", &count.to_string())],
    };
    work.record(actor, &change);
}

/// The records of its domain in DNS name another organization: the page is turned off, and the name is kept for that one.
pub async fn lose_domain(app: &App, organization_id: Uuid, domain: &str, owner: Uuid) -> Result<()> {
    let (mut work, now) = (app.begin_step().await?, app.now());
    let stored = rows::get(&mut work, organization_id).await?;
    if stored.is_none_or(|stored| stored.domain != domain)
        || !rows::turn_off(&mut work, organization_id, app.new_id(), now).await?
    {
        return Ok(());
    }
    freed_domains::free(&mut work, domain, owner, now).await?;
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Update,
        resource: Resource::StatusPage,
        resource_id: organization_id,
        summary: &format!("turned off the status page: the records of {domain} in DNS name another owner"),
        details: &[("domain", domain)],
    };
    work.record(&Actor::Server, &change);
    work.wake_reconciler();
    Ok(work.commit().await?)
}
