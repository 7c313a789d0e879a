//! Fetches one commit's tree with the git program: no shell, no prompts, no hooks, no redirects, no settings but our
//! own, and nothing left running whatever happens.

mod attempt;
pub mod cache;
mod error;
mod output;
mod reference;
mod running;
mod tree;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::Instant;
use windlass_api::RepositoryAddress;

use attempt::{Attempt, AttemptPaths};
use cache::Cache;
pub use error::FetchError;
pub use reference::{Resolved, is_whole_hash};
pub use running::end_left_over;

/// What to fetch, and what to show for it.
pub struct Source<'a> {
    pub url: &'a RepositoryAddress,
    pub reference: Reference<'a>,
    pub credentials: &'a Credentials,
}

#[derive(Debug, Clone, Copy)]
pub enum Reference<'a> {
    DefaultBranch,
    /// A branch, or a tag if there is no such branch. `refs/tags/x` is a tag only.
    Named(&'a str),
    /// All 40 (or 64) digits. Where a server gives branches only, it is looked for in this one, or in all.
    Commit {
        hash: &'a str,
        branch: Option<&'a str>,
    },
}

/// The token is for http and https, the key for ssh; one that does not fit the address is not used.
#[derive(Default, Clone)]
pub struct Credentials {
    pub token: Option<String>,
    pub ssh_key: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<String>| secret.as_ref().map(|_| "hidden");
        let (token, key) = (hidden(&self.token), hidden(&self.ssh_key));
        formatter.debug_struct("Credentials").field("token", &token).field("ssh_key", &key).finish()
    }
}

#[derive(Debug, Clone)]
pub struct Limits {
    /// For everything together.
    pub time: Duration,
    /// For the repository and for the tree, each.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(600), bytes: 2 << 30 }
    }
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    /// The branch's or tag's name; "" for a commit that was asked for without one.
    pub branch: String,
    pub author: String,
    /// The first line, at most 200 characters.
    pub message: String,
    pub committed_at: OffsetDateTime,
}

/// Asks the server which commit a reference is now. Nothing of the folder is left afterwards.
pub async fn resolve(source: &Source<'_>, folder: &Path, limits: &Limits) -> Result<Resolved, FetchError> {
    AttemptPaths::of(folder)?.make()?;
    let found = async {
        let deadline = Instant::now() + limits.time;
        reference::resolve(&Attempt::begin(source, folder, limits, deadline, None).await?).await
    }
    .await;
    end_left_over(folder).await?;
    found
}

/// Puts the tree of a commit into the folder, which is made, or is empty; `.git` is not among it. Links are what they
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

async fn fetch_once(
    source: &Source<'_>,
    folder: &Path,
    limits: &Limits,
    deadline: Instant,
    cache: Option<&Cache>,
) -> Result<Commit, FetchError> {
    let paths = AttemptPaths::of(folder)?;
    paths.make()?;
    let fetched = async {
        let commit = fetch_tree(&Attempt::begin(source, folder, limits, deadline, cache).await?).await?;
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

async fn fetch_tree(attempt: &Attempt<'_>) -> Result<Commit, FetchError> {
    let fetched = reference::fetch(attempt).await?;
    tree::check(attempt, &fetched.hash).await?;
    attempt.run(&["checkout", "--quiet", "--force", "--detach", &fetched.hash]).await?;
    tree::describe(attempt, fetched).await
}
