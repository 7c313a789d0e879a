//! Applications: what is wanted of them, and what is.

use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::{ApplicationOrder, ApplicationState, SortDirection, Timestamp, Wanted};

use crate::db::sql;
use crate::word::Word;
use crate::{Conn, Kind, Result, Tx, releases};

#[derive(Clone, Debug, FromRow)]
pub struct Application {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// The user who created it.
    pub user_id: Uuid,
    pub name: String,
    pub repository: String,
    /// By what deliveries find it; empty for a folder of the machine.
    pub repository_key: String,
    pub domain: String,
    /// By what it is fetched and reported on, if it is.
    pub connection_id: Option<Uuid>,
    /// The code host's own id of the registered webhook; empty for none.
    pub hook_id: String,
    /// The same of the deploy key.
    pub deploy_key_id: String,
    /// The public half of a key that was made here; empty for none.
    pub deploy_key: String,
    /// JSON of [`windlass_api::Configuration`].
    pub configuration: String,
    /// JSON of [`windlass_api::Triggers`].
    pub triggers: String,
    /// Whether a variable of it refers to one that is shared.
    pub refers_to_shared: bool,
    pub sealed_variables: Vec<u8>,
    pub sealed_credentials: Option<Vec<u8>>,
    pub sealed_webhook: Vec<u8>,
    /// JSON: a list of texts.
    pub labels: String,
    #[sqlx(try_from = "Word<Wanted>")]
    pub wanted: Wanted,
    /// The deployment whose container visitors reach.
    pub live_deployment_id: Option<Uuid>,
    /// Until when visitors wait for the next containers; none if they do not.
    pub held_until: Option<i64>,
    pub status_id: Uuid,
    #[sqlx(try_from = "Word<ApplicationState>")]
    pub state: ApplicationState,
    #[sqlx(try_from = "i64")]
    pub state_changed_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, organization_id, user_id, name, repository, repository_key, domain, connection_id, hook_id, deploy_key_id, \
         deploy_key, configuration, triggers, refers_to_shared, sealed_variables, \
         sealed_credentials, sealed_webhook, labels, wanted, live_deployment_id, held_until, status_id, state, state_changed_at, created_at, updated_at"
    };
}

pub async fn insert(tx: &mut Tx, application: &Application) -> Result<()> {
    let query = concat!(
        "insert into applications (",
        columns!(),
        ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)"
    );
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(application.id)
            .bind(application.organization_id)
            .bind(application.user_id)
            .bind(&application.name)
            .bind(&application.repository)
            .bind(&application.repository_key)
            .bind(&application.domain)
            .bind(application.connection_id)
            .bind(&application.hook_id)
            .bind(&application.deploy_key_id)
            .bind(&application.deploy_key)
            .bind(&application.configuration)
            .bind(&application.triggers)
            .bind(application.refers_to_shared)
            .bind(&application.sealed_variables)
            .bind(&application.sealed_credentials)
            .bind(&application.sealed_webhook)
            .bind(&application.labels)
            .bind(application.wanted.as_str())
            .bind(application.live_deployment_id)
            .bind(application.held_until)
            .bind(application.status_id)
            .bind(application.state.as_str())
            .bind(application.state_changed_at.micros())
            .bind(application.created_at.micros())
            .bind(application.updated_at.micros())
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// What users change: everything but what is wanted and what is live.
pub async fn update(tx: &mut Tx, application: &Application) -> Result<()> {
    let query = "update applications set name = $2, domain = $3, configuration = $4, sealed_variables = $5, \
                 sealed_credentials = $6, labels = $7, updated_at = $8, triggers = $9, sealed_webhook = $10, \
                 connection_id = $11, hook_id = $12, deploy_key_id = $13, deploy_key = $14, refers_to_shared = $15 where id = $1";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(application.id)
            .bind(&application.name)
            .bind(&application.domain)
            .bind(&application.configuration)
            .bind(&application.sealed_variables)
            .bind(&application.sealed_credentials)
            .bind(&application.labels)
            .bind(application.updated_at.micros())
            .bind(&application.triggers)
            .bind(&application.sealed_webhook)
            .bind(application.connection_id)
            .bind(&application.hook_id)
            .bind(&application.deploy_key_id)
            .bind(&application.deploy_key)
            .bind(application.refers_to_shared)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// Each with its organization.
pub async fn organizations(conn: &mut Conn) -> Result<Vec<(Uuid, Uuid)>> {
    Ok(sql!(conn, |c| sqlx::query_as("select id, organization_id from applications").fetch_all(c).await)?)
}

/// All there are.
pub async fn ids(conn: &mut Conn) -> Result<Vec<Uuid>> {
    Ok(sql!(conn, |c| sqlx::query_scalar("select id from applications").fetch_all(c).await)?)
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Application>> {
    let query = concat!("select ", columns!(), " from applications where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Nothing when it belongs to another organization.
pub async fn of_organization(conn: &mut Conn, organization_id: Uuid, id: Uuid) -> Result<Option<Application>> {
    let query = concat!("select ", columns!(), " from applications where id = $1 and organization_id = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).bind(organization_id).fetch_optional(c).await)?)
}

pub async fn by_name(conn: &mut Conn, organization_id: Uuid, name: &str) -> Result<Option<Application>> {
    let query = concat!("select ", columns!(), " from applications where organization_id = $1 and name = $2");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(name).fetch_optional(c).await)?)
}

/// Ids and names of an organization's.
pub async fn names(conn: &mut Conn, organization_id: Uuid) -> Result<Vec<(Uuid, String)>> {
    let query = "select id, name from applications where organization_id = $1 order by id";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).fetch_all(c).await)?)
}

/// Those of an organization with a variable that refers to a shared one, some after the one with the id `after`; not those that are being deleted.
pub async fn that_refer_to_shared(
    conn: &mut Conn,
    organization_id: Uuid,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Application>> {
    let query = concat!(
        "select ",
        columns!(),
        " from applications where organization_id = $1 and refers_to_shared and wanted <> 'deleted' and id > $2 \
         order by id limit $3"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(organization_id).bind(after).bind(limit).fetch_all(c).await)?)
}

/// An application that a delivery may be for, and the secret that it would be signed with.
#[derive(Clone, Debug, FromRow)]
pub struct Candidate {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub sealed_webhook: Vec<u8>,
    /// Of the connection, if that is an app: what is sealed of it.
    pub app_connection_id: Option<Uuid>,
    pub sealed_app: Option<Vec<u8>>,
}

/// Those of every organization whose repository has one of these keys; not those that are being deleted. The oldest of each organization
/// come first, so that none crowds out another's.
pub async fn of_repository(conn: &mut Conn, keys: &[&str], limit: i64) -> Result<Vec<Candidate>> {
    let marks: Vec<String> = (2..keys.len() + 2).map(|number| format!("${number}")).collect();
    let query = format!(
        "select found.id, found.organization_id, sealed_webhook, c.id as app_connection_id, c.sealed_app \
         from (select id, organization_id, connection_id, sealed_webhook, created_at, \
         row_number() over (partition by organization_id order by created_at, id) as place from applications \
         where repository_key in ({}) and repository_key <> '' and wanted <> 'deleted') found \
         left join connections c on c.id = found.connection_id and c.sealed_app is not null \
         order by place, found.created_at, found.id limit $1",
        marks.join(", ")
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).bind(limit);
        keys.iter().fold(query, |query, key| query.bind(*key)).fetch_all(c).await
    })?)
}

/// Which applications of an organization are asked for. Previews are never among them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A part of the name, the domain or the repository.
    pub search: Option<String>,
    /// All of these must be there.
    pub labels: Vec<String>,
    pub state: Option<ApplicationState>,
    pub environment: Option<String>,
}

impl Filter {
    /// What must hold, with parameters from $2 on in the order of [`Filter::values`].
    fn conditions(&self, kind: Kind) -> String {
        let (label, environment, contains) = match kind {
            Kind::Sqlite => (
                "exists (select 1 from json_each(labels) l where l.value = #)",
                "configuration ->> 'environment' = #",
                "instr(lower(name || ' ' || domain || ' ' || repository), lower(#)) > 0",
            ),
            Kind::Postgres => (
                "labels::jsonb @> jsonb_build_array(#::text)",
                "configuration::jsonb ->> 'environment' = #",
                "strpos(lower((name || ' ' || domain || ' ' || repository) collate \"C\"), lower(# collate \"C\")) > 0",
            ),
        };
        let mut asked = vec![label; self.labels.len()];
        asked.extend(self.state.map(|_| "state = #"));
        asked.extend(self.environment.as_ref().map(|_| environment));
        asked.extend(self.search.as_ref().map(|_| contains));
        let mut text =
            String::from("organization_id = $1 and not exists (select 1 from previews p where p.id = applications.id)");
        for (number, condition) in asked.into_iter().enumerate() {
            text.push_str(" and ");
            text.push_str(&condition.replace('#', &format!("${}", number + 2)));
        }
        text
    }

    fn values(&self) -> impl Iterator<Item = &str> {
        let labels = self.labels.iter().map(String::as_str);
        let state = self.state.map(ApplicationState::as_str);
        labels.chain(state).chain(self.environment.as_deref()).chain(self.search.as_deref())
    }
}

/// In which order a list comes.
#[derive(Clone, Copy, Debug)]
pub struct Sorting {
    pub by: ApplicationOrder,
    pub direction: SortDirection,
}

impl Sorting {
    fn terms(self, kind: Kind) -> String {
        let by = match (self.by, kind) {
            (ApplicationOrder::Name, Kind::Sqlite) => "lower(name)",
            // Whatever the database's language, the same order everywhere.
            (ApplicationOrder::Name, Kind::Postgres) => "lower(name collate \"C\") collate \"C\"",
            (ApplicationOrder::CreatedAt, _) => "created_at",
            (ApplicationOrder::UpdatedAt, _) => "updated_at",
            (ApplicationOrder::State, _) => "state",
        };
        let direction = self.direction.as_str();
        format!("{by} {direction}, id {direction}")
    }
}

/// A page of those that match, and how many match in all.
pub async fn page(
    conn: &mut Conn,
    organization_id: Uuid,
    filter: &Filter,
    sorting: Sorting,
    skip: i64,
    limit: i64,
) -> Result<(Vec<Application>, i64)> {
    let kind = conn.kind();
    let (conditions, terms) = (filter.conditions(kind), sorting.terms(kind));
    let query = format!("select count(*) from applications where {conditions}");
    let count = sql!(conn, |c| {
        let query = sqlx::query_scalar(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        filter.values().fold(query, sqlx::query::QueryScalar::bind).fetch_one(c).await
    })?;
    let query = format!(
        concat!("select ", columns!(), " from applications where {} order by {} limit {} offset {}"),
        conditions, terms, limit, skip
    );
    let page = sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false).bind(organization_id);
        filter.values().fold(query, sqlx::query::QueryAs::bind).fetch_all(c).await
    })?;
    Ok((page, count))
}

pub async fn count_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select count(*) from applications where organization_id = $1";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Those that are being deleted included.
pub async fn are_any(conn: &mut Conn) -> Result<bool> {
    Ok(sql!(conn, |c| sqlx::query_scalar("select exists (select 1 from applications)").fetch_one(c).await)?)
}

/// Waits for, and then keeps others from, changes of this application until the transaction ends.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<Application>> {
    let query = concat!("update applications set id = id where id = $1 returning ", columns!());
    Ok(sql!(tx, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

pub async fn set_wanted(tx: &mut Tx, id: Uuid, wanted: Wanted) -> Result<()> {
    let query = "update applications set wanted = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(wanted.as_str()).execute(c).await.map(drop))?;
    Ok(())
}

/// Visitors wait no longer.
pub async fn set_live(tx: &mut Tx, id: Uuid, deployment_id: Option<Uuid>) -> Result<()> {
    let query = "update applications set live_deployment_id = $2, held_until = null where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(deployment_id).execute(c).await.map(drop))?;
    Ok(())
}

/// Until when visitors wait for the next containers.
pub async fn set_held_until(tx: &mut Tx, id: Uuid, until: Option<Timestamp>) -> Result<()> {
    let query = "update applications set held_until = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(until.map(Timestamp::micros)).execute(c).await.map(drop))?;
    Ok(())
}

/// Those whose visitors wait.
pub async fn held(conn: &mut Conn) -> Result<Vec<Uuid>> {
    let query = "select id from applications where held_until is not null and wanted = 'running'";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).fetch_all(c).await)?)
}

/// When a deployment was called off before anything was live: what was stopped before it is stopped again.
pub async fn fall_back_to_stopped(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "update applications set wanted = 'stopped' where id = $1 and wanted = 'running' \
                 and live_deployment_id is null \
                 and not exists (select 1 from deployments d where d.application_id = $1 \
                     and d.state in ('queued', 'cloning', 'building', 'deploying')) \
                 and exists (select 1 from releases r where r.application_id = $1 and r.live_at is not null \
                     and r.removed_at is null)";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// A change of an application's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    pub organization_id: Uuid,
    pub name: String,
    pub from: ApplicationState,
    pub to: ApplicationState,
}

/// Makes the state say what the other rows say. The caller has changed one of those in the same transaction, and has
/// locked the application before: PostgreSQL would otherwise look at the other rows as they were before another one's
/// change.
pub async fn settle(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<Option<Transition>> {
    let Some(before) = get(tx, id).await? else { return Ok(None) };
    let state = "case \
         when exists (select 1 from deployments d where d.application_id = applications.id \
             and d.state in ('queued', 'cloning', 'building', 'deploying')) then 'deploying' \
         when wanted <> 'running' then 'stopped' \
         when exists (select 1 from deployments d join releases r on r.id = d.release_id \
             where d.id = applications.live_deployment_id \
             and (d.container_status in ('running', 'unhealthy') or (r.site <> '' and d.container_status = ''))) then 'running' \
         else 'failed' end";
    let query = format!(
        "update applications set state = {state}, state_changed_at = $2 where id = $1 and state <> {state} returning state"
    );
    let changed: Option<String> =
        sql!(tx, |c| sqlx::query_scalar(AssertSqlSafe(query)).bind(id).bind(now.micros()).fetch_optional(c).await)?;
    let Some(to) = changed.and_then(|state| ApplicationState::try_from(state).ok()) else { return Ok(None) };
    Ok(Some(Transition { organization_id: before.organization_id, name: before.name, from: before.state, to }))
}

/// Everything of it goes with it.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    let query = "delete from containers where application_id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).execute(c).await.map(drop))?;
    sql!(tx, |c| sqlx::query("delete from applications where id = $1").bind(id).execute(c).await.map(drop))?;
    Ok(())
}

/// What an edge must know of an application.
#[derive(Clone, Debug, FromRow)]
pub struct Routed {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub domain: String,
    #[sqlx(try_from = "Word<Wanted>")]
    pub wanted: Wanted,
    #[sqlx(try_from = "Word<ApplicationState>")]
    pub state: ApplicationState,
    pub held_until: Option<i64>,
    /// The live instances, in the order of their ordinals.
    #[sqlx(skip)]
    pub instances: Vec<RoutedInstance>,
    pub port: Option<i64>,
    /// Of the live release; empty when its containers serve.
    pub site: Option<String>,
    pub single_page: Option<bool>,
    /// Of the live release; empty unless it has services of a compose file. See [`Routed::main_service`].
    services: Option<String>,
}

impl Routed {
    /// The service that visitors of the main domain reach; empty if there are no services.
    pub fn main_service(&self) -> String {
        self.services.as_deref().and_then(releases::main_service).unwrap_or_default()
    }
}

/// Where one of them is.
#[derive(Clone, Debug)]
pub struct RoutedInstance {
    pub address: String,
    /// The service of a compose file that it is, and where that one listens.
    pub service: String,
    pub port: i64,
}

/// An application beside one of its live instances, or beside none.
#[derive(FromRow)]
struct RoutedRow {
    #[sqlx(flatten)]
    application: Routed,
    address: Option<String>,
    service: Option<String>,
    service_port: Option<i64>,
}

/// Every application there is, with where its visitors are sent.
pub async fn routed(conn: &mut Conn) -> Result<Vec<Routed>> {
    let query = "select a.id, a.organization_id, a.domain, a.wanted, a.state, a.held_until, c.address, c.service, \
                 c.port as service_port, r.port, r.site, r.single_page, r.services from applications a \
                 left join deployments d on d.id = a.live_deployment_id \
                 left join releases r on r.id = d.release_id \
                 left join containers c on c.deployment_id = d.id and c.purpose = 'app' and c.stage = 'live' \
                 where a.wanted <> 'deleted' order by a.id, c.ordinal";
    let rows: Vec<RoutedRow> = sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?;
    let mut all: Vec<Routed> = Vec::new();
    for RoutedRow { application, address, service, service_port } in rows {
        let instance = address.map(|address| RoutedInstance {
            address,
            service: service.unwrap_or_default(),
            port: service_port.unwrap_or_default(),
        });
        match all.last_mut().filter(|last| last.id == application.id) {
            Some(same) => same.instances.extend(instance),
            None => all.push(Routed { instances: instance.into_iter().collect(), ..application }),
        }
    }
    Ok(all)
}

/// None of them runs here. One that is being deleted still is.
pub async fn stop_all(tx: &mut Tx, now: Timestamp) -> Result<()> {
    let query = "update applications set wanted = 'stopped', live_deployment_id = null, held_until = null, state = 'stopped', state_changed_at = $1 \
                 where wanted <> 'deleted'";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(drop))?)
}
