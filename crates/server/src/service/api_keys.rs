//! Keys for programs: made by members for themselves, revoked by them or by those who manage the organization.

use uuid::Uuid;
use windlass_api::{ApiKeyCreated, Can, CreateApiKey, ErrorCode, EventName};
use windlass_store::api_keys::{self, ApiKey};

use crate::app::App;
use crate::auth::token::Token;
use crate::auth::{Authority, Login};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::work::{EventSubject, Work};

/// Enough of the key to recognise it, far too little to guess the rest.
const HINT: usize = 8;

pub async fn create(app: &App, authority: &Authority, input: &CreateApiKey) -> Result<ApiKeyCreated> {
    let token = Token::api_key();
    let days = input.expires_in_days.map_or(i64::from(app.config.api_key_days), windlass_api::Whole::get);
    let now = app.now();
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let (organization_id, user_id) = (authority.organization_id(), authority.user_id());
    let own = authority.role().permissions(authority.organization().host_access);
    let permissions = chosen(&own, input.permissions.as_deref())?;
    let limit = app.config.member_keys;
    if api_keys::count_of_member(&mut work, organization_id, user_id, now).await? >= limit {
        let message = format!("You have {limit} API keys in this organization. Revoke one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let key = ApiKey {
        id: app.new_id(),
        organization_id,
        user_id,
        name: input.name.to_string(),
        hint: token.reveal().chars().take(HINT).collect(),
        permissions: permissions.iter().map(|can| can.as_str()).collect::<Vec<_>>().join(" "),
        last_used_at: None,
        expires_at: now.plus_seconds(86_400 * days),
        created_at: now,
    };
    api_keys::insert(&mut work, &key, &token.hash()).await?;
    record(&mut work, &authority.actor(), Action::Create, &key, &format!("made the API key {}", key.name));
    let (actor, until) = (authority.actor(), key.expires_at.to_string());
    let details = [("key", key.name.as_str()), ("member", actor.name()), ("until", until.as_str())];
    work.tell(EventName::ApiKeyCreated, EventSubject::of_organization(organization_id), &details);
    work.commit().await?;
    Ok(ApiKeyCreated { api_key: records::api_key(key), key: token.reveal().to_owned() })
}

/// What the key may do: in the order of the table, each once, and nothing that its maker may not do.
fn chosen(own: &[Can], wanted: Option<&[Can]>) -> Result<Vec<Can>> {
    let Some(wanted) = wanted else { return Ok(own.to_vec()) };
    if wanted.is_empty() {
        return Err(Error::field("permissions", "name at least one, or leave the field out to give all of yours"));
    }
    if let Some(missing) = wanted.iter().find(|can| !own.contains(can)) {
        let message = format!("permissions: you do not have {} yourself.", missing.as_str());
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    Ok(own.iter().copied().filter(|can| wanted.contains(can)).collect())
}

/// One of the caller's own.
pub async fn revoke_own(login: &Login, id: Uuid) -> Result<()> {
    let mut work = login.app.begin_own(&login.caller).await?;
    let gone = api_keys::delete_own(&mut work, login.caller.user.id, id).await?;
    revoked(work, &login.caller.actor(), gone).await
}

/// One of any member of the organization.
pub async fn revoke(app: &App, authority: &Authority, id: Uuid) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let gone = api_keys::delete(&mut work, authority.organization_id(), id).await?;
    revoked(work, &authority.actor(), gone).await
}

async fn revoked(mut work: Work<'_>, actor: &Actor, gone: Option<ApiKey>) -> Result<()> {
    let gone = gone.ok_or_else(|| Error::not_found("API key"))?;
    record(&mut work, actor, Action::Delete, &gone, &format!("revoked the API key {}", gone.name));
    work.commit().await?;
    Ok(())
}

fn record(work: &mut Work<'_>, actor: &Actor, action: Action, key: &ApiKey, summary: &str) {
    let change = Change {
        organization_id: Some(key.organization_id),
        action,
        resource: Resource::ApiKey,
        resource_id: key.id,
        summary,
        details: &[("name", &key.name), ("hint", &key.hint)],
    };
    work.record(actor, &change);
}
