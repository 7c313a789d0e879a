//! A registry of images, as the distribution packages it, on a port of this machine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use windlass_testing::testapp;

use crate::deploy::support::docker;

/// Who may have images of a registry that is private.
pub const USERNAME: &str = "ada";
pub const PASSWORD: &str = "a very secret registry password";
/// The same, as the registry and the engine's own program read it.
const PASSWORDS: &str = "ada:$2y$05$abcdefghijklmnopqrstuusBCE710lWZ7W/MreNwUdg1fCF/csfc6\n";
const LOGIN: &str = "YWRhOmEgdmVyeSBzZWNyZXQgcmVnaXN0cnkgcGFzc3dvcmQ=";

pub struct Registry {
    process: Child,
    /// The engine's ids of images that were made for it, which nothing else would remove.
    made: Mutex<Vec<String>>,
    /// `127.0.0.1:PORT`: engines ask registries there without https.
    pub address: String,
    folder: tempfile::TempDir,
}

impl Registry {
    pub fn start() -> Self {
        Self::with(false)
    }

    /// One that gives images to no other user.
    pub fn private() -> Self {
        Self::with(true)
    }

    fn with(is_private: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let configuration = folder.path().join("registry.yml");
        let images = folder.path().join("images");
        let passwords = folder.path().join("passwords");
        std::fs::write(&passwords, PASSWORDS).unwrap();
        let more = match is_private {
            true => format!("auth: {{ htpasswd: {{ realm: tests, path: {} }} }}\n", passwords.display()),
            false => String::new(),
        };
        let text = format!(
            "version: 0.1\nlog: {{ accesslog: {{ disabled: true }} }}\nhttp: {{ addr: \"127.0.0.1:0\" }}\n\
             storage: {{ filesystem: {{ rootdirectory: {} }} }}\n{more}",
            images.display()
        );
        std::fs::write(&configuration, text).unwrap();
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&configuration).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("docker-registry starts; `scripts/setup test` installs it");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("listening on ")).expect("the address that it listens at");
        let (_, rest) = line.split_once("listening on ").unwrap();
        let address = rest.split('"').next().unwrap().to_owned();
        // It would stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let login = format!("{{\"auths\":{{\"{address}\":{{\"auth\":\"{LOGIN}\"}}}}}}");
        std::fs::write(folder.path().join("config.json"), login).unwrap();
        Self { process, made: Mutex::default(), address, folder }
    }

    /// Makes an image of the engine available here, and only here: its reference.
    pub fn take(&self, image: &str, name: &str) -> String {
        let reference = format!("{}/{name}", self.address);
        docker(&["tag", image, &reference]);
        self.push(&reference);
        docker(&["rmi", "--no-prune", &reference]);
        reference
    }

    /// Makes the test application available here, in this version: its reference.
    pub fn take_version(&self, name: &str, version: &str) -> String {
        let reference = format!("{}/{name}", self.address);
        let file = self.folder.path().join("version");
        std::fs::write(&file, version).unwrap();
        let container = docker(&["create", testapp::IMAGE, "/testapp"]);
        docker(&["cp", file.to_str().unwrap(), &format!("{container}:/version")]);
        let changes = ["--change", "EXPOSE 8080", "--change", "CMD [\"/testapp\"]"];
        let id = docker(&[&["commit"][..], &changes[..], &[container.as_str(), reference.as_str()][..]].concat());
        docker(&["rm", &container]);
        self.push(&reference);
        docker(&["rmi", "--no-prune", &reference]);
        self.made.lock().unwrap().push(id);
        reference
    }

    fn push(&self, reference: &str) {
        docker(&["--config", self.folder.path().to_str().unwrap(), "push", "--quiet", reference]);
    }

    /// Whether the engine has an image that was made for this registry.
    pub fn is_any_there(&self) -> bool {
        let all = docker(&["images", "-aq", "--no-trunc"]);
        self.made.lock().unwrap().iter().any(|id| all.contains(id.as_str()))
    }

    /// It cannot be reached any more.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
        for id in self.made.lock().unwrap().iter() {
            let _ = Command::new("docker").args(["rmi", "-f", id]).output();
        }
    }
}
