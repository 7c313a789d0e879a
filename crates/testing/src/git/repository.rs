//! One bare repository, filled without a working tree, so that a commit may hold anything that git can store.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::lfs;

/// The time of the first commit in these repositories: each commit is a minute after the one before it.
const FIRST_COMMIT_AT: u64 = 1_700_000_000;

pub const AUTHOR: &str = "Ada Example";

pub struct Repository {
    folder: PathBuf,
    url: String,
}

impl Repository {
    pub(crate) fn create(folder: PathBuf, url: String) -> Self {
        let repository = Self { folder, url };
        std::fs::create_dir(&repository.folder).expect("a folder for the repository");
        repository.git(&["init", "--quiet", "--bare", "--initial-branch=main", "."]);
        repository
    }

    /// For `git fetch`, over HTTP.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where it is on the disk.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds or replaces files on the default branch. The new commit's hash.
    pub fn commit(&self, files: &[(&str, &str)], message: &str) -> String {
        self.commit_on(&self.default_branch(), files, message)
    }

    /// The same on another branch, which begins where the default branch is if there is none of that name.
    pub fn commit_on(&self, branch: &str, files: &[(&str, &str)], message: &str) -> String {
        let files: Vec<_> = files.iter().map(|(path, content)| ("100644", *path, *content)).collect();
        self.commit_entries(branch, &files, message)
    }

    /// The same with modes: `100644` a file, `100755` a program, `120000` a link (its content is where it points),
    /// `160000` a submodule (its content is a hash).
    pub fn commit_entries(&self, branch: &str, entries: &[(&str, &str, &str)], message: &str) -> String {
        let parent = self.head_of(branch).or_else(|| self.head_of(&self.default_branch()));
        match &parent {
            Some(parent) => self.git(&["read-tree", parent]),
            None => self.git(&["read-tree", "--empty"]),
        };
        for (mode, path, content) in entries {
            let object = match *mode {
                "160000" => (*content).to_owned(),
                _ => self.run(&["hash-object", "-w", "--stdin"], content.as_bytes()),
            };
            self.git(&["update-index", "--add", "--cacheinfo", &format!("{mode},{object},{path}")]);
        }
        let tree = self.git(&["write-tree"]);
        self.commit_tree(branch, parent.as_deref(), &tree, message)
    }

    /// A folder of these entries, each as `git ls-tree` writes them. The new folder's hash.
    pub fn tree(&self, entries: &[String]) -> String {
        self.run(&["mktree"], entries.join("\n").as_bytes())
    }

    pub fn commit_tree(&self, branch: &str, parent: Option<&str>, tree: &str, message: &str) -> String {
        let parents = parent.iter().flat_map(|parent| ["-p", parent]);
        let arguments: Vec<_> = ["commit-tree", tree, "-m", message].into_iter().chain(parents).collect();
        let commit = self.git(&arguments);
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
        commit
    }

    /// Stores this in Git LFS. What stands for it in git.
    pub fn in_lfs(&self, content: &[u8]) -> String {
        let oid: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        lfs::store(&self.folder, &oid, content).expect("an object is stored");
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {}\n", content.len())
    }

    /// A branch where the default branch is now.
    pub fn branch(&self, name: &str) {
        let head = self.head_of(&self.default_branch()).expect("a commit to begin at");
        // Not `git branch`: code hosts let names through that it takes for options.
        self.git(&["update-ref", &format!("refs/heads/{name}"), &head]);
    }

    /// An annotated tag where the default branch is now.
    pub fn tag(&self, name: &str) {
        let head = self.head_of(&self.default_branch()).expect("a commit to tag");
        self.git(&["tag", "--annotate", "--message", name, "--", name, &head]);
    }

    pub fn set_default_branch(&self, name: &str) {
        self.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{name}")]);
    }

    pub fn default_branch(&self) -> String {
        self.git(&["symbolic-ref", "--short", "HEAD"])
    }

    /// Gone, as when its owner deletes it.
    pub fn delete(self) {
        std::fs::remove_dir_all(&self.folder).expect("the repository goes");
    }

    fn head_of(&self, branch: &str) -> Option<String> {
        let head = self.git(&["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{branch}")]);
        Some(head).filter(|head| !head.is_empty())
    }

    /// Any other git command in the repository; what it says.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.run(arguments, b"")
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = hermetic_git(&self.folder);
        command.current_dir(&self.folder).args(arguments).env("GIT_DIR", ".");
        let date = if arguments[0] == "commit-tree" { self.next_date() } else { FIRST_COMMIT_AT };
        command.env("GIT_AUTHOR_DATE", format!("@{date} +0000")).env("GIT_COMMITTER_DATE", format!("@{date} +0000"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git starts");
        child.stdin.take().expect("its input").write_all(input).expect("git reads");
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success(), "git {arguments:?}: {}", output.status);
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    fn next_date(&self) -> u64 {
        let commits = self.git(&["rev-list", "--all", "--count"]);
        FIRST_COMMIT_AT + 60 * commits.parse::<u64>().expect("a number of commits")
    }
}

/// Git that knows nothing of the machine it runs on.
pub(super) fn hermetic_git(home: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home).env("LANG", "C");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), AUTHOR).env(format!("GIT_{role}_EMAIL"), "ada@example.com");
    }
    command
}
