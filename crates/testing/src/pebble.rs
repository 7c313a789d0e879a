//! Pebble, a certificate authority for tests, with a name server of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(30);

/// Runs as long as it lives. Each has an address of its own, so that several tests can have port 80 and 443 at once.
pub struct Pebble {
    folder: TempDir,
    program: PathBuf,
    authority: Option<Child>,
    names: Child,
    /// The name server that it asks instead of its own.
    asked: Option<SocketAddr>,
    /// Where every name leads that a test has not said anything about.
    pub address: Ipv4Addr,
}

// At its own address, which no other test has.
const DIRECTORY: u16 = 14_000;
const MANAGEMENT: u16 = 15_000;
const DNS: u16 = 8_053;
const DNS_MANAGEMENT: u16 = 8_055;

impl Pebble {
    /// A kind of certificates that the newest one issues, and how long they are good.
    pub const PROFILE: &str = "three-weeks";
    pub const PROFILE_HOURS: i64 = 21 * 24;

    /// That of the distribution. It refuses some nonces, as it does by itself.
    pub fn start() -> Self {
        Self::of("pebble".into(), None)
    }

    /// One that asks a name server of the test's, instead of its own.
    pub fn asking(server: SocketAddr) -> Self {
        Self::of("pebble".into(), Some(server))
    }

    /// The one that `scripts/pebble-build` builds.
    pub fn newest() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/pebble-build");
        let built = Command::new(script).output().expect("scripts/pebble-build starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self::of(PathBuf::from(String::from_utf8_lossy(&built.stdout).trim()), None)
    }

    fn of(program: PathBuf, asked: Option<SocketAddr>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = own_address();
        let key = KeyPair::generate().expect("a key");
        let own = CertificateParams::new([address.to_string()]).expect("names");
        let own = own.self_signed(&key).expect("a certificate");
        write(folder.path(), "own.pem", &pem("CERTIFICATE", own.der()));
        write(folder.path(), "own.key", &pem("PRIVATE KEY", &key.serialize_der()));
        let settings = json!({ "pebble": {
            "listenAddress": format!("{address}:{DIRECTORY}"),
            "managementListenAddress": format!("{address}:{MANAGEMENT}"),
            "certificate": folder.path().join("own.pem"), "privateKey": folder.path().join("own.key"),
            "httpPort": 80, "tlsPort": 443, "ocspResponderURL": "", "externalAccountBindingRequired": false,
            "profiles": {
                "default": { "description": "the usual one", "validityPeriod": 90 * 86_400 },
                Self::PROFILE: { "description": "a short one", "validityPeriod": Self::PROFILE_HOURS * 3_600 },
            },
        }});
        write(folder.path(), "settings.json", &settings.to_string());
        let names = Command::new("pebble-challtestsrv")
            .args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""])
            .args(["-defaultIPv4", &address.to_string()])
            .args(["-dns01", &format!("{address}:{DNS}")])
            .args(["-management", &format!("{address}:{DNS_MANAGEMENT}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pebble-challtestsrv starts (scripts/setup test installs it)");
        let mut pebble = Self { folder, program, authority: None, names, asked, address };
        wait_for((address, DNS_MANAGEMENT).into());
        pebble.begin();
        pebble
    }

    /// It forgets everything: accounts, orders, and what it has signed with.
    pub fn restart(&mut self) {
        self.stop();
        self.begin();
    }

    pub fn stop(&mut self) {
        if let Some(mut authority) = self.authority.take() {
            let _ = authority.kill();
            let _ = authority.wait();
        }
    }

    fn begin(&mut self) {
        let authority = Command::new(&self.program)
            .arg("-config")
            .arg(self.folder.path().join("settings.json"))
            .args(["-strict", "-dnsserver", &self.name_server()])
            .env("PEBBLE_VA_NOSLEEP", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pebble starts (scripts/setup test installs it)");
        self.authority = Some(authority);
        wait_for((self.address, DIRECTORY).into());
        wait_for((self.address, MANAGEMENT).into());
    }

    pub fn directory(&self) -> String {
        format!("https://{}:{DIRECTORY}/dir", self.address)
    }

    /// What signs Pebble's own address.
    pub fn roots_file(&self) -> PathBuf {
        self.folder.path().join("own.pem")
    }

    pub fn name_server(&self) -> String {
        self.asked.unwrap_or_else(|| (self.address, DNS).into()).to_string()
    }

    /// The root of what it issues, in a file. Another after each restart.
    pub fn root(&self) -> PathBuf {
        let url = format!("https://{}:{MANAGEMENT}/roots/0", self.address);
        let told = Command::new("curl").args(["--silent", "--insecure", "--fail", &url]).output().expect("curl runs");
        assert!(told.status.success(), "Pebble shows its root");
        let file = self.folder.path().join("root.pem");
        std::fs::write(&file, told.stdout).expect("a file");
        file
    }

    /// The arguments of a server that orders from it, and whose edge listens where it looks.
    pub fn arguments(&self) -> Vec<String> {
        let roots = self.roots_file().display().to_string();
        let own = [
            ("--acme-directories", self.directory()),
            ("--acme-roots-file", roots),
            ("--dns-servers", self.name_server()),
            ("--allow-private-targets", "true".to_owned()),
        ];
        own.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }

    /// From now on it says that the certificate should be renewed at once. For the newest one.
    pub fn want_renewal(&self, certificate_pem: &str) {
        let window = json!({ "suggestedWindow": { "start": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z" } });
        let body = json!({ "certificate": certificate_pem, "ariResponse": window.to_string() });
        let url = format!("https://{}:{MANAGEMENT}/set-renewal-info/", self.address);
        send(&["--insecure"], &url, &body);
    }

    /// Lets a name lead to these addresses.
    pub fn lead(&self, host: &str, addresses: &[&str]) {
        self.tell("clear-a", &json!({ "host": host }));
        self.tell("add-a", &json!({ "host": host, "addresses": addresses }));
    }

    /// What the name's CAA record says.
    pub fn allow(&self, host: &str, authority: &str) {
        let policies = json!([{ "tag": "issue", "value": authority }]);
        self.tell("add-caa", &json!({ "host": host, "policies": policies }));
    }

    /// The texts of a name, which ends with a dot. It has no others.
    pub fn say(&self, host: &str, texts: &[&str]) {
        self.tell("clear-txt", &json!({ "host": host }));
        for text in texts {
            self.tell("set-txt", &json!({ "host": host, "value": text }));
        }
    }

    fn tell(&self, what: &str, body: &Value) {
        send(&[], &format!("http://{}:{DNS_MANAGEMENT}/{what}", self.address), body);
    }
}

fn send(more: &[&str], url: &str, body: &Value) {
    let arguments = ["--silent", "--fail", "--max-time", "10", "--data", &body.to_string(), url];
    let told = Command::new("curl").args(more).args(arguments).output().expect("curl runs");
    assert!(told.status.success(), "{url} {body}");
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.stop();
        let _ = self.names.kill();
        let _ = self.names.wait();
    }
}

/// An address of the machine itself that no other test uses.
fn own_address() -> Ipv4Addr {
    (1..=u8::MAX)
        .flat_map(|third| (1..u8::MAX).map(move |last| Ipv4Addr::new(127, 80, third, last)))
        .find(|address| claim(*address))
        .expect("a free address")
}

/// By a lock that lasts as long as the process: another test process passes the address over.
fn claim(address: Ipv4Addr) -> bool {
    static CLAIMED: std::sync::Mutex<Vec<(Ipv4Addr, TcpListener)>> = std::sync::Mutex::new(Vec::new());
    let mut claimed = CLAIMED.lock().expect("no test has failed here");
    if claimed.iter().any(|(other, _)| *other == address) {
        return false;
    }
    match TcpListener::bind((address, 1)) {
        Ok(listener) => {
            claimed.push((address, listener));
            true
        }
        Err(_) => false,
    }
}

fn wait_for(address: SocketAddr) {
    let deadline = Instant::now() + DEADLINE;
    while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
        assert!(Instant::now() < deadline, "nothing listens at {address}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file");
}

fn pem(kind: &str, der: &[u8]) -> String {
    crate::certificates::pem(kind, der)
}
