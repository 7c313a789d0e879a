//! A real Gitea, which `scripts/gitea-build` builds and `scripts/gitea-run` starts.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::forge::Forge;

/// How long it has to be gone after it was killed.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Ends with the value.
pub struct RealGitea {
    pub forge: Forge,
    process: Pid,
    _data: TempDir,
}

impl RealGitea {
    pub fn start() -> Self {
        let folder = script("gitea-build", &[]);
        let data = tempfile::tempdir().expect("a folder");
        // Taken for a moment only: another program could be given the port in between, and Gitea would say so.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let said = script("gitea-run", &[folder.as_ref(), data.path(), port.to_string().as_ref()]);
        let said: Value = serde_json::from_str(&said).expect("JSON");
        let text = |name: &str| said[name].as_str().expect("a text").to_owned();
        let forge = Forge { url: text("url"), user: text("user"), token: text("token") };
        let process = said["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        Self { forge, process: process.expect("a process"), _data: data }
    }
}

impl Drop for RealGitea {
    fn drop(&mut self) {
        let _ = kill_process(self.process, Signal::KILL);
        // Its folder goes next, and it must not write there any more.
        let deadline = Instant::now() + END_LIMIT;
        while test_kill_process(self.process).is_ok() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a script says.
fn script(name: &str, arguments: &[&Path]) -> String {
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let output = Command::new(scripts.join(name)).args(arguments).output().expect("the script starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
