//! fetch: the commit, and its tree in a folder of this attempt.

use std::io;
use std::path::{Path, PathBuf};

use windlass_api::{DeploymentState, Failure, LogStep, RepositoryAddress};
use windlass_durable::kill_point;
use windlass_store::releases;

use super::attempt::Attempt;
use super::failure::{Result, failed};
use super::git::cache::Cache;
use super::git::{self, Reference, Source};
use super::repository;

pub async fn fetch(attempt: &mut Attempt<'_>) -> Result<PathBuf> {
    attempt.advance(DeploymentState::Cloning).await?;
    let url = repository::address(&attempt.host.app, &attempt.application).await?;
    let (branch, hash) = (attempt.configuration.branch.clone(), attempt.release.commit_hash.clone());
    let reference = repository::reference(&branch, &hash);
    let what = match reference {
        Reference::DefaultBranch => "the default branch",
        Reference::Named(name) => name,
        Reference::Commit { hash, .. } => hash,
    };
    attempt.log.enter(LogStep::Fetch);
    attempt.log.note(format!("Fetching {what} of {}", attempt.application.repository)).await;
    let credentials = repository::credentials(&attempt.host.app, &attempt.application, &url).await?;
    let folder = attempt.folder();
    let has_history = attempt.configuration.settings.git_in_context;
    // What is kept of other commits has no history.
    let cache = if has_history { None } else { open_cache(attempt, &url).await };
    tokio::fs::create_dir_all(attempt.host.work_dir()).await.or_else(|error| failed(Failure::DiskFull, error))?;
    kill_point::reached("deploy-before-fetch");
    let limits = repository::limits(&attempt.host.app.config);
    let trust = repository::trust(&attempt.host.app, &attempt.application).await?;
    let source = Source { url: &url, reference, credentials: &credentials, trust };
    let commit = match has_history {
        true => git::fetch_with_history(&source, &folder, &limits).await,
        false => git::fetch(&source, &folder, &limits, cache.as_ref()).await,
    };
    drop(cache);
    attempt.host.caches_grew.notify_one();
    let commit = commit?;
    kill_point::reached("deploy-fetched");
    let mut tx = attempt.held.begin().await?;
    releases::set_commit(&mut tx, attempt.release.id, &commit.hash, &commit.author, &commit.message).await?;
    tx.commit().await?;
    attempt.log.note(format!("Commit {} by {}: {}", commit.hash, commit.author, commit.message)).await;
    if commit.files_in_lfs > 0 {
        attempt.log.note(format!("Fetched from Git LFS, files: {}", commit.files_in_lfs)).await;
    }
    attempt.release.commit_hash = commit.hash;
    kill_point::reached("deploy-commit-stored");
    Ok(folder)
}

/// Without one everything is fetched, which only takes longer.
async fn open_cache(attempt: &Attempt<'_>, url: &RepositoryAddress) -> Option<Cache> {
    if attempt.host.app.config.repository_cache_bytes == 0 {
        return None;
    }
    let root = attempt.host.repositories_dir();
    Cache::open(&root, attempt.application.id, url).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the last fetch of a repository cannot be used");
        None
    })
}

/// What attempts of an earlier process have left in the data folder: trees, and programs that still write to them.
pub async fn end_left_overs(data_dir: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(data_dir.join("work")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        // What lies beside an attempt's folder has its name and an ending.
        let folder = path.with_extension("");
        if folder.file_name().is_some_and(|name| name != "known_hosts") {
            git::end_left_over(&folder).await?;
        }
    }
    Ok(())
}
