//! What visitors of an application meet before it. A change is in force at once, without a deployment.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use uuid::Uuid;
use windlass_api as api;
use windlass_api::{ErrorCode, EventName, Given, MASK, Networks, SignInUsers, UpdateAccess};
use windlass_edge::password::PasswordHash;
use windlass_edge::routes::SignInUser;
use windlass_store::application_access::{self, ApplicationAccess};
use windlass_store::applications::Application;
use windlass_store::{Conn, previews};

use crate::access::AccessSettings;
use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::records::access as records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::held_applications::hold_to_change;
use crate::service::states;
use crate::service::work::Work;

/// That of a preview is its application's.
pub async fn get(app: &App, granted: &Granted<Application>) -> Result<api::Access> {
    let (mut conn, id) = (app.db.read().await?, granted.row().id);
    let preview = previews::get(&mut conn, id).await?;
    let settings = load(&mut conn, preview.map_or(id, |preview| preview.application_id)).await?;
    Ok(records::access(id, &settings))
}

pub async fn update(app: &App, granted: &Granted<Application>, input: &UpdateAccess) -> Result<api::Access> {
    // Slow by purpose, so before anything is held.
    let hashed = hash_new_passwords(app, input.users.as_ref()).await?;
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    if let Some(preview) = previews::get(&mut work, application.id).await? {
        let message = format!(
            "{} is a preview, and has the access settings of its application ({}). Change those.",
            application.name, preview.application_id
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let before = load(&mut work, application.id).await?;
    let mut settings = before.clone();
    change(&mut settings, input, hashed)?;
    if let Some(problem) = settings.problem() {
        return Err(Error::new(ErrorCode::InvalidRequest, problem));
    }
    if settings == before {
        return Ok(records::access(application.id, &settings));
    }
    let text = serde_json::to_string(&settings).map_err(|error| Error::internal(error.to_string()))?;
    let row = ApplicationAccess { application_id: application.id, settings: text };
    application_access::put(&mut work, &row, app.now()).await?;
    check_room(&mut work, application.organization_id).await?;
    let changed = changed_fields(&before, &settings)?;
    let entry = Change {
        organization_id: Some(application.organization_id),
        action: Action::Update,
        resource: Resource::Application,
        resource_id: application.id,
        summary: &format!("changed the access settings of {}", application.name),
        details: &[("application", &application.name), ("changed", &changed)],
    };
    work.record(&authority.actor(), &entry);
    work.wake_reconciler();
    let about = states::subject(&application, None);
    work.tell(EventName::ApplicationUpdated, about, &[("application", &application.name)]);
    work.commit().await?;
    Ok(records::access(application.id, &settings))
}

async fn load(conn: &mut Conn, application_id: Uuid) -> Result<AccessSettings> {
    let text = application_access::get(conn, application_id).await?;
    Ok(text.map(|text| AccessSettings::read(application_id, &text)).unwrap_or_default())
}

/// All of it is part of what every edge is told.
async fn check_room(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    let limit = work.app.config.organization_access_bytes;
    if application_access::bytes_of_organization(work, organization_id).await? > limit {
        let message = format!(
            "The access settings of an organization's applications can have {} MiB in all (organization-access-mib). \
             Make them shorter.",
            limit >> 20
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// Those that are given, by the names of their users.
async fn hash_new_passwords(app: &App, users: Option<&SignInUsers>) -> Result<BTreeMap<String, SignInUser>> {
    let new = users.into_iter().flat_map(|users| users.iter()).filter(|(_, password)| *password != MASK);
    let mut hashed = BTreeMap::new();
    // One after the other, so that logins come in between.
    for (name, password) in new {
        let (PasswordHash { salt, hash }, iterations) = app.passwords.hash_for_edge(password).await?;
        hashed.insert(name.clone(), SignInUser { name: name.clone(), iterations, salt, hash });
    }
    Ok(hashed)
}

fn change(settings: &mut AccessSettings, input: &UpdateAccess, mut hashed: BTreeMap<String, SignInUser>) -> Result<()> {
    if let Some(networks) = &input.allow {
        settings.allow = parse_networks("allow", networks)?;
    }
    if let Some(networks) = &input.deny {
        settings.deny = parse_networks("deny", networks)?;
    }
    if let Some(users) = &input.users {
        let known: BTreeMap<String, SignInUser> =
            settings.users.drain(..).map(|user| (user.name.clone(), user)).collect();
        for name in users.keys() {
            let user = hashed.remove(name).or_else(|| known.get(name).cloned());
            let missing =
                || Error::field("users", format!("{name} has no password yet: {MASK} keeps the one that is there"));
            settings.users.push(user.ok_or_else(missing)?);
        }
    }
    match &input.realm {
        Given::Absent => {}
        Given::Empty => settings.realm.clear(),
        Given::Value(realm) if realm.contains(['"', '\\']) || !realm.is_ascii() => {
            return Err(Error::field("realm", "must be of visible ASCII characters, without quotes and backslashes"));
        }
        Given::Value(realm) => settings.realm = realm.to_string(),
    }
    let as_u32 = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    if let Some(number) = input.requests_per_minute {
        settings.requests_per_minute = as_u32(number.get());
    }
    if let Some(number) = input.request_burst {
        settings.request_burst = as_u32(number.get());
    }
    if let Some(number) = input.body_bytes {
        settings.body_bytes = u64::try_from(number.get()).unwrap_or_default();
    }
    if let Some(number) = input.answer_seconds {
        settings.answer_seconds = as_u32(number.get());
    }
    settings.maintenance = input.maintenance.unwrap_or(settings.maintenance);
    settings.security_headers = input.security_headers.unwrap_or(settings.security_headers);
    settings.compress = input.compress.unwrap_or(settings.compress);
    if let Some(headers) = &input.headers {
        settings.headers = (**headers).clone();
    }
    if let Some(pages) = &input.pages {
        let page = |(status, html): (&String, &String)| Some((status.parse().ok()?, html.clone()));
        settings.pages = pages.iter().filter_map(page).collect();
    }
    Ok(())
}

/// As networks are written: without bits that mean nothing, and each once.
fn parse_networks(field: &str, networks: &Networks) -> Result<Vec<IpNet>> {
    let mut all = Vec::new();
    for text in networks.iter() {
        let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        let network =
            network.ok_or_else(|| Error::field(field, format!("{text} is neither an address nor a network")))?;
        let network = network.trunc();
        if !all.contains(&network) {
            all.push(network);
        }
    }
    Ok(all)
}

/// The names of the fields, for the audit log. What is in them may be secret.
fn changed_fields(before: &AccessSettings, after: &AccessSettings) -> Result<String> {
    let fields = |settings| serde_json::to_value(settings).map_err(|error| Error::internal(error.to_string()));
    let (before, after) = (fields(before)?, fields(after)?);
    let all = after.as_object().into_iter().flatten();
    let changed = all.filter(|(name, value)| before.get(name) != Some(value)).map(|(name, _)| name.as_str());
    Ok(changed.collect::<Vec<_>>().join(", "))
}
