//! Fetches one commit's tree with the git program: no prompts, no hooks, no redirects, no settings but our own, no
//! shell but the one by which git starts ssh, and nothing left running whatever happens.

pub mod cache;
mod error;
mod git_run;
mod left_over;
mod output;
mod paths;
mod reference;
mod source;
mod submodules;
mod tree;

use std::path::Path;

use tokio::time::Instant;

use cache::Cache;
pub use error::FetchError;
use git_run::GitRun;
pub use left_over::end_left_over;
use paths::FetchPaths;
pub use source::{Commit, Credentials, Limits, Reference, Source, Trust, is_whole_hash};

/// Puts the tree of a commit, with those of its submodules, into the folder, which is made, or is empty; `.git` is not among it. Links are what they
/// are in the repository, and may point anywhere: the caller must not follow them out of it. After a failure nothing is
/// left. A caller that drops the future ends git at once, and calls `end_left_over` when convenient. With a cache only
/// what is new is asked for.
pub async fn fetch(
    source: &Source<'_>,
    folder: &Path,
    limits: &Limits,
    cache: Option<&Cache>,
) -> Result<Commit, FetchError> {
    let deadline = Instant::now() + limits.time;
    let fetched = fetch_once(source, folder, limits, deadline, cache).await;
    match (fetched, cache.filter(|cache| cache.last_commit().is_some())) {
        // It may be the cache that is damaged, or too large by now.
        (Err(error), Some(cache)) if error.may_be_of_cache() => {
            tracing::info!(%error, "fetching all of a repository again");
            cache.empty().await?;
            fetch_once(source, folder, limits, deadline, Some(cache)).await
        }
        (fetched, _) => fetched,
    }
}

/// The hash of the commit that a fetch would get, without its tree: one question to the server. Nothing is left beside the folder, except where the
/// caller drops the future, as for [`fetch`].
pub async fn newest(source: &Source<'_>, folder: &Path, limits: &Limits) -> Result<String, FetchError> {
    let paths = FetchPaths::of(folder)?;
    paths.make()?;
    let found = async {
        let run = GitRun::begin(source, FetchPaths::of(folder)?, limits, Instant::now() + limits.time, None).await?;
        reference::newest(&run).await
    }
    .await;
    end_left_over(folder).await?;
    found
}

async fn fetch_once(
    source: &Source<'_>,
    folder: &Path,
    limits: &Limits,
    deadline: Instant,
    cache: Option<&Cache>,
) -> Result<Commit, FetchError> {
    let paths = FetchPaths::of(folder)?;
    paths.make()?;
    let fetched = async {
        let run = GitRun::begin(source, FetchPaths::of(folder)?, limits, deadline, cache).await?;
        let commit = fetch_tree(&run).await?;
        if let Some(cache) = cache
            && let Err(error) = cache.remember(&commit.hash).await
        {
            tracing::warn!(%error, "what was fetched of a repository is not used the next time");
        }
        Ok(commit)
    }
    .await;
    match &fetched {
        Ok(_) => paths.clean()?,
        Err(_) => end_left_over(folder).await?,
    }
    fetched
}

async fn fetch_tree(run: &GitRun<'_>) -> Result<Commit, FetchError> {
    let hash = reference::fetch(run).await?;
    let contents = tree::check_out(run, &hash).await?;
    submodules::fetch(run, &hash, contents).await?;
    tree::describe(run, hash).await
}
