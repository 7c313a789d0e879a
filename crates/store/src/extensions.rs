//! Extensions: those that come with Windlass, and an organization's own. A row that is deleted stays as long as an
//! execution speaks of it.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{ExtensionOrder, SortDirection, Timestamp, ValidationStatus};

use crate::db::{self, like_part, sql};
use crate::word::Word;
use crate::{Conn, Result, Tx};

/// Without its texts.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Extension {
    pub id: Uuid,
    /// None for one that comes with Windlass.
    pub organization_id: Option<Uuid>,
    /// What people call it by.
    pub extension_key: String,
    /// The one that it was forked from.
    pub parent_id: Option<Uuid>,
    pub name: String,
    pub description: String,
    pub author: String,
    pub category: String,
    pub icon: String,
    pub extension_type: String,
    pub version: String,
    /// SHA-256 of the text, in hexadecimal digits.
    pub content_hash: String,
    /// The same of the parent's text that a fork goes on from; empty for none.
    pub parent_hash: String,
    #[sqlx(try_from = "Word<ValidationStatus>")]
    pub validation_status: ValidationStatus,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
    pub deleted_at: Option<i64>,
}

/// What is long.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Texts {
    pub yaml_content: String,
    /// JSON in one form; empty for a draft.
    pub parsed_content: String,
    /// JSON: a list; empty for none.
    pub validation_errors: String,
}

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Variable {
    pub id: Uuid,
    pub extension_id: Uuid,
    pub variable_name: String,
    pub variable_type: String,
    pub description: String,
    /// JSON.
    pub default_value: String,
    pub is_required: bool,
    pub validation_pattern: String,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, extension_key, parent_id, name, description, author, category, icon, extension_type, \
         version, content_hash, parent_hash, validation_status, created_at, updated_at, deleted_at"
    };
}

/// Seen by an organization: its own, and those that come with Windlass.
const VISIBLE: &str = "deleted_at is null and (organization_id is null or organization_id = $1)";

impl Extension {
    fn search_text(&self) -> String {
        [&self.name, &self.extension_key, &self.description, &self.author].map(|text| text.to_lowercase()).join("\n")
    }
}

pub async fn insert(tx: &mut Tx, extension: &Extension, texts: &Texts) -> Result<()> {
    let query = concat!(
        "insert into extensions (",
        columns!(),
        ", search_text, validation_errors, yaml_content, parsed_content) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(extension.id)
            .bind(extension.organization_id)
            .bind(&extension.extension_key)
            .bind(extension.parent_id)
            .bind(&extension.name)
            .bind(&extension.description)
            .bind(&extension.author)
            .bind(&extension.category)
            .bind(&extension.icon)
            .bind(&extension.extension_type)
            .bind(&extension.version)
            .bind(&extension.content_hash)
            .bind(&extension.parent_hash)
            .bind(extension.validation_status.as_str())
            .bind(extension.created_at.micros())
            .bind(extension.updated_at.micros())
            .bind(extension.deleted_at)
            .bind(extension.search_text())
            .bind(&texts.validation_errors)
            .bind(&texts.yaml_content)
            .bind(&texts.parsed_content)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Everything that its text says.
pub async fn update(tx: &mut Tx, extension: &Extension, texts: &Texts) -> Result<()> {
    let query = "update extensions set name = $2, description = $3, author = $4, category = $5, icon = $6, \
                 extension_type = $7, version = $8, content_hash = $9, validation_status = $10, updated_at = $11, \
                 search_text = $12, validation_errors = $13, yaml_content = $14, parsed_content = $15, deleted_at = $16 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(extension.id)
            .bind(&extension.name)
            .bind(&extension.description)
            .bind(&extension.author)
            .bind(&extension.category)
            .bind(&extension.icon)
            .bind(&extension.extension_type)
            .bind(&extension.version)
            .bind(&extension.content_hash)
            .bind(extension.validation_status.as_str())
            .bind(extension.updated_at.micros())
            .bind(extension.search_text())
            .bind(&texts.validation_errors)
            .bind(&texts.yaml_content)
            .bind(&texts.parsed_content)
            .bind(extension.deleted_at)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// From which text of its parent a fork goes on.
pub async fn set_parent_text(tx: &mut Tx, id: Uuid, hash: &str, text: &str) -> Result<()> {
    let query = "update extensions set parent_hash = $2, parent_content = $3 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(hash).bind(text).execute(c).await.map(drop))?;
    Ok(())
}

/// Empty for what is no fork.
pub async fn parent_text(conn: &mut Conn, id: Uuid) -> Result<Option<String>> {
    let query = "select parent_content from extensions where id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_optional(c).await)?)
}

pub async fn mark_deleted(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<()> {
    let query = "update extensions set deleted_at = $2 where id = $1 and deleted_at is null";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// Deleted ones too.
pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Extension>> {
    let query = concat!("select ", columns!(), " from extensions where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Those that there are, deleted ones too.
pub async fn among(conn: &mut Conn, ids: &[Uuid]) -> Result<Vec<Extension>> {
    db::among(conn, concat!("select ", columns!(), " from extensions where id in ({})"), ids).await
}

/// Nothing when it is another organization's, or deleted.
pub async fn visible(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Extension>> {
    let query = format!(concat!("select ", columns!(), " from extensions where id = $2 and {}"), VISIBLE);
    Ok(sql!(conn, |c| sqlx::query_as(AssertSqlSafe(query)).bind(organization_id).bind(id).fetch_optional(c).await)?)
}

/// The same by what people call it. An organization's own comes before one that comes with Windlass.
pub async fn by_key(conn: &mut Conn, organization_id: Uuid, key: &str) -> Result<Option<Extension>> {
    let query = format!(
        concat!(
            "select ",
            columns!(),
            " from extensions where extension_key = $2 and {} order by (organization_id is null) limit 1"
        ),
        VISIBLE
    );
    Ok(sql!(conn, |c| sqlx::query_as(AssertSqlSafe(query)).bind(organization_id).bind(key).fetch_optional(c).await)?)
}

/// Waits for, and then keeps others from, changes of this extension until the transaction ends.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<Extension>> {
    let query = concat!("update extensions set id = id where id = $1 and deleted_at is null returning ", columns!());
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn texts(conn: &mut Conn, id: Uuid) -> Result<Option<Texts>> {
    let query = "select yaml_content, parsed_content, validation_errors from extensions where id = $1";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Those that come with Windlass, and those that did; the newest first.
pub async fn built_in(conn: &mut Conn) -> Result<Vec<Extension>> {
    let query = concat!("select ", columns!(), " from extensions where organization_id is null order by id desc");
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from extensions where organization_id = $1 and deleted_at is null";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Those categories in which an organization sees something.
pub async fn categories(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<String>> {
    let query =
        format!("select distinct category from extensions where {VISIBLE} and category <> '' order by category");
    Ok(sql!(conn, |c| sqlx::query_scalar(AssertSqlSafe(query)).bind(organization_id).fetch_all(c).await)?)
}

/// Which ones are asked for; what is none does not matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub category: Option<String>,
    pub extension_type: Option<String>,
    /// A part of the name, the key, the description or the author.
    pub search: Option<String>,
}

impl Filter {
    /// What comes with Windlass and what is the organization's own, each found by its index: SQLite takes many times as long for
    /// one `or` over both. The values are in the order of `values`.
    fn matching(&self, columns: &str) -> String {
        let mut conditions = "deleted_at is null".to_owned();
        let mut number = 1;
        for (is_given, condition) in [
            (self.category.is_some(), "category ="),
            (self.extension_type.is_some(), "extension_type ="),
            (self.search.is_some(), "search_text like"),
        ] {
            if is_given {
                number += 1;
                conditions.push_str(&format!(" and {condition} ${number}"));
            }
        }
        if self.search.is_some() {
            conditions.push_str(r" escape '\'");
        }
        let of = |owner: &str| format!("select {columns} from extensions where {owner} and {conditions}");
        format!("{} union all {}", of("organization_id = $1"), of("organization_id is null"))
    }

    fn values(&self) -> impl Iterator<Item = String> + '_ {
        let search = self.search.as_deref().map(|part| like_part(&part.to_lowercase()));
        self.category.clone().into_iter().chain(self.extension_type.clone()).chain(search)
    }
}

/// A page of what an organization sees, and how many there are in all.
pub async fn page(
    conn: &mut Conn,
    organization_id: Uuid,
    filter: &Filter,
    (order, direction): (ExtensionOrder, SortDirection),
    (skip, limit): (i64, i64),
) -> Result<(Vec<Extension>, i64)> {
    let query = format!("select count(*) from ({}) matching", filter.matching("id"));
    let count = sql!(conn, |c| {
        let query = sqlx::query_scalar(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        filter.values().fold(query, sqlx::query::QueryScalar::bind).fetch_one(c).await
    })?;
    let (column, needed) = match order {
        ExtensionOrder::Name => ("lower(name)", "id, name"),
        ExtensionOrder::Category => ("category", "id, name, category"),
        ExtensionOrder::CreatedAt => ("created_at", "id, name, created_at"),
        ExtensionOrder::UpdatedAt => ("updated_at", "id, name, updated_at"),
    };
    let direction = match direction {
        SortDirection::Ascending => "asc",
        SortDirection::Descending => "desc",
    };
    let order = format!("order by {column} {direction}, lower(name), id");
    // The rows are long: only those of the page are read whole.
    let page = format!("select id from ({}) matching {order} limit {limit} offset {skip}", filter.matching(needed));
    let query = format!(concat!("select ", columns!(), " from extensions where id in ({}) {}"), page, order);
    let page = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        filter.values().fold(query, sqlx::query::QueryAs::bind).fetch_all(c).await
    })?;
    Ok((page, count))
}

pub async fn variables(conn: &mut Conn, extension_id: Uuid) -> Result<Vec<Variable>> {
    let query = "select id, extension_id, variable_name, variable_type, description, default_value, is_required, \
                 validation_pattern, created_at from extension_variables where extension_id = $1 order by position";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(extension_id).fetch_all(c).await)?)
}

/// Those of an extension are these, in this order.
pub async fn set_variables(tx: &mut Tx, extension_id: Uuid, variables: &[Variable]) -> Result<()> {
    let query = "delete from extension_variables where extension_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(extension_id).execute(c).await.map(drop))?;
    let query = "insert into extension_variables (id, extension_id, position, variable_name, variable_type, description, \
                 default_value, is_required, validation_pattern, created_at) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    for (position, variable) in (0_i64..).zip(variables) {
        sql!(tx, |c| {
            sqlx::query(query)
                .bind(variable.id)
                .bind(extension_id)
                .bind(position)
                .bind(&variable.variable_name)
                .bind(&variable.variable_type)
                .bind(&variable.description)
                .bind(&variable.default_value)
                .bind(variable.is_required)
                .bind(&variable.validation_pattern)
                .bind(variable.created_at.micros())
                .execute(c)
                .await
                .map(drop)
        })?;
    }
    Ok(())
}

/// Forgets some that are deleted and that no execution or installation speaks of.
pub async fn purge(tx: &mut Tx, limit: i64) -> Result<u64> {
    let query = "delete from extensions where id in (select x.id from extensions x where x.deleted_at is not null \
                 and not exists (select 1 from executions e where e.extension_id = x.id) \
                 and not exists (select 1 from installations i where i.extension_id = x.id) limit $1)";
    Ok(sql!(tx, |c| sqlx::query(query).bind(limit).execute(c).await.map(|done| done.rows_affected()))?)
}
