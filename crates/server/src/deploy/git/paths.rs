//! Where one fetch works: the folder of the tree, and what lies beside it.

use std::io;
use std::path::{Path, PathBuf};

use super::error::FetchError;
use crate::folders::remove;

/// The folder of the tree, and what lies beside it: nothing that a repository holds can be taken for git's own.
pub struct FetchPaths {
    pub folder: PathBuf,
    pub git: PathBuf,
    pub key: PathBuf,
    /// Shared by all fetches, so that a host whose key has changed is noticed.
    pub known_hosts: PathBuf,
    /// What is on its way from Git LFS into the tree.
    pub lfs: PathBuf,
    /// What is fetched for submodules.
    modules: PathBuf,
    /// The folder of the whole tree.
    whole: PathBuf,
}

impl FetchPaths {
    pub fn of(folder: &Path) -> io::Result<Self> {
        let folder = std::path::absolute(folder)?;
        let beside = |extension: &str| {
            let mut path = folder.clone().into_os_string();
            path.push(extension);
            PathBuf::from(path)
        };
        let known_hosts = folder.with_file_name("known_hosts");
        let (git, key, lfs, modules) = (beside(".git"), beside(".key"), beside(".lfs"), beside(".modules"));
        Ok(Self { git, key, known_hosts, lfs, modules, whole: folder.clone(), folder })
    }

    /// For one submodule, until its tree is put into the whole.
    pub fn of_module(&self, number: usize) -> Self {
        let beside = |extension: &str| self.modules.join(format!("{number}{extension}"));
        let (folder, git, key) = (beside(""), beside(".git"), beside(".key"));
        let (lfs, modules) = (beside(".lfs"), beside(".modules"));
        Self { folder, git, key, lfs, modules, known_hosts: self.known_hosts.clone(), whole: self.whole.clone() }
    }

    /// Makes the folder, which must not hold anything.
    pub fn make(&self) -> Result<(), FetchError> {
        std::fs::create_dir_all(&self.folder)?;
        if std::fs::read_dir(&self.folder)?.next().is_some() {
            return Err(FetchError::Failed { text: format!("{} is not empty", self.folder.display()) });
        }
        Ok(())
    }

    /// Removes all of it but the tree.
    pub fn clean(&self) -> io::Result<()> {
        self.clean_but_repository()?;
        remove(&self.git)
    }

    pub fn clean_but_repository(&self) -> io::Result<()> {
        remove(&self.key)?;
        remove(&self.lfs)?;
        remove(&self.modules)
    }

    /// The environment variable by which every process that git starts can be found again.
    pub fn mark(&self) -> (&'static str, &Path) {
        ("WINDLASS_FETCH", &self.whole)
    }
}
