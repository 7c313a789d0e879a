//! Files in Git LFS come with the repository, under its rules.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_api::RepositoryAddress;
use windlass_server::deploy::git::{
    self, Commit, Credentials, FetchError, LfsProblem, Limits, Reference, Source, Trust,
};
use windlass_testing::git::{FLOOD, GitServer, LfsManner, Repository};

use super::limits;

const ATTRIBUTES: (&str, &str) = (".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");

struct Scene {
    place: TempDir,
    limits: Limits,
    lends_credentials: bool,
}

impl Scene {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), limits: limits(), lends_credentials: true }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("attempt")
    }

    async fn fetch(&self, url: &str) -> Result<Commit, FetchError> {
        let url = RepositoryAddress::try_from(url).unwrap();
        let credentials = Credentials { token: Some("sesame".to_owned()), ..Credentials::default() };
        let trust = Trust::Own { has_local_modules: false, lends_credentials: self.lends_credentials };
        let source = Source { url: &url, reference: Reference::DefaultBranch, credentials: &credentials, trust };
        let fetched = git::fetch(&source, &self.folder(), &self.limits, None).await;
        match &fetched {
            Ok(_) => assert_eq!(names_in(self.place.path()), ["attempt"]),
            Err(_) => assert_eq!(names_in(self.place.path()), [""; 0]),
        }
        fetched
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder().join(file)).unwrap()
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Which problem it is, and in which words.
fn problem(fetched: Result<Commit, FetchError>) -> (&'static str, String) {
    let error = fetched.unwrap_err();
    let class = match &error {
        FetchError::Lfs { problem: LfsProblem::Refused { .. }, .. } => "refused",
        FetchError::Lfs { problem: LfsProblem::Unreachable { .. }, .. } => "unreachable",
        FetchError::Lfs { problem: LfsProblem::Missing { .. }, .. } => "missing",
        _ => "another",
    };
    (class, error.to_string())
}

/// A repository with one file in Git LFS.
fn simple(server: &GitServer, more: &[(&str, &str)]) -> Repository {
    let repository = server.repository("app");
    let pointer = repository.in_lfs(b"the contents");
    repository.commit(&[&[ATTRIBUTES, ("a.bin", &pointer)], more].concat(), "A file in LFS");
    repository
}

/// Git with the program git-lfs, in a folder of its own.
fn client(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ada").env(format!("GIT_{role}_EMAIL"), "ada@example.com");
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}; `scripts/setup test` installs git-lfs",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
async fn what_the_real_client_has_pushed_is_there() {
    let server = GitServer::start();
    let repository = server.repository("app");
    let work = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| client(work.path(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["lfs", "install", "--local"]);
    git(&["config", "lfs.url", &format!("{}/info/lfs", repository.url())]);
    git(&["lfs", "track", "*.bin"]);
    let large = "0123456789abcdef".repeat(100_000);
    let files = [("one.bin", "one"), ("assets/large.bin", &large), ("assets/again.bin", "one"), ("plain", "in git")];
    std::fs::create_dir(work.path().join("assets")).unwrap();
    for (name, text) in files {
        std::fs::write(work.path().join(name), text).unwrap();
    }
    git(&["add", "."]);
    git(&["update-index", "--chmod=+x", "one.bin"]);
    git(&["commit", "--quiet", "-m", "Files"]);
    git(&["push", "--quiet", repository.folder().to_str().unwrap(), "main"]);
    let pointer = repository.git(&["show", "main:one.bin"]);
    assert!(pointer.starts_with("version https://git-lfs.github.com/spec/v1"), "{pointer}");

    let _server = server.with_token("sesame");
    let scene = Scene::new();
    let commit = scene.fetch(repository.url()).await.unwrap();
    for (name, text) in files {
        assert!(scene.read(name) == text, "{name}");
    }
    assert_eq!(commit.files_in_lfs, 3);
    let mode = |name: &str| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(scene.folder().join(name)).unwrap().permissions())
    };
    assert_eq!((mode("one.bin") & 0o111, mode("assets/again.bin") & 0o111), (0o111, 0));
}

#[tokio::test]
async fn what_is_no_pointer_is_meant_as_it_is() {
    let server = GitServer::start();
    let repository = server.repository("app");
    let pointer = repository.in_lfs(b"the contents");
    let broken = pointer.replace("sha256:", "sha256:x");
    repository.commit(&[ATTRIBUTES, ("text", &pointer), ("a.bin", "just text"), ("b.bin", &broken)], "No pointers");
    let scene = Scene::new();
    assert_eq!(scene.fetch(repository.url()).await.unwrap().files_in_lfs, 0);
    assert_eq!((scene.read("text"), scene.read("b.bin"), scene.read("a.bin").as_str()), (pointer, broken, "just text"));
}

#[tokio::test]
async fn contents_that_are_not_what_was_stored_are_refused() {
    let server = GitServer::start();
    let repository = simple(&server, &[]);
    for manner in [LfsManner::Corrupt, LfsManner::Shorter, LfsManner::Longer] {
        server.treat_lfs(manner.clone());
        let (class, words) = problem(Scene::new().fetch(repository.url()).await);
        assert_eq!(class, "missing", "{manner:?}: {words}");
        assert!(words.contains("such as a.bin") && words.contains("not what their pointer says"), "{words}");
    }
    server.treat_lfs(LfsManner::Honest);
    let scene = Scene::new();
    scene.fetch(repository.url()).await.unwrap();
    assert_eq!(scene.read("a.bin"), "the contents");
    std::fs::remove_dir_all(repository.folder().join("lfs")).unwrap();
    let (class, words) = problem(Scene::new().fetch(repository.url()).await);
    assert_eq!(class, "missing", "{words}");
    assert!(words.contains("Object does not exist") && words.contains("git lfs push --all"), "{words}");
}

/// A pointer says how much is taken, whatever comes: else a server could fill the disk.
#[tokio::test]
async fn no_more_is_taken_than_the_pointer_says() {
    let server = GitServer::start();
    let repository = simple(&server, &[]);
    server.treat_lfs(LfsManner::Flood);
    let before = server.sent();
    let (class, words) = problem(Scene::new().fetch(repository.url()).await);
    assert!(class == "missing" && words.contains("not what their pointer says"), "{words}");
    assert!(server.sent() - before < FLOOD / 4, "{}", server.sent() - before);
}

/// As it is in repositories that are as old as Git LFS.
#[tokio::test]
async fn old_pointers_stand_for_the_same() {
    let server = GitServer::start();
    let repository = server.repository("app");
    let pointer = repository.in_lfs(b"the contents");
    let old = |version: &str| pointer.replace("https://git-lfs.github.com/spec/v1", version);
    let (hawser, media) = (old("https://hawser.github.com/spec/v1"), old("http://git-media.io/v/2"));
    repository.commit(&[ATTRIBUTES, ("a.bin", &hawser), ("b.bin", &media)], "Old");
    let scene = Scene::new();
    assert_eq!(scene.fetch(repository.url()).await.unwrap().files_in_lfs, 2);
    assert_eq!((scene.read("a.bin").as_str(), scene.read("b.bin").as_str()), ("the contents", "the contents"));
}

#[tokio::test]
async fn they_count_with_the_repository() {
    let server = GitServer::start();
    let repository = server.repository("app");
    let pointer = repository.in_lfs(&[7; 700 << 10]);
    repository.commit(&[ATTRIBUTES, ("a.bin", &pointer)], "Fits");
    let mut scene = Scene::new();
    scene.limits.bytes = 1 << 20;
    scene.fetch(repository.url()).await.unwrap();
    // Each file counts, though the contents are fetched once.
    repository.commit(&[("b.bin", &pointer)], "Does not fit");
    let mut scene = Scene::new();
    scene.limits.bytes = 1 << 20;
    let error = scene.fetch(repository.url()).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error:?}");
    let huge = pointer.replace("size 716800", "size 18446744073709551615");
    repository.commit(&[("a.bin", &huge), ("b.bin", &huge)], "More than there is");
    let error = Scene::new().fetch(repository.url()).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error:?}");
}

/// `.lfsconfig` is the word of those who can write to the repository.
#[tokio::test]
async fn no_other_server_is_called_than_the_rules_allow() {
    let server = GitServer::start().with_token("sesame");
    let stranger = GitServer::start();
    let address = stranger.url();
    let address = address.trim_start_matches("http://");
    for (url, expected) in [
        (format!("http://{address}/x/info/lfs"), "another host"),
        (format!("https://{address}/x/info/lfs"), "private network"),
        (format!("https://ada@{address}/x/info/lfs"), "private network"),
        (format!("https://localhost:{}/x", address.rsplit(':').next().unwrap()), "private network"),
        ("file:///etc".to_owned(), "https://"),
        ("ssh://git@127.0.0.1/x".to_owned(), "https://"),
        ("ext::sh -c date".to_owned(), "https://"),
    ] {
        let repository = simple(&server, &[(".lfsconfig", &format!("[lfs]\n\turl = {url}\n"))]);
        let (class, words) = problem(Scene::new().fetch(repository.url()).await);
        assert_eq!(class, "refused", "{url}: {words}");
        assert!(words.contains(expected), "{url}: {words}");
        repository.delete();
    }
    // Nor where the repository's own server says that the objects are.
    let repository = simple(&server, &[]);
    for manner in [LfsManner::Sends, LfsManner::Redirects] {
        for (scheme, expected) in [("http", "another host"), ("https", "private network")] {
            server.treat_lfs(manner(format!("{scheme}://{address}/")));
            let (class, words) = problem(Scene::new().fetch(repository.url()).await);
            assert_eq!(class, "refused", "{words}");
            assert!(words.contains(expected), "{words}");
        }
    }
    assert_eq!(stranger.requests(), 0);
}

#[tokio::test]
async fn a_server_may_send_to_itself_but_not_in_circles() {
    let server = GitServer::start().with_token("sesame");
    let repository = simple(&server, &[]);
    let other = server.repository("other");
    other.in_lfs(b"the contents");
    let objects = |repository: &Repository| format!("{}/info/lfs/objects/", repository.url());
    server.treat_lfs(LfsManner::Sends(objects(&other)));
    let scene = Scene::new();
    scene.fetch(repository.url()).await.unwrap();
    assert_eq!(scene.read("a.bin"), "the contents");
    server.treat_lfs(LfsManner::Redirects(objects(&other)));
    let before = server.requests();
    let (class, words) = problem(Scene::new().fetch(repository.url()).await);
    assert_eq!(class, "unreachable", "{words}");
    assert!(server.requests() - before < 12, "{}", server.requests() - before);
}

/// The author of a fork borrows no credentials for other places, but what belongs to the repository comes as the repository does.
#[tokio::test]
async fn settings_lend_what_the_repository_lends() {
    let server = GitServer::start().with_token("sesame");
    let other = server.repository("other");
    other.in_lfs(b"the contents");
    let lfs_of = |url: &str| format!("[lfs]\n\turl = {url}/info/lfs\n[lfs \"x\"]\n\turl = ignored\n");
    for (lends_credentials, works) in [(true, true), (false, false)] {
        let repository = simple(&server, &[(".lfsconfig", &lfs_of(other.url()))]);
        let scene = Scene { lends_credentials, ..Scene::new() };
        let fetched = scene.fetch(repository.url()).await;
        assert_eq!(fetched.is_ok(), works, "{fetched:?}");
        if !works {
            let (class, words) = problem(fetched);
            assert!(class == "unreachable" && words.contains("status 401"), "{words}");
        }
        repository.delete();
    }
    let own = format!("{}/app.git", server.url());
    let repository = simple(&server, &[(".lfsconfig", &lfs_of(&own))]);
    Scene { lends_credentials: false, ..Scene::new() }.fetch(repository.url()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let server = GitServer::start();
    let repository = simple(&server, &[]);
    server.treat_lfs(LfsManner::Hangs);
    let mut scene = Scene::new();
    scene.limits.time = Duration::from_secs(3);
    let began = Instant::now();
    let error = scene.fetch(repository.url()).await.unwrap_err();
    assert!(matches!(error, FetchError::TimedOut { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_repository_of_this_machine_has_them_in_its_folder() {
    let server = GitServer::start();
    let repository = simple(&server, &[]);
    let folder = repository.folder().to_str().unwrap();
    let scene = Scene::new();
    scene.fetch(folder).await.unwrap();
    assert_eq!(scene.read("a.bin"), "the contents");
    let objects = repository.folder().join("lfs/objects");
    let object = Command::new("find").arg(&objects).args(["-type", "f"]).output().unwrap();
    std::fs::write(String::from_utf8(object.stdout).unwrap().trim(), "more than the contents").unwrap();
    assert_eq!(problem(Scene::new().fetch(folder).await).0, "missing");
    std::fs::remove_dir_all(objects).unwrap();
    let (class, words) = problem(Scene::new().fetch(folder).await);
    assert_eq!(class, "refused", "{words}");
}

#[tokio::test]
async fn submodules_have_them_too() {
    let server = GitServer::start().with_token("sesame");
    let library = simple(&server, &[]);
    let hash = library.git(&["rev-parse", "main"]);
    let repository = server.repository("outer");
    let pointer = repository.in_lfs(b"of the outer");
    let modules = "[submodule \"lib\"]\n\tpath = lib\n\turl = ../app.git\n";
    repository.commit(&[ATTRIBUTES, ("a.bin", &pointer), (".gitmodules", modules)], "Outer");
    repository.commit_entries("main", &[("160000", "lib", &hash)], "Link");
    let scene = Scene::new();
    assert_eq!(scene.fetch(repository.url()).await.unwrap().files_in_lfs, 2);
    assert_eq!((scene.read("a.bin").as_str(), scene.read("lib/a.bin").as_str()), ("of the outer", "the contents"));
    server.treat_lfs(LfsManner::Corrupt);
    let error = Scene::new().fetch(repository.url()).await.unwrap_err();
    assert!(error.to_string().contains("such as a.bin"), "{error}");
}

#[tokio::test]
async fn a_look_leaves_the_pointers() {
    let server = GitServer::start();
    let repository = simple(&server, &[]);
    server.treat_lfs(LfsManner::Hangs);
    let scene = Scene::new();
    let url = RepositoryAddress::try_from(repository.url()).unwrap();
    let trust = Trust::Own { has_local_modules: false, lends_credentials: true };
    let credentials = Credentials::default();
    let source = Source { url: &url, reference: Reference::DefaultBranch, credentials: &credentials, trust };
    git::fetch_for_look(&source, &scene.folder(), &scene.limits).await.unwrap();
    assert!(scene.read("a.bin").starts_with("version https://git-lfs"));
}
