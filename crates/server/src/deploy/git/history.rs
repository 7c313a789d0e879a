//! The repository that a build gets beside the tree: the history of the commit, its tags, and nothing that says where they came from or who
//! fetched them.

use std::fs;
use std::io;
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};

use windlass_runtime::GIVEN_DOCKERFILE;

use super::error::FetchError;
use super::git_run::GitRun;
use super::reference;
use crate::folders::{remove, size_of};

/// What makes a repository. All else that git has written, or may write one day, goes: settings, addresses, logs.
const PARTS: [&str; 6] = ["HEAD", "index", "objects", "packed-refs", "refs", "shallow"];
/// How many git is told of at once: the system bounds what a program can be told.
const PATHS: usize = 200;
/// Of all names of tags together, which are kept in memory.
const MOST_TAGS: usize = 16 << 20;
const SETTINGS: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";

/// Gets the commit with all that came before it, and returns its hash.
pub async fn fetch(run: &GitRun<'_>) -> Result<String, FetchError> {
    let fetched = async {
        let hash = reference::fetch_with_history(run).await?;
        // What comes fast is there before its size was looked at.
        let git = run.paths.git.clone();
        let size = tokio::task::spawn_blocking(move || size_of(&git)).await.map_err(io::Error::from)?;
        run.check_size(size)?;
        Ok(hash)
    }
    .await;
    fetched.map_err(FetchError::of_history)
}

/// Leaves this of what was fetched. The commit is checked out there by itself, without a branch. To git the files that are in Git LFS are
/// unchanged: the server that builds may not have the program that compares them.
pub async fn keep(run: &GitRun<'_>, hash: &str, in_lfs: &[PathBuf]) -> Result<(), FetchError> {
    if run.run(&["for-each-ref", "--count=1", "refs/heads"]).await?.is_empty() {
        on_disk(run, keep_tags_only).await?;
    } else {
        leave_out_other_branches(run, hash).await.map_err(FetchError::of_history)?;
    }
    // One file in the place of thousands.
    run.run(&["pack-refs", "--all"]).await?;
    // It notes when each file was written, so no build would find another one's steps in the cache.
    on_disk(run, |git| remove(&git.join("index"))).await?;
    run.run(&["read-tree", hash]).await?;
    for paths in in_lfs.chunks(PATHS) {
        let mut command = run.command(&["update-index", "--assume-unchanged", "--"])?;
        command.args(paths);
        let (success, said) = run.run_command(command, &mut |_| Continue(())).await?;
        run.check_success(success, &said)?;
    }
    on_disk(run, keep_parts_only).await
}

/// A server that gives no commit by its hash has sent whole branches: of those only what the commit reaches may stay, and the tags on that.
async fn leave_out_other_branches(run: &GitRun<'_>, hash: &str) -> Result<(), FetchError> {
    let tags = tags_on(run, hash).await?;
    on_disk(run, move |git| {
        remove_others(&git.join("refs"), &[])?;
        // To git, what HEAD has been would be needed too.
        remove(&git.join("logs"))?;
        fs::write(git.join("packed-refs"), tags)
    })
    .await?;
    // No new way is looked for to make it small, which would take long.
    run.run(&["repack", "-a", "-d", "-n", "--quiet", "--window=0", "--no-write-bitmap-index"]).await.map(drop)
}

/// As git lists them in a file.
async fn tags_on(run: &GitRun<'_>, hash: &str) -> Result<Vec<u8>, FetchError> {
    let mut tags = Vec::new();
    let take = &mut |piece: &[u8]| {
        tags.extend_from_slice(piece);
        if tags.len() > MOST_TAGS { Break(()) } else { Continue(()) }
    };
    let merged = format!("--merged={hash}");
    let list = run.command(&["for-each-ref", &merged, "--format=%(objectname) %(refname)", "refs/tags"])?;
    let (success, said) = run.run_command(list, take).await?;
    if tags.len() > MOST_TAGS {
        return Err(FetchError::TooLarge { limit: run.limits().bytes });
    }
    run.check_success(success, &said)?;
    Ok(tags)
}

async fn on_disk(
    run: &GitRun<'_>,
    work: impl FnOnce(&Path) -> io::Result<()> + Send + 'static,
) -> Result<(), FetchError> {
    let git = run.paths.git.clone();
    Ok(tokio::task::spawn_blocking(move || work(&git)).await.map_err(io::Error::from)??)
}

fn keep_tags_only(git: &Path) -> io::Result<()> {
    remove_others(&git.join("refs"), &["tags"])
}

fn keep_parts_only(git: &Path) -> io::Result<()> {
    remove_others(git, &PARTS)?;
    // Without this folder it is no repository.
    fs::create_dir_all(git.join("refs"))?;
    fs::write(git.join("config"), SETTINGS)?;
    // The Dockerfile that is made where there is none is not the author's: to git the tree is unchanged with it.
    fs::create_dir(git.join("info"))?;
    fs::write(git.join("info/exclude"), format!("/{GIVEN_DOCKERFILE}\n"))
}

fn remove_others(folder: &Path, kept: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !kept.iter().any(|name| entry.file_name() == *name) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}
