//! BIND, a name server that takes changes, with a zone and keys of its own.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(30);
const TRIES: usize = 10;

/// Runs as long as it lives. It speaks for one zone and asks no other server.
pub struct NameServer {
    folder: TempDir,
    program: Child,
    pub address: SocketAddr,
    /// As `tsig-keygen` prints it. It may change texts of the zone.
    pub key: String,
    /// One that the server knows too, and lets change nothing.
    pub powerless_key: String,
}

impl NameServer {
    pub fn start(zone: &str) -> Self {
        Self::with_algorithm(zone, "hmac-sha256")
    }

    /// One with other keys.
    pub fn with_algorithm(zone: &str, algorithm: &str) -> Self {
        // Between the choice of a port and its use, another program may take it.
        (0..TRIES).find_map(|_| Self::try_start(zone, algorithm)).expect("a free port")
    }

    fn try_start(zone: &str, algorithm: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = free_address();
        let (key, powerless_key) = (new_key("windlass", algorithm), new_key("powerless", algorithm));
        write(folder.path(), "zone", &contents(zone));
        let settings = settings(folder.path(), address, zone);
        write(folder.path(), "settings", &format!("{key}{powerless_key}{settings}"));
        let program = begin(folder.path());
        let server = Self { folder, program, address, key, powerless_key };
        server.is_listening().then_some(server)
    }

    /// It listens before it knows its zones, and goes on without if the port is taken.
    fn is_listening(&self) -> bool {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let log = std::fs::read_to_string(self.folder.path().join("log")).expect("its log");
            if log.contains("all zones loaded") {
                assert!(!log.contains("not loaded due to errors"), "{log}");
                return !log.contains("address in use");
            }
            assert!(Instant::now() < deadline, "the name server does not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// A key that no server knows, unless it is told.
pub fn new_key(name: &str, algorithm: &str) -> String {
    let made = Command::new("/usr/sbin/tsig-keygen").args(["-a", algorithm, name]).output();
    let made = made.expect("tsig-keygen runs (scripts/setup test installs it)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).expect("a text")
}

fn begin(folder: &Path) -> Child {
    // By its path AppArmor would know it, and let it write to the folders of the distribution only.
    let copy = folder.join("named");
    std::fs::copy("/usr/sbin/named", &copy).expect("named (scripts/setup test installs it)");
    let log = File::create(folder.join("log")).expect("a file");
    Command::new(copy)
        .args(["-g", "-n", "1", "-c"])
        .arg(folder.join("settings"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("named starts")
}

fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr()).expect("a free port")
}

fn settings(folder: &Path, address: SocketAddr, zone: &str) -> String {
    let (folder, ip, port) = (folder.display(), address.ip(), address.port());
    format!(
        r#"
        options {{
            directory "{folder}"; pid-file none; session-keyfile none; lock-file none; managed-keys-directory "{folder}";
            listen-on port {port} {{ {ip}; }}; listen-on-v6 {{ none; }}; reuseport no;
            recursion no; dnssec-validation no; notify no; empty-zones-enable no;
        }};
        controls {{ }};
        zone "{zone}" {{ type primary; file "zone"; update-policy {{ grant windlass zonesub TXT; }}; }};
        "#
    )
}

/// A name below it is another name, beside which no text can be. One of its servers is not found.
fn contents(zone: &str) -> String {
    format!(
        "$TTL 60\n\
         @ SOA ns.{zone}. ops.{zone}. 1 3600 600 86400 60\n\
         @ NS ns\n\
         @ NS ns.elsewhere.test.\n\
         ns A 127.0.0.1\n\
         greeting TXT hello\n\
         alias CNAME ns\n"
    )
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file");
}
