//! The servers, each a process of its own.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const READY: &str = "/api/v1/auth/is-admin-registered";
/// How long a server may take to end when it is asked to.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long it may take to answer whether it is ready.
const READY_LIMIT: Duration = Duration::from_secs(5);

pub struct Process {
    child: Child,
    pub port: u16,
    /// What ends it and all that it has started.
    end: Signal,
}

impl Process {
    /// The server, and how long it took from its start to its first answer.
    pub fn windlass(folder: &Path, url: Option<&str>) -> (Self, Duration) {
        Self::windlass_with(folder, url, &["--edge-http", "127.0.0.1:0", "--edge-https", "127.0.0.1:0"])
    }

    /// The same with other settings, the edge's address among them.
    pub fn windlass_with(folder: &Path, url: Option<&str>, settings: &[&str]) -> (Self, Duration) {
        let port = free_port();
        let mut command = Command::new(sibling("windlass"));
        command.arg("serve").arg("--data-dir").arg(folder).args(["--listen", &format!("127.0.0.1:{port}")]);
        // One machine acts as many callers.
        command.args(["--address-requests", "0", "--account-requests", "0"]);
        command.args(["--log-level", "warn"]).args(settings).args(url.iter().flat_map(|url| ["--database-url", url]));
        let started = Instant::now();
        let mut process = Self::start(command, port, "localhost", READY);
        // A server that is only told to terminate leaves its edge running.
        process.end = Signal::INT;
        (process, started.elapsed())
    }

    pub fn bare(file: &Path, url: Option<&str>) -> Self {
        let port = free_port();
        let mut command = Command::new(std::env::current_exe().expect("this program's path"));
        command.arg("bare").arg(port.to_string()).arg(file).args(url);
        Self::start(command, port, "localhost", READY)
    }

    /// Returns once the path of the host is answered well.
    pub fn start(command: Command, port: u16, host: &str, path: &str) -> Self {
        Self::start_until(command, port, || answers(port, host, path))
    }

    pub fn start_until(mut command: Command, port: u16, is_ready: impl Fn() -> bool) -> Self {
        let child = command.stdin(Stdio::null()).spawn().expect("the server starts");
        let mut process = Self { child, port, end: Signal::TERM };
        let until = Instant::now() + Duration::from_secs(20);
        while !is_ready() {
            let ended = process.child.try_wait().expect("the server's state");
            assert!(ended.is_none(), "{command:?} has ended: {ended:?}");
            assert!(Instant::now() < until, "{command:?} does not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        process
    }

    pub fn resident_mb(&self) -> f64 {
        memory(Pid::from_child(&self.child), "VmRSS:")
    }

    pub fn peak_mb(&self) -> f64 {
        memory(Pid::from_child(&self.child), "VmHWM:")
    }

    /// Of it and of its workers. What they share counts for each of them.
    pub fn resident_with_workers_mb(&self) -> f64 {
        self.and_workers().map(|process| memory(process, "VmRSS:")).sum()
    }

    /// How long the processor has worked for it and for its workers.
    pub fn cpu_seconds(&self) -> f64 {
        let ticks: u64 = self.and_workers().map(cpu_ticks).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    /// The same without what it has started.
    pub fn own_cpu_seconds(&self) -> f64 {
        cpu_ticks(Pid::from_child(&self.child)) as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    fn and_workers(&self) -> impl Iterator<Item = Pid> {
        self.workers().into_iter().chain([Pid::from_child(&self.child)])
    }

    fn workers(&self) -> Vec<Pid> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        children.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
    }

    fn ends(&mut self) -> bool {
        let until = Instant::now() + END_LIMIT;
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }
}

impl Drop for Process {
    /// It is asked first, because a process that is killed cannot end its workers.
    fn drop(&mut self) {
        let workers = self.workers();
        let _ = kill_process(Pid::from_child(&self.child), self.end);
        if !self.ends() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            for worker in workers {
                let _ = kill_process(worker, Signal::KILL);
            }
        }
    }
}

fn memory(process: Pid, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1_024.0
}

/// Of the user's code and of the kernel's.
fn cpu_ticks(process: Pid) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("the process lives");
    // The name, which is in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks")).sum()
}

fn answers(port: u16, host: &str, path: &str) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.set_read_timeout(Some(READY_LIMIT)).is_ok()
        && stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200 ")
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

pub fn sibling(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program's path").with_file_name(name)
}
