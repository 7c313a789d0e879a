//! The servers that are compared, each with one worker, set up as its manual advises for this work.

mod caddy;
mod haproxy;
mod nginx;
pub mod windlass;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::edge::ask::Scheme;
use crate::edge::routes;
use crate::edge::tls::{Certificate, CertificateFiles};
use crate::process::{Process, free_port};

pub struct File {
    pub path: &'static str,
    pub bytes: usize,
}

pub const SMALL: File = File { path: "/1k.bin", bytes: 1_024 };
pub const LARGE: File = File { path: "/64k.bin", bytes: 65_536 };

/// Requests on one connection: no hanging up while it is measured.
const ENDLESS: u32 = 1_000_000_000;

/// The server that is measured has a core of its own; the load generator and the upstream share another.
#[derive(Clone, Copy)]
pub enum Core {
    Measured,
    Rest,
}

/// The program on that core, on a machine that has two.
pub fn on(core: Core, program: &Path) -> Command {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Command::new(program);
    }
    let number = match core {
        Core::Measured => "0",
        Core::Rest => "1",
    };
    let mut command = Command::new("taskset");
    command.args(["-c", number]).arg(program);
    command
}

/// A server that is reached plain and encrypted.
pub struct Server {
    pub name: &'static str,
    pub process: Process,
    https: u16,
    /// All that it writes, and its configuration.
    pub folder: PathBuf,
}

impl Server {
    pub const fn port(&self, scheme: Scheme) -> u16 {
        match scheme {
            Scheme::Http => self.process.port,
            Scheme::Https => self.https,
        }
    }
}

/// Where a server is to be.
struct Place {
    http: u16,
    https: u16,
    folder: PathBuf,
}

impl Place {
    fn new(folder: &Path, name: &str) -> Self {
        let (http, https) = (free_port(), free_port());
        Self { http, https, folder: subfolder(folder, &format!("{name}-{http}")) }
    }

    /// Writes the configuration there. HAProxy wants the last line to end.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.join(name);
        std::fs::write(&file, format!("{}\n", text.trim_end())).expect("a configuration");
        file
    }

    /// Returns once it answers this host.
    fn start(self, name: &'static str, command: Command, host: &str) -> Server {
        let Self { http, https, folder } = self;
        Server { name, process: Process::start(command, http, host, SMALL.path), https, folder }
    }
}

pub struct Peers {
    nginx: PathBuf,
    caddy: PathBuf,
    haproxy: PathBuf,
    folder: PathBuf,
    /// The same for all.
    certificate: Certificate,
    certificate_files: CertificateFiles,
}

impl Peers {
    /// What they write goes into the folder.
    pub fn find(folder: &Path) -> Self {
        for name in ["wrk", "taskset"] {
            installed(name);
        }
        let certificate = Certificate::of("localhost");
        Self {
            nginx: installed("nginx"),
            caddy: installed("caddy"),
            haproxy: installed("haproxy"),
            folder: folder.to_owned(),
            certificate_files: CertificateFiles::write(folder, &certificate),
            certificate,
        }
    }

    pub fn versions(&self) -> [String; 3] {
        let nginx = version(Command::new(&self.nginx).arg("-v")).replace("nginx version: nginx/", "nginx ");
        let haproxy = version(Command::new(&self.haproxy).arg("-v")).replace("HAProxy version ", "HAProxy ");
        let caddy = version(Command::new(&self.caddy).arg("version"));
        [nginx, format!("Caddy {caddy}"), haproxy.split(' ').take(2).collect::<Vec<_>>().join(" ")]
    }

    /// All of them in front of the upstream, or the one with this name. They keep as many connections to it as there
    /// are visitors.
    pub fn proxies(&self, upstream: u16, connections: usize, only: Option<&str>) -> Vec<Server> {
        type Start = fn(&Peers, u16, usize) -> Server;
        let all: [(&str, Start); 4] = [
            ("nginx", Self::nginx_proxy),
            ("Caddy", Self::caddy_proxy),
            ("HAProxy", Self::haproxy_proxy),
            ("Windlass", Self::windlass_proxy),
        ];
        let wanted = all.iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
        wanted.map(|(_, start)| start(self, upstream, connections)).collect()
    }

    fn windlass_proxy(&self, upstream: u16, _connections: usize) -> Server {
        let table = routes::with_certificates(routes::proxy(upstream), [("localhost".into(), &self.certificate)]);
        windlass::edge(&self.folder, &table, "localhost")
    }

    /// What the upstream has, and what is served as files.
    pub fn files_folder(&self) -> PathBuf {
        let files = subfolder(&self.folder, "files");
        for file in [SMALL, LARGE] {
            std::fs::write(files.join(&file.path[1..]), "x".repeat(file.bytes)).expect("a file to serve");
        }
        files
    }
}

fn subfolder(folder: &Path, name: &str) -> PathBuf {
    let subfolder = folder.join(name);
    std::fs::create_dir_all(&subfolder).expect("a folder");
    subfolder
}

/// Servers are in a folder that only root looks for programs in.
fn installed(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    assert!(found.is_some(), "{name} is not installed: run `scripts/setup bench`");
    found.unwrap_or_default()
}

/// The first line. Some write it to their standard error.
fn version(command: &mut Command) -> String {
    let output = command.output().expect("the version");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).expect("text").lines().next().unwrap_or_default().to_owned()
}
