//! Fetches one commit's tree with the git program: no prompts, no hooks, no redirects, no settings but our own, no
//! shell but the one by which git starts ssh, and nothing left running whatever happens.

pub mod cache;
mod error;
mod git_run;
mod history;
mod left_over;
mod lfs;
mod output;
mod paths;
mod pinned;
mod reference;
mod source;
mod submodules;
mod tree;

use std::io;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use cache::Cache;
pub use error::FetchError;
use git_run::GitRun;
pub use left_over::end_left_over;
use lfs::InLfs;
pub use lfs::LfsProblem;
use paths::FetchPaths;
pub use source::{Commit, Credentials, Limits, Reference, Source, Trust, is_whole_hash};
use submodules::Wanted;

/// Puts the tree of a commit, with those of its submodules and the contents of files in Git LFS, into the folder, which is made, or is empty;
/// `.git` is not among it. Links are what they
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
    let fetched = fetch_once(source, folder, limits, deadline, What::Commit(cache)).await;
    match (fetched, cache.filter(|cache| cache.last_commit().is_some())) {
        // It may be the cache that is damaged, or too large by now.
        (Err(error), Some(cache)) if error.may_be_of_cache() => {
            tracing::info!(%error, "fetching all of a repository again");
            cache.empty().await?;
            fetch_once(source, folder, limits, deadline, What::Commit(Some(cache))).await
        }
        (fetched, _) => fetched,
    }
}

/// The same for a look at the tree: files in Git LFS are the pointers that git has of them.
pub async fn fetch_for_look(source: &Source<'_>, folder: &Path, limits: &Limits) -> Result<Commit, FetchError> {
    fetch_once(source, folder, limits, Instant::now() + limits.time, What::Look).await
}

/// The same as [`fetch`] with all that came before the commit, and its tags: they stay as a repository at [`kept_repository`] until
/// `end_left_over`. Everything is fetched each time.
pub async fn fetch_with_history(source: &Source<'_>, folder: &Path, limits: &Limits) -> Result<Commit, FetchError> {
    fetch_once(source, folder, limits, Instant::now() + limits.time, What::History).await
}

/// The repository that a fetch with history leaves beside the folder.
pub fn kept_repository(folder: &Path) -> io::Result<PathBuf> {
    Ok(FetchPaths::of(folder)?.git)
}

/// What is fetched besides the tree as git has it.
#[derive(Clone, Copy)]
enum What<'a> {
    Look,
    /// Contents in Git LFS.
    Commit(Option<&'a Cache>),
    /// The same, and what came before the commit.
    History,
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
    what: What<'_>,
) -> Result<Commit, FetchError> {
    let cache = if let What::Commit(cache) = what { cache } else { None };
    let paths = FetchPaths::of(folder)?;
    paths.make()?;
    let fetched = async {
        let run = GitRun::begin(source, FetchPaths::of(folder)?, limits, deadline, cache).await?;
        let commit = fetch_tree(&run, what).await?;
        if let Some(cache) = cache
            && let Err(error) = cache.remember(&commit.hash).await
        {
            tracing::warn!(%error, "what was fetched of a repository is not used the next time");
        }
        Ok(commit)
    }
    .await;
    match &fetched {
        Ok(_) if matches!(what, What::History) => paths.clean_but_repository()?,
        Ok(_) => paths.clean()?,
        Err(_) => end_left_over(folder).await?,
    }
    fetched
}

async fn fetch_tree(run: &GitRun<'_>, what: What<'_>) -> Result<Commit, FetchError> {
    let (with_lfs, with_history) = (!matches!(what, What::Look), matches!(what, What::History));
    let hash = if with_history { history::fetch(run).await? } else { reference::fetch(run).await? };
    let contents = tree::check_out(run, &hash).await?;
    let mut left = run.limits().clone();
    left.spend(contents.entries, contents.bytes);
    let in_lfs = if with_lfs { lfs::fetch(run, &hash, &contents, left.bytes).await? } else { InLfs::default() };
    left.spend(0, in_lfs.bytes);
    let in_modules = submodules::fetch(run, &hash, contents, Wanted { left, with_lfs }).await?;
    let mut commit = tree::describe(run, hash).await?;
    commit.files_in_lfs = in_lfs.paths.len() + in_modules;
    if with_history {
        history::keep(run, &commit.hash, &in_lfs.paths).await?;
    }
    Ok(commit)
}
