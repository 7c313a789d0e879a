//! A real `windlass serve`, started and stopped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_durable::lock::holder;

/// No promise of windlass's: a machine that runs five tests at once may stand still for some seconds.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// Of a server whose test has failed.
const SHOWN_LINES: usize = 60;

/// `windlass`, without any setting of the machine's own.
pub fn windlass() -> Command {
    windlass_at(Path::new(env!("CARGO_BIN_EXE_windlass")))
}

/// The same from another file.
pub fn windlass_at(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WINDLASS_")) {
        command.env_remove(name);
    }
    command.current_dir(std::env::temp_dir()).stdin(Stdio::null());
    command
}

pub fn run(command: &mut Command) -> Output {
    command.output().expect("windlass runs")
}

/// Sends each line on, until there are no more or the receiver is gone.
fn forward(output: impl Read + Send + 'static, sender: Sender<String>) {
    std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
}

pub struct Process {
    pub child: Child,
    pub address: String,
    /// The data folder of the edge that ends with the process.
    data_dir: Option<PathBuf>,
    lines: Mutex<Lines>,
}

/// What it says, on two streams whose lines come in any order.
struct Lines {
    coming: Receiver<String>,
    /// Those that no test has waited for yet.
    passed: Vec<String>,
}

impl Process {
    pub fn serve(data_dir: &Path, arguments: &[&str]) -> Self {
        Self::start(windlass(), data_dir, arguments)
    }

    /// The same with another environment.
    pub fn start(mut command: Command, data_dir: &Path, arguments: &[&str]) -> Self {
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--edge-http",
            "127.0.0.1:0",
            "--edge-https",
            "127.0.0.1:0",
            "--data-dir",
        ]);
        command.arg(data_dir).args(arguments);
        Self::spawn(command, data_dir)
    }

    /// As `make run` starts it, with the data in `data` below the folder: at the ports that are the default, which only
    /// one test at a time can have.
    pub fn start_as_make_does(folder: &Path) -> Self {
        let mut command = windlass();
        command.current_dir(folder).args(["serve", "--data-dir", "data"]);
        Self::spawn(command, &folder.join("data"))
    }

    fn spawn(mut command: Command, data_dir: &Path) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("windlass starts");
        let (sender, lines) = channel();
        forward(child.stdout.take().expect("its output"), sender.clone());
        forward(child.stderr.take().expect("its log"), sender);
        let data_dir = Some(data_dir.to_owned());
        let mut process = Self {
            child,
            address: String::new(),
            data_dir,
            lines: Mutex::new(Lines { coming: lines, passed: Vec::new() }),
        };
        let line = process.wait_for("listening on http://");
        let address = line.split("http://").nth(1).unwrap();
        process.address = address.split('"').next().unwrap().to_owned();
        process
    }

    /// The process' number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// A line of its output that contains `text`, each line only once.
    pub fn wait_for(&self, text: &str) -> String {
        let until = Instant::now() + DEADLINE;
        let mut lines = self.lines.lock().unwrap();
        if let Some(index) = lines.passed.iter().position(|line| line.contains(text)) {
            return lines.passed.remove(index);
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = lines.coming.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no line with {text:?} in the log"));
            if line.contains(text) {
                return line;
            }
            lines.passed.push(line);
        }
    }

    /// What it has said before the line that contains `text`, as far as no test has waited for it.
    pub fn said_before(&self, text: &str) -> String {
        self.wait_for(text);
        std::mem::take(&mut self.lines.lock().unwrap().passed).join("\n")
    }

    /// Everything that it has said and no test has waited for.
    pub fn said(&self) -> String {
        let mut lines = self.lines.lock().unwrap();
        let coming: Vec<_> = lines.coming.try_iter().collect();
        lines.passed.extend(coming);
        lines.passed.join("\n")
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the process lives");
    }

    /// The exit code, once the process has ended.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + DEADLINE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("windlass does not end");
    }

    /// The end of its log, for the reader of a failed test.
    #[expect(clippy::print_stderr, reason = "the harness keeps it, and shows it beside the failure")]
    fn show_log(&mut self) {
        let Ok(lines) = self.lines.get_mut() else { return };
        let mut said = std::mem::take(&mut lines.passed);
        said.extend(lines.coming.try_iter());
        let from = said.len().saturating_sub(SHOWN_LINES);
        eprintln!(
            "The last lines of windlass {}:\n{}",
            self.child.id(),
            said.get(from..).unwrap_or_default().join("\n")
        );
    }

    /// The edge outlives the server, as it does for operators.
    pub fn leave_edge(mut self) {
        self.data_dir = None;
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
        stream
    }

    /// One request on a connection of its own; head and body of the answer.
    pub fn request(&self, method: &str, path: &str, token: &str, body: &str) -> String {
        let mut answer = String::new();
        self.send(method, path, token, body).read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// The same to a server that may end before it answers.
    pub fn ask(&self, method: &str, path: &str, token: &str, body: &str) {
        let _ = self.send(method, path, token, body).read_to_string(&mut String::new());
    }

    /// The answer is still to be read.
    pub fn send(&self, method: &str, path: &str, token: &str, body: &str) -> TcpStream {
        let headers = [("authorization".to_owned(), format!("Bearer {token}"))];
        self.send_with(method, path, &headers, body.as_bytes())
    }

    /// The same with other headers.
    pub fn send_with(&self, method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).expect("a request");
        stream
    }

    /// The same with a token, expecting success; the answer's body.
    pub fn ok(&self, method: &str, path: &str, token: &str, body: &str) -> serde_json::Value {
        let answer = self.request(method, path, token, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }

    pub fn metrics(&self, token: &str) -> String {
        let mut stream = self.connect();
        let head = format!("GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n");
        stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).expect("a request");
        let mut metrics = String::new();
        stream.read_to_string(&mut metrics).expect("an answer");
        metrics
    }

    pub fn register(&self, extra: &str) -> String {
        let body = format!(r#"{{"email":"ada@example.org","password":"correct horse"{extra}}}"#);
        self.request("POST", "/auth/register", "", &body)
    }

    pub fn login(&self, password: &str) -> String {
        let body = format!(r#"{{"email":"ada@example.org","password":"{password}"}}"#);
        self.request("POST", "/auth/login", "", &body)
    }
}

/// Ends the edge of a data folder, which outlives its server.
pub fn end_edge(data_dir: &Path) {
    if let Some(pid) = holder(&data_dir.join("edge.lock")) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            self.show_log();
        }
        if let Some(data_dir) = &self.data_dir {
            end_edge(data_dir);
        }
    }
}

pub fn token_in(answer: &str) -> String {
    let rest = answer.split("\"access_token\":\"").nth(1).unwrap_or_else(|| panic!("no token in {answer}"));
    rest.split('"').next().unwrap().to_owned()
}
