//! A registry of images, as the distribution packages it, on a port of this machine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::deploy::support::docker;

pub struct Registry {
    process: Child,
    /// `127.0.0.1:PORT`: engines ask registries there without https.
    pub address: String,
    _folder: tempfile::TempDir,
}

impl Registry {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let configuration = folder.path().join("registry.yml");
        let images = folder.path().join("images");
        let text = format!(
            "version: 0.1\nlog: {{ accesslog: {{ disabled: true }} }}\nhttp: {{ addr: \"127.0.0.1:0\" }}\n\
             storage: {{ filesystem: {{ rootdirectory: {} }} }}\n",
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
        Self { process, address, _folder: folder }
    }

    /// Makes an image of the engine available here, and only here: its reference.
    pub fn take(&self, image: &str, name: &str) -> String {
        let reference = format!("{}/{name}", self.address);
        docker(&["tag", image, &reference]);
        docker(&["push", "--quiet", &reference]);
        docker(&["rmi", "--no-prune", &reference]);
        reference
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
