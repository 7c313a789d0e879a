//! The two servers, each a process of its own.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Process {
    child: Child,
    pub port: u16,
}

impl Process {
    /// The server, and how long it took from its start to its first answer.
    pub fn windlass(folder: &Path, url: Option<&str>) -> (Self, Duration) {
        let port = free_port();
        let mut command = Command::new(sibling("windlass"));
        command.arg("serve").arg("--data-dir").arg(folder).args(["--listen", &format!("127.0.0.1:{port}")]);
        // One machine plays many callers.
        command.args(["--address-requests", "0", "--account-requests", "0"]);
        command.args(["--log-level", "warn"]).args(url.iter().flat_map(|url| ["--database-url", url]));
        let started = Instant::now();
        let process = Self::start(command, port);
        (process, started.elapsed())
    }

    pub fn bare(file: &Path, url: Option<&str>) -> Self {
        let port = free_port();
        let mut command = Command::new(std::env::current_exe().expect("this program's path"));
        command.arg("bare").arg(port.to_string()).arg(file).args(url);
        Self::start(command, port)
    }

    fn start(mut command: Command, port: u16) -> Self {
        let child = command.stdin(Stdio::null()).spawn().expect("the server starts");
        let process = Self { child, port };
        let until = Instant::now() + Duration::from_secs(20);
        while !answers(port) {
            assert!(Instant::now() < until, "the server does not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        process
    }

    pub fn resident_mb(&self) -> f64 {
        self.memory("VmRSS:")
    }

    pub fn peak_mb(&self) -> f64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the process lives");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a size");
        line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1_024.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answers(port: u16) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = "GET /api/v1/auth/is-admin-registered HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.contains(" 200 ")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn sibling(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program's path").with_file_name(name)
}
