//! Files whose contents are in Git LFS: the tree has pointers to them, and their contents are fetched into its place over the protocol of
//! Git LFS. The program git-lfs is not used: it follows redirects and reads settings of the repository where the server cannot look at the
//! addresses that it calls.

mod batch;
mod files;
mod pointer;
mod problem;
mod server;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;
use windlass_outgoing::{Answer, Bytes, Call, CallError, Outgoing, Settings};

use super::error::FetchError;
use super::git_run::GitRun;
use super::tree::Contents;
use batch::{Download, Writer, Written};
use files::PointerFile;
pub use problem::LfsProblem;
pub use server::SETTINGS;
use server::{Server, Store};

/// How many objects a server is asked for at once.
const BATCH: usize = 100;
/// How many are fetched at the same time.
const LANES: usize = 4;
const PIECE: usize = 64 * 1024;
/// What is shown of a path.
const MOST_PATH: usize = 200;

/// What was fetched.
#[derive(Default)]
pub struct InLfs {
    /// The files, from the root of the tree.
    pub paths: Vec<PathBuf>,
    pub bytes: u64,
}

/// Contents that are fetched once, for all files that have them.
struct Object {
    oid: String,
    size: u64,
    places: Vec<PathBuf>,
}

/// One fetch from Git LFS.
struct Lfs<'a> {
    run: &'a GitRun<'a>,
    /// One of the files, for what is said of failures.
    example: String,
    /// For the repository's own server, wherever it is.
    own: Outgoing,
    /// For servers that others name.
    others: Outgoing,
}

/// Puts the contents of files that are in Git LFS into the tree of the commit. All of them may have so many bytes.
pub async fn fetch(run: &GitRun<'_>, hash: &str, contents: &Contents, most_bytes: u64) -> Result<InLfs, FetchError> {
    if !contents.has_attributes {
        return Ok(InLfs::default());
    }
    let files = files::find(run).await?;
    let Some(first) = files.first() else { return Ok(InLfs::default()) };
    let bytes = files.iter().fold(0_u64, |bytes, file| bytes.saturating_add(file.pointer.size));
    if bytes > most_bytes {
        return Err(FetchError::TooLarge { limit: run.limits().bytes });
    }
    let lfs = Lfs::begin(run, &first.path).await?;
    let fetching = lfs.fetch_all(hash, contents, files);
    let in_time = tokio::time::timeout_at(run.deadline, Box::pin(fetching)).await;
    let paths = in_time.unwrap_or(Err(FetchError::TimedOut { limit: run.limits().time }))?;
    Ok(InLfs { paths, bytes })
}

impl<'a> Lfs<'a> {
    async fn begin(run: &'a GitRun<'a>, example: &Path) -> Result<Self, FetchError> {
        let made = async |allow_private| {
            let settings = Settings { allow_private, extra_roots: None };
            Outgoing::new(settings).await.map_err(|error| FetchError::Failed { text: error.to_string() })
        };
        let (own, others) = (made(true).await?, made(run.limits().private_targets).await?);
        Ok(Self { run, example: example.to_string_lossy().chars().take(MOST_PATH).collect(), own, others })
    }

    /// The repository's own server is called where git has found it.
    async fn send(&self, call: Call, is_own: bool) -> Result<Answer, CallError> {
        match (is_own, &self.run.pinned) {
            (true, Some(pinned)) => self.own.send_at(call, pinned.addresses.clone()).await,
            (true, None) => self.own.send(call).await,
            (false, _) => self.others.send(call).await,
        }
    }

    /// The same for what goes to the disk.
    async fn download(&self, call: Call, is_own: bool, pieces: &Sender<Bytes>) -> Result<Answer, CallError> {
        match (is_own, &self.run.pinned) {
            (true, Some(pinned)) => self.own.download_at(call, pinned.addresses.clone(), pieces).await,
            (true, None) => self.own.download(call, pieces).await,
            (false, _) => self.others.download(call, pieces).await,
        }
    }

    fn time_left(&self) -> Duration {
        self.run.deadline.saturating_duration_since(Instant::now())
    }

    /// The files that have their contents now.
    async fn fetch_all(
        &self,
        hash: &str,
        contents: &Contents,
        files: Vec<PointerFile>,
    ) -> Result<Vec<PathBuf>, FetchError> {
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let objects = self.objects(files)?;
        let store = server::find(self, hash, contents.has_lfs_settings).await?;
        std::fs::create_dir_all(&self.run.paths.lfs)?;
        match store {
            Store::Folder(folder) => self.copy_all(&folder, &objects).await?,
            Store::Server(server) => {
                for batch in objects.chunks(BATCH) {
                    let downloads = batch::ask(self, &server, batch).await?;
                    self.fetch_batch(&server, batch, downloads).await?;
                }
            }
        }
        Ok(paths)
    }

    fn objects(&self, files: Vec<PointerFile>) -> Result<Vec<Object>, FetchError> {
        let mut objects: BTreeMap<String, Object> = BTreeMap::new();
        for PointerFile { path, pointer } in files {
            if pointer.has_extension {
                let path = path.to_string_lossy().chars().take(MOST_PATH).collect::<String>();
                return Err(
                    self.refused(format!("{path} was written by an extension of Git LFS, which is not supported"))
                );
            }
            match objects.entry(pointer.oid) {
                Entry::Occupied(mut entry) if entry.get().size == pointer.size => entry.get_mut().places.push(path),
                Entry::Occupied(entry) => return Err(self.differs(entry.get())),
                Entry::Vacant(entry) => {
                    let oid = entry.key().clone();
                    entry.insert(Object { oid, size: pointer.size, places: vec![path] });
                }
            }
        }
        Ok(objects.into_values().collect())
    }

    async fn fetch_batch(
        &self,
        server: &Server,
        objects: &[Object],
        downloads: Vec<Download>,
    ) -> Result<(), FetchError> {
        let waiting: Vec<_> = objects.iter().zip(downloads).map(|pair| parking_lot::Mutex::new(Some(pair))).collect();
        let next = AtomicUsize::new(0);
        let lane = async || {
            while let Some(pair) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                let taken = pair.lock().take();
                let Some((object, download)) = taken else { continue };
                let to = self.run.paths.lfs.join(&object.oid);
                batch::fetch(self, server, object, download, &to).await?;
                self.put(object, to).await?;
            }
            Ok::<_, FetchError>(())
        };
        try_join_all((0..LANES).map(|_| Box::pin(lane()))).await.map(drop)
    }

    async fn put(&self, object: &Object, from: PathBuf) -> Result<(), FetchError> {
        let (tree, places) = (self.run.paths.folder.clone(), object.places.clone());
        let putting = tokio::task::spawn_blocking(move || files::put(&tree, &from, &places));
        Ok(putting.await.map_err(io::Error::from)??)
    }

    /// From a repository on this machine, where git-lfs keeps them beside the objects of git.
    async fn copy_all(&self, folder: &Path, objects: &[Object]) -> Result<(), FetchError> {
        for object in objects {
            let (folder, to) = (folder.to_owned(), self.run.paths.lfs.join(&object.oid));
            let (oid, size, path) = (object.oid.clone(), object.size, to.clone());
            let copied = tokio::task::spawn_blocking(move || copy(&folder, &oid, size, &path));
            match copied.await.map_err(io::Error::from)?? {
                Some(written) => self.check(object, &written)?,
                None => {
                    return Err(self.refused(
                        "the folder of the repository has no Git LFS with them, and no lfs.url says where they are",
                    ));
                }
            }
            self.put(object, to).await?;
        }
        Ok(())
    }

    fn check(&self, object: &Object, written: &Written) -> Result<(), FetchError> {
        let is_right = written.bytes == object.size && written.hash == object.oid;
        if is_right { Ok(()) } else { Err(self.differs(object)) }
    }

    fn differs(&self, object: &Object) -> FetchError {
        self.missing(&format!("the contents of the object {} are not what their pointer says", object.oid))
    }
}

/// None if it is not there. No more is read than there should be.
fn copy(folder: &Path, oid: &str, size: u64, to: &Path) -> io::Result<Option<Written>> {
    let place = Path::new("lfs/objects").join(&oid[..2]).join(&oid[2..4]).join(oid);
    let found =
        [folder.join(&place), folder.join(".git").join(&place)].into_iter().find_map(|path| File::open(path).ok());
    let Some(file) = found else { return Ok(None) };
    let (mut file, mut writer) = (file.take(size.saturating_add(1)), Writer::create(to)?);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(Some(writer.finish())),
            length => writer.add(&piece[..length])?,
        }
    }
}

#[cfg(test)]
mod tests;
