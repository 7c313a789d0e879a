//! What programs in containers can reach, tried from inside of them: not this machine, not a cloud's metadata, not another organization.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, MutexGuard};
use windlass_testing::{Kind, testapp};

use super::support::*;
use super::tenants::{ADA, EVE, Tenants};
use crate::process::{Process, windlass, windlass_at};

/// Addresses of the machine that are no network's.
const OWN_ADDRESS: &str = "198.51.100.7";
const LISTED_ADDRESS: &str = "198.51.100.8";
const METADATA: &str = "169.254.169.254";
const LISTED_LINK_LOCAL: &str = "169.254.169.253";
/// The machine's address on Docker's default bridge.
const DEFAULT_GATEWAY: &str = "172.17.0.1";

/// Answers at every address of the machine, as long as the test runs.
struct Listener {
    port: u16,
}

impl Listener {
    fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                std::thread::spawn(move || answer(connection));
            }
        });
        Self { port }
    }
}

fn answer(mut connection: TcpStream) {
    let _ = connection.set_read_timeout(Some(Duration::from_secs(5)));
    let _ = connection.read(&mut [0; 1024]);
    let _ = connection.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
}

/// A machine that this one has a way to, which tells secrets at link-local addresses.
struct Cloud {
    container: String,
    /// Its addresses can be had once.
    _turn: MutexGuard<'static, ()>,
}

impl Cloud {
    async fn start() -> Self {
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let listen = ["-e", "PORT=80", testapp::IMAGE];
        let container = docker(&[&["run", "-d", "--network", "none"][..], &listen].concat());
        let process = docker(&["inspect", "--format", "{{.State.Pid}}", &container]);
        let inside = |arguments: &[&str]| {
            run("nsenter", &[&["--target", &process, "--net", "ip"][..], arguments].concat());
        };
        run("ip", &["link", "add", "wl-cloud", "type", "veth", "peer", "name", "wl-far", "netns", &process]);
        run("ip", &["address", "add", "169.254.1.1/16", "dev", "wl-cloud"]);
        run("ip", &["link", "set", "wl-cloud", "up"]);
        for address in [METADATA, LISTED_LINK_LOCAL] {
            inside(&["address", "add", &format!("{address}/16"), "dev", "wl-far"]);
        }
        inside(&["link", "set", "wl-far", "up"]);
        inside(&["route", "add", "default", "via", "169.254.1.1"]);
        Self { container, _turn: turn }
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "delete", "wl-cloud"]).output();
        let _ = Command::new("docker").args(["rm", "-f", &self.container]).output();
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// In a shell: prints `HTTP/...` of what answers there, and then how that ended.
fn visit_command(address: &str, port: u16) -> String {
    format!("printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 {address} {port}; echo ended with $?")
}

/// Whether a program in the container reaches it.
fn reaches(container: &str, address: &str, port: u16) -> bool {
    let said = docker(&["exec", container, "sh", "-c", &visit_command(address, port)]);
    assert!(said.contains("ended with"), "{said}");
    said.contains("HTTP/")
}

/// The same from this machine: that there is something to be reached.
fn is_there(address: &str, port: u16) -> bool {
    let Ok(mut connection) = TcpStream::connect((address, port)) else { return false };
    let _ = connection.set_read_timeout(Some(Duration::from_secs(5)));
    let mut said = [0; 5];
    connection.write_all(b"GET / HTTP/1.0\r\n\r\n").is_ok()
        && connection.read_exact(&mut said).is_ok()
        && said == *b"HTTP/"
}

fn inspect(container: &str, field: &str) -> String {
    docker(&[
        "inspect",
        "--format",
        &format!("{{{{range .NetworkSettings.Networks}}}}{{{{.{field}}}}}{{{{end}}}}"),
        container,
    ])
}

fn add_own_addresses() {
    for address in [OWN_ADDRESS, LISTED_ADDRESS] {
        run("ip", &["address", "replace", &format!("{address}/32"), "dev", "lo"]);
    }
}

/// The rules of one installation, without the counters.
fn rules_of(instance: &str) -> Vec<String> {
    let end = &instance[instance.len() - 12..];
    let all = run("iptables-save", &["-t", "mangle"]);
    all.lines().filter(|line| line.starts_with("-A") && line.contains(end)).map(str::to_owned).collect()
}

/// A pool of its own: rules of installations that are gone stay, and speak of networks that were theirs.
async fn start_tenants(pool: &str, arguments: &[&str]) -> Tenants {
    Tenants::with(&[&["--network-pool", pool][..], arguments].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_reaches_neither_the_machine_nor_metadata_nor_another_organization() {
    add_own_addresses();
    let listener = Listener::start();
    let listed = [format!("{LISTED_ADDRESS}:{}", listener.port), format!("{LISTED_LINK_LOCAL}/32:80")];
    let listed: Vec<&str> = listed.iter().flat_map(|one| ["--container-reach", one]).collect();
    let mut tenants = start_tenants("10.64.0.0/16", &listed).await;
    let cloud = Cloud::start().await;
    let repository = tenants.repository(&testapp::dockerfile(""));
    let command = format!(
        "gateway=$(ip route | sed -n 's/default via \\([0-9.]*\\).*/\\1/p'); echo asking $gateway; {}",
        visit_command("$gateway", listener.port)
    );
    let hers = tenants.deploy(ADA, "hers", &repository, &json!({})).await;
    let mine = tenants.deploy(EVE, "mine", &repository, &json!({ "replicas": 2, "pre_run_command": command })).await;
    for deployment in [&hers, &mine] {
        assert_eq!(deployment["status"]["status"], "deployed", "{deployment}");
    }
    let story = tenants.platform.story(&id_of(&mine));
    assert!(
        story.contains("asking 10.64.") && story.contains("ended with 1") && !story.contains("HTTP/1.0 200"),
        "{story}"
    );
    let [hers] = running(&hers).try_into().unwrap();
    let [mine, replica] = running(&mine).try_into().unwrap();
    let api = restart_with_open_api(&mut tenants.platform, &listed);

    let her_address = inspect(&hers, "IPAddress");
    let (own, other) = (inspect(&mine, "Gateway"), inspect(&hers, "Gateway"));
    assert!(own != other && own.starts_with("10.64."), "{own} {other}");
    for (address, port) in [
        (own.as_str(), api),
        (&own, listener.port),
        (&other, listener.port),
        (DEFAULT_GATEWAY, listener.port),
        (OWN_ADDRESS, listener.port),
        (LISTED_ADDRESS, api),
        (METADATA, 80),
        (&her_address, 8080),
    ] {
        until("it is there", async || is_there(address, port).then_some(())).await;
        assert!(!reaches(&mine, address, port), "{address}:{port}");
    }
    // What is listed; and what an organization has itself, by its name.
    assert!(reaches(&mine, LISTED_ADDRESS, listener.port));
    assert!(reaches(&mine, LISTED_LINK_LOCAL, 80));
    assert!(reaches(&mine, &replica, 8080));
    // An operator who has opened the engine's own rules between networks has not opened these.
    for (from, to) in [(&own, &other), (&other, &own)] {
        run("iptables", &["-I", "DOCKER-USER", "-s", &format!("{from}/24"), "-d", &format!("{to}/24"), "-j", "ACCEPT"]);
    }
    assert!(!reaches(&mine, &her_address, 8080), "{her_address}");
    // The edge comes from this machine, and gets its answers.
    assert_eq!(tenants.platform.visit("mine.localhost", "/").await, (200, "v1".to_owned()));
    drop(cloud);
}

/// The server again, with an API that listens at every address too. Its port.
fn restart_with_open_api(platform: &mut Platform, listed: &[&str]) -> u16 {
    let before = rules_of(&platform.instance);
    platform.kill_server();
    let free = TcpListener::bind("0.0.0.0:0").expect("a port").local_addr().expect("an address").port();
    let listen = format!("0.0.0.0:{free}");
    let arguments = [&["--listen", &listen, "--network-pool", "10.64.0.0/16"][..], listed].concat();
    platform.use_server(Process::start(windlass(), &platform.data_dir(), &arguments));
    platform.process().wait_for("the container engine answers");
    assert_eq!(rules_of(&platform.instance), before, "a second start changes nothing");
    free
}

/// The containers that serve: those of commands have ended, and may still be there.
fn running(deployment: &Value) -> Vec<String> {
    let label = format!("label=windlass.app={}", deployment["application_id"].as_str().expect("an application"));
    let names = docker(&["ps", "--format", "{{.Names}}", "--filter", &label]);
    names.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_reaches_neither_the_machine_nor_metadata_nor_another_organization() {
    add_own_addresses();
    // As an engine leaves it that publishes its ports by a program of its own: then the rules see no neighbours by themselves.
    std::fs::write("/proc/sys/net/bridge/bridge-nf-call-iptables", "0").unwrap();
    let listener = Listener::start();
    let mut tenants = start_tenants("10.65.0.0/16", &[]).await;
    let hers = tenants.repository(&testapp::dockerfile(""));
    let hers = tenants.deploy(ADA, "hers", &hers, &json!({})).await;
    let [hers] = running(&hers).try_into().unwrap();
    let her_address = inspect(&hers, "IPAddress");
    // What another organization's build would be: a neighbour on the engine's default bridge.
    let neighbour = docker(&["run", "-d", testapp::IMAGE]);
    let neighbours_address = inspect(&neighbour, "IPAddress");
    let gateway = inspect(&hers, "Gateway");
    let cloud = Cloud::start().await;
    let targets = [
        (DEFAULT_GATEWAY, listener.port),
        (gateway.as_str(), listener.port),
        (OWN_ADDRESS, listener.port),
        (&her_address, 8080),
        (&neighbours_address, 8080),
        (METADATA, 80),
    ];
    let mut lines = String::new();
    for (address, port) in targets {
        until("it is there", async || is_there(address, port).then_some(())).await;
        lines.push_str(&format!("RUN {{ {}; }} > /tried-{address} 2>&1\n", visit_command(address, port)));
    }
    // On one line: it becomes a header of what is served.
    lines.push_str("RUN echo $(cat /tried-* | tr -d '\\r') > /version\n");
    let repository = tenants.repository(&testapp::dockerfile(&lines));
    let served = tenants.served(EVE, "curious", &repository, &json!({})).await;
    drop(cloud);
    docker(&["rm", "-f", &neighbour]);
    assert_eq!(served.matches("ended with 1").count(), targets.len(), "{served}");
    assert!(!served.contains("HTTP/"), "{served}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_are_there_once_and_always() {
    let platform = Platform::on(Kind::Sqlite, &["--network-pool", "10.66.0.0/16"]).await;
    let repository = repository(&platform, "ruled", "v1");
    let application = platform.deploy(&body("ruled", &repository));
    platform.deployed(&newest_deployment(&application)).await;
    let rules = rules_of(&platform.instance);
    for hook in ["-A INPUT", "-A FORWARD"] {
        assert_eq!(rules.iter().filter(|rule| rule.starts_with(hook)).count(), 1, "{rules:?}");
    }
    assert!(rules.iter().any(|rule| rule.contains("-s 10.66.0.0/24 -j DROP")), "{rules:?}");
    // They are looked at all the time while they are made again and again, by another installation too.
    let (over, looks, missing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Arc::default());
    let looking = std::thread::spawn({
        let (over, looks, missing, instance, rules) =
            (over.clone(), looks.clone(), Arc::clone(&missing), platform.instance.clone(), rules.clone());
        move || {
            while !over.load(Ordering::Relaxed) {
                looks.fetch_add(1, Ordering::Relaxed);
                if rules_of(&instance) != rules {
                    AtomicUsize::fetch_add(&missing, 1, Ordering::Relaxed);
                }
            }
        }
    });
    let other = Platform::on(Kind::Sqlite, &["--network-pool", "10.66.0.0/16"]).await;
    let others = super::support::repository(&other, "other", "v2");
    let deployed = other.deploy(&body("other", &others));
    other.deployed(&newest_deployment(&deployed)).await;
    for _ in 0..3 {
        platform.call("POST", "/deploy/application/restart", &json!({ "id": id_of(&application) }));
        platform.settled().await;
    }
    over.store(true, Ordering::Relaxed);
    looking.join().unwrap();
    assert!(looks.load(Ordering::Relaxed) > 20);
    assert_eq!(missing.load(Ordering::Relaxed), 0);
    assert_eq!(platform.visit("ruled.localhost", "/").await.1, "v1");
    assert_eq!(other.visit("other.localhost", "/").await.1, "v2");
    assert_eq!(platform.call("GET", "/health", &Value::Null)["warnings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_flushes_the_rules_is_undone_by_the_next_deployment() {
    let platform = Platform::on(Kind::Sqlite, &["--network-pool", "10.67.0.0/16"]).await;
    let repository = repository(&platform, "flushed", "v1");
    let application = platform.deploy(&body("flushed", &repository));
    let deployment = platform.deployed(&newest_deployment(&application)).await;
    let [container] = running(&deployment).try_into().unwrap();
    let (listener, gateway) = (Listener::start(), inspect(&container, "Gateway"));
    assert!(!reaches(&container, &gateway, listener.port));
    let rules = rules_of(&platform.instance);
    for (hook, chain) in [("INPUT", "IN"), ("FORWARD", "FWD")] {
        let chain = format!("WINDLASS-{chain}-{}", &platform.instance[platform.instance.len() - 12..]);
        run("iptables", &["-t", "mangle", "-D", hook, "-j", &chain]);
        run("iptables", &["-t", "mangle", "-F", &chain]);
    }
    let mut begun = Conversation::begin(&container, &gateway);
    assert!(begun.answers().await, "without rules it is reached");
    platform.call("POST", "/deploy/application", &body("flushed-too", &repository));
    until("they are back", async || {
        let (mut before, mut now) = (rules.clone(), rules_of(&platform.instance));
        before.sort();
        now.sort();
        (before == now).then_some(())
    })
    .await;
    assert!(!begun.answers().await, "what began meanwhile goes on");
}

/// A connection of a program in a container to an echo.
struct Conversation {
    _child: tokio::process::Child,
    input: tokio::process::ChildStdin,
    lines: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
}

impl Conversation {
    fn begin(container: &str, address: &str) -> Self {
        let echo = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = echo.local_addr().expect("an address").port().to_string();
        std::thread::spawn(move || {
            for connection in echo.incoming().flatten() {
                let _ = std::io::copy(&mut &connection, &mut &connection);
            }
        });
        let mut command = tokio::process::Command::new("docker");
        command.args(["exec", "-i", container, "nc", address, &port]).kill_on_drop(true);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("docker starts");
        let (input, output) = (child.stdin.take().expect("its input"), child.stdout.take().expect("its output"));
        Self { _child: child, input, lines: tokio::io::BufReader::new(output).lines() }
    }

    async fn answers(&mut self) -> bool {
        self.input.write_all(b"are you there\n").await.expect("it reads");
        let answer = tokio::time::timeout(Duration::from_secs(5), self.lines.next_line()).await;
        answer.is_ok_and(|line| line.expect("text").is_some())
    }
}

/// Root without the right to change the machine's network stands for a user without rights.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_it_readiness_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = windlass_at(Path::new("setpriv"));
    command.args(["--bounding-set", "-net_admin", "--inh-caps", "-net_admin", env!("CARGO_BIN_EXE_windlass")]);
    let process = Process::start(command, &folder.path().join("data"), &[]);
    process.wait_for("containers can reach this machine's addresses");
    let health = process.ok("GET", "/health/ready", "", "");
    assert_eq!(health["data"]["ready"], true, "it works all the same: {health}");
    let warning = health["data"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("containers can reach this machine's addresses: the rules cannot be set"), "{warning}");
}

#[tokio::test(flavor = "multi_thread")]
async fn builds_have_no_network_if_the_operator_says_so() {
    let proxy = "http://192.0.2.1:3128";
    let mut tenants = Tenants::with(&["--build-network", "none", "--build-proxy", proxy]).await;
    let lines = "RUN echo $(ls /sys/class/net) $HTTP_PROXY $https_proxy > /version";
    let repository = tenants.repository(&testapp::dockerfile(lines));
    let mine = tenants.deploy(EVE, "mine", &repository, &json!({})).await;
    let story = tenants.platform.story(&id_of(&mine));
    assert!(story.contains("RUN has no network in this build"), "{story}");
    let served = tenants.platform.visit("mine.localhost", "/").await.1;
    assert_eq!(served.trim(), format!("lo {proxy} {proxy}"));
    // The first organization has host access.
    let hers = tenants.served(ADA, "hers", &repository, &json!({})).await;
    assert!(hers.contains("eth0") && !hers.contains(proxy), "{hers}");
}
