//! A repository that was fetched before is fetched faster, and what is kept of it is bounded, private and never trusted.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use uuid::Uuid;
use windlass_api::RepositoryAddress;
use windlass_server::deploy::git::cache::{self, Cache};
use windlass_server::deploy::git::{self, Commit, Credentials, FetchError, Limits, Reference, Source, Trust};
use windlass_testing::git::{GitServer, Repository};

use super::limits;

const APPLICATION: Uuid = Uuid::from_u128(1);
const LARGE: usize = 4 << 20;

/// A folder with caches, and how to fetch.
struct Scene {
    place: TempDir,
    credentials: Credentials,
    limits: Limits,
}

impl Scene {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), credentials: Credentials::default(), limits: limits() }
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("repositories")
    }

    fn tree(&self) -> PathBuf {
        self.place.path().join("attempt")
    }

    fn packs(&self, application_id: Uuid) -> PathBuf {
        self.root().join(application_id.to_string()).join("objects/pack")
    }

    /// A program that another test starts in this moment holds every open file, locks included, until it is really that program.
    async fn open(&self, application_id: Uuid, url: &RepositoryAddress) -> Cache {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(cache) = Cache::open(&self.root(), application_id, url).await.unwrap() {
                return cache;
            }
            assert!(Instant::now() < deadline, "the cache stays locked");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn fetch(&self, url: &str, reference: Reference<'_>, application_id: Uuid) -> Result<Commit, FetchError> {
        let url = RepositoryAddress::try_from(url).unwrap();
        let source = Source {
            url: &url,
            reference,
            credentials: &self.credentials,
            trust: Trust::Own { has_local_modules: false, lends_credentials: true },
        };
        let cache = self.open(application_id, &url).await;
        git::end_left_over(&self.tree()).await.unwrap();
        git::fetch(&source, &self.tree(), &self.limits, Some(&cache)).await
    }

    /// How many bytes the server sends for the default branch.
    async fn cost(&self, server: &GitServer, repository: &Repository, application_id: Uuid) -> u64 {
        let before = server.sent();
        let commit = self.fetch(repository.url(), Reference::DefaultBranch, application_id).await.unwrap();
        assert_eq!(commit.hash, repository.git(&["rev-parse", "main"]));
        assert_eq!(std::fs::metadata(self.tree().join("large")).unwrap().len(), LARGE as u64);
        server.sent() - before
    }
}

/// Nothing that could be made smaller on its way.
fn noise() -> String {
    let mut state: u64 = 88_172_645_463_325_252;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + u8::try_from(state % 90).unwrap())
    };
    (0..LARGE).map(|_| next()).collect()
}

fn large(server: &GitServer) -> Repository {
    let repository = server.repository("large");
    repository.commit(&[("large", &noise()), ("file", "one")], "One");
    repository
}

#[tokio::test]
async fn the_second_fetch_brings_only_what_is_new() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    assert!(scene.cost(&server, &repository, APPLICATION).await > 3 << 20);
    assert!(scene.cost(&server, &repository, APPLICATION).await < 4096, "nothing is new");
    for text in ["two", "three"] {
        repository.commit(&[("file", text), ("folder/new", text)], text);
        let cost = scene.cost(&server, &repository, APPLICATION).await;
        assert!(cost < 8192, "{cost} bytes for a small change");
        assert_eq!(std::fs::read_to_string(scene.tree().join("file")).unwrap(), text);
    }
    let first = repository.git(&["rev-list", "--max-parents=0", "main"]);
    let commit = Reference::Commit { hash: &first, branch: None };
    assert_eq!(scene.fetch(repository.url(), commit, APPLICATION).await.unwrap().hash, first);
    assert_eq!(std::fs::read_to_string(scene.tree().join("file")).unwrap(), "one");
    assert!(!scene.tree().join("folder").exists());
}

#[tokio::test]
async fn branches_that_share_nothing_can_follow_each_other() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    scene.cost(&server, &repository, APPLICATION).await;
    let tree = repository.git(&["mktree"]);
    let other = repository.git(&["commit-tree", &tree, "-m", "Nothing"]);
    repository.git(&["update-ref", "refs/heads/other", &other]);
    let fetched = scene.fetch(repository.url(), Reference::Named("other"), APPLICATION).await.unwrap();
    assert_eq!(fetched.hash, other);
    assert_eq!(std::fs::read_dir(scene.tree()).unwrap().count(), 0);
    scene.cost(&server, &repository, APPLICATION).await;
}

#[tokio::test]
async fn each_application_has_its_own() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    scene.cost(&server, &repository, APPLICATION).await;
    assert!(scene.cost(&server, &repository, Uuid::from_u128(2)).await > 3 << 20);
}

#[tokio::test]
async fn another_address_begins_anew() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    let hash = repository.git(&["rev-parse", "main"]);
    scene.cost(&server, &repository, APPLICATION).await;
    let other = server.repository("other");
    other.commit(&[("file", "other")], "Other");
    let secret = Reference::Commit { hash: &hash, branch: None };
    let error = scene.fetch(other.url(), secret, APPLICATION).await.unwrap_err();
    assert!(matches!(error, FetchError::ReferenceNotFound { .. }), "{error:?}");
}

type Change<'a> = &'a dyn Fn(&Path);

/// Changes the file with this ending, of which there is one.
fn damage(folder: &Path, ending: &str, change: impl Fn(&Path)) {
    let names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let path = names.iter().find(|path| path.to_string_lossy().ends_with(ending)).unwrap();
    Command::new("chmod").arg("u+w").arg(path).status().unwrap();
    change(path);
}

#[tokio::test]
async fn what_is_damaged_is_fetched_again() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    let cut = |path: &Path| std::fs::File::options().write(true).open(path).unwrap().set_len(1000).unwrap();
    let overwrite = |path: &Path| {
        let mut bytes = std::fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 100].fill(0);
        std::fs::write(path, bytes).unwrap();
    };
    let removed = |path: &Path| std::fs::remove_file(path).unwrap();
    let damages: [(&str, Change<'_>); 5] =
        [(".pack", &cut), (".pack", &overwrite), (".pack", &removed), (".idx", &cut), (".idx", &removed)];
    for (round, (ending, change)) in damages.into_iter().enumerate() {
        scene.cost(&server, &repository, APPLICATION).await;
        damage(&scene.packs(APPLICATION), ending, change);
        repository.commit(&[("file", &round.to_string())], "Changed");
        scene.cost(&server, &repository, APPLICATION).await;
        cache::forget(&scene.root(), APPLICATION).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_crash_has_left_is_removed_and_the_rest_is_used() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    scene.cost(&server, &repository, APPLICATION).await;
    let part = scene.packs(APPLICATION).join("tmp_pack_a1b2c3");
    std::fs::write(&part, "half of it").unwrap();
    assert!(scene.cost(&server, &repository, APPLICATION).await < 4096);
    assert!(!part.exists());
}

#[tokio::test]
async fn one_attempt_uses_it_at_a_time() {
    let scene = Scene::new();
    let url = RepositoryAddress::try_from("https://example.com/a.git").unwrap();
    let held = Cache::open(&scene.root(), APPLICATION, &url).await.unwrap();
    assert!(held.is_some());
    assert!(Cache::open(&scene.root(), APPLICATION, &url).await.unwrap().is_none());
    cache::forget(&scene.root(), APPLICATION).await.unwrap();
    assert!(scene.packs(APPLICATION).parent().unwrap().exists(), "it is in use");
    drop(held);
    scene.open(APPLICATION, &url).await;
}

#[tokio::test]
async fn those_unused_for_longest_go_first() {
    let (server, scene) = (GitServer::start(), Scene::new());
    let repository = large(&server);
    let ids = [1, 2, 3].map(Uuid::from_u128);
    for id in ids {
        scene.cost(&server, &repository, id).await;
    }
    scene.cost(&server, &repository, ids[0]).await;
    cache::trim(&scene.root(), 3 * LARGE as u64 / 2).await.unwrap();
    assert_eq!(cache::applications(&scene.root()).await, [ids[0]].into());
    cache::trim(&scene.root(), 1).await.unwrap();
    assert_eq!(std::fs::read_dir(scene.root()).unwrap().count(), 0);
}

#[tokio::test]
async fn no_token_is_in_it() {
    let server = GitServer::start().with_token("swordfish-6d1f");
    let mut scene = Scene::new();
    scene.credentials.token = Some("swordfish-6d1f".to_owned());
    let repository = server.repository("private");
    repository.commit(&[("file", "one")], "One");
    scene.fetch(repository.url(), Reference::DefaultBranch, APPLICATION).await.unwrap();
    // base64 of x-access-token:swordfish-6d1f, without its end
    let forms = ["swordfish-6d1f", "eC1hY2Nlc3MtdG9rZW46c3dvcmRmaXNoLTZkMW"];
    let found = Command::new("grep").args(["-r", "-e", forms[0], "-e", forms[1]]).arg(scene.root()).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
}
