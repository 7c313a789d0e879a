//! What the stand-in remembers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::git::Repository;

pub struct Host {
    /// Of the repositories: `<owner>/<name>.git`.
    pub root: PathBuf,
    pub url: String,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    pub outage: Option<u16>,
    pub repositories: Vec<Arc<Kept>>,
    pub installations: Vec<Installation>,
    /// Those that were not exchanged yet.
    pub codes: Vec<String>,
    pub manifest: Value,
    /// Fields of what is told of a new app, in the place of the usual ones.
    pub told: Map<String, Value>,
    pub minted: Vec<Minted>,
    /// With their commits.
    pub statuses: Vec<(String, Value)>,
    last_id: u64,
}

/// A repository.
pub struct Kept {
    pub id: u64,
    /// Such as `team/shop`.
    pub full_name: String,
    pub git: Repository,
}

/// Where the app may do something.
pub struct Installation {
    pub id: u64,
    pub account: String,
    /// Full names.
    pub repositories: Vec<String>,
}

/// A token of an installation.
#[derive(Clone, Debug)]
pub struct Minted {
    pub token: String,
    /// What the request named; empty for all of the installation.
    pub asked_for: Vec<String>,
    /// The full names of what it reaches.
    pub repositories: Vec<String>,
}

impl State {
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

impl Host {
    pub fn new(root: &Path, url: String) -> Self {
        Self { root: root.to_owned(), url, state: Mutex::default() }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn create_repository(&self, full_name: &str) -> Arc<Kept> {
        let mut state = self.state();
        let folder = self.root.join(format!("{full_name}.git"));
        std::fs::create_dir_all(folder.parent().expect("the owner's folder")).expect("a folder");
        let git = Repository::create(folder, format!("{}/{full_name}.git", self.url));
        let kept = Arc::new(Kept { id: state.next_id(), full_name: full_name.to_owned(), git });
        state.repositories.push(kept.clone());
        kept
    }

    pub fn repository(&self, full_name: &str) -> Option<Arc<Kept>> {
        self.state().repositories.iter().find(|kept| kept.full_name == full_name).cloned()
    }

    /// It can be exchanged for the key of the app once.
    pub fn new_code(&self, manifest: Value) -> String {
        let mut state = self.state();
        state.manifest = manifest;
        let code = format!("a180b1a3d263c81bc6441d7b990bae27{:08}", state.next_id());
        state.codes.push(code.clone());
        code
    }

    /// None if no token is like this.
    pub fn reached_by(&self, token: &str) -> Option<Vec<String>> {
        self.state().minted.iter().find(|minted| minted.token == token).map(|minted| minted.repositories.clone())
    }
}
