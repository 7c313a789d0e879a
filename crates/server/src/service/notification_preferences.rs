//! Which events are told, on which channels.

use std::collections::BTreeSet;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, Channel, ErrorCode, UpdateNotificationPreference};
use windlass_store::applications;
use windlass_store::notification_preferences::{self as rows, NotificationPreference};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::notify::{Selection, default_of_channel, default_of_member};
use crate::service::audit::{Action, Change, Resource};
use crate::service::work::Work;

const LOGIN_REQUIRED: &str = "channel: what you get by mail is yours to choose, with a login and not with an API key";

/// What the organization sends to its channels, and what the caller gets by mail.
pub async fn get(app: &App, authority: &Authority) -> Result<api::NotificationPreferences> {
    let (organization_id, user_id) = (authority.organization_id(), authority.user_id());
    let stored = rows::of_member(&mut app.db.read().await?, organization_id, user_id).await?;
    let of_channel = |channel: &Channel| {
        let chosen = stored.iter().find(|row| row.user_id.is_none() && row.channel == *channel);
        record(*channel, chosen, default_of_channel())
    };
    let own = stored.iter().find(|row| row.user_id.is_some());
    Ok(api::NotificationPreferences {
        organization_id,
        channels: Channel::ALL.iter().filter(|channel| channel.webhook().is_some()).map(of_channel).collect(),
        email: record(Channel::Email, own, default_of_member(authority.role())),
    })
}

fn record(channel: Channel, chosen: Option<&NotificationPreference>, usual: Selection) -> api::NotificationPreference {
    let Selection { events, recoveries, application_ids } = chosen.map_or(usual, Into::into);
    api::NotificationPreference { channel, events, recoveries, application_ids, is_default: chosen.is_none() }
}

/// In the place of what was chosen before.
pub async fn put(
    app: &App,
    authority: &Authority,
    input: &UpdateNotificationPreference,
) -> Result<api::NotificationPreference> {
    let is_own = input.channel == Channel::Email;
    if is_own && authority.caller().is_key() {
        return Err(Error::new(ErrorCode::LoginRequired, LOGIN_REQUIRED));
    }
    if !is_own {
        authority.require(app, Can::WebhookUpdate)?;
    }
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    if !is_own {
        authority.require(app, Can::WebhookUpdate)?;
    }
    let organization_id = authority.organization_id();
    let application_ids = known_applications(&mut work, organization_id, input.application_ids.as_deref()).await?;
    let mut events = input.events.clone();
    events.sort_by_key(|name| name.as_str());
    events.dedup();
    let chosen = NotificationPreference {
        id: app.new_id(),
        organization_id,
        user_id: is_own.then(|| authority.user_id()),
        channel: input.channel,
        events,
        recoveries: input.recoveries.unwrap_or(true),
        application_ids,
        updated_at: app.now(),
    };
    rows::put(&mut work, &chosen).await?;
    write_down(&mut work, authority, &chosen);
    work.commit().await?;
    Ok(record(input.channel, Some(&chosen), default_of_channel()))
}

/// Each once; an application of another organization does not exist here.
async fn known_applications(work: &mut Work<'_>, organization_id: Uuid, asked: Option<&[Uuid]>) -> Result<Vec<Uuid>> {
    let asked: BTreeSet<Uuid> = asked.unwrap_or_default().iter().copied().collect();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let known: BTreeSet<Uuid> =
        applications::names(work, organization_id).await?.into_iter().map(|(id, _)| id).collect();
    match asked.difference(&known).next() {
        Some(id) => Err(Error::field("application_ids", format!("there is no application {id}"))),
        None => Ok(asked.into_iter().collect()),
    }
}

fn write_down(work: &mut Work<'_>, authority: &Authority, chosen: &NotificationPreference) {
    let channel = chosen.channel.as_str();
    let summary = match chosen.user_id {
        Some(_) => "chose which notifications they get by mail".to_owned(),
        None => format!("chose which notifications go to {channel}"),
    };
    let events = chosen.events.len().to_string();
    let change = Change {
        organization_id: Some(chosen.organization_id),
        action: Action::Update,
        resource: Resource::Webhook,
        resource_id: chosen.id,
        summary: &summary,
        details: &[("type", channel), ("events", &events)],
    };
    work.record(&authority.actor(), &change);
}
