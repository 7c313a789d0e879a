//! fetch: the commit, and its tree in a folder of this attempt.

use std::io;
use std::path::{Path, PathBuf};

use windlass_api::{DeploymentState, Failure, LogStep, RepositoryAddress, Transport};
use windlass_durable::kill_point;
use windlass_store::{organizations, releases};

use super::attempt::Attempt;
use super::failure::{Result, failed};
use super::git::cache::Cache;
use super::git::{self, Limits, Reference, Source};
use crate::pushed_repository;

pub async fn fetch(attempt: &mut Attempt<'_>) -> Result<PathBuf> {
    attempt.advance(DeploymentState::Cloning).await?;
    let url = url(attempt).await?;
    let (branch, hash) = (attempt.configuration.branch.clone(), attempt.release.commit_hash.clone());
    let reference = reference(&branch, &hash);
    let what = match reference {
        Reference::DefaultBranch => "the default branch",
        Reference::Named(name) => name,
        Reference::Commit { hash, .. } => hash,
    };
    attempt.log.enter(LogStep::Fetch);
    attempt.log.note(format!("Fetching {what} of {}", attempt.application.repository)).await;
    let credentials = attempt.credentials(&url).await?;
    let (folder, config) = (attempt.folder(), &attempt.host.app.config);
    let cache = open_cache(attempt, &url).await;
    tokio::fs::create_dir_all(attempt.host.work_dir()).await.or_else(|error| failed(Failure::DiskFull, error))?;
    kill_point::reached("deploy-before-fetch");
    let limits = Limits {
        time: config.fetch_limit,
        bytes: config.fetch_bytes,
        files: config.fetch_files,
        memory: config.git_memory,
    };
    let source = Source { url: &url, reference, credentials: &credentials };
    let commit = git::fetch(&source, &folder, &limits, cache.as_ref()).await;
    drop(cache);
    attempt.host.caches_grew.notify_one();
    let commit = commit?;
    kill_point::reached("deploy-fetched");
    let mut tx = attempt.held.begin().await?;
    releases::set_commit(&mut tx, attempt.release.id, &commit.hash, &commit.author, &commit.message).await?;
    tx.commit().await?;
    attempt.log.note(format!("Commit {} by {}: {}", commit.hash, commit.author, commit.message)).await;
    attempt.release.commit_hash = commit.hash;
    kill_point::reached("deploy-commit-stored");
    Ok(folder)
}

/// `branch` may also be the hash of a commit. What an attempt before this one has found stays the same.
fn reference<'a>(branch: &'a str, found: &'a str) -> Reference<'a> {
    let named = Some(branch).filter(|branch| !branch.is_empty() && !git::is_whole_hash(branch));
    match (found, named) {
        ("", Some(name)) => Reference::Named(name),
        ("", None) if branch.is_empty() => Reference::DefaultBranch,
        ("", None) => Reference::Commit { hash: branch, branch: None },
        (hash, branch) => Reference::Commit { hash, branch },
    }
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

/// Folders of this machine are for organizations that an admin of the installation trusts with the machine.
async fn url(attempt: &Attempt<'_>) -> Result<RepositoryAddress> {
    let application = &attempt.application;
    let mut conn = attempt.host.app.db.read().await?;
    let may_be_local = organizations::has_host_access(&mut conn, application.organization_id).await?;
    let address = RepositoryAddress::try_from(application.repository.as_str())
        .or_else(|problem| failed(Failure::RepositoryUnreachable, format!("repository: {problem}")))?;
    if address.transport() == Transport::Push {
        return pushed(attempt);
    }
    if address.is_local() && !may_be_local {
        let problem = "repository: is a folder of the server; only organizations with host access can deploy from one";
        return failed(Failure::RepositoryUnreachable, problem);
    }
    Ok(address)
}

/// The repository that the application is pushed to.
fn pushed(attempt: &Attempt<'_>) -> Result<RepositoryAddress> {
    let folder = pushed_repository::folder(&attempt.host.app.config, attempt.application.id);
    if !folder.join("HEAD").exists() {
        let problem = "Nothing was pushed to this application yet, or not to this server.";
        return failed(Failure::ReferenceNotFound, problem);
    }
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let path = folder.to_str().unwrap_or_default();
    RepositoryAddress::try_from(path).or_else(|problem| failed(Failure::RepositoryUnreachable, problem))
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
