//! Why a repository was not fetched: what git says, sorted by what a person can do about it.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::lfs::LfsProblem;

/// What is shown of a path.
const MOST_PATH: usize = 200;

/// Each says what happened and what to do.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(
        "The repository's server cannot be reached: {text}. Check the address, and that this machine can reach it."
    )]
    Unreachable { text: String },
    #[error(
        "The repository was not found, or the token or key has no access to it: {text}. Check the address, and give a \
         repository_token or key that may read it."
    )]
    Refused { text: String },
    #[error(
        "The repository's server shows another host key than before. If it was changed on purpose, remove the old one on the \
         machine that runs Windlass: {remedy}"
    )]
    HostKeyChanged { remedy: String },
    #[error(
        "The repository is damaged at its server: {text}. Repair it there (git fsck shows what is missing), or push it again."
    )]
    Damaged { text: String },
    #[error("The repository has no {reference}. {exists}")]
    ReferenceNotFound { reference: String, exists: String },
    #[error(
        "{error} With git_in_context the whole history is fetched and counts; without it, only the commit that is deployed."
    )]
    History { error: Box<FetchError> },
    #[error("The submodule {path}: {error}")]
    Submodule { path: String, error: Box<FetchError> },
    #[error("{why}. Change it in .gitmodules, or put its files into the repository.")]
    SubmoduleRefused { why: String },
    #[error("The repository has more than {limit} submodules. Put their files into the repository.")]
    TooManySubmodules { limit: usize },
    #[error("The repository has submodules more than {limit} levels deep. Put their files into the repository.")]
    SubmodulesTooDeep { limit: usize },
    #[error("The repository keeps files in Git LFS, such as {path}: {problem}")]
    Lfs { path: String, problem: LfsProblem },
    #[error(
        "The repository is larger than the limit of {} MiB. Remove large files, or raise the limit.", limit / (1 << 20)
    )]
    TooLarge { limit: u64 },
    #[error("The repository has more than {limit} files and folders. Remove some, or raise the limit.")]
    TooManyFiles { limit: usize },
    #[error(
        "git needs more memory for the repository than it may have: {text}. Remove large files, or raise the limit."
    )]
    TooMuchMemory { text: String },
    #[error(
        "The repository did not arrive within {} seconds. Try again; if its server is slow, raise the limit.", limit.as_secs()
    )]
    TimedOut { limit: Duration },
    #[error("The repository has moved to {to}. Redirects are not followed: change the address.")]
    Redirected { to: String },
    #[error("The program git is not installed. Install it: apt-get install git")]
    GitMissing,
    #[error("The program prlimit is not installed. Install it: apt-get install util-linux")]
    PrlimitMissing,
    #[error("The program ssh is not installed. Install it: apt-get install openssh-client")]
    SshMissing,
    #[error("The disk is full: {text}. Free some space.")]
    DiskFull { text: String },
    #[error("Nothing can be written to the data folder: {text}. Make its disk writable, then try again.")]
    ReadOnly { text: String },
    #[error("git failed: {text}. Try again; if it fails again, run `git fetch` on this address by hand.")]
    Failed { text: String },
}

impl FetchError {
    /// The innermost counts: it is where something has to be done.
    pub fn of_submodule(self, path: &Path) -> Self {
        match self {
            Self::Submodule { .. } | Self::TooManySubmodules { .. } | Self::SubmodulesTooDeep { .. } => self,
            error => Self::Submodule {
                path: path.to_string_lossy().chars().take(MOST_PATH).collect(),
                error: Box::new(error),
            },
        }
    }

    /// What a limit has ended may be within it without the history.
    pub fn of_history(self) -> Self {
        match self {
            error @ (Self::TooLarge { .. } | Self::TimedOut { .. } | Self::TooMuchMemory { .. }) => {
                Self::History { error: Box::new(error) }
            }
            error => error,
        }
    }

    /// Whether fetching everything, into an empty folder, may end otherwise.
    pub fn may_be_of_cache(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::Damaged { .. } | Self::TooLarge { .. } | Self::DiskFull { .. } => true,
            // The server is left when what it sends does not fit to what is here.
            Self::Unreachable { text } => {
                ["index-pack", "bad object", "unresolved delta"].iter().any(|sign| text.contains(sign))
            }
            _ => false,
        }
    }
}

impl From<io::Error> for FetchError {
    fn from(error: io::Error) -> Self {
        let text = error.to_string();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { text },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { text },
            _ => Self::Failed { text },
        }
    }
}

/// What a redirect looks like to git, which was told not to follow it, and does not say where it leads.
pub fn is_redirect(text: &str) -> bool {
    ["301", "302", "303", "307", "308"].iter().any(|code| text.contains(&format!("returned error: {code}")))
}

/// What a server says when it gives branches and tags only.
pub fn hash_is_refused(text: &str) -> bool {
    ["unadvertised object", "not our ref", "no such remote ref"].iter().any(|sign| text.contains(sign))
        || text.contains("couldn't find remote ref")
}

const DISK: &[&str] = &["No space left on device", "Disk quota exceeded", "disk quota exceeded"];
const MEMORY: &[&str] = &["Out of memory", "Cannot allocate memory", "attempting to allocate"];
const SSH: &[&str] = &["cannot run ssh", "ssh: not found"];
/// What git says when objects are missing or cannot be read.
const DAMAGED: &[&str] =
    &["possible repository corruption", "is corrupt", "does not match index", "did not send all necessary objects"];
const REFUSED: &[&str] = &[
    "returned error: 401",
    "returned error: 403",
    "returned error: 404",
    "returned error: 410",
    "could not read Username",
    "could not read Password",
    "Authentication failed",
    "terminal prompts disabled",
    "' not found",
    "Repository not found",
    "repository not exported",
    "does not appear to be a git repository",
    "not valid: is this a git repository",
    "Permission denied (",
    "Load key",
    "could not be found",
];
const UNREACHABLE: &[&str] = &[
    "Could not resolve",
    "unable to look up",
    "Failed to connect",
    "Couldn't connect",
    "unable to connect",
    "onnection refused",
    "onnection timed out",
    "onnection reset",
    "onnection closed",
    "Operation timed out",
    "No route to host",
    "Network is unreachable",
    "ertificate",
    "SSL",
    "TLS",
    "gnutls",
    "Empty reply from server",
    "returned error: 429",
    "returned error: 5",
    "remote end hung up unexpectedly",
    "unexpected disconnect",
    "early EOF",
    "RPC failed",
    "unable to access",
];

/// Sorts what git has said. The order counts: git often adds "Could not read from remote repository" to the real
/// reason, and a server that hangs up is the consequence of a disk that is full.
pub fn classify(text: String) -> FetchError {
    let says = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    if says(DISK) {
        FetchError::DiskFull { text }
    } else if text.contains("Read-only file system") {
        FetchError::ReadOnly { text }
    } else if says(MEMORY) {
        FetchError::TooMuchMemory { text }
    } else if text.contains("failed to execute git") {
        FetchError::GitMissing
    } else if says(SSH) {
        FetchError::SshMissing
    } else if text.contains("HOST IDENTIFICATION HAS CHANGED") {
        let remedy = text.split("; ").find(|line| line.starts_with("ssh-keygen")).unwrap_or("ssh-keygen -R").to_owned();
        FetchError::HostKeyChanged { remedy }
    } else if says(DAMAGED) {
        FetchError::Damaged { text }
    } else if says(REFUSED) {
        FetchError::Refused { text }
    } else if says(UNREACHABLE) {
        FetchError::Unreachable { text }
    } else {
        FetchError::Failed { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What git and ssh say where tests cannot bring them to it.
    #[test]
    fn what_git_says() {
        let class = |text: &str| format!("{:?}", classify(text.to_owned())).split(' ').next().unwrap().to_owned();
        for (text, expected) in [
            ("fatal: write error: No space left on device; fatal: early EOF", "DiskFull"),
            ("error: unable to create file a: Read-only file system", "ReadOnly"),
            ("fatal: Out of memory, malloc failed (tried to allocate 9 bytes); fatal: early EOF", "TooMuchMemory"),
            ("prlimit: failed to execute git: No such file or directory", "GitMissing"),
            ("error: cannot run ssh: No such file or directory; fatal: unable to fork", "SshMissing"),
            ("git@example.com: Permission denied (publickey)", "Refused"),
            ("ERROR: Repository not found", "Refused"),
            ("fatal: remote error: access denied or repository not exported: /a", "Refused"),
            ("error: unable to create file a: Permission denied", "Failed"),
            ("fatal: unable to access 'https://a/': SSL certificate problem: self-signed certificate", "Unreachable"),
            ("fatal: unable to access 'https://a/': Could not resolve host: a", "Unreachable"),
            ("ssh: Could not resolve hostname a: Name or service not known", "Unreachable"),
            ("fatal: bad object", "Failed"),
            ("remote: aborting due to possible repository corruption on the remote side; fatal: early EOF", "Damaged"),
        ] {
            assert_eq!(class(text), expected, "{text}");
        }
        let changed = "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @; remove with:; ssh-keygen -f /k -R a; Host key failed";
        let FetchError::HostKeyChanged { remedy } = classify(changed.to_owned()) else { panic!("another class") };
        assert_eq!(remedy, "ssh-keygen -f /k -R a");
    }
}
