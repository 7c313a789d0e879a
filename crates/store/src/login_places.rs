//! From where users have logged in: a keyed hash of the network, so that a login from another one is noticed.

use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Result, Tx};

/// Of each user. The one that was used longest ago makes room.
const MOST: i64 = 20;

/// How a place looks beside those that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Familiarity {
    /// Nothing is known of the user yet.
    First,
    /// It was used since then.
    Known,
    New,
}

/// Notes a login. The caller holds the user.
pub async fn note(
    tx: &mut Tx,
    user_id: Uuid,
    place_hash: &[u8],
    since: Timestamp,
    now: Timestamp,
) -> Result<Familiarity> {
    let query = "select place_hash, last_used_at from login_places where user_id = $1";
    let known: Vec<(Vec<u8>, i64)> = sql!(tx, |c| sqlx::query_as(query).bind(user_id).fetch_all(c).await)?;
    let query = "insert into login_places (user_id, place_hash, last_used_at) values ($1, $2, $3) \
                 on conflict (user_id, place_hash) do update set last_used_at = $3";
    sql!(tx, |c| sqlx::query(query).bind(user_id).bind(place_hash).bind(now.micros()).execute(c).await.map(drop))?;
    let query = "delete from login_places where user_id = $1 and place_hash not in \
                 (select place_hash from login_places where user_id = $1 order by last_used_at desc, place_hash limit $2)";
    sql!(tx, |c| sqlx::query(query).bind(user_id).bind(MOST).execute(c).await.map(drop))?;
    let is_known = known.iter().any(|(hash, used)| hash == place_hash && *used >= since.micros());
    Ok(match is_known {
        true => Familiarity::Known,
        false if known.is_empty() => Familiarity::First,
        false => Familiarity::New,
    })
}
