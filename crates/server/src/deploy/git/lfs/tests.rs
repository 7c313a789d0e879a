//! Where the calls of a fetch go.

use tokio::sync::mpsc;
use windlass_api::RepositoryAddress;
use windlass_outgoing::{HeaderMap, Limits as CallLimits, Method};
use windlass_testing::git::GitServer;

use super::*;
use crate::deploy::git::paths::FetchPaths;
use crate::deploy::git::source::{Credentials, Limits, Reference, Source, Trust};

/// A fetch of this repository, which need not be there.
pub async fn with_lfs(url: &str, lends_credentials: bool, look: impl AsyncFnOnce(&Lfs<'_>)) {
    let place = tempfile::tempdir().unwrap();
    let url = RepositoryAddress::try_from(url).unwrap();
    let credentials = Credentials { token: Some("sesame".to_owned()), ..Credentials::default() };
    let trust = Trust::Own { has_local_modules: false, lends_credentials };
    let source = Source { url: &url, reference: Reference::DefaultBranch, credentials: &credentials, trust };
    let limits =
        Limits { time: Duration::from_secs(60), bytes: 1 << 20, files: 100, memory: 1 << 30, private_targets: true };
    let paths = FetchPaths::of(&place.path().join("attempt")).unwrap();
    let run = GitRun::begin(&source, paths, &limits, Instant::now() + limits.time, None).await.unwrap();
    look(&Lfs::begin(&run, Path::new("a.bin")).await.unwrap()).await;
}

/// DNS may say something else by then.
#[tokio::test]
async fn the_own_server_is_called_where_git_has_found_it() {
    let server = GitServer::start();
    server.answer(404);
    with_lfs(&format!("{}/app.git", server.url()), true, async |lfs| {
        // No DNS has this name.
        let elsewhere = server.url().replace("127.0.0.1", "nowhere.invalid");
        let call = || Call {
            method: Method::GET,
            url: elsewhere.parse().unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            limits: CallLimits { time: lfs.time_left(), answer_bytes: 1 },
        };
        let (pieces, _taken) = mpsc::channel(1);
        assert_eq!(lfs.send(call(), true).await.unwrap().status, 404);
        assert_eq!(lfs.download(call(), true, &pieces).await.unwrap().status, 404);
        assert!(lfs.send(call(), false).await.is_err());
        assert!(lfs.download(call(), false, &pieces).await.is_err());
    })
    .await;
    assert_eq!(server.requests(), 2);
}
