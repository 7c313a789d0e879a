//! Which events are told: by an organization's channels, and by mail to its members.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{Channel, EventName, Timestamp};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Result, Tx};

#[derive(Clone, Debug)]
pub struct NotificationPreference {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// None for the organization's own.
    pub user_id: Option<Uuid>,
    pub channel: Channel,
    pub events: Vec<EventName>,
    /// Whether the first success after a failure is told too.
    pub recoveries: bool,
    /// Empty for all.
    pub application_ids: Vec<Uuid>,
    pub updated_at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    user_id: Option<Uuid>,
    #[sqlx(try_from = "Word<Channel>")]
    channel: Channel,
    events: String,
    recoveries: bool,
    application_ids: String,
    #[sqlx(try_from = "i64")]
    updated_at: Timestamp,
}

impl From<Row> for NotificationPreference {
    /// A name that this version does not know is of a newer one.
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id,
            user_id: row.user_id,
            channel: row.channel,
            events: row.events.split_whitespace().filter_map(|name| EventName::try_from(name).ok()).collect(),
            recoveries: row.recoveries,
            application_ids: row.application_ids.split_whitespace().filter_map(|id| id.parse().ok()).collect(),
            updated_at: row.updated_at,
        }
    }
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, channel, events, recoveries, application_ids, updated_at"
    };
}

/// In the place of what was there before.
pub async fn put(tx: &mut Tx, preference: &NotificationPreference) -> Result<()> {
    let query = "delete from notification_preferences where organization_id = $1 \
                 and (user_id = $2 or (user_id is null and $2 is null and channel = $3))";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(preference.organization_id)
            .bind(preference.user_id)
            .bind(preference.channel.as_str())
            .execute(c)
            .await
            .map(drop)
    })?;
    let query =
        concat!("insert into notification_preferences (", columns!(), ") values ($1, $2, $3, $4, $5, $6, $7, $8)");
    let events: Vec<_> = preference.events.iter().map(|name| name.as_str()).collect();
    let application_ids: Vec<_> = preference.application_ids.iter().map(Uuid::to_string).collect();
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(preference.id)
            .bind(preference.organization_id)
            .bind(preference.user_id)
            .bind(preference.channel.as_str())
            .bind(events.join(" "))
            .bind(preference.recoveries)
            .bind(application_ids.join(" "))
            .bind(preference.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// The organization's own, and those of its members.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<NotificationPreference>> {
    let query = concat!("select ", columns!(), " from notification_preferences where organization_id = $1");
    let rows: Vec<Row> = sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The organization's own, and those of one member.
pub async fn of_member(conn: &mut Conn, organization_id: Uuid, user_id: Uuid) -> Result<Vec<NotificationPreference>> {
    let query = concat!(
        "select ",
        columns!(),
        " from notification_preferences where organization_id = $1 and (user_id is null or user_id = $2)"
    );
    let rows: Vec<Row> = sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(user_id).fetch_all(c).await)?;
    Ok(rows.into_iter().map(Into::into).collect())
}
