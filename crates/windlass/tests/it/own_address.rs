//! The server itself behind the edge: https from the first minute, and believed when it says who comes.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testing::pebble::Pebble;

use crate::process::{Process, run, token_in, windlass};

const LIMIT: Duration = Duration::from_secs(60);
const REGISTRATION: &str = r#""email":"ada@example.org","password":"correct horse battery""#;

/// A person with a browser that trusts one root, at an address of their own.
struct Visitor<'a> {
    root: &'a Path,
    /// `host:port:address`, as curl wants it.
    resolve: Vec<String>,
    from: &'a str,
}

impl Visitor<'_> {
    /// The answer with its head, or why there is none.
    fn call(&self, url: &str, more: &[&str]) -> Result<String, String> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--include", "--max-time", "10", "--interface", self.from, "--cacert"]);
        curl.arg(self.root);
        for resolve in &self.resolve {
            curl.args(["--resolve", resolve]);
        }
        text(&curl.args(more).arg(url).output().expect("curl runs"))
    }

    fn wait_for(&self, url: &str, status: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            let answer = self.call(url, &[]);
            match answer {
                Ok(answer) if has_status(&answer, status) => return answer,
                _ => assert!(Instant::now() < deadline, "{url}: {answer:?}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn text(output: &Output) -> Result<String, String> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn has_status(answer: &str, status: &str) -> bool {
    answer.split(' ').nth(1) == Some(status)
}

fn set_up_token(server: &Process) -> String {
    server.wait_for("Set-up token").rsplit(' ').next().expect("a token").to_owned()
}

/// The certificate is ordered before there is any user, and the first user registers over https.
#[test]
fn the_dashboard_is_served_over_https_from_the_first_minute() {
    let pebble = Pebble::start();
    let folder = tempfile::tempdir().unwrap();
    let mut arguments = pebble.arguments();
    let at = |port: u16| format!("{}:{port}", pebble.address);
    arguments.extend(["--edge-https".into(), at(443), "--edge-http".into(), at(80)]);
    arguments.extend(["--public-url".into(), "https://panel.example.org".into()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = Process::serve(folder.path(), &arguments);
    let token = set_up_token(&server);
    let root = pebble.root();
    let resolve = [80, 443].map(|port| format!("panel.example.org:{port}:{}", pebble.address)).to_vec();
    let visitor = Visitor { root: &root, resolve, from: "127.0.0.77" };

    let page = visitor.wait_for("https://panel.example.org/", "200");
    assert!(page.to_lowercase().contains("strict-transport-security: max-age="), "{page}");
    let answer = visitor.call("http://panel.example.org/api/v1/health", &[]).unwrap();
    assert!(has_status(&answer, "308") && answer.contains("https://panel.example.org/api/v1/health"), "{answer}");

    let register = "https://panel.example.org/api/v1/auth/register";
    let body = |more: &str| format!("{{{REGISTRATION}{more}}}");
    // A visitor does not become one who is at the machine by saying so.
    let forged = ["--header", "x-forwarded-for: 127.0.0.1", "--data", &body("")];
    let refused = visitor.call(register, &forged).unwrap();
    assert!(refused.contains("\"setup_token_required\""), "{refused}");
    let given = body(&format!(",\"token\":\"{token}\""));
    let answer = visitor.call(register, &["--header", "x-forwarded-for: 192.0.2.1", "--data", &given]).unwrap();
    assert!(has_status(&answer, "200"), "{answer}");
    let token = token_in(&answer);

    let sessions = server.ok("GET", "/auth/sessions", &token, "");
    assert!(sessions.to_string().contains("127.0.0.77"), "the visitor's own address: {sessions}");
    assert!(!sessions.to_string().contains("192.0.2.1"), "what the visitor has made up: {sessions}");
    let entries = server.ok("GET", "/audit/logs?scope=instance", &token, "").to_string();
    assert!(entries.contains("obtained a certificate for panel.example.org"), "{entries}");
    let certificates = server.ok("GET", "/certificates", &token, "");
    assert_eq!(certificates["data"]["certificates"], Value::Array(Vec::new()), "it is no organization's");
    only_the_edge_is_believed(folder.path());
    another_user_takes_the_port(server, folder.path(), &visitor);
}

/// While the server is away, what visitors send does not go to a program of another user at its address.
fn another_user_takes_the_port(mut server: Process, data_dir: &Path, visitor: &Visitor<'_>) {
    let address = address_for_edge(data_dir);
    server.signal(rustix::process::Signal::KILL);
    server.wait();
    let port = address.port().to_string();
    let taken = Command::new("python3")
        .args(["-m", "http.server", &port, "--bind", "127.0.0.1", "--directory", "/"])
        .uid(65_534)
        .stderr(Stdio::null())
        .spawn();
    let mut taken = taken.expect("python3 starts");
    let deadline = Instant::now() + LIMIT;
    while std::net::TcpStream::connect(address).is_err() {
        assert!(Instant::now() < deadline, "the port is not taken");
        std::thread::sleep(Duration::from_millis(20));
    }
    let answer = visitor.call("https://panel.example.org/", &[]).unwrap();
    taken.kill().expect("it ends");
    taken.wait().expect("it has ended");
    assert!(has_status(&answer, "503"), "{answer}");
}

/// Another user of the machine cannot speak for visitors.
fn only_the_edge_is_believed(data_dir: &Path) {
    let address = address_for_edge(data_dir);
    let call = |user: u32| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "10", &format!("http://{address}/api/v1/health")]);
        text(&curl.uid(user).output().expect("curl runs"))
    };
    let refused = call(65_534);
    assert!(refused.is_err(), "{refused:?}");
    assert!(call(rustix::process::geteuid().as_raw()).is_ok_and(|answer| answer.contains("success")));
}

/// Where the routes lead for the server itself.
fn address_for_edge(data_dir: &Path) -> SocketAddr {
    let shown = run(windlass().args(["routes", "show", "--data-dir"]).arg(data_dir));
    let table: Value = serde_json::from_slice(&shown.stdout).expect("the table");
    let service = table["services"].as_array().unwrap().iter().find(|service| service["name"] == "windlass");
    let address = &service.expect("the server")["serves"]["targets"]["addresses"][0];
    address.as_str().expect("an address").parse().expect("an address")
}

/// On a machine without a name of its own: by an authority of its own, whose root is printed.
#[test]
fn names_of_the_machine_have_certificates_of_its_own_authority() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = run(windlass().args(["ca", "--data-dir"]).arg(folder.path()));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no root"), "{nothing:?}");
    let https = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 78), 0)).unwrap().local_addr().unwrap();
    let (edge_https, public_url) = (https.to_string(), format!("https://localhost:{}", https.port()));
    let arguments = ["--edge-http", "127.0.0.1:0", "--edge-https", &edge_https, "--public-url", &public_url];
    let mut server = Process::serve(folder.path(), &arguments);
    let token = set_up_token(&server);
    let root = folder.path().join("root.pem");
    let print_root = || {
        let printed = run(windlass().args(["ca", "--data-dir"]).arg(folder.path()));
        printed.status.success().then_some(printed.stdout)
    };
    let deadline = Instant::now() + LIMIT;
    let first_root = loop {
        match print_root() {
            Some(pem) => break pem,
            None => assert!(Instant::now() < deadline, "no root"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    std::fs::write(&root, &first_root).unwrap();
    let resolve = vec![format!("localhost:{}:127.0.0.78", https.port())];
    let visitor = Visitor { root: &root, resolve, from: "127.0.0.1" };
    visitor.wait_for(&format!("{public_url}/api/v1/health"), "200");
    let given = format!("{{{REGISTRATION},\"token\":\"{token}\"}}");
    let answer = visitor.call(&format!("{public_url}/api/v1/auth/register"), &["--data", &given]).unwrap();
    assert!(has_status(&answer, "200"), "{answer}");

    // The root outlives the server: people have told their browsers to trust it.
    server.signal(rustix::process::Signal::KILL);
    server.wait();
    std::fs::remove_file(folder.path().join("ca.pem")).unwrap();
    let _server = Process::serve(folder.path(), &arguments);
    visitor.wait_for(&format!("{public_url}/api/v1/health"), "200");
    assert_eq!(print_root(), Some(first_root));
}
