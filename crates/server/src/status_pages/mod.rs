//! Writes the status pages that are on, as files for the edge of this server: when a state on one has changed, and at least once a minute, so
//! that visitors see how fresh it is. `page.rs` makes the text.
//!
//! Each edition of a page, which a change of its settings makes another one, has a folder of its own, and the table of routes names that
//! folder: so nothing of an earlier edition is served. Within an edition one file is replaced as a whole, by this task alone, from what was
//! read after the one before was written: so an older page never takes the place of a newer one, and the table stays as it is.

mod page;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use uuid::Uuid;
use windlass_api::{Timestamp, UptimeState};
use windlass_edge::routes::{AccessSpec, FilesSpec, HeaderSpec, Serves, ServiceSpec};
use windlass_store::status_pages::{self as rows, Shown, StatusPage};
use windlass_store::{Result, outages, uptime_checks};

use self::page::{Line, Page};
use crate::app::App;
use crate::folders;
use crate::uptime::verdict::shown;

const FOLDER: &str = "status-pages";
const FILE: &str = "index.html";
/// How often to look for what this process was not told of: changes by other servers, and checks that become too old.
const INTERVAL: Duration = Duration::from_secs(5);
/// States can change all the time.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
/// So old a page becomes, if nothing is in the way.
const FRESH: Duration = Duration::from_secs(50);
/// Outages that a page shows.
const OUTAGE_SECONDS: i64 = 7 * 86_400;
const MOST_OUTAGES: i64 = 20;

/// By what name the edge knows the page of an organization. It is no application's.
pub fn service_name(organization_id: Uuid) -> String {
    format!("status-page-{organization_id}")
}

/// What the edge is to serve of one edition of a page.
pub fn service(name: String, data_dir: &Path, edition: Uuid) -> ServiceSpec {
    let serves = Serves::Files(FilesSpec::of(folder(data_dir, edition), false));
    ServiceSpec { name, serves, access_log: false, access: Some(HEADERS.clone()) }
}

/// Nothing of the page is loaded from elsewhere, and nothing in it runs, whatever is in it.
static HEADERS: LazyLock<Arc<AccessSpec>> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(page::STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let header = |name: &str, value: &str| HeaderSpec {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        unless_there: false,
    };
    let headers = vec![
        header("content-security-policy", &policy),
        header("x-content-type-options", "nosniff"),
        header("referrer-policy", "no-referrer"),
    ];
    Arc::new(AccessSpec { headers, ..AccessSpec::default() })
});

fn all_folders(data_dir: &Path) -> PathBuf {
    let folder = data_dir.join(FOLDER);
    std::path::absolute(&folder).unwrap_or(folder)
}

/// The edge is given an absolute path.
pub fn folder(data_dir: &Path, edition: Uuid) -> PathBuf {
    all_folders(data_dir).join(edition.to_string())
}

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut publisher = Publisher::default();
    loop {
        if let Err(error) = publisher.look(&app).await {
            tracing::warn!(%error, "the status pages could not be looked at; trying again in some seconds");
        }
        tokio::time::sleep(LEAST_PAUSE).await;
        let _ = tokio::time::timeout(INTERVAL - LEAST_PAUSE, app.uptime_changed.notified()).await;
    }
}

/// What was written last. It begins with nothing, so that a server that starts writes all pages anew.
#[derive(Default)]
pub struct Publisher {
    /// By edition.
    written: HashMap<Uuid, Written>,
}

struct Written {
    states: Vec<(Uuid, Option<UptimeState>)>,
    at: Instant,
}

impl Publisher {
    /// Writes what has changed or become old. What cannot be written is tried again at the next look.
    pub async fn look(&mut self, app: &App) -> Result<()> {
        let (pages, mut shown) = {
            let mut conn = app.db.read().await?;
            (rows::on(&mut conn).await?, by_organization(rows::shown(&mut conn).await?))
        };
        let editions: HashSet<Uuid> = pages.iter().map(|page| page.edition).collect();
        self.written.retain(|edition, _| editions.contains(edition));
        for page in pages {
            let shown = shown.remove(&page.organization_id).unwrap_or_default();
            let states = states(&shown, app.now());
            if self.is_written(page.edition, &states) {
                continue;
            }
            match write(app, &page, &shown).await {
                Ok(()) => drop(self.written.insert(page.edition, Written { states, at: Instant::now() })),
                Err(error) => {
                    self.written.remove(&page.edition);
                    tracing::error!(organization = %page.organization_id, %error, "a status page could not be written; trying again");
                }
            }
        }
        if let Err(error) = sweep(all_folders(&app.config.data_dir), editions).await {
            tracing::warn!(%error, "status pages of before could not be removed; trying again");
        }
        Ok(())
    }

    fn is_written(&self, edition: Uuid, states: &[(Uuid, Option<UptimeState>)]) -> bool {
        self.written.get(&edition).is_some_and(|written| written.states == states && written.at.elapsed() < FRESH)
    }
}

fn by_organization(all: Vec<Shown>) -> HashMap<Uuid, Vec<Shown>> {
    let mut found: HashMap<Uuid, Vec<Shown>> = HashMap::new();
    for one in all {
        found.entry(one.organization_id).or_default().push(one);
    }
    found
}

fn states(all: &[Shown], now: Timestamp) -> Vec<(Uuid, Option<UptimeState>)> {
    all.iter().map(|one| (one.application_id, state(one, now))).collect()
}

/// None for one that is not checked.
fn state(one: &Shown, now: Timestamp) -> Option<UptimeState> {
    let times = one.interval_seconds.zip(one.timeout_seconds).filter(|_| one.next_at.is_some())?;
    Some(shown(one.state()?, one.wanted, one.checked_at, times, now))
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Database(#[from] windlass_store::Error),
    #[error(transparent)]
    Disk(#[from] io::Error),
}

async fn write(app: &App, page: &StatusPage, shown: &[Shown]) -> std::result::Result<(), WriteError> {
    let now = app.now();
    let (counts, outages) = {
        let mut conn = app.db.read().await?;
        let counts = uptime_checks::counts_of_page(&mut conn, page.organization_id, now).await?;
        let after = now.plus_seconds(-OUTAGE_SECONDS);
        (counts, outages::of_page(&mut conn, page.organization_id, after, MOST_OUTAGES).await?)
    };
    let counts: HashMap<Uuid, _> = counts.into_iter().map(|one| (one.application_id, one.counts)).collect();
    let line = |one: &Shown| Line {
        application_id: one.application_id,
        name: one.name.clone(),
        state: state(one, now),
        counts: counts.get(&one.application_id).copied().unwrap_or_default(),
    };
    let lines = shown.iter().map(line).collect();
    let text = Page { title: &page.title, lines, outages, now }.html();
    let folder = folder(&app.config.data_dir, page.edition);
    let writing = tokio::task::spawn_blocking(move || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        windlass_durable::file::replace(&folder.join(FILE), text.as_bytes())
    });
    Ok(writing.await.map_err(io::Error::other)??)
}

/// Folders of editions that are not served any more.
async fn sweep(all: PathBuf, editions: HashSet<Uuid>) -> io::Result<()> {
    let sweeping = move || {
        let entries = match std::fs::read_dir(&all) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let edition = entry.file_name().to_str().and_then(|name| Uuid::try_parse(name).ok());
            if edition.is_none_or(|edition| !editions.contains(&edition)) {
                folders::remove(&entry.path())?;
            }
        }
        Ok(())
    };
    tokio::task::spawn_blocking(sweeping).await.map_err(io::Error::other)?
}
