//! The files of sites. Each site is a folder below the one of its application, under a name that is made of what is in its files: it is
//! there as a whole or not at all, and never changes. All go at once when their application is deleted.

mod draft;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

pub use self::draft::{Draft, DraftError, Made, SiteLimits};
use crate::config::Config;
use crate::folders;

/// A site that no release has stays for so long after a deployment last made it: that deployment may be about to store its name.
const LEFT_AFTER: Duration = Duration::from_secs(300);
/// What is not, or not yet, or no longer a site has a hidden name.
const HIDDEN: &str = ".";
const GOING: &str = ".going-";

/// Where the sites of this installation are.
#[derive(Clone)]
pub struct Sites {
    root: PathBuf,
    /// The longest that one may take to be made.
    time: Duration,
}

impl Sites {
    /// An installation has a folder of its own: a copy of it may have been given the same `site-dir`.
    pub fn new(config: &Config, installation: Uuid) -> Self {
        let root = config.site_dir.clone().unwrap_or_else(|| config.data_dir.join("sites"));
        let root = std::path::absolute(&root).unwrap_or(root);
        Self { root: root.join(installation.to_string()), time: config.build_limit }
    }

    pub fn folder(&self, application_id: Uuid, name: &str) -> PathBuf {
        self.of_application(application_id).join(name)
    }

    fn of_application(&self, application_id: Uuid) -> PathBuf {
        self.root.join(application_id.to_string())
    }

    /// Fails if that cannot be told, as when a disk gives errors.
    pub async fn has(&self, application_id: Uuid, name: &str) -> io::Result<bool> {
        match tokio::fs::metadata(self.folder(application_id, name)).await {
            Ok(found) => Ok(found.is_dir()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// One that is being made. `attempt` tells it from those that others make at the same time.
    pub fn draft(&self, application_id: Uuid, attempt: &str, limits: SiteLimits) -> io::Result<Draft> {
        Draft::create(&self.of_application(application_id), attempt, limits, self.time)
    }

    /// All sites of an application. None are there for most of them.
    pub async fn forget(&self, application_id: Uuid) -> io::Result<()> {
        let folder = self.of_application(application_id);
        tokio::task::spawn_blocking(move || folders::remove(&folder)).await.map_err(io::Error::other)?
    }

    /// For a caller that knows that no release has it.
    pub async fn remove(&self, application_id: Uuid, name: &str) -> io::Result<()> {
        let site = self.folder(application_id, name);
        tokio::task::spawn_blocking(move || remove_whole(&site)).await.map_err(io::Error::other)?
    }

    /// Removes sites, and drafts of attempts that are over, that have no release and were not asked for lately.
    pub async fn sweep(&self, wanted: HashSet<(Uuid, String)>) -> io::Result<()> {
        let this = self.clone();
        let sweeping = move || this.sweep_at(&wanted, now());
        tokio::task::spawn_blocking(sweeping).await.map_err(io::Error::other)?
    }

    fn sweep_at(&self, wanted: &HashSet<(Uuid, String)>, now: SystemTime) -> io::Result<()> {
        for application in folders_in(&self.root)? {
            let Ok(id) = name_of(&application).parse() else { continue };
            for site in folders_in(&application)? {
                let name = name_of(&site);
                let is_hidden = name.starts_with(HIDDEN);
                let left_after = if is_hidden { LEFT_AFTER + self.time } else { LEFT_AFTER };
                if wanted.contains(&(id, name)) {
                    continue;
                }
                // Another server may be doing the same; and one that cannot be removed does not keep the others.
                let removed = match is_left(&site, now, left_after) {
                    Ok(true) if is_hidden => folders::remove(&site),
                    Ok(true) => take_away(&site, now),
                    left => left.map(drop),
                };
                if let Err(error) = removed {
                    tracing::warn!(%error, site = %site.display(), "a site that no release has could not be removed yet");
                }
            }
        }
        Ok(())
    }
}

fn is_left(folder: &Path, now: SystemTime, after: Duration) -> io::Result<bool> {
    match std::fs::metadata(folder) {
        Ok(found) => Ok(now.duration_since(found.modified()?).unwrap_or_default() > after),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A deployment may have asked for it in this moment: then it stays.
fn take_away(site: &Path, now: SystemTime) -> io::Result<()> {
    let Some(going) = rename_to_go(site)? else { return Ok(()) };
    if !is_left(&going, now, LEFT_AFTER)? && std::fs::rename(&going, site).is_ok() {
        return Ok(());
    }
    folders::remove(&going)
}

fn remove_whole(site: &Path) -> io::Result<()> {
    rename_to_go(site)?.map_or(Ok(()), |going| folders::remove(&going))
}

/// Under its own name a site is whole, or not there. None if it is gone already.
fn rename_to_go(site: &Path) -> io::Result<Option<PathBuf>> {
    let going = site.with_file_name(format!("{GOING}{}", name_of(site)));
    folders::remove(&going)?;
    match std::fs::rename(site, &going) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        renamed => renamed.map(|()| Some(going)),
    }
}

#[expect(clippy::disallowed_methods, reason = "compared with the times that the system gives to folders")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests;
