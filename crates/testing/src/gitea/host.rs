//! What the stand-in remembers.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::deliver::{Delivery, Parcel};
use crate::git::Repository;

pub struct Host {
    /// Of the repositories: `<owner>/<name>.git`.
    pub root: PathBuf,
    pub url: String,
    state: Mutex<State>,
    outbox: Mutex<Option<Sender<Parcel>>>,
    /// One push at a time: what it changed is seen by comparing the references before and after it.
    pub pushing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
pub struct State {
    pub outage: Option<u16>,
    pub repositories: Vec<Arc<Kept>>,
    pub hooks: Vec<Hook>,
    pub keys: Vec<Key>,
    pub statuses: Vec<Status>,
    pub pull_requests: Vec<PullRequest>,
    pub comments: Vec<Comment>,
    pub deliveries: Vec<Delivery>,
    last_id: u64,
    last_moment: u64,
}

/// A repository.
pub struct Kept {
    pub id: u64,
    /// Such as `ada/shop`.
    pub full_name: String,
    pub is_private: bool,
    pub git: Repository,
    /// What it is a fork of.
    pub parent: Option<Arc<Self>>,
}

impl Kept {
    pub fn owner(&self) -> &str {
        self.full_name.split('/').next().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.full_name.split('/').next_back().unwrap_or_default()
    }
}

#[derive(Clone)]
pub struct PullRequest {
    pub id: u64,
    /// The one that it was made for.
    pub repository: String,
    pub number: u64,
    /// The repository of its branch: the same, or a fork of it.
    pub source: String,
    pub branch: String,
    pub target: String,
    pub title: String,
    pub text: String,
    pub commit: String,
    pub is_open: bool,
    pub merge_commit: Option<String>,
    pub changed_at: String,
}

/// Of a pull request.
#[derive(Clone)]
pub struct Comment {
    pub id: u64,
    pub repository: String,
    pub number: u64,
    /// How often it was changed since it was made.
    pub changes: usize,
    pub shape: Value,
}

impl Comment {
    pub fn is_of(&self, pull_request: &PullRequest) -> bool {
        (&self.repository, self.number) == (&pull_request.repository, pull_request.number)
    }
}

pub struct Hook {
    pub id: u64,
    /// Full names, here and below.
    pub repository: String,
    pub url: String,
    pub secret: String,
    pub events: Vec<String>,
    pub is_active: bool,
    pub shape: Value,
}

pub struct Key {
    pub id: u64,
    pub repository: String,
    pub shape: Value,
}

pub struct Status {
    pub repository: String,
    pub commit: String,
    pub shape: Value,
}

impl State {
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Each is a second after the one before it, and none is that of the real clock.
    pub fn next_moment(&mut self) -> String {
        self.last_moment += 1;
        let (minutes, seconds) = (self.last_moment / 60, self.last_moment % 60);
        format!("2026-11-16T{:02}:{:02}:{seconds:02}Z", 16 + minutes / 60, minutes % 60)
    }
}

impl Host {
    /// With what it will deliver.
    pub fn new(root: &Path, url: String) -> (Arc<Self>, Receiver<Parcel>) {
        let (sender, parcels) = channel();
        let outbox = Mutex::new(Some(sender));
        let host = Self { root: root.to_owned(), url, state: Mutex::default(), outbox, pushing: <_>::default() };
        (Arc::new(host), parcels)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn repository(&self, full_name: &str) -> Option<Arc<Kept>> {
        self.state().repositories.iter().find(|kept| kept.full_name == full_name).cloned()
    }

    pub fn pull_request(&self, repository: &str, number: u64) -> Option<PullRequest> {
        let state = self.state();
        state.pull_requests.iter().find(|one| (&*one.repository, one.number) == (repository, number)).cloned()
    }

    /// None if there is one of that name.
    pub fn create_repository(&self, full_name: &str, is_private: bool) -> Option<Arc<Kept>> {
        self.keep_repository(full_name, is_private, None)
    }

    /// With all branches that the other has now. None if there is one of that name.
    pub fn fork(&self, parent: &Arc<Kept>, owner: &str) -> Option<Arc<Kept>> {
        let full_name = format!("{owner}/{}", parent.name());
        let fork = self.keep_repository(&full_name, parent.is_private, Some(parent.clone()))?;
        let from = parent.git.folder().to_str().expect("a path in UTF-8");
        fork.git.git(&["fetch", "--quiet", "--no-auto-maintenance", from, "+refs/heads/*:refs/heads/*"]);
        fork.git.set_default_branch(&parent.git.default_branch());
        Some(fork)
    }

    fn keep_repository(&self, full_name: &str, is_private: bool, parent: Option<Arc<Kept>>) -> Option<Arc<Kept>> {
        let mut state = self.state();
        if state.repositories.iter().any(|kept| kept.full_name == full_name) {
            return None;
        }
        let folder = self.root.join(format!("{full_name}.git"));
        std::fs::create_dir_all(folder.parent().expect("the owner's folder")).expect("a folder");
        let git = Repository::create(folder, format!("{}/{full_name}.git", self.url));
        let kept = Kept { id: state.next_id(), full_name: full_name.to_owned(), is_private, git, parent };
        state.repositories.push(Arc::new(kept));
        state.repositories.last().cloned()
    }

    /// To every hook of the repository that wants to hear of it.
    pub fn deliver(&self, repository: &str, kind: &'static str, body: &Value) {
        let mut state = self.state();
        let is_wanted = |hook: &&Hook| {
            hook.repository == repository && hook.is_active && hook.events.iter().any(|wanted| wanted == kind)
        };
        let wanted = state.hooks.iter().filter(is_wanted).map(|hook| (hook.url.clone(), hook.secret.clone()));
        let outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        for (url, secret) in wanted.collect::<Vec<_>>() {
            let parcel = Parcel::new(state.next_id(), kind, &url, &secret, body.clone());
            if let Some(outbox) = &*outbox {
                let _ = outbox.send(parcel);
            }
        }
    }

    pub fn stop_delivering(&self) {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
