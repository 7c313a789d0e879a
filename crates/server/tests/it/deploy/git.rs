//! Repositories are fetched from a real server by the real git, and nothing of it is left behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_api::RepositoryAddress;
use windlass_server::deploy::git::{self, Commit, Credentials, FetchError, Limits, Reference, Source, Trust};
use windlass_testing::git::{GitServer, Repository};

use super::limits;

const DEADLINE: Duration = Duration::from_secs(20);

/// A place to fetch into, and how.
struct Scene {
    place: TempDir,
    credentials: Credentials,
    limits: Limits,
}

impl Scene {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), credentials: Credentials::default(), limits: limits() }
    }

    fn with_token(token: &str) -> Self {
        let credentials = Credentials { token: Some(token.to_owned()), ..Credentials::default() };
        Self { credentials, ..Self::new() }
    }

    fn with_time(seconds: u64) -> Self {
        let mut scene = Self::new();
        (scene.limits.time, scene.limits.bytes) = (Duration::from_secs(seconds), 2 << 30);
        scene
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("attempt")
    }

    async fn fetch(&self, url: &str, reference: Reference<'_>) -> Result<Commit, FetchError> {
        let url = RepositoryAddress::try_from(url).unwrap();
        let source = Source {
            url: &url,
            reference,
            credentials: &self.credentials,
            trust: Trust::Own { has_local_modules: false, lends_credentials: true },
        };
        let fetched = git::fetch(&source, &self.folder(), &self.limits, None).await;
        let left: Vec<_> = self.entries(self.place.path()).into_iter().filter(|name| name != "known_hosts").collect();
        match &fetched {
            Ok(_) => assert_eq!(left, ["attempt"]),
            Err(_) => assert!(left.is_empty(), "{left:?} is left"),
        }
        fetched
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder().join(file)).unwrap()
    }

    fn entries(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Processes that work for this scene, by what only they have in their environment.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("WINDLASS_FETCH={}", self.folder().display());
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|id| environment(*id).split('\0').any(|variable| variable == mark)).collect()
    }

    async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let wait = async {
            while !condition(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(DEADLINE, wait).await.is_ok(), "{what} does not happen");
    }
}

fn environment(id: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default()).into_owned()
}

fn simple(server: &GitServer) -> Repository {
    let repository = server.repository("app");
    repository.commit(&[("file", "one"), ("folder/other", "two")], "Say one\n\nAnd two.");
    repository
}

#[tokio::test]
async fn the_default_branch_whatever_it_is_called() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = server.repository("app");
    repository.set_default_branch("trunk");
    let hash = repository.commit(&[("file", "one"), ("folder/other", "two")], "Say one\n\nAnd two.");
    repository.commit_on("main", &[("file", "not this")], "Main");
    let commit = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
    assert_eq!(commit.hash, hash);
    assert_eq!((commit.author.as_str(), commit.message.as_str()), ("Ada Example", "Say one"));
    assert_eq!(scene.entries(&scene.folder()), ["file", "folder"]);
    assert_eq!(scene.read("folder/other"), "two");
}

#[tokio::test]
async fn branches_and_tags_by_name() {
    let server = GitServer::start();
    let repository = simple(&server);
    repository.tag("v1");
    let first = repository.git(&["rev-parse", "main"]);
    repository.commit(&[("file", "two")], "Two");
    let third = repository.commit_on("feature/x", &[("file", "three")], "Three");
    repository.commit_on("v2", &[("file", "a branch")], "Four");
    repository.tag("v2");
    for (name, hash, content) in [
        ("v1", Some(&first), "one"),
        ("refs/tags/v1", Some(&first), "one"),
        ("feature/x", Some(&third), "three"),
        ("v2", None, "a branch"),
        ("refs/tags/v2", None, "two"),
    ] {
        let scene = Scene::new();
        let commit = scene.fetch(repository.url(), Reference::Named(name)).await.unwrap();
        assert_eq!(scene.read("file"), content, "{name}");
        assert!(hash.is_none_or(|hash| *hash == commit.hash), "{name}");
    }
}

#[tokio::test]
async fn a_token_right_wrong_and_missing() {
    let server = GitServer::start().with_token("swordfish");
    let repository = simple(&server);
    Scene::with_token("swordfish").fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
    for scene in [Scene::with_token("guess"), Scene::with_token(""), Scene::new()] {
        let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("repository_token") && !error.to_string().contains("guess"), "{error}");
    }
    assert_eq!(
        format!("{:?}", Scene::with_token("swordfish").credentials),
        "Credentials { token: Some(\"hidden\"), ssh_key: None }"
    );
}

#[tokio::test]
async fn a_commit_by_its_hash() {
    let mut server = GitServer::start();
    let repository = simple(&server);
    let first = repository.git(&["rev-parse", "main"]);
    repository.commit(&[("file", "two")], "Two");
    for gives_hashes in [true, false] {
        if !gives_hashes {
            server = server.without_hashes();
        }
        for branch in [Some("main"), None] {
            let scene = Scene::new();
            let commit = scene.fetch(repository.url(), Reference::Commit { hash: &first, branch }).await.unwrap();
            assert_eq!(commit.hash, first);
            assert_eq!(scene.read("file"), "one");
        }
        let nowhere = "0123456789012345678901234567890123456789";
        for (hash, branch) in [(nowhere, Some("main")), (nowhere, None), (&*first, Some("nowhere")), ("abc", None)] {
            if gives_hashes && hash == first {
                continue;
            }
            let error = Scene::new().fetch(repository.url(), Reference::Commit { hash, branch }).await.unwrap_err();
            assert!(
                matches!(error, FetchError::ReferenceNotFound { .. }),
                "{gives_hashes} {hash} {branch:?}: {error:?}"
            );
        }
    }
    drop(server);
}

#[tokio::test]
async fn what_is_not_there() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = simple(&server);
    repository.branch("develop");
    repository.branch("v1");
    repository.tag("v1");
    for name in ["nowhere", "--upload-pack=touch x", "a\nb", "", "*", "refs/heads/nowhere"] {
        let error = scene.fetch(repository.url(), Reference::Named(name)).await.unwrap_err();
        assert!(matches!(error, FetchError::ReferenceNotFound { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains("There are: develop, main, v1."), "{name}: {error}");
    }
    let error = scene.fetch(repository.url(), Reference::Named("0123abc")).await.unwrap_err();
    assert!(error.to_string().contains("all 40 digits"), "{error}");
    let empty = server.repository("empty");
    for reference in [Reference::DefaultBranch, Reference::Named("main")] {
        let error = scene.fetch(empty.url(), reference).await.unwrap_err();
        assert!(
            matches!(&error, FetchError::ReferenceNotFound { exists, .. } if exists.contains("push a commit")),
            "{error:?}"
        );
    }
    let url = repository.url().to_owned();
    repository.delete();
    let error = scene.fetch(&url, Reference::DefaultBranch).await.unwrap_err();
    assert!(matches!(error, FetchError::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn servers_that_are_out_of_order() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = simple(&server);
    for (status, refused) in [(503, false), (500, false), (429, false), (403, true)] {
        server.answer(status);
        let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
        let text = match &error {
            FetchError::Unreachable { text } if !refused => text,
            FetchError::Refused { text } if refused => text,
            other => panic!("{status}: {other:?}"),
        };
        assert!(text.contains(&status.to_string()), "{text}");
    }
    // Not the port of a server that has stopped: another test's server may have it by now.
    for url in ["http://127.0.0.1:1/a", "http://nowhere.invalid/a", "git://127.0.0.1:1/a", "ssh://git@127.0.0.1:1/a"] {
        let error = scene.fetch(url, Reference::DefaultBranch).await.unwrap_err();
        assert!(matches!(error, FetchError::Unreachable { .. }), "{url}: {error:?}");
    }
}

#[tokio::test]
async fn a_repository_that_is_damaged_at_its_server() {
    let (server, scene) = (GitServer::start(), Scene::new());
    for damage in [Damage::Missing, Damage::Overwritten] {
        let repository = server.repository(&format!("{damage:?}"));
        repository.commit(&[("file", "one"), ("other", "two")], "One");
        let object = repository.git(&["rev-parse", "main:file"]);
        let path = repository.folder().join("objects").join(&object[..2]).join(&object[2..]);
        std::fs::remove_file(&path).unwrap();
        if damage == Damage::Overwritten {
            std::fs::write(&path, "nothing that git could read").unwrap();
        }
        let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
        assert!(matches!(error, FetchError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().starts_with("The repository is damaged at its server: "), "{error}");
    }
}

#[derive(Debug, PartialEq)]
enum Damage {
    Missing,
    Overwritten,
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_its_time_and_nothing_else() {
    let (server, scene) = (GitServer::start(), Scene::with_time(1));
    let repository = simple(&server);
    server.hang();
    let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
    assert!(matches!(error, FetchError::TimedOut { .. }), "{error:?}");
    scene.until("the end of git", |scene| scene.processes().is_empty()).await;
}

#[tokio::test]
async fn nobody_waiting_is_the_end_of_git() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let url = simple(&server).url().to_owned();
    server.hang();
    tokio::select! {
        result = scene.fetch(&url, Reference::DefaultBranch) => panic!("{result:?}"),
        // git, git remote-http, and the latter's own program
        () = scene.until("git", |scene| scene.processes().len() >= 3) => {}
    }
    scene.until("the end of git", |scene| scene.processes().is_empty()).await;
    git::end_left_over(&scene.folder()).await.unwrap();
    assert!(scene.entries(scene.place.path()).is_empty());
}

#[tokio::test]
async fn a_token_shows_nowhere_while_git_runs() {
    let server = GitServer::start();
    let url = simple(&server).url().to_owned();
    let scene = Scene::with_token("swordfish-6d1f");
    // base64 of x-access-token:swordfish-6d1f, without its end
    let forms = ["swordfish-6d1f", "eC1hY2Nlc3MtdG9rZW46c3dvcmRmaXNoLTZkMW"];
    server.hang();
    tokio::select! {
        result = scene.fetch(&url, Reference::DefaultBranch) => panic!("{result:?}"),
        () = async {
            scene.until("git", |scene| scene.processes().len() >= 3).await;
            for id in scene.processes() {
                let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).into_owned();
                assert!(!forms.iter().any(|form| line.contains(form)), "{line}");
                assert!(environment(id).contains(forms[1]), "it is given by environment");
            }
            let found = Command::new("grep").args(["-r", "-e", forms[0], "-e", forms[1]]).arg(scene.place.path()).output().unwrap();
            assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
        } => {}
    }
}

#[tokio::test]
async fn a_redirect_is_shown_and_not_followed() {
    let (server, elsewhere) = (GitServer::start(), GitServer::start());
    let url = simple(&server).url().to_owned();
    server.redirect_to(&elsewhere.url());
    let error = Scene::with_token("swordfish").fetch(&url, Reference::DefaultBranch).await.unwrap_err();
    let there = format!("{}/app.git", elsewhere.url());
    assert!(matches!(&error, FetchError::Redirected { to } if *to == there), "{error:?}");
    let commit = Reference::Commit { hash: "0123456789012345678901234567890123456789", branch: None };
    let error = Scene::new().fetch(&url, commit).await.unwrap_err();
    assert!(matches!(&error, FetchError::Redirected { to } if *to == there), "{error:?}");
    assert_eq!(elsewhere.requests(), 0);
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let (server, mut scene) = (GitServer::start(), Scene::new());
    scene.limits.bytes = 1 << 20;
    let repository = server.repository("app");
    repository.commit(&[("file", &"a".repeat(2 << 20))], "Large, but small on its way");
    let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { .. }), "{error:?}");
}

/// Each folder holds the next one ten times: a few hundred bytes, and more folders than could be listed in years.
#[tokio::test]
async fn folders_that_hold_each_other_are_refused_at_once() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = server.repository("app");
    let mut tree = repository.tree(&[]);
    for _ in 0..30 {
        let ten: Vec<_> = (0..10).map(|number| format!("040000 tree {tree}\t{number}")).collect();
        tree = repository.tree(&ten);
    }
    repository.commit_tree("main", None, &tree, "Folders");
    let started = Instant::now();
    let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
    assert!(matches!(error, FetchError::TooManyFiles { limit: 1000 }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// A file below the size from which git holds none in memory as a whole.
#[tokio::test]
async fn git_has_a_limit_of_memory() {
    let (server, mut scene) = (GitServer::start(), Scene::new());
    let repository = server.repository("app");
    repository.commit(&[("file", &"a".repeat(50 << 20))], "Small on its way, and large in memory");
    scene.limits.memory = 40 << 20;
    let error = scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap_err();
    assert!(matches!(error, FetchError::TooMuchMemory { .. }), "{error:?}");
    scene.limits.memory = 512 << 20;
    scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
}

#[tokio::test]
async fn what_grows_too_large_is_ended() {
    let (server, mut scene) = (GitServer::start(), Scene::new());
    scene.limits.bytes = 1 << 20;
    let url = simple(&server).url().to_owned();
    server.hang();
    let grow = async {
        scene.until("git", |scene| !scene.processes().is_empty()).await;
        std::fs::write(scene.folder().join("file"), vec![0; 2 << 20]).unwrap();
    };
    let (error, ()) = tokio::join!(scene.fetch(&url, Reference::DefaultBranch), grow);
    assert!(matches!(error, Err(FetchError::TooLarge { .. })), "{error:?}");
    scene.until("the end of git", |scene| scene.processes().is_empty()).await;
}

#[tokio::test]
async fn a_link_stays_a_link() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = simple(&server);
    repository.commit_entries("main", &[("120000", "out", "../../../etc/passwd"), ("120000", "up", "..")], "Links");
    scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
    assert_eq!(std::fs::read_link(scene.folder().join("out")).unwrap(), Path::new("../../../etc/passwd"));
    assert_eq!(std::fs::read_link(scene.folder().join("up")).unwrap(), Path::new(".."));
}

#[tokio::test]
async fn nothing_in_a_repository_is_run() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = server.repository("app");
    let trap = scene.place.path().join("sprung");
    let script = format!("#!/bin/sh\ntouch {}\n", trap.display());
    let config =
        format!("[core]\n\thooksPath = hooks\n\tfsmonitor = {0}\n[filter \"x\"]\n\tsmudge = {0}\n", script.trim());
    let names = ["hooks/post-checkout", "hooks/reference-transaction", ".githooks/post-checkout", "post-checkout"];
    let mut entries: Vec<_> = names.iter().map(|name| ("100755", *name, script.as_str())).collect();
    entries.extend([("100644", "config", &*config), ("100644", ".gitconfig", &config)]);
    entries.push(("100644", ".config/git/config", &config));
    entries.push(("100644", ".gitattributes", "* filter=x\n"));
    repository.commit_entries("main", &entries, "Traps");
    scene.fetch(repository.url(), Reference::DefaultBranch).await.unwrap();
    assert!(!trap.exists());
    assert_eq!(scene.read("config"), config);
}

#[tokio::test]
async fn odd_names_are_only_names() {
    let server = GitServer::start();
    let repository = simple(&server);
    for name in ["--upload-pack=touch", ";rm", "$(touch${IFS}x)", "-", "a'b\"c", "\u{20ac}"] {
        repository.branch(name);
        let scene = Scene::new();
        scene.fetch(repository.url(), Reference::Named(name)).await.unwrap();
        assert_eq!(scene.read("file"), "one", "{name}");
    }
}

#[tokio::test]
async fn a_folder_of_the_machine() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = simple(&server);
    let folder = repository.folder().to_str().unwrap().to_owned();
    scene.fetch(&folder, Reference::DefaultBranch).await.unwrap();
    assert_eq!(scene.read("file"), "one");
}

#[tokio::test]
async fn a_folder_that_holds_something_is_left_alone() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let url = RepositoryAddress::try_from(simple(&server).url()).unwrap();
    std::fs::create_dir(scene.folder()).unwrap();
    std::fs::write(scene.folder().join("mine"), "mine").unwrap();
    let source = Source {
        url: &url,
        reference: Reference::DefaultBranch,
        credentials: &scene.credentials,
        trust: Trust::Own { has_local_modules: false, lends_credentials: true },
    };
    let error = git::fetch(&source, &scene.folder(), &scene.limits, None).await.unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    assert_eq!(scene.read("mine"), "mine");
}

#[tokio::test]
async fn what_a_crash_has_left_is_ended_and_nothing_else() {
    let scene = Scene::new();
    for folder in ["attempt", "attempt.git", "attempt-2"] {
        std::fs::create_dir(scene.place.path().join(folder)).unwrap();
    }
    std::fs::write(scene.place.path().join("attempt.key"), "a key").unwrap();
    let sleep = |folder: &str| {
        let mut sleep = Command::new("sleep");
        sleep.arg("1000").env("WINDLASS_FETCH", scene.place.path().join(folder)).stdin(Stdio::null());
        sleep.spawn().unwrap()
    };
    let (mut left, mut other) = (sleep("attempt"), sleep("attempt-2"));
    scene.until("a process", |scene| !scene.processes().is_empty()).await;
    git::end_left_over(&scene.folder()).await.unwrap();
    assert!(!left.wait().unwrap().success());
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(scene.entries(scene.place.path()), ["attempt-2"]);
    git::end_left_over(&scene.folder()).await.unwrap();
}
