//! Submodules are fetched with the repository, under its rules.

use std::path::PathBuf;

use tempfile::TempDir;
use windlass_api::RepositoryAddress;
use windlass_server::deploy::git::{self, Commit, Credentials, FetchError, Limits, Reference, Source, Trust};
use windlass_testing::git::{GitServer, Repository};

use super::limits;

struct Scene {
    place: TempDir,
    credentials: Credentials,
    limits: Limits,
}

impl Scene {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), credentials: Credentials::default(), limits: limits() }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("attempt")
    }

    async fn fetch(&self, url: &str) -> Result<Commit, FetchError> {
        let url = RepositoryAddress::try_from(url).unwrap();
        let source = Source {
            url: &url,
            reference: Reference::DefaultBranch,
            credentials: &self.credentials,
            trust: Trust::Own { has_local_modules: false, lends_credentials: true },
        };
        let fetched = git::fetch(&source, &self.folder(), &self.limits, None).await;
        let entries = std::fs::read_dir(self.place.path()).unwrap();
        let left: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        match &fetched {
            Ok(_) => assert_eq!(left, ["attempt"]),
            Err(_) => assert_eq!(left, [""; 0]),
        }
        fetched
    }

    /// Why it fails, in words.
    async fn refused(&self, repository: &Repository) -> String {
        self.fetch(repository.url()).await.unwrap_err().to_string()
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder().join(file)).unwrap()
    }
}

/// A repository with others in it, by path, address and commit.
fn with_modules(server: &GitServer, name: &str, modules: &[(&str, &str, &str)]) -> Repository {
    let repository = server.repository(name);
    let section =
        |(path, url, _): &(&str, &str, &str)| format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
    let listed: String = modules.iter().map(section).collect();
    repository.commit(&[(".gitmodules", &listed), ("own", name)], "Others");
    let links: Vec<_> = modules.iter().map(|(path, _, hash)| ("160000", *path, *hash)).collect();
    repository.commit_entries("main", &links, "Links");
    repository
}

fn library(server: &GitServer, name: &str) -> (Repository, String) {
    let repository = server.repository(name);
    let hash = repository.commit(&[("file", name)], "First");
    // What is deployed is the commit that the link names, not the newest.
    repository.commit(&[("file", "newer")], "Second");
    (repository, hash)
}

#[tokio::test]
async fn they_are_where_the_repository_says() {
    for refuses_hashes in [false, true] {
        let server = if refuses_hashes { GitServer::start().without_hashes() } else { GitServer::start() };
        let server = server.with_token("sesame");
        let (inner, inner_hash) = library(&server, "inner");
        let outer = with_modules(&server, "outer", &[("deep/inner", inner.url(), &inner_hash)]);
        let outer_hash = outer.git(&["rev-parse", "main"]);
        let (third, third_hash) = library(&server, "third");
        let modules = [("vendor/outer", "../outer.git", outer_hash.as_str()), ("third", third.url(), &third_hash)];
        let app = with_modules(&server, "app", &modules);
        let mut scene = Scene::new();
        scene.credentials.token = Some("sesame".to_owned());
        let commit = scene.fetch(app.url()).await.unwrap();
        assert_eq!((commit.hash, commit.message.as_str()), (app.git(&["rev-parse", "main"]), "Links"));
        assert_eq!((scene.read("own"), scene.read("third/file")), ("app".into(), "third".into()));
        assert_eq!(
            (scene.read("vendor/outer/own"), scene.read("vendor/outer/deep/inner/file")),
            ("outer".into(), "inner".into())
        );
    }
}

#[tokio::test]
async fn what_cannot_be_fetched_is_named() {
    let (server, elsewhere) = (GitServer::start(), GitServer::start());
    let (library, hash) = library(&server, "library");
    let app = server.repository("without");
    app.commit_entries("main", &[("160000", "lib", &hash)], "No address");
    let words = Scene::new().refused(&app).await;
    assert!(words.starts_with("The submodule lib: it has no address in .gitmodules."), "{words}");
    let zeros = "0123456789012345678901234567890123456789";
    for (name, url, hash, expected) in [
        ("commit", library.url(), zeros, "The repository has no commit 0123456789012345678901234567890123456789"),
        ("program", "ext::sh -c date", &hash, "its address is not that of a git repository"),
        (
            "folder",
            library.folder().to_str().unwrap(),
            &hash,
            "its address is a folder of the machine that runs Windlass",
        ),
        (
            "other",
            &format!("{}/library.git", elsewhere.url()),
            &hash,
            "it is on another host than the repository, where only https is used",
        ),
        ("private", "https://127.0.0.1:1/library.git", &hash, "its host has an address in a private network"),
        ("absent", "../none.git", &hash, "The repository was not found"),
        ("beyond", "../../../../etc", &hash, "its address is not that of a git repository"),
    ] {
        let app = with_modules(&server, name, &[("a/lib", url, hash)]);
        let words = Scene::new().refused(&app).await;
        assert!(words.starts_with(&format!("The submodule a/lib: {expected}")), "{name}: {words}");
    }
    assert_eq!(elsewhere.requests(), 0, "another host was called");
}

#[tokio::test]
async fn there_are_bounds() {
    let server = GitServer::start();
    let (library, hash) = library(&server, "library");
    // Each has the one before in it.
    let (mut url, mut last) = (library.url().to_owned(), hash.clone());
    for level in 0..6 {
        let around = with_modules(&server, &format!("level-{level}"), &[("in", &url, &last)]);
        (url, last) = (around.url().to_owned(), around.git(&["rev-parse", "main"]));
    }
    let words = Scene::new().fetch(&url).await.unwrap_err().to_string();
    assert!(words.starts_with("The repository has submodules more than 5 levels deep."), "{words}");
    let names: Vec<String> = (0..101).map(|number| format!("m{number}")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), library.url(), hash.as_str())).collect();
    let app = with_modules(&server, "many", &many);
    assert!(Scene::new().refused(&app).await.starts_with("The repository has more than 100 submodules."));
    // All together have the limits of one.
    let large = server.repository("large");
    let large_hash = large.commit(&[("file", &"large".repeat(100_000))], "Large");
    let app = with_modules(&server, "twice", &[("one", large.url(), &large_hash), ("two", large.url(), &large_hash)]);
    let mut scene = Scene::new();
    scene.limits.bytes = 900_000;
    let words = scene.refused(&app).await;
    assert!(words.starts_with("The submodule two: The repository is larger than the limit"), "{words}");
    scene.limits.bytes = 2_000_000;
    scene.fetch(app.url()).await.unwrap();
    let mut scene = Scene::new();
    scene.limits.files = 5;
    assert!(scene.refused(&app).await.starts_with("The submodule two: The repository has more than"));
}

/// Trees in which a link takes the place of the folder around a submodule: a name that is there twice, and a submodule around another one.
#[tokio::test]
async fn a_link_leads_none_out_of_the_tree() {
    let server = GitServer::start();
    let (library, hash) = library(&server, "library");
    let target = tempfile::tempdir().unwrap();
    std::fs::create_dir(target.path().join("lib")).unwrap();
    let around = server.repository("around");
    let around_hash =
        around.commit_entries("main", &[("120000", "b", target.path().to_str().unwrap())], "A link out of it");
    let app = with_modules(
        &server,
        "app",
        &[("a/lib", library.url(), &hash), ("a/b/lib", library.url(), &hash), ("c", around.url(), &around_hash)],
    );
    let sections = [("a", around.url()), ("a/lib", library.url()), ("a/b/lib", library.url())];
    let section = |(path, url): (&str, &str)| format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
    app.commit_on("files", &[(".gitmodules", &sections.map(section).concat())], "Addresses");
    app.commit_entries("files", &[("120000", "link", target.path().to_str().unwrap())], "A link");
    let (link, modules) = (app.git(&["rev-parse", "files:link"]), app.git(&["rev-parse", "files:.gitmodules"]));
    let inner = app.tree(&[format!("160000 commit {hash}\tlib")]);
    let outer = app.tree(&[format!("040000 tree {inner}\tb")]);
    let (link, module) = (format!("120000 blob {link}\ta"), format!("160000 commit {around_hash}\ta"));
    let (inner, outer) = (format!("040000 tree {inner}\ta"), format!("040000 tree {outer}\ta"));
    for twice in [[&link, &inner], [&inner, &link], [&module, &outer], [&outer, &module]] {
        let entries = [format!("100644 blob {modules}\t.gitmodules"), twice[0].clone(), twice[1].clone()];
        app.commit_tree("main", None, &app.tree(&entries), "Twice");
        let fetched = Scene::new().fetch(app.url()).await;
        let left: Vec<_> = std::fs::read_dir(target.path().join("lib")).unwrap().collect();
        assert!(left.is_empty(), "{twice:?}: {left:?}, {fetched:?}");
    }
}
