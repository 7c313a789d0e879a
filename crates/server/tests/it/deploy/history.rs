//! A repository is kept beside its tree for a build: with its history, and without what fetched it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_api::RepositoryAddress;
use windlass_server::deploy::git::{self, Commit, Credentials, FetchError, Limits, Reference, Source, Trust};
use windlass_testing::git::{GitServer, Repository};

use super::limits;

struct Scene {
    place: TempDir,
    limits: Limits,
}

impl Scene {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), limits: limits() }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("attempt")
    }

    async fn fetch(&self, url: &str, reference: Reference<'_>) -> Result<Commit, FetchError> {
        let url = RepositoryAddress::try_from(url).unwrap();
        let credentials = Credentials { token: Some("sesame".to_owned()), ..Credentials::default() };
        let trust = Trust::Own { has_local_modules: false, lends_credentials: true };
        let source = Source { url: &url, reference, credentials: &credentials, trust };
        let fetched = git::fetch_with_history(&source, &self.folder(), &self.limits).await;
        let left: Vec<_> = names_in(self.place.path()).into_iter().filter(|name| name != "known_hosts").collect();
        match &fetched {
            Ok(_) => assert_eq!(left, ["attempt", "attempt.git"]),
            Err(_) => assert!(left.is_empty(), "{left:?} is left"),
        }
        fetched
    }

    fn kept(&self) -> PathBuf {
        git::kept_repository(&self.folder()).unwrap()
    }

    /// What git says in the tree, with the repository as its `.git`.
    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.folder()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.place.path());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_DIR", self.kept()).env("GIT_WORK_TREE", self.folder());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Three commits after a tag, and a branch with a tag of its own. The newest commit of the default branch.
fn with_tags(server: &GitServer) -> (Repository, String) {
    let repository = server.repository("app");
    repository.commit(&[("file", "one")], "One");
    repository.tag("v1.0");
    repository.commit_on("other", &[("file", "other")], "Other");
    repository.git(&["tag", "v9.0", "other"]);
    repository.commit(&[("file", "two")], "Two");
    let links = [("120000", "link", "file"), ("100755", "run", "#!/bin/sh\n")];
    let hash = repository.commit_entries("main", &links, "Three");
    (repository, hash)
}

/// Without the program git-lfs the contents would look like a change.
#[tokio::test]
async fn files_in_lfs_are_unchanged_to_git() {
    let server = GitServer::start();
    let repository = server.repository("app");
    let pointer = repository.in_lfs(b"the contents");
    repository.commit(&[(".gitattributes", "*.bin filter=lfs\n"), ("-a/b c.bin", &pointer)], "In LFS");
    repository.tag("v1.0");
    let scene = Scene::new();
    let commit = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
    assert_eq!(commit.files_in_lfs, 1);
    assert_eq!(std::fs::read_to_string(scene.folder().join("-a/b c.bin")).unwrap(), "the contents");
    assert_eq!(scene.git(&["describe", "--tags", "--dirty"]), "v1.0");
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

/// However the server lets it be fetched.
#[tokio::test]
async fn versions_can_be_told_from_it() {
    for refuses_hashes in [false, true] {
        let server = if refuses_hashes { GitServer::start().without_hashes() } else { GitServer::start() };
        let server = server.with_token("sesame");
        let (repository, hash) = with_tags(&server);
        let by_hash = Reference::Commit { hash: &hash, branch: None };
        for reference in [Reference::DefaultBranch, Reference::Named("main"), by_hash] {
            let scene = Scene::new();
            let commit = scene.fetch(repository.url(), reference).await.unwrap();
            assert_eq!((&commit.hash, &scene.git(&["rev-parse", "HEAD"])), (&hash, &hash));
            assert_eq!(scene.git(&["describe", "--tags", "--dirty"]), format!("v1.0-2-g{}", &hash[..7]));
            assert_eq!(scene.git(&["log", "--format=%s"]), "Three\nTwo\nOne");
            assert_eq!(scene.git(&["status", "--porcelain"]), "", "{reference:?}");
            scene.git(&["fsck", "--strict"]);
        }
        let scene = Scene::new();
        scene.fetch(repository.url(), Reference::Named("v1.0")).await.unwrap();
        assert_eq!(scene.git(&["describe", "--tags"]), "v1.0");
        assert_eq!(scene.git(&["log", "--format=%s"]), "One");
    }
}

/// A server that gives no commit by its hash sends whole branches.
#[tokio::test]
async fn nothing_of_other_branches_or_later_commits_is_in_it() {
    let mut found = Vec::new();
    for refuses_hashes in [false, true] {
        let server = if refuses_hashes { GitServer::start().without_hashes() } else { GitServer::start() };
        let (repository, hash) = with_tags(&server);
        repository.commit(&[("file", "later")], "Later");
        repository.tag("v2.0");
        for branch in [None, Some("main")] {
            let scene = Scene::new();
            scene.fetch(repository.url(), Reference::Commit { hash: &hash, branch }).await.unwrap();
            let objects = scene.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
            assert_eq!(objects.lines().filter(|line| line.ends_with("commit")).count(), 3, "{objects}");
            assert_eq!(scene.git(&["for-each-ref", "--format=%(refname)"]), "refs/tags/v1.0");
            assert_eq!(scene.git(&["describe", "--tags", "--dirty"]), format!("v1.0-2-g{}", &hash[..7]));
            scene.git(&["fsck", "--strict"]);
            found.push(objects);
        }
    }
    assert!(found.iter().all(|objects| *objects == found[0]), "{found:#?}");
}

#[tokio::test]
async fn nothing_in_it_tells_where_it_came_from() {
    let server = GitServer::start().with_token("sesame");
    let (repository, hash) = with_tags(&server);
    let scene = Scene::new();
    scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
    let parts = ["HEAD", "config", "index", "info", "objects", "packed-refs", "refs"];
    assert_eq!(names_in(&scene.kept()), parts);
    assert_eq!(names_in(&scene.kept().join("info")), ["exclude"]);
    assert_eq!(scene.git(&["for-each-ref", "--format=%(refname)"]), "refs/tags/v1.0");
    assert_eq!(std::fs::read_to_string(scene.kept().join("HEAD")).unwrap(), format!("{hash}\n"));
    let settings = scene.git(&["config", "--local", "--list"]);
    assert_eq!(settings, "core.repositoryformatversion=0\ncore.filemode=true\ncore.bare=false");
    let address = server.url();
    for secret in ["sesame", address.trim_start_matches("http://"), scene.place.path().to_str().unwrap()] {
        let found = Command::new("grep").args(["-r", "-a", "-l", "-F", secret]).arg(scene.kept()).output().unwrap();
        assert!(found.stdout.is_empty(), "{secret} is in {}", String::from_utf8_lossy(&found.stdout));
    }
    // The file of a Dockerfile that is made is no change of the tree.
    std::fs::write(scene.folder().join(windlass_runtime::GIVEN_DOCKERFILE), "FROM scratch").unwrap();
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
}

/// The engine takes a step from its cache when what it reads is the same.
#[tokio::test]
async fn the_same_commit_gives_the_same_files() {
    let server = GitServer::start();
    let (repository, _) = with_tags(&server);
    let mut found = Vec::new();
    for _ in 0..2 {
        let scene = Scene::new();
        scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
        let listed = Command::new("sh")
            .args(["-c", "find . -type f | sort | xargs sha256sum"])
            .current_dir(scene.kept())
            .output()
            .unwrap();
        found.push(String::from_utf8(listed.stdout).unwrap());
    }
    assert!(found[0].contains("/index") && found[0] == found[1], "{}\n{}", found[0], found[1]);
}

#[tokio::test]
async fn a_history_beyond_the_limit_is_refused_with_what_to_do() {
    let server = GitServer::start();
    let repository = server.repository("app");
    repository.commit(&[("large", &noise(3 << 20))], "Large");
    repository.commit(&[("large", "small")], "Small");
    let mut scene = Scene::new();
    scene.limits.bytes = 1 << 20;
    let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
    assert!(matches!(&error, FetchError::History { .. }), "{error:?}");
    let words = error.to_string();
    assert!(words.contains("limit of 1 MiB") && words.contains("git_in_context"), "{words}");
    // Without its history it is small.
    let url = RepositoryAddress::try_from(repository.url()).unwrap();
    let trust = Trust::Own { has_local_modules: false, lends_credentials: true };
    let credentials = Credentials::default();
    let source = Source { url: &url, reference: Reference::DefaultBranch, credentials: &credentials, trust };
    git::fetch(&source, &scene.folder(), &scene.limits, None).await.unwrap();
}

/// Nothing that could be made smaller on its way.
fn noise(length: usize) -> String {
    let mut state: u64 = 88_172_645_463_325_252;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + u8::try_from(state % 90).unwrap())
    };
    (0..length).map(|_| next()).collect()
}
