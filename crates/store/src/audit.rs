//! What was done, by whom: chains of entries. Written in the transaction of the change itself, so that neither exists without
//! the other. What links the entries of a chain is the business of whoever writes them.

use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Result, Tx};

/// The chain of what belongs to no organization.
pub const INSTANCE_CHAIN: Uuid = Uuid::nil();

#[derive(Clone, Debug, FromRow)]
pub struct Entry {
    /// An organization's id, or [`INSTANCE_CHAIN`].
    pub chain_id: Uuid,
    /// 1, 2, 3 within its chain, without a gap.
    pub seq: i64,
    pub id: Uuid,
    pub actor_id: Option<Uuid>,
    pub actor: String,
    pub action: String,
    pub resource: String,
    pub resource_id: String,
    pub message: String,
    /// A JSON object with string values. Never a secret.
    pub metadata: String,
    /// What a search looks through, in lower case.
    pub search_text: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    pub mac: Vec<u8>,
}

/// The end of a chain.
#[derive(Clone, Debug, FromRow)]
pub struct Head {
    pub id: Uuid,
    pub count: i64,
    pub last_mac: Vec<u8>,
    pub head_mac: Vec<u8>,
}

macro_rules! columns {
    () => {
        "chain_id, seq, id, actor_id, actor, action, resource, resource_id, message, metadata, search_text, created_at, mac"
    };
}

/// The end of a chain, which nobody else can move until the transaction ends. None when the chain has not begun.
pub async fn lock_head(tx: &mut Tx, chain_id: Uuid) -> Result<Option<Head>> {
    let query = "update audit_chains set id = id where id = $1 returning id, count, last_mac, head_mac";
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(chain_id).fetch_optional(c).await)?)
}

pub async fn put_head(tx: &mut Tx, head: &Head) -> Result<()> {
    let query = "insert into audit_chains (id, count, last_mac, head_mac) values ($1, $2, $3, $4) \
                 on conflict (id) do update set count = $2, last_mac = $3, head_mac = $4";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(head.id)
            .bind(head.count)
            .bind(&head.last_mac)
            .bind(&head.head_mac)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn insert(tx: &mut Tx, entry: &Entry) -> Result<()> {
    let query = concat!(
        "insert into audit_entries (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(entry.chain_id)
            .bind(entry.seq)
            .bind(entry.id)
            .bind(entry.actor_id)
            .bind(&entry.actor)
            .bind(&entry.action)
            .bind(&entry.resource)
            .bind(&entry.resource_id)
            .bind(&entry.message)
            .bind(&entry.metadata)
            .bind(&entry.search_text)
            .bind(entry.created_at.micros())
            .bind(&entry.mac)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Which entries of a chain are asked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub resource: Option<String>,
    pub action: Option<String>,
    pub actor: Option<String>,
    pub actor_id: Option<Uuid>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// In lower case.
    pub search: Option<String>,
    /// Resources of which a search must not tell anything. At most two.
    pub unsearchable: Vec<&'static str>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        let Self { resource, action, actor, actor_id, from, to, search, unsearchable: _ } = self;
        let texts = resource.is_none() && action.is_none() && actor.is_none() && search.is_none();
        texts && actor_id.is_none() && from.is_none() && to.is_none()
    }

    /// For `like`, whose own signs mean nothing special in what a user looks for.
    fn pattern(&self) -> Option<String> {
        let search = self.search.as_deref()?;
        let mut pattern = String::from("%");
        for c in search.chars() {
            if matches!(c, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push('%');
        Some(pattern)
    }
}

/// The parameters $2 to $10 are those of a filter; absent ones let everything through.
macro_rules! matching {
    () => {
        "chain_id = $1 \
         and ($2 is null or resource = $2) and ($3 is null or action = $3) \
         and ($4 is null or actor = $4) and ($5 is null or actor_id = $5) \
         and ($6 is null or created_at >= $6) and ($7 is null or created_at < $7) \
         and ($8 is null or (search_text like $8 escape '\\' and resource <> $9 and resource <> $10))"
    };
}

/// How many entries match. Without a filter the chain's head knows, so nothing is counted.
pub async fn count(conn: &mut Conn, chain_id: Uuid, filter: &Filter) -> Result<i64> {
    if filter.is_empty() {
        let query = "select count from audit_chains where id = $1";
        let count: Option<i64> = sql!(conn, |c| sqlx::query_scalar(query).bind(chain_id).fetch_optional(c).await)?;
        return Ok(count.unwrap_or_default());
    }
    let query = concat!("select count(*) from audit_entries where ", matching!());
    Ok(sql!(conn, |c| {
        sqlx::query_scalar(query)
            .bind(chain_id)
            .bind(&filter.resource)
            .bind(&filter.action)
            .bind(&filter.actor)
            .bind(filter.actor_id)
            .bind(filter.from.map(Timestamp::micros))
            .bind(filter.to.map(Timestamp::micros))
            .bind(filter.pattern())
            .bind(filter.unsearchable.first().copied().unwrap_or_default())
            .bind(filter.unsearchable.get(1).copied().unwrap_or_default())
            .fetch_one(c)
            .await
    })?)
}

/// A page of the `count` entries that match, newest first.
pub async fn page(
    conn: &mut Conn,
    chain_id: Uuid,
    filter: &Filter,
    count: i64,
    skip: i64,
    limit: i64,
) -> Result<Vec<Entry>> {
    if skip >= count {
        return Ok(Vec::new());
    }
    if filter.is_empty() {
        // There are no gaps, so the place of a page is known: no row before it is touched.
        return before(conn, chain_id, count - skip + 1, limit).await;
    }
    let query = concat!(
        "select ",
        columns!(),
        " from audit_entries where ",
        matching!(),
        " order by seq desc limit $11 offset $12"
    );
    Ok(sql!(conn, |c| {
        sqlx::query_as(query)
            .bind(chain_id)
            .bind(&filter.resource)
            .bind(&filter.action)
            .bind(&filter.actor)
            .bind(filter.actor_id)
            .bind(filter.from.map(Timestamp::micros))
            .bind(filter.to.map(Timestamp::micros))
            .bind(filter.pattern())
            .bind(filter.unsearchable.first().copied().unwrap_or_default())
            .bind(filter.unsearchable.get(1).copied().unwrap_or_default())
            .bind(limit)
            .bind(skip)
            .fetch_all(c)
            .await
    })?)
}

/// The newest entries of a chain before one of them.
pub async fn before(conn: &mut Conn, chain_id: Uuid, seq: i64, limit: i64) -> Result<Vec<Entry>> {
    let query = concat!(
        "select ",
        columns!(),
        " from audit_entries where chain_id = $1 and seq < $2 order by seq desc limit $3"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(chain_id).bind(seq).bind(limit).fetch_all(c).await)?)
}

/// The oldest entries of a chain after one of them.
pub async fn after(conn: &mut Conn, chain_id: Uuid, seq: i64, limit: i64) -> Result<Vec<Entry>> {
    let query =
        concat!("select ", columns!(), " from audit_entries where chain_id = $1 and seq > $2 order by seq limit $3");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(chain_id).bind(seq).bind(limit).fetch_all(c).await)?)
}

/// The next chain of which there is a trace: a head, an entry, or an organization that must have one.
pub async fn next_chain(conn: &mut Conn, after: Uuid) -> Result<Option<Uuid>> {
    let query = "select id from (select id from audit_chains where id > $1 order by id limit 1) heads union all \
                 select chain_id from (select chain_id from audit_entries where chain_id > $1 order by chain_id limit 1) \
                 entries union all \
                 select id from (select id from organizations where id > $1 order by id limit 1) founded \
                 order by 1 limit 1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(after).fetch_optional(c).await)?)
}

/// A chain's end and the number of its last entry, as they are at one instant.
pub async fn end(conn: &mut Conn, chain_id: Uuid) -> Result<(Option<Head>, i64)> {
    #[derive(FromRow)]
    struct Row {
        count: Option<i64>,
        last_mac: Option<Vec<u8>>,
        head_mac: Option<Vec<u8>>,
        last_seq: i64,
    }
    let query = "select h.count, h.last_mac, h.head_mac, e.last_seq from \
                 (select coalesce(max(seq), 0) as last_seq from audit_entries where chain_id = $1) e \
                 left join audit_chains h on h.id = $1";
    let row: Row = sql!(conn, |c| sqlx::query_as(query).bind(chain_id).fetch_one(c).await)?;
    let head = match (row.count, row.last_mac, row.head_mac) {
        (Some(count), Some(last_mac), Some(head_mac)) => Some(Head { id: chain_id, count, last_mac, head_mac }),
        _ => None,
    };
    Ok((head, row.last_seq))
}

/// Whether anything was ever recorded, in a chain or before there were chains.
pub async fn is_empty(conn: &mut Conn) -> Result<bool> {
    let query = "select not exists (select 1 from audit_chains) and not exists (select 1 from audit_entries) \
                 and not exists (select 1 from unchained_audit_log)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_one(c).await)?)
}

/// What was recorded before there were chains.
#[derive(Clone, Debug, FromRow)]
pub struct Unchained {
    pub id: Uuid,
    pub organization_id: Option<Uuid>,
    pub actor_id: Option<Uuid>,
    pub actor: String,
    pub action: String,
    pub resource: String,
    pub resource_id: String,
    pub metadata: String,
    pub ip_address: String,
    pub request_id: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

pub async fn count_unchained(conn: &mut Conn) -> Result<i64> {
    Ok(sql!(conn, |c| sqlx::query_scalar("select count(*) from unchained_audit_log").fetch_one(c).await)?)
}

/// Takes all of them out, the oldest first. Of several servers that start at once, one gets them.
pub async fn take_unchained(tx: &mut Tx) -> Result<Vec<Unchained>> {
    let query = "delete from unchained_audit_log returning id, organization_id, actor_id, actor, action, resource, \
                 resource_id, metadata, ip_address, request_id, created_at";
    let mut taken: Vec<Unchained> = sql!(tx, |c| sqlx::query_as(query).fetch_all(c).await)?;
    taken.sort_unstable_by_key(|entry| entry.id);
    Ok(taken)
}
