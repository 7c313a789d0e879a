//! What is fetched, with which credentials and within which limits, and what comes of it.

use std::fmt;
use std::time::Duration;

use windlass_api::RepositoryAddress;

/// What to fetch, and what to show for it.
pub struct Source<'a> {
    pub url: &'a RepositoryAddress,
    pub reference: Reference<'a>,
    pub credentials: &'a Credentials,
    pub trust: Trust<'a>,
}

/// Whose words an address is: that decides what its submodules may be.
#[derive(Debug, Clone, Copy)]
pub enum Trust<'a> {
    /// The application's own, or a submodule's on the same host.
    Own {
        /// Whether submodules may be folders of this machine.
        has_local_modules: bool,
        /// Whether submodules are fetched with the credentials of the repository.
        lends_credentials: bool,
    },
    /// The author's of a repository, on a host that is not the repository's.
    Stranger {
        /// `host:port:address`: where git connects to, whatever DNS says by then. Empty if the host is an address.
        pinned: &'a str,
    },
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
    /// The user that the token goes with; none for the one that most servers take.
    pub user: Option<String>,
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
    /// Files and folders of the tree.
    pub files: usize,
    /// Bytes, of each process of git's.
    pub memory: u64,
    /// Whether submodules on other hosts may be at private addresses.
    pub private_targets: bool,
}

impl Limits {
    /// All parts of a repository together have the limits of one.
    pub fn spend(&mut self, files: usize, bytes: u64) {
        self.files = self.files.saturating_sub(files);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub hash: String,
    pub author: String,
    /// The first line, at most 200 characters.
    pub message: String,
    /// How many of the files have come from Git LFS, those of submodules included.
    pub files_in_lfs: usize,
}

/// Whether a text names a commit by all digits of its hash.
pub fn is_whole_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
