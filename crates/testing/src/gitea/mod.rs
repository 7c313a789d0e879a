//! A stand-in for Gitea: its API, its repositories and its deliveries, as far as Windlass uses them, with the shapes that were
//! recorded of Gitea 1.25.4. One user owns everything but forks.

mod answers;
mod api;
mod deliver;
mod host;
mod pull_api;
mod pull_shapes;
mod pulls;
mod pushes;
mod server;
mod shapes;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{MutexGuard, oneshot};

pub use deliver::Delivery;
use host::{Host, Kept, PullRequest};

/// What was written to a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: u64,
    pub text: String,
    /// How often it was changed since it was made.
    pub changes: usize,
}

/// Serves for as long as it lives, on threads of its own, so that a test may block.
pub struct Gitea {
    host: Arc<Host>,
    stop: Option<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    _folder: TempDir,
}

impl Gitea {
    pub const USER: &str = "ada";
    /// The one who has forks.
    pub const OTHER_USER: &str = "grace";
    pub const TOKEN: &str = "5f1d3c0b7a9e8246135790bdf2468ace13579bdf";

    /// On a free port of 127.0.0.1, without any repository.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (host, parcels) = Host::new(folder.path(), url);
        let (stop, stopped) = oneshot::channel();
        let (served, sent) = (host.clone(), host.clone());
        let threads = vec![
            std::thread::spawn(move || server::run(listener, stopped, served)),
            std::thread::spawn(move || deliver::run(&sent, &parcels)),
        ];
        Self { host, stop: Some(stop), threads, _folder: folder }
    }

    /// Without a slash at the end.
    pub fn url(&self) -> &str {
        &self.host.url
    }

    /// A private repository of the user, empty.
    pub fn add_repository(&self, name: &str) {
        self.host.create_repository(&format!("{}/{name}", Self::USER), true);
    }

    /// Commits these files to a branch, with all that a push of it tells. The commit's hash.
    pub fn push(&self, full_name: &str, branch: &str, files: &[(&str, &str)]) -> String {
        let (kept, _alone) = (self.repository(full_name), self.alone());
        let before = pushes::references(&kept.git);
        let commit = kept.git.commit_on(branch, files, "Change files");
        pulls::tell_of_push(&self.host, &kept, &before);
        commit
    }

    /// Another user makes a fork. Its full name.
    pub fn fork(&self, full_name: &str) -> String {
        let fork = self.host.fork(&self.repository(full_name), Self::OTHER_USER).expect("a first fork");
        fork.full_name.clone()
    }

    /// For the default branch. The head is a branch of the repository, or `<owner>:<branch>` of a fork. Its number.
    pub fn open_pull_request(&self, full_name: &str, head: &str, title: &str) -> u64 {
        let kept = self.repository(full_name);
        let wish = pulls::Wish { head, target: &kept.git.default_branch(), title, text: "" };
        match pulls::open(&self.host, &kept, &wish) {
            Ok(opened) => opened.number,
            Err(refused) => panic!("{head} gets no pull request: {:?}", refused.body),
        }
    }

    pub fn close_pull_request(&self, full_name: &str, number: u64) {
        pulls::close(&self.host, &self.pull_request(full_name, number));
    }

    pub fn reopen_pull_request(&self, full_name: &str, number: u64) {
        pulls::reopen(&self.host, &self.pull_request(full_name, number));
    }

    /// Only its title changes.
    pub fn retitle_pull_request(&self, full_name: &str, number: u64, title: &str) {
        pulls::retitle(&self.host, &self.pull_request(full_name, number), title);
    }

    pub fn merge_pull_request(&self, full_name: &str, number: u64) {
        let _alone = self.alone();
        pulls::merge(&self.host, &self.repository(full_name), &self.pull_request(full_name, number));
    }

    /// Of a pull request, in the order in which they were made.
    pub fn comments(&self, full_name: &str, number: u64) -> Vec<Comment> {
        let (there, state) = (self.pull_request(full_name, number), self.host.state());
        let of_it = state.comments.iter().filter(|comment| comment.is_of(&there));
        let text = |comment: &host::Comment| comment.shape["body"].as_str().unwrap_or_default().to_owned();
        of_it.map(|comment| Comment { id: comment.id, text: text(comment), changes: comment.changes }).collect()
    }

    fn repository(&self, full_name: &str) -> Arc<Kept> {
        self.host.repository(full_name).unwrap_or_else(|| panic!("no repository {full_name}"))
    }

    fn pull_request(&self, full_name: &str, number: u64) -> PullRequest {
        let found = self.host.pull_request(full_name, number);
        found.unwrap_or_else(|| panic!("no pull request {number} of {full_name}"))
    }

    /// As soon as no client pushes. A test may run on threads that must not wait for a lock of another runtime.
    fn alone(&self) -> MutexGuard<'_, ()> {
        loop {
            match self.host.pushing.try_lock() {
                Ok(alone) => return alone,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// The API answers everything with this status from now on. Repositories and deliveries go on.
    pub fn fail(&self, status: u16) {
        self.host.state().outage = Some(status);
    }

    /// It answers again.
    pub fn go_on(&self) {
        self.host.state().outage = None;
    }

    /// Of this commit, in the order in which they were set.
    pub fn statuses(&self, commit: &str) -> Vec<Value> {
        let state = self.host.state();
        state.statuses.iter().filter(|status| status.commit == commit).map(|status| status.shape.clone()).collect()
    }

    /// Of all repositories.
    pub fn hooks(&self) -> Vec<Value> {
        self.host.state().hooks.iter().map(|hook| hook.shape.clone()).collect()
    }

    /// Those that were sent, whatever came of it, in that order.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.host.state().deliveries.clone()
    }
}

impl Drop for Gitea {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.host.stop_delivering();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
