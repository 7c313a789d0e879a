//! What was done and which user did it: chains of entries. Written in the transaction of the change itself, so that
//! neither exists without the other. The caller computes what links the entries of a chain.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::sql;
use crate::{Conn, Kind, Result, Tx};

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

/// The end of a chain, which no other transaction can move until this one ends. None when the chain has not begun.
pub async fn lock_head(tx: &mut Tx, chain_id: Uuid) -> Result<Option<Head>> {
    let query = "update audit_chains set id = id where id = $1 returning id, count, last_mac, head_mac";
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(chain_id).fetch_optional(c).await)?)
}

/// Begins a chain. False when another transaction has meanwhile; then that one counts.
pub async fn begin_chain(tx: &mut Tx, head: &Head) -> Result<bool> {
    let query = "insert into audit_chains (id, count, last_mac, head_mac) values ($1, $2, $3, $4) \
                 on conflict (id) do nothing";
    let begun = sql!(tx, |c| {
        sqlx::query(query)
            .bind(head.id)
            .bind(head.count)
            .bind(&head.last_mac)
            .bind(&head.head_mac)
            .execute(c)
            .await
            .map(|done| done.rows_affected())
    })?;
    Ok(begun == 1)
}

/// Adds an entry and moves the head of its chain behind it, in one exchange with the database: every change of state
/// waits for this.
pub async fn append(tx: &mut Tx, entry: &Entry, head: &Head) -> Result<()> {
    macro_rules! texts {
        ($before:literal, $between:literal) => {
            concat!(
                $before,
                "insert into audit_entries (",
                columns!(),
                ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
                $between,
                " update audit_chains set count = $2, last_mac = $13, head_mac = $14 where id = $1"
            )
        };
    }
    // SQLite takes two statements at once; PostgreSQL one inside the other.
    let query = match tx.kind() {
        Kind::Sqlite => texts!("", ";"),
        Kind::Postgres => texts!("with entry as (", ")"),
    };
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
            .bind(&head.head_mac)
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
    /// Resources of which a search must not tell anything.
    pub unsearchable: Vec<&'static str>,
}

impl Filter {
    fn is_empty(&self) -> bool {
        let Self { resource, action, actor, actor_id, from, to, search, unsearchable: _ } = self;
        let texts = resource.is_none() && action.is_none() && actor.is_none() && search.is_none();
        texts && actor_id.is_none() && from.is_none() && to.is_none()
    }

    /// What must hold, with parameters from $2 on in the order of [`bind`]. Only what is asked for: each condition is
    /// evaluated for each entry of the chain.
    fn conditions(&self, kind: Kind) -> String {
        // Each database's quickest: of 100,000 entries SQLite searches by `instr` half as fast, PostgreSQL by `like` a
        // third slower.
        let contains = match kind {
            Kind::Sqlite => "search_text like # escape '\\'",
            Kind::Postgres => "strpos(search_text, #) > 0",
        };
        let asked = [
            (self.resource.is_some(), "resource = #"),
            (self.action.is_some(), "action = #"),
            (self.actor.is_some(), "actor = #"),
            (self.actor_id.is_some(), "actor_id = #"),
            (self.from.is_some(), "created_at >= #"),
            (self.to.is_some(), "created_at < #"),
            (self.search.is_some(), contains),
        ];
        let mut text = String::from("chain_id = $1");
        let mut number = 1;
        for (_, condition) in asked.iter().filter(|(is_asked, _)| *is_asked) {
            number += 1;
            text.push_str(" and ");
            text.push_str(&condition.replace('#', &format!("${number}")));
        }
        if self.search.is_some() {
            for resource in &self.unsearchable {
                text.push_str(&format!(" and resource <> '{resource}'"));
            }
        }
        text
    }

    /// What to look for, as the database's condition takes it: for `like`, whose own signs mean nothing special to a
    /// user.
    fn pattern(&self, kind: Kind) -> Option<String> {
        let search = self.search.as_deref()?;
        if kind == Kind::Postgres {
            return Some(search.to_owned());
        }
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

/// Binds what [`Filter::conditions`] asks for. A macro, because the query's type differs between the databases.
macro_rules! bind {
    ($query:expr, $filter:expr, $kind:expr) => {{
        let mut query = $query;
        for text in [&$filter.resource, &$filter.action, &$filter.actor].into_iter().flatten() {
            query = query.bind(text);
        }
        if let Some(id) = $filter.actor_id {
            query = query.bind(id);
        }
        for time in [$filter.from, $filter.to].into_iter().flatten() {
            query = query.bind(time.micros());
        }
        if let Some(pattern) = $filter.pattern($kind) {
            query = query.bind(pattern);
        }
        query
    }};
}

/// A page of the entries that match, newest first, and how many match in all.
pub async fn page(
    conn: &mut Conn,
    chain_id: Uuid,
    filter: &Filter,
    skip: i64,
    limit: i64,
) -> Result<(Vec<Entry>, i64)> {
    if filter.is_empty() {
        // There are no gaps, so the place of a page is known: no entry is counted, and none before it is touched.
        let query = "select count from audit_chains where id = $1";
        let count: Option<i64> = sql!(conn, |c| sqlx::query_scalar(query).bind(chain_id).fetch_optional(c).await)?;
        let count = count.unwrap_or_default();
        let page = if skip < count {
            before(conn, chain_id, count.saturating_sub(skip).saturating_add(1), limit).await?
        } else {
            Vec::new()
        };
        return Ok((page, count));
    }
    let newest = matching(conn, chain_id, filter, 0, PROBE + 1).await?;
    let is_all = newest.len() as i64 <= PROBE;
    let count = if is_all { newest.len() as i64 } else { count(conn, chain_id, filter).await? };
    let on_page: Vec<i64> = match is_all || skip + limit <= PROBE {
        true => newest.into_iter().skip(skip as usize).take(limit as usize).collect(),
        false => matching(conn, chain_id, filter, skip, limit).await?,
    };
    Ok((numbered(conn, chain_id, &on_page).await?, count))
}

/// So many matches are looked for first. When there are fewer, that was the only pass over the chain; when there are
/// more, it ended soon.
const PROBE: i64 = 1_000;

/// The numbers of entries that match, newest first.
async fn matching(conn: &mut Conn, chain_id: Uuid, filter: &Filter, skip: i64, limit: i64) -> Result<Vec<i64>> {
    let kind = conn.kind();
    let query = format!(
        "select seq from audit_entries where {} order by seq desc limit {limit} offset {skip}",
        filter.conditions(kind)
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_scalar(AssertSqlSafe(query)).persistent(false);
        bind!(query.bind(chain_id), filter, kind).fetch_all(c).await
    })?)
}

async fn count(conn: &mut Conn, chain_id: Uuid, filter: &Filter) -> Result<i64> {
    let kind = conn.kind();
    let query = format!("select count(*) from audit_entries where {}", filter.conditions(kind));
    Ok(sql!(conn, |c| {
        bind!(sqlx::query_scalar(AssertSqlSafe(query)).bind(chain_id), filter, kind).fetch_one(c).await
    })?)
}

/// The entries with these numbers, newest first.
async fn numbered(conn: &mut Conn, chain_id: Uuid, numbers: &[i64]) -> Result<Vec<Entry>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let numbers = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let query = format!(
        concat!("select ", columns!(), " from audit_entries where chain_id = $1 and seq in ({}) order by seq desc"),
        numbers
    );
    // Hardly ever the same text twice: it must not push others out of the driver's store of prepared statements.
    Ok(sql!(conn, |c| { sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(chain_id).fetch_all(c).await })?)
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
