//! The servers that are compared, each with one worker, set up as its manual advises for this work.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Process, free_port, sibling};

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

pub struct Peers {
    nginx: PathBuf,
    caddy: PathBuf,
}

impl Peers {
    pub fn find() -> Self {
        for name in ["wrk", "taskset"] {
            installed(name);
        }
        Self { nginx: installed("nginx"), caddy: installed("caddy") }
    }

    pub fn versions(&self) -> [String; 2] {
        let nginx = version(Command::new(&self.nginx).arg("-v")).replace("nginx version: nginx/", "nginx ");
        [nginx, format!("Caddy {}", version(Command::new(&self.caddy).arg("version")))]
    }

    pub fn nginx_files(&self, folder: &Path, core: Core) -> Process {
        let port = free_port();
        let root = files_folder(folder);
        let server = format!("server {{ listen 127.0.0.1:{port}; root {}; }}", root.display());
        self.nginx(folder, core, port, &server)
    }

    /// The buffers hold the large answer; with the default of 32 KB it was a quarter to a third slower.
    pub fn nginx_proxy(&self, folder: &Path, upstream: u16) -> Process {
        let port = free_port();
        let server = format!(
            "upstream up {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests {ENDLESS}; }}
             server {{
                 listen 127.0.0.1:{port};
                 location / {{
                     proxy_pass http://up;
                     proxy_http_version 1.1;
                     proxy_buffers 16 8k;
                     proxy_busy_buffers_size 64k;
                     proxy_set_header Connection \"\";
                     proxy_set_header Host $host;
                     proxy_set_header X-Real-IP $remote_addr;
                     proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                     proxy_set_header X-Forwarded-Proto $scheme;
                 }}
             }}"
        );
        self.nginx(folder, Core::Measured, port, &server)
    }

    /// Without `tcp_nopush`: with it, some answers of 64 KB through a proxy waited for a delayed acknowledgement, up to
    /// 40 ms.
    ///
    /// As the current user and inside the folder: nothing of the system's own nginx is read or written.
    fn nginx(&self, folder: &Path, core: Core, port: u16, server: &str) -> Process {
        let prefix = subfolder(folder, &format!("nginx-{port}"));
        // Otherwise root's workers would run as a user that may not read the folder.
        let user = if rustix::process::geteuid().is_root() { "user root root;" } else { "" };
        let config = format!(
            "{user}
             daemon off;
             worker_processes 1;
             pid nginx.pid;
             error_log stderr warn;
             events {{ worker_connections 16384; }}
             http {{
                 access_log off;
                 keepalive_requests {ENDLESS};
                 sendfile on;
                 open_file_cache max=1000;
                 client_body_temp_path body;
                 proxy_temp_path proxy;
                 fastcgi_temp_path fastcgi;
                 uwsgi_temp_path uwsgi;
                 scgi_temp_path scgi;
                 {server}
             }}
             "
        );
        let file = prefix.join("nginx.conf");
        std::fs::write(&file, config).expect("nginx's configuration");
        let mut command = on(core, &self.nginx);
        command.arg("-p").arg(&prefix).arg("-c").arg(&file).args(["-e", "stderr"]);
        Process::start(command, port, "localhost", SMALL.path)
    }

    pub fn caddy_proxy(&self, folder: &Path, upstream: u16) -> Process {
        let port = free_port();
        let home = subfolder(folder, "caddy");
        // Every connection that `wrk` leaves at the end of a round would be a line of its log.
        // It keeps 32 idle connections to an upstream unless told otherwise, half of what the load needs.
        let config = format!(
            "{{
                admin off
                auto_https off
                log {{
                    level PANIC
                }}
            }}
            http://:{port} {{
                bind 127.0.0.1
                reverse_proxy 127.0.0.1:{upstream} {{
                    transport http {{
                        keepalive_idle_conns_per_host 64
                    }}
                }}
            }}
            "
        );
        let file = home.join("Caddyfile");
        std::fs::write(&file, config).expect("Caddy's configuration");
        let mut command = on(Core::Measured, &self.caddy);
        command.arg("run").arg("--adapter").arg("caddyfile").arg("--config").arg(&file);
        command.env("GOMAXPROCS", "1").env("HOME", &home).env("XDG_DATA_HOME", &home).env("XDG_CONFIG_HOME", &home);
        Process::start(command, port, "localhost", SMALL.path)
    }
}

/// The edge, and the folder of its data, which goes with it.
pub struct Edge {
    pub process: Process,
    pub folder: TempDir,
}

/// Started with these routes; ready once it answers this host.
pub fn edge(routes: &Value, host: &str, options: &[&str]) -> Edge {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("routes.json"), routes.to_string()).expect("the routes");
    let port = free_port();
    let mut command = on(Core::Measured, &sibling("windlass"));
    command.arg("edge").arg("--data-dir").arg(folder.path());
    command
        .args(["--edge-http", &format!("127.0.0.1:{port}"), "--edge-https", "127.0.0.1:0", "--edge-threads", "1"])
        .args(options);
    Edge { process: Process::start(command, port, host, SMALL.path), folder }
}

/// What the upstream has, and what is served as files.
pub fn files_folder(folder: &Path) -> PathBuf {
    let files = subfolder(folder, "files");
    for file in [SMALL, LARGE] {
        std::fs::write(files.join(&file.path[1..]), "x".repeat(file.bytes)).expect("a file to serve");
    }
    files
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

/// Some write it to their standard error.
fn version(command: &mut Command) -> String {
    let output = command.output().expect("the version");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).expect("text").trim().to_owned()
}
