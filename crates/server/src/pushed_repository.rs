//! The repository that an application is pushed to: a folder of the server, and the git program.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use uuid::Uuid;

use crate::config::Config;
use crate::folders::{remove, size_of};
use crate::git_program;
use crate::programs::{Ended, Group};

/// For everything but the objects themselves.
const TIME: Duration = Duration::from_secs(60);
/// Of what git says.
const MOST_SAID: u64 = 4 * 1024 * 1024;
/// What commits of uploads are called before their branch is.
pub const UPLOADS: &str = "refs/uploads";
/// Folders with the objects of an upload until all of it is there. Git removes old ones too, for the beginning of the name.
const INCOMING: &str = "tmp_upload_";
/// What `git fast-import` leaves when it fails.
const CRASH_REPORT: &str = "fast_import_crash_";
/// Then they are made one again.
const MOST_PACKS: usize = 30;

pub struct Repository {
    folder: PathBuf,
    most_bytes: u64,
    memory: u64,
    /// What may take long.
    longest: Duration,
}

/// Where the repositories of all applications are.
pub fn root(config: &Config) -> PathBuf {
    config.push_dir.clone().unwrap_or_else(|| config.data_dir.join("pushed"))
}

/// Where an application's is.
pub fn folder(config: &Config, application_id: Uuid) -> PathBuf {
    root(config).join(format!("{application_id}.git"))
}

impl Repository {
    /// Made if it is not there.
    pub async fn open(config: &Config, application_id: Uuid) -> io::Result<Self> {
        let repository = Self {
            folder: folder(config, application_id),
            most_bytes: config.push_bytes,
            memory: config.git_memory,
            longest: config.push_limit,
        };
        if !repository.folder.join("HEAD").exists() {
            let (root, folder) = (root(config), repository.folder.clone());
            tokio::task::spawn_blocking(move || make_private(&root, &folder)).await??;
            repository.run(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "."]).await?;
        }
        Ok(repository)
    }

    /// The references, as a client that is about to push is told them.
    pub async fn advertise(&self) -> io::Result<Vec<u8>> {
        self.run(&["receive-pack", "--stateless-rpc", "--advertise-refs", "."]).await
    }

    /// The program that takes what is pushed; the caller writes to its input.
    pub fn receiver(&self) -> Command {
        self.command(&["receive-pack", "--stateless-rpc", "."])
    }

    /// The program that makes a commit of what the caller writes to its input. What it stores is apart until it is kept: also when it fails it
    /// completes what it has begun to store.
    pub async fn importer(&self, upload_id: Uuid) -> io::Result<Command> {
        let incoming = incoming(upload_id);
        tokio::fs::create_dir(self.folder.join(&incoming)).await?;
        let mut command = self.command(&["fast-import", "--quiet", "--force"]);
        command.env("GIT_OBJECT_DIRECTORY", incoming).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", "objects");
        Ok(command)
    }

    /// Adds what an importer that has succeeded has stored.
    pub async fn keep_imported(&self, upload_id: Uuid) -> io::Result<()> {
        let (from, to) = (self.folder.join(incoming(upload_id)), self.folder.join("objects/pack"));
        tokio::task::spawn_blocking(move || {
            move_packs(&from.join("pack"), &to)?;
            remove(&from)
        })
        .await?
    }

    /// Removes the references that commits of uploads have until they are those of a branch. Only one upload at a time may do this.
    pub async fn forget_uploads(&self) -> io::Result<()> {
        let names = self.run(&["for-each-ref", "--format=%(refname)", UPLOADS]).await?;
        for name in String::from_utf8_lossy(&names).lines() {
            self.run(&["update-ref", "-d", name]).await?;
        }
        Ok(())
    }

    /// Whatever the branch was before.
    pub async fn point(&self, reference: &str, commit: &str) -> io::Result<()> {
        self.run(&["update-ref", reference, commit]).await.map(drop)
    }

    /// The branch that is deployed unless the application names one.
    pub async fn default_branch(&self) -> io::Result<String> {
        let name = self.run(&["symbolic-ref", "HEAD"]).await?;
        Ok(String::from_utf8_lossy(&name).trim().to_owned())
    }

    pub async fn set_default_branch(&self, reference: &str) -> io::Result<()> {
        self.run(&["symbolic-ref", "HEAD", reference]).await.map(drop)
    }

    pub async fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        self.run(&["merge-base", "--is-ancestor", older, newer]).await.is_ok()
    }

    /// How many there are.
    pub async fn references(&self) -> usize {
        let names = self.run(&["for-each-ref", "--format=%(refname)"]).await.unwrap_or_default();
        names.split(|byte| *byte == b'\n').count()
    }

    /// Removes what a git that was killed has left, and would be in the way of every later one. Only one push at a time may do this.
    pub async fn clean_up(&self) -> io::Result<()> {
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || {
            let mut folders = vec![folder.clone(), folder.join("objects"), folder.join("objects/pack")];
            let mut open = vec![folder.join("refs")];
            while let Some(inner) = open.pop() {
                let entries = std::fs::read_dir(&inner)?.flatten();
                open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
                folders.push(inner);
            }
            for path in folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
                let name = path.file_name().to_string_lossy().into_owned();
                if name.ends_with(".lock")
                    || name.starts_with("tmp_")
                    || name.starts_with(CRASH_REPORT)
                    || name == "gc.pid"
                {
                    remove(&path.path())?;
                }
            }
            Ok(())
        })
        .await?
    }

    /// The commit that a reference leads to, if there is one.
    pub async fn commit(&self, reference: &str) -> Option<String> {
        let hash = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", reference]).await.ok()?;
        Some(String::from_utf8_lossy(&hash).trim().to_owned())
    }

    /// As if it had not been pushed, unless it was pushed again meanwhile. `to` is none for a reference that was not there.
    pub async fn put_back(&self, reference: &str, from: &str, to: Option<&str>) {
        let put = match to {
            None => self.run(&["update-ref", "-d", reference, from]).await,
            Some(to) => self.run(&["update-ref", reference, to, from]).await,
        };
        if let Err(error) = put {
            tracing::info!(%error, reference, "a branch was not put back");
        }
    }

    /// Keeps the number of files small, and forgets what no reference leads to any more.
    pub async fn tidy(&self) -> io::Result<()> {
        let packs = self.folder.join("objects/pack");
        let count = tokio::task::spawn_blocking(move || std::fs::read_dir(packs).map(Iterator::count)).await?;
        if count.unwrap_or(0) > MOST_PACKS * 2 {
            self.collect_garbage().await?;
        }
        Ok(())
    }

    /// Not what another push may just be bringing.
    async fn collect_garbage(&self) -> io::Result<()> {
        self.run_within(self.longest, &["gc", "--quiet", "--prune=1.hour.ago"]).await.map(drop)
    }

    /// Whether there is no room for another push, also after what no reference leads to was removed.
    pub async fn is_full(&self) -> bool {
        self.is_too_large().await && (self.collect_garbage().await.is_err() || self.is_too_large().await)
    }

    async fn is_too_large(&self) -> bool {
        let (folder, most) = (self.folder.clone(), self.most_bytes);
        let size = tokio::task::spawn_blocking(move || size_of(&folder)).await;
        size.is_ok_and(|size| size > most.saturating_mul(2))
    }

    /// What git answers.
    async fn run(&self, arguments: &[&str]) -> io::Result<Vec<u8>> {
        self.run_within(TIME, arguments).await
    }

    async fn run_within(&self, limit: Duration, arguments: &[&str]) -> io::Result<Vec<u8>> {
        let mut group = Group::start(self.command(arguments))?;
        let running = group.run(read, read);
        let Ended { status, read } = tokio::time::timeout(limit, running).await.map_err(io::Error::other)??;
        let (said, complaint) = read.ok_or_else(|| io::Error::other("git left a process behind"))?;
        match status.success() {
            true => said,
            false => Err(io::Error::other(String::from_utf8_lossy(&complaint?).trim().to_owned())),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let most = self.most_bytes.to_string();
        let settings = [
            // What is pushed runs nothing here.
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("core.bigFileThreshold", "64m"),
            ("pack.threads", "1"),
            ("pack.windowMemory", "64m"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("receive.autogc", "false"),
            ("receive.fsckObjects", "true"),
            ("receive.advertisePushOptions", "false"),
            ("receive.maxInputSize", &most),
            // A whole pack or nothing.
            ("receive.unpackLimit", "1"),
            ("fastimport.unpackLimit", "0"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        git_program::command(&self.folder, arguments, &settings, self.memory)
    }
}

/// As git, which is started in the repository's folder, is told it.
fn incoming(upload_id: Uuid) -> String {
    format!("objects/{INCOMING}{upload_id}")
}

/// There is none if all of it was in the repository already.
fn move_packs(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut names = entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>()?;
    // An index is what tells git that there is a pack.
    names.sort_by_key(|name| Path::new(name).extension().is_some_and(|ending| ending == "idx"));
    std::fs::create_dir_all(to)?;
    for name in names {
        std::fs::rename(from.join(&name), to.join(&name))?;
    }
    Ok(())
}

fn make_private(root: &Path, folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// All of it, up to a limit.
pub async fn read(from: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_SAID).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// Removes an application's.
pub async fn forget(config: &Config, application_id: Uuid) -> io::Result<()> {
    let folder = folder(config, application_id);
    tokio::task::spawn_blocking(move || remove(&folder)).await?
}
