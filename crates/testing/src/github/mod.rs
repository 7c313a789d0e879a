//! A stand-in for GitHub, as far as Windlass uses its apps: their manifests, keys, installations and tokens, and what a token reaches.
//! It believes an app by its signature alone, and a token only for the repositories that it was asked for.

mod api;
mod host;
mod proof;
mod server;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

use host::{Host, Installation};
pub use host::{Kept, Minted};

/// Serves for as long as it lives, on a thread of its own, so that a test may block.
pub struct GitHub {
    host: Arc<Host>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl GitHub {
    /// The app that every manifest makes; the number is that of the samples of deliveries.
    pub const APP_ID: u64 = 5005;
    pub const SLUG: &str = "windlass-for-tests";
    pub const WEBHOOK_SECRET: &str = "b1946ac92492d2347c6235b4d2611184c0ffee00";
    /// Made for tests, and of no use elsewhere.
    pub const PRIVATE_KEY: &str = include_str!("../../../codehost/tests/fixtures/throw-away-test-key.pkcs1.pem");

    /// On a free port of 127.0.0.1, without any repository.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let host = Arc::new(Host::new(folder.path(), url));
        let (stop, stopped) = oneshot::channel();
        let served = host.clone();
        let thread = std::thread::spawn(move || server::run(listener, stopped, served));
        Self { host, stop: Some(stop), thread: Some(thread), _folder: folder }
    }

    /// Without a slash at the end.
    pub fn url(&self) -> &str {
        &self.host.url
    }

    /// A private one, empty.
    pub fn add_repository(&self, full_name: &str) -> Arc<Kept> {
        self.host.create_repository(full_name)
    }

    /// What the owner of the account does to let the app reach some of its repositories.
    pub fn install(&self, account: &str, full_names: &[&str]) {
        let mut state = self.host.state();
        let (account, repositories) = (account.to_owned(), full_names.iter().map(|name| (*name).to_owned()).collect());
        let id = state.next_id();
        state.installations.push(Installation { id, account, repositories });
    }

    /// What a person does on GitHub's page, which a form with the manifest leads to. Where the browser is sent then.
    pub fn make_app(&self, page: &str, manifest: &str) -> String {
        let (_, state) = page
            .strip_prefix(self.url())
            .and_then(|path| path.split_once("settings/apps/new?state="))
            .unwrap_or_else(|| panic!("{page} is no page for new apps"));
        let manifest: Value = serde_json::from_str(manifest).expect("a manifest in JSON");
        let redirect_url = manifest["redirect_url"].as_str().expect("where to go then").to_owned();
        format!("{redirect_url}?code={}&state={state}", self.host.new_code(manifest))
    }

    /// Something else is told of new apps from now on, as by a server that is no GitHub.
    pub fn tell(&self, field: &str, value: Value) {
        self.host.state().told.insert(field.to_owned(), value);
    }

    /// What the last app was made of.
    pub fn manifest(&self) -> Value {
        self.host.state().manifest.clone()
    }

    /// Tokens of installations, in the order in which they were asked for.
    pub fn minted(&self) -> Vec<Minted> {
        self.host.state().minted.clone()
    }

    /// Of this commit, in the order in which they were set.
    pub fn statuses(&self, commit: &str) -> Vec<Value> {
        let state = self.host.state();
        state.statuses.iter().filter(|(known, _)| known == commit).map(|(_, status)| status.clone()).collect()
    }

    /// The API answers everything with this status from now on.
    pub fn fail(&self, status: u16) {
        self.host.state().outage = Some(status);
    }

    /// It answers again.
    pub fn go_on(&self) {
        self.host.state().outage = None;
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
