//! Releases: what can be made live.

use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, FromRow};
use uuid::Uuid;
use windlass_api::Timestamp;

use crate::db::{parameters, sql};
use crate::{Conn, Result, Tx};

/// What a build made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// Containers are made of it.
    Image(Image),
    /// The edge serves its files; there are no containers.
    Site(Site),
    /// Containers are made of several images, one for each service of a compose file.
    Services(Services),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The engine's name of it, which never moves.
    pub name: String,
    /// The engine's id of it.
    pub id: String,
    /// Where its containers listen.
    pub port: u16,
    /// As the engine counts them: what images have in common is in each of them.
    pub bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Made of what is in its files: the same files have the same name.
    pub name: String,
    /// Whether a path without a file is answered with the first page.
    pub single_page: bool,
    pub bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services {
    pub all: Vec<ServiceImage>,
    /// The one that visitors of the main domain reach.
    pub main: String,
    /// Where it listens.
    pub port: u16,
    /// Of images that were built for it, as for [`Image`]; not of those that were pulled.
    pub bytes: i64,
}

/// What the containers of a service are made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceImage {
    pub service: String,
    /// The engine's name of it, which never moves; empty if it was not built for this release.
    pub name: String,
    /// The engine's id of it.
    pub id: String,
}

/// The column `services`.
#[derive(Serialize, Deserialize)]
struct StoredServices {
    main: String,
    all: Vec<ServiceImage>,
}

/// The columns that describe an artifact.
#[derive(Default, FromRow)]
struct Columns {
    image: String,
    image_id: String,
    port: i64,
    site: String,
    single_page: bool,
    services: String,
    artifact_bytes: i64,
}

impl From<Columns> for Option<Artifact> {
    fn from(columns: Columns) -> Self {
        let Columns { image, image_id: id, port, site, single_page, services, artifact_bytes: bytes } = columns;
        if !site.is_empty() {
            return Some(Artifact::Site(Site { name: site, single_page, bytes }));
        }
        let port = u16::try_from(port).unwrap_or_default();
        if let Ok(StoredServices { main, all }) = serde_json::from_str(&services) {
            return Some(Artifact::Services(Services { all, main, port, bytes }));
        }
        (!id.is_empty()).then_some(Artifact::Image(Image { name: image, id, port, bytes }))
    }
}

impl From<Option<&Artifact>> for Columns {
    fn from(artifact: Option<&Artifact>) -> Self {
        match artifact.cloned() {
            Some(Artifact::Image(Image { name: image, id: image_id, port, bytes: artifact_bytes })) => {
                Self { image, image_id, port: port.into(), artifact_bytes, ..Self::default() }
            }
            Some(Artifact::Site(Site { name: site, single_page, bytes: artifact_bytes })) => {
                Self { site, single_page, artifact_bytes, ..Self::default() }
            }
            Some(Artifact::Services(Services { all, main, port, bytes: artifact_bytes })) => {
                let services = serde_json::to_string(&StoredServices { main, all }).unwrap_or_default();
                Self { services, port: port.into(), artifact_bytes, ..Self::default() }
            }
            None => Self::default(),
        }
    }
}

#[derive(Clone, Debug, FromRow)]
pub struct Release {
    /// Also the id of the deployment that made it.
    pub id: Uuid,
    pub application_id: Uuid,
    /// JSON of [`windlass_api::Configuration`].
    pub configuration: String,
    pub sealed_variables: Vec<u8>,
    pub commit_hash: String,
    pub commit_author: String,
    pub commit_message: String,
    /// None until it is built.
    #[sqlx(flatten, try_from = "Columns")]
    pub artifact: Option<Artifact>,
    pub live_at: Option<i64>,
    pub removed_at: Option<i64>,
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
}

macro_rules! columns {
    () => {
        "id, application_id, configuration, sealed_variables, commit_hash, commit_author, commit_message, image, image_id, port, \
         site, single_page, services, artifact_bytes, live_at, removed_at, created_at"
    };
}

impl Release {
    pub fn is_site(&self) -> bool {
        matches!(self.artifact, Some(Artifact::Site(_)))
    }

    /// The service that visitors of the main domain reach, if it has services.
    pub fn main_service(&self) -> Option<&str> {
        match &self.artifact {
            Some(Artifact::Services(services)) => Some(&services.main),
            Some(Artifact::Image(_) | Artifact::Site(_)) | None => None,
        }
    }

    /// The images that were built for it, by the engine's names of them.
    pub fn images(&self) -> Vec<&str> {
        let names: Vec<&str> = match &self.artifact {
            Some(Artifact::Image(image)) => vec![&image.name],
            Some(Artifact::Services(services)) => services.all.iter().map(|image| image.name.as_str()).collect(),
            Some(Artifact::Site(_)) | None => Vec::new(),
        };
        names.into_iter().filter(|name| !name.is_empty()).collect()
    }

    /// Whether it can be made live again.
    pub fn is_kept(&self) -> bool {
        self.live_at.is_some() && self.removed_at.is_none() && self.artifact.is_some()
    }
}

/// One that has yet to be made.
pub async fn insert(tx: &mut Tx, release: &Release) -> Result<()> {
    let query = "insert into releases (id, application_id, configuration, sealed_variables, created_at, commit_hash) \
                 values ($1, $2, $3, $4, $5, $6)";
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(release.id)
            .bind(release.application_id)
            .bind(&release.configuration)
            .bind(&release.sealed_variables)
            .bind(release.created_at.micros())
            .bind(&release.commit_hash)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

pub async fn get(conn: &mut Conn, id: Uuid) -> Result<Option<Release>> {
    let query = concat!("select ", columns!(), " from releases where id = $1");
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(id).fetch_optional(c).await)?)
}

/// Of each of some applications the live one; of one that is stopped, the one that would be started.
pub async fn current_of(conn: &mut Conn, application_ids: &[Uuid]) -> Result<Vec<Release>> {
    if application_ids.is_empty() {
        return Ok(Vec::new());
    }
    let query = format!(
        concat!(
            "select ",
            columns!(),
            " from releases where id in (select coalesce( \
             (select d.release_id from deployments d where d.id = a.live_deployment_id), \
             (select k.id from releases k where k.application_id = a.id and k.live_at is not null and k.removed_at is null \
                 order by k.live_at desc, k.id desc limit 1)) from applications a where a.id in ({}))"
        ),
        parameters(1, application_ids.len())
    );
    Ok(sql!(conn, |c| {
        let query = sqlx::query_as(AssertSqlSafe(query)).persistent(false);
        application_ids.iter().fold(query, |query, id| query.bind(*id)).fetch_all(c).await
    })?)
}

/// The one that was live last and can be made live again.
pub async fn last_kept(conn: &mut Conn, application_id: Uuid) -> Result<Option<Release>> {
    let query = concat!(
        "select ",
        columns!(),
        " from releases where application_id = $1 and live_at is not null and removed_at is null \
         and (image_id <> '' or site <> '' or services <> '') order by live_at desc, id desc limit 1"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).fetch_optional(c).await)?)
}

pub async fn set_commit(tx: &mut Tx, id: Uuid, hash: &str, author: &str, message: &str) -> Result<()> {
    let query = "update releases set commit_hash = $2, commit_author = $3, commit_message = $4 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(hash).bind(author).bind(message).execute(c).await.map(drop))?;
    Ok(())
}

/// None for one that has to be built again.
pub async fn set_artifact(tx: &mut Tx, id: Uuid, artifact: Option<&Artifact>) -> Result<()> {
    let query = "update releases set image = $2, image_id = $3, port = $4, site = $5, single_page = $6, artifact_bytes = $7, \
                 services = $8 where id = $1";
    let columns = Columns::from(artifact);
    sql!(tx, |c| {
        sqlx::query(query)
            .bind(id)
            .bind(&columns.image)
            .bind(&columns.image_id)
            .bind(columns.port)
            .bind(&columns.site)
            .bind(columns.single_page)
            .bind(columns.artifact_bytes)
            .bind(&columns.services)
            .execute(c)
            .await
            .map(drop)
    })?;
    Ok(())
}

/// What the services of a compose file are, sealed: JSON that is long, and only wanted where containers are made. None for other releases.
pub async fn sealed_services(conn: &mut Conn, id: Uuid) -> Result<Option<Vec<u8>>> {
    let query = "select sealed_services from releases where id = $1";
    let found: Option<Option<Vec<u8>>> = sql!(conn, |c| sqlx::query_scalar(query).bind(id).fetch_optional(c).await)?;
    Ok(found.flatten())
}

pub async fn set_sealed_services(tx: &mut Tx, id: Uuid, sealed: &[u8]) -> Result<()> {
    let query = "update releases set sealed_services = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(sealed).execute(c).await.map(drop))?;
    Ok(())
}

/// What the images and sites of an organization's releases take, each counted whole.
pub async fn artifact_bytes_of_organization(conn: &mut Conn, organization_id: Uuid) -> Result<i64> {
    let query = "select cast(coalesce(sum(r.artifact_bytes), 0) as bigint) from releases r \
                 join applications a on a.id = r.application_id \
                 where a.organization_id = $1 and r.removed_at is null";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(organization_id).fetch_one(c).await)?)
}

/// Where it really listens, found out when it was started.
pub async fn set_port(tx: &mut Tx, id: Uuid, port: u16) -> Result<()> {
    let query = "update releases set port = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(i64::from(port)).execute(c).await.map(drop))?;
    Ok(())
}

pub async fn set_live_at(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<()> {
    let query = "update releases set live_at = $2 where id = $1";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// It cannot be made live (any more). Only then is its artifact removed, so that no rollback can begin with it meanwhile.
pub async fn set_removed(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<()> {
    let query = "update releases set removed_at = $2 where id = $1 and removed_at is null";
    sql!(tx, |c| sqlx::query(query).bind(id).bind(now.micros()).execute(c).await.map(drop))?;
    Ok(())
}

/// What services the application's releases had that cannot be made live again. What is live keeps them, so that containers of it that vanish can
/// be made again, also when one of its images is gone.
pub async fn forget_services(tx: &mut Tx, application_id: Uuid) -> Result<()> {
    let query = "update releases set sealed_services = null where application_id = $1 and removed_at is not null \
                 and sealed_services is not null and not exists (select 1 from deployments d join applications a \
                     on a.live_deployment_id = d.id where d.release_id = releases.id)";
    sql!(tx, |c| sqlx::query(query).bind(application_id).execute(c).await.map(drop))?;
    Ok(())
}

/// Releases beyond the newest `kept`, by when they were last live, that nothing uses: not live, and of no deployment under way.
pub async fn surplus(conn: &mut Conn, application_id: Uuid, kept: i64) -> Result<Vec<Release>> {
    let query = concat!(
        "select ",
        columns!(),
        " from releases r where application_id = $1 and live_at is not null and removed_at is null \
         and not exists (select 1 from deployments d where d.release_id = r.id \
             and d.state in ('queued', 'cloning', 'building', 'deploying')) \
         and not exists (select 1 from deployments d join applications a on a.live_deployment_id = d.id \
             where d.release_id = r.id and a.id = d.application_id) \
         and id not in (select id from releases where application_id = $1 and live_at is not null \
             and removed_at is null order by live_at desc, id desc limit $2)"
    );
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(application_id).bind(kept).fetch_all(c).await)?)
}

/// The images that must stay, by the engine's id: of releases that can be made live, and of those being made.
pub async fn wanted_images(conn: &mut Conn) -> Result<Vec<String>> {
    let query = "select image_id from releases where image_id <> '' and removed_at is null";
    let mut all: Vec<String> = sql!(conn, |c| sqlx::query_scalar(query).fetch_all(c).await)?;
    let query = "select services from releases where services <> '' and removed_at is null";
    let services: Vec<String> = sql!(conn, |c| sqlx::query_scalar(query).fetch_all(c).await)?;
    all.extend(services.iter().flat_map(|json| images_in(json)).map(|image| image.id));
    Ok(all)
}

/// The images that an application has on the engine, by their names.
pub async fn images_of(conn: &mut Conn, application_id: Uuid) -> Result<Vec<String>> {
    let query = "select image from releases where application_id = $1 and image <> '' and removed_at is null";
    let mut all: Vec<String> = sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_all(c).await)?;
    let query = "select services from releases where application_id = $1 and services <> '' and removed_at is null";
    let services: Vec<String> = sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_all(c).await)?;
    all.extend(
        services.iter().flat_map(|json| images_in(json)).map(|image| image.name).filter(|name| !name.is_empty()),
    );
    Ok(all)
}

/// Of the column `services`: the one that visitors of the main domain reach.
pub(crate) fn main_service(json: &str) -> Option<String> {
    serde_json::from_str::<StoredServices>(json).ok().map(|stored| stored.main)
}

pub(crate) fn images_in(json: &str) -> Vec<ServiceImage> {
    serde_json::from_str::<StoredServices>(json).map(|stored| stored.all).unwrap_or_default()
}

/// The sites that must stay, each with its application: of releases that can be made live, of those being made, and of those that were
/// given up a moment ago, because a visitor may still be reading. What is live is among them in any case.
pub async fn wanted_sites(conn: &mut Conn, given_up_after: Timestamp) -> Result<Vec<(Uuid, String)>> {
    let query = "select distinct r.application_id, r.site from releases r where r.site <> '' and (r.removed_at is null or r.removed_at > $1 \
                 or exists (select 1 from deployments d join applications a on a.live_deployment_id = d.id \
                     where d.release_id = r.id and a.id = d.application_id))";
    Ok(sql!(conn, |c| sqlx::query_as(query).bind(given_up_after.micros()).fetch_all(c).await)?)
}

/// Whether another release of the application that can be made live has the same site.
pub async fn has_site(conn: &mut Conn, application_id: Uuid, name: &str, except: Uuid) -> Result<bool> {
    let query = "select exists (select 1 from releases where application_id = $1 and site = $2 and id <> $3 \
                 and removed_at is null)";
    Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).bind(name).bind(except).fetch_one(c).await)?)
}

/// A site that visitors are served by.
#[derive(Clone, Debug, FromRow)]
pub struct LiveSite {
    pub application_id: Uuid,
    pub deployment_id: Uuid,
    pub site: String,
    /// Whether its files were there when they were last looked for.
    pub is_there: bool,
}

pub async fn live_sites(conn: &mut Conn) -> Result<Vec<LiveSite>> {
    let query = "select a.id as application_id, d.id as deployment_id, r.site, (d.container_status = '') as is_there \
                 from applications a join deployments d on d.id = a.live_deployment_id \
                 join releases r on r.id = d.release_id where r.site <> '' order by a.id";
    Ok(sql!(conn, |c| sqlx::query_as(query).fetch_all(c).await)?)
}

/// Their images and sites are another installation's, which may remove them at any time.
pub async fn remove_all(tx: &mut Tx, now: Timestamp) -> Result<()> {
    let query = "update releases set removed_at = $1 where removed_at is null";
    Ok(sql!(tx, |c| sqlx::query(query).bind(now.micros()).execute(c).await.map(drop))?)
}
