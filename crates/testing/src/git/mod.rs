//! A code host for tests: real bare repositories, served over smart HTTP by git itself.

mod lfs;
mod repository;
pub(crate) mod serve;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tempfile::TempDir;
use tokio::sync::oneshot;

pub use lfs::{FLOOD, LfsManner};
pub use repository::Repository;
use serve::Manner;

/// Serves for as long as it lives, on a thread of its own, so that a test may block.
pub struct GitServer {
    folder: TempDir,
    address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GitServer {
    /// On a free port of 127.0.0.1, open to every client.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let manner = Arc::new(Mutex::new(Manner::default()));
        let (stop, stopped) = oneshot::channel();
        let (root, shared) = (folder.path().to_owned(), manner.clone());
        let thread = std::thread::spawn(move || serve::run(listener, root, shared, stopped));
        Self { folder, address, manner, stop: Some(stop), thread: Some(thread) }
    }

    /// From now on only clients that send this token are let in, as `Authorization: Basic base64(<any name>:<token>)`.
    #[must_use]
    pub fn with_token(self, token: &str) -> Self {
        self.change(|manner| manner.token = Some(token.to_owned()));
        self
    }

    /// From now on fetching by hash is refused, as many code hosts do. (It takes git's older protocol too: with the
    /// current one a server gives every commit that it has.)
    #[must_use]
    pub fn without_hashes(self) -> Self {
        self.change(|manner| manner.hashes = false);
        self
    }

    /// Accepts connections from now on, and never answers.
    pub fn hang(&self) {
        self.change(|manner| manner.hangs = true);
    }

    /// Answers again.
    pub fn go_on(&self) {
        self.change(|manner| manner.hangs = false);
    }

    /// Redirects every client to this address from now on: the path that was asked for is added to it.
    pub fn redirect_to(&self, base: &str) {
        self.change(|manner| manner.redirect = Some(base.trim_end_matches('/').to_owned()));
    }

    /// Answers everything with this status from now on.
    pub fn answer(&self, status: u16) {
        self.change(|manner| manner.status = Some(status));
    }

    /// What becomes of objects in Git LFS from now on.
    pub fn treat_lfs(&self, lfs: LfsManner) {
        self.change(|manner| manner.lfs = lfs);
    }

    /// An empty repository whose default branch will be `main`.
    pub fn repository(&self, name: &str) -> Repository {
        Repository::create(self.folder.path().join(format!("{name}.git")), format!("{}/{name}.git", self.url()))
    }

    /// Without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests were answered, or would have been.
    pub fn requests(&self) -> usize {
        self.manner.lock().unwrap_or_else(PoisonError::into_inner).requests
    }

    /// How many bytes git has answered so far, and of a flood in the place of an object.
    pub fn sent(&self) -> u64 {
        self.manner.lock().unwrap_or_else(PoisonError::into_inner).sent.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut Manner)) {
        change(&mut self.manner.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
