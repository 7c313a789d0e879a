//! What containers cannot reach: this machine's own addresses, the metadata of a cloud, and containers of other organizations.
//!
//! The rules are iptables' own, because the engine needs that program too, so it is there. They are in the table `mangle`: the engine
//! changes nothing in it, so no order of rules can be lost, and its hooks come before those of the engine and of other firewalls. In that
//! table packets can only be dropped, not refused, so a program that tries waits until its time is up.
//!
//! Each installation has chains of its own, which speak of its own networks, so several share a machine. All of a family's rules are
//! replaced at once: there is no moment without them. They stay when the server ends, because containers go on.

use std::fmt::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Output, Stdio};
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::RwLock;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use uuid::Uuid;
use windlass_edge::Listen;
use windlass_store::networks;

use crate::config::{Reach, Subnet};
use crate::deploy;
use crate::host::Host;
use crate::labels::short;

/// Where clouds tell a machine its secrets. The first range is also that of all other link-local addresses.
const METADATA: [&str; 6] = [
    "169.254.0.0/16",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
    "fd00:c1::a9fe:a9fe/128",
];
/// Which name servers the engine gives to containers: the first file's or, if it names a stub on this machine, the second's.
const NAME_SERVERS: [&str; 2] = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
const DNS: u16 = 53;
/// For one call of the program. It waits for others that change the rules.
const LIMIT: Duration = Duration::from_secs(10);
const LOCK_WAIT: &str = "5";
/// iptables' exit code when it cannot read the rules: another program has the lock, or the right is missing.
const CANNOT_LOOK: i32 = 4;
/// Where the program is, when the server's own path is that of a user without rights.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether the rules are there.
#[derive(Default)]
pub struct Firewall {
    problem: RwLock<Option<Problem>>,
    /// One change at a time.
    turn: tokio::sync::Mutex<()>,
}

const TO_MACHINE: &str = "containers can reach this machine's addresses";
const BETWEEN_BUILDS: &str = "builds of different organizations can reach each other";

/// Why containers can reach what they should not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    /// What is possible that should not be. For everyone.
    danger: &'static str,
    /// Why. For everyone.
    words: &'static str,
    /// For the log.
    cause: String,
}

impl Firewall {
    /// What readiness says. Nothing while the rules are there.
    pub fn warning(&self) -> Option<String> {
        let problem = self.problem.read();
        problem.as_ref().map(|problem| format!("{}: {}", problem.danger, problem.words))
    }

    fn note(&self, problem: Option<Problem>) {
        let before = std::mem::replace(&mut *self.problem.write(), problem.clone());
        match problem {
            Some(problem) if before.as_ref() != Some(&problem) => {
                tracing::warn!(cause = problem.cause, "{}: {}", problem.danger, problem.words);
            }
            None if before.is_some() => tracing::info!("the rules between containers and this machine are there again"),
            _ => {}
        }
    }
}

/// Makes the machine's rules those of the networks that there are. Without the right to do so it is told in readiness.
pub async fn apply(host: &Host) -> deploy::Result<()> {
    let firewall = &host.app.firewall;
    let _turn = firewall.turn.lock().await;
    let rows = networks::all(&mut host.app.db.read().await?).await?;
    let bridge = host.all_networks().await?.into_iter().find_map(|network| network.default_bridge);
    let config = &host.app.config;
    let policy = Policy {
        installation: host.installation,
        pool: config.network_pool,
        networks: rows.iter().filter_map(|row| Subnet::try_from(row.subnet.as_str()).ok()).collect(),
        bridge,
        open: opened(&config.container_reach, &name_servers().await),
        edge: edge(&config.edge_listen()),
    };
    let mut applied = apply_family(&policy, Family::V4).await;
    if applied.is_ok() && tokio::fs::try_exists("/proc/net/if_inet6").await.unwrap_or(false) {
        applied = apply_family(&policy, Family::V6).await;
    }
    if applied.is_ok() {
        applied = let_rules_see_bridge(policy.bridge.as_deref()).await;
    }
    firewall.note(applied.err());
    Ok(())
}

/// Packets between two builds stay inside of the engine's default bridge. The rules see them only with the kernel's module `br_netfilter`,
/// which the engine loads in some set-ups only.
async fn let_rules_see_bridge(bridge: Option<&str>) -> Result<(), Problem> {
    let Some(bridge) = bridge else { return Ok(()) };
    let problem = |cause| Problem { danger: BETWEEN_BUILDS, words: reason(), cause };
    if !tokio::fs::try_exists("/proc/sys/net/bridge").await.unwrap_or(false) {
        let loaded = run("modprobe", &["br_netfilter"], "").await.map_err(|missing| problem(missing.cause))?;
        if !loaded.status.success() {
            return Err(problem(failed("modprobe", &loaded).cause));
        }
    }
    let arguments = ["link", "set", "dev", bridge, "type", "bridge", "nf_call_iptables", "1", "nf_call_ip6tables", "1"];
    let set = run("ip", &arguments, "").await.map_err(|missing| problem(missing.cause))?;
    if !set.status.success() {
        return Err(problem(failed("ip", &set).cause));
    }
    Ok(())
}

async fn apply_family(policy: &Policy, family: Family) -> Result<(), Problem> {
    let mut text = format!("*mangle\n{}", policy.rules(family));
    for (hook, chain) in policy.hooks() {
        if !is_hooked(family.program(), hook, &chain).await? {
            // Writing to a text does not fail.
            let _ = writeln!(text, "-I {hook} -j {chain}");
        }
    }
    text.push_str("COMMIT\n");
    let restore = format!("{}-restore", family.program());
    let output = run(&restore, &["-w", LOCK_WAIT, "--noflush"], &text).await?;
    if output.status.success() { Ok(()) } else { Err(failed(&restore, &output)) }
}

fn reason() -> &'static str {
    if rustix::process::geteuid().is_root() {
        "the rules cannot be set; the server's log says why"
    } else {
        "Windlass does not run as root"
    }
}

async fn is_hooked(program: &str, hook: &str, chain: &str) -> Result<bool, Problem> {
    let output = run(program, &["-w", LOCK_WAIT, "-t", "mangle", "-C", hook, "-j", chain], "").await?;
    match output.status.code() {
        Some(CANNOT_LOOK) => Err(failed(program, &output)),
        _ => Ok(output.status.success()),
    }
}

fn failed(program: &str, output: &Output) -> Problem {
    let cause = format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Problem { danger: TO_MACHINE, words: reason(), cause }
}

async fn run(program: &str, arguments: &[&str], input: &str) -> Result<Output, Problem> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", PATH).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = async {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that ends before it has read everything says why.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        tokio::join!(write, child.wait_with_output()).1
    };
    match tokio::time::timeout(LIMIT, running).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            let words = if is_missing { "the program iptables is missing" } else { reason() };
            Err(Problem { danger: TO_MACHINE, words, cause: format!("{program}: {error}") })
        }
        Err(_) => {
            let cause = format!("{program}: no end within {} s", LIMIT.as_secs());
            Err(Problem { danger: TO_MACHINE, words: reason(), cause })
        }
    }
}

/// The name servers of this machine, which the engine gives to containers.
async fn name_servers() -> Vec<IpAddr> {
    let mut all = Vec::new();
    for file in NAME_SERVERS {
        all.extend(named_in(&tokio::fs::read_to_string(file).await.unwrap_or_default()));
    }
    all
}

/// Those on loopback are asked by the engine itself.
fn named_in(file: &str) -> impl Iterator<Item = IpAddr> {
    let address = |line: &str| line.strip_prefix("nameserver")?.trim().parse().ok();
    file.lines().filter_map(address).filter(|address: &IpAddr| !address.is_loopback())
}

/// A destination that is open to containers.
#[derive(Debug, PartialEq, Eq)]
struct Opening {
    addresses: IpNet,
    port: Option<u16>,
}

/// What the operator lists, and name servers.
fn opened(listed: &[Reach], name_servers: &[IpAddr]) -> Vec<Opening> {
    let listed = listed.iter().map(|reach| Opening { addresses: reach.addresses, port: reach.port });
    let name_servers = name_servers.iter().map(|address| Opening { addresses: (*address).into(), port: Some(DNS) });
    listed.chain(name_servers).collect()
}

/// The edge is there for all visitors, and an application that calls another by its public name is one.
fn edge(listening: &Listen) -> Vec<Opening> {
    let addresses = listening.all().map(|(_, address)| address);
    let beyond_loopback = addresses.filter(|address| address.port() != 0 && !address.ip().is_loopback());
    beyond_loopback.flat_map(edge_at).collect()
}

fn edge_at(listening: SocketAddr) -> Vec<Opening> {
    let port = Some(listening.port());
    let everywhere = |address: IpAddr| Opening { addresses: IpNet::new_assert(address, 0), port };
    match listening.ip() {
        IpAddr::V4(address) if address.is_unspecified() => vec![everywhere(address.into())],
        // It takes connections of both families.
        IpAddr::V6(address) if address.is_unspecified() => {
            vec![everywhere(address.into()), everywhere(Ipv4Addr::UNSPECIFIED.into())]
        }
        address => vec![Opening { addresses: address.into(), port }],
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    const fn program(self) -> &'static str {
        match self {
            Self::V4 => "iptables",
            Self::V6 => "ip6tables",
        }
    }

    const fn has(self, net: &IpNet) -> bool {
        matches!((self, net), (Self::V4, IpNet::V4(_)) | (Self::V6, IpNet::V6(_)))
    }
}

/// What the rules are made of.
struct Policy {
    installation: Uuid,
    pool: Subnet,
    /// Those of this installation. They have no IPv6.
    networks: Vec<Subnet>,
    /// The engine's default bridge, where builds run.
    bridge: Option<String>,
    open: Vec<Opening>,
    /// Open on this machine only: other machines have other things at the same port.
    edge: Vec<Opening>,
}

impl Policy {
    fn chain(&self, purpose: &str) -> String {
        format!("WINDLASS-{purpose}-{}", short(self.installation))
    }

    fn hooks(&self) -> [(&'static str, String); 2] {
        [("INPUT", self.chain("IN")), ("FORWARD", self.chain("FWD"))]
    }

    /// The chains with all that is in them.
    fn rules(&self, family: Family) -> String {
        let mut rules = Rules::default();
        let [to_machine, through, here, far, metadata] =
            ["IN", "FWD", "HERE", "FAR", "META"].map(|name| self.chain(name));
        for chain in [&to_machine, &through, &here, &far, &metadata] {
            rules.line(format_args!(":{chain} - [0:0]"));
        }
        for (entry, chain) in [(&to_machine, &here), (&through, &far)] {
            // Answers, such as those to the edge. What a container has begun itself is looked at in each packet: it may have begun before
            // the rules were there.
            rules.line(format_args!("-A {entry} -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN"));
            // A visitor's packet is compared with these few rules only.
            for source in self.possible_sources(family) {
                rules.line(format_args!("-A {entry} {source} -j {chain}"));
            }
        }
        self.between_networks(family, &far, &mut rules);
        for chain in [&here, &far] {
            openings(family, chain, &self.open, &["tcp", "udp"], &mut rules);
        }
        openings(family, &here, &self.edge, &["tcp"], &mut rules);
        if family == Family::V6 {
            // Without it no address is found at all.
            rules.line(format_args!("-A {here} -p ipv6-icmp -j RETURN"));
        }
        for source in self.sources(family) {
            rules.line(format_args!("-A {here} {source} -j DROP"));
            rules.line(format_args!("-A {far} {source} -j {metadata}"));
        }
        for target in METADATA.iter().filter_map(|text| text.parse().ok()).filter(|net| family.has(net)) {
            rules.line(format_args!("-A {metadata} -d {target} -j DROP"));
        }
        rules.0
    }

    /// Before what is opened: a listed range never opens another organization's network.
    fn between_networks(&self, family: Family, chain: &str, rules: &mut Rules) {
        if let Some(bridge) = &self.bridge {
            // Builds of different organizations are neighbours there.
            rules.line(format_args!("-A {chain} -i {bridge} -o {bridge} -j DROP"));
        }
        if family == Family::V6 {
            return;
        }
        let pool = self.pool;
        for network in &self.networks {
            rules.line(format_args!("-A {chain} -s {network} -d {network} -j RETURN"));
            rules.line(format_args!("-A {chain} -s {network} -d {pool} -j DROP"));
        }
        if let Some(bridge) = &self.bridge {
            rules.line(format_args!("-A {chain} -i {bridge} -d {pool} -j DROP"));
        }
    }

    /// Where packets of containers and builds may come from; with the same pool, also those of another installation.
    fn possible_sources(&self, family: Family) -> Vec<String> {
        let pool = (family == Family::V4).then(|| format!("-s {}", self.pool));
        pool.into_iter().chain(self.bridge_source()).collect()
    }

    fn bridge_source(&self) -> Option<String> {
        self.bridge.as_ref().map(|bridge| format!("-i {bridge}"))
    }

    /// Where packets of containers and builds come from.
    fn sources(&self, family: Family) -> Vec<String> {
        let networks = self.networks.iter().filter(|_| family == Family::V4).map(|network| format!("-s {network}"));
        networks.chain(self.bridge_source()).collect()
    }
}

fn openings(family: Family, chain: &str, open: &[Opening], protocols: &[&str], rules: &mut Rules) {
    for Opening { addresses, port } in open.iter().filter(|open| family.has(&open.addresses)) {
        match port {
            None => rules.line(format_args!("-A {chain} -d {addresses} -j RETURN")),
            Some(port) => {
                for protocol in protocols {
                    rules.line(format_args!("-A {chain} -d {addresses} -p {protocol} --dport {port} -j RETURN"));
                }
            }
        }
    }
}

#[derive(Default)]
struct Rules(String);

impl Rules {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> Subnet {
        Subnet::try_from(text).unwrap()
    }

    fn policy(open: Vec<Opening>) -> Policy {
        Policy {
            installation: Uuid::from_u128(0xabc),
            pool: subnet("10.192.0.0/12"),
            networks: vec![subnet("10.192.0.0/24"), subnet("10.192.1.0/24")],
            bridge: Some("docker0".to_owned()),
            open,
            edge: edge(&listening("0.0.0.0:80")),
        }
    }

    #[test]
    fn the_rules() {
        let open = opened(&[Reach::try_from("10.0.0.5:5432").unwrap()], &["169.254.169.254".parse().unwrap()]);
        let rules = policy(open).rules(Family::V4).replace("000000000abc", "x");
        assert_eq!(
            rules,
            "\
:WINDLASS-IN-x - [0:0]
:WINDLASS-FWD-x - [0:0]
:WINDLASS-HERE-x - [0:0]
:WINDLASS-FAR-x - [0:0]
:WINDLASS-META-x - [0:0]
-A WINDLASS-IN-x -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN
-A WINDLASS-IN-x -s 10.192.0.0/12 -j WINDLASS-HERE-x
-A WINDLASS-IN-x -i docker0 -j WINDLASS-HERE-x
-A WINDLASS-FWD-x -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN
-A WINDLASS-FWD-x -s 10.192.0.0/12 -j WINDLASS-FAR-x
-A WINDLASS-FWD-x -i docker0 -j WINDLASS-FAR-x
-A WINDLASS-FAR-x -i docker0 -o docker0 -j DROP
-A WINDLASS-FAR-x -s 10.192.0.0/24 -d 10.192.0.0/24 -j RETURN
-A WINDLASS-FAR-x -s 10.192.0.0/24 -d 10.192.0.0/12 -j DROP
-A WINDLASS-FAR-x -s 10.192.1.0/24 -d 10.192.1.0/24 -j RETURN
-A WINDLASS-FAR-x -s 10.192.1.0/24 -d 10.192.0.0/12 -j DROP
-A WINDLASS-FAR-x -i docker0 -d 10.192.0.0/12 -j DROP
-A WINDLASS-HERE-x -d 10.0.0.5/32 -p tcp --dport 5432 -j RETURN
-A WINDLASS-HERE-x -d 10.0.0.5/32 -p udp --dport 5432 -j RETURN
-A WINDLASS-HERE-x -d 169.254.169.254/32 -p tcp --dport 53 -j RETURN
-A WINDLASS-HERE-x -d 169.254.169.254/32 -p udp --dport 53 -j RETURN
-A WINDLASS-FAR-x -d 10.0.0.5/32 -p tcp --dport 5432 -j RETURN
-A WINDLASS-FAR-x -d 10.0.0.5/32 -p udp --dport 5432 -j RETURN
-A WINDLASS-FAR-x -d 169.254.169.254/32 -p tcp --dport 53 -j RETURN
-A WINDLASS-FAR-x -d 169.254.169.254/32 -p udp --dport 53 -j RETURN
-A WINDLASS-HERE-x -d 0.0.0.0/0 -p tcp --dport 80 -j RETURN
-A WINDLASS-HERE-x -s 10.192.0.0/24 -j DROP
-A WINDLASS-FAR-x -s 10.192.0.0/24 -j WINDLASS-META-x
-A WINDLASS-HERE-x -s 10.192.1.0/24 -j DROP
-A WINDLASS-FAR-x -s 10.192.1.0/24 -j WINDLASS-META-x
-A WINDLASS-HERE-x -i docker0 -j DROP
-A WINDLASS-FAR-x -i docker0 -j WINDLASS-META-x
-A WINDLASS-META-x -d 169.254.0.0/16 -j DROP
-A WINDLASS-META-x -d 100.100.100.200/32 -j DROP
-A WINDLASS-META-x -d 168.63.129.16/32 -j DROP
"
        );
    }

    #[test]
    fn the_rules_of_the_other_family() {
        let open = opened(&[Reach::try_from("10.0.0.5").unwrap(), Reach::try_from("fd00::5").unwrap()], &[]);
        let rules = policy(open).rules(Family::V6).replace("000000000abc", "x");
        assert_eq!(
            rules,
            "\
:WINDLASS-IN-x - [0:0]
:WINDLASS-FWD-x - [0:0]
:WINDLASS-HERE-x - [0:0]
:WINDLASS-FAR-x - [0:0]
:WINDLASS-META-x - [0:0]
-A WINDLASS-IN-x -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN
-A WINDLASS-IN-x -i docker0 -j WINDLASS-HERE-x
-A WINDLASS-FWD-x -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -j RETURN
-A WINDLASS-FWD-x -i docker0 -j WINDLASS-FAR-x
-A WINDLASS-FAR-x -i docker0 -o docker0 -j DROP
-A WINDLASS-HERE-x -d fd00::5/128 -j RETURN
-A WINDLASS-FAR-x -d fd00::5/128 -j RETURN
-A WINDLASS-HERE-x -p ipv6-icmp -j RETURN
-A WINDLASS-HERE-x -i docker0 -j DROP
-A WINDLASS-FAR-x -i docker0 -j WINDLASS-META-x
-A WINDLASS-META-x -d fd00:ec2::254/128 -j DROP
-A WINDLASS-META-x -d fd20:ce::254/128 -j DROP
-A WINDLASS-META-x -d fd00:c1::a9fe:a9fe/128 -j DROP
"
        );
    }

    /// The kernel takes no more.
    #[test]
    fn names_of_chains_are_short_enough() {
        for purpose in ["IN", "FWD", "HERE", "FAR", "META"] {
            assert!(policy(Vec::new()).chain(purpose).len() <= 28);
        }
    }

    fn listening(address: &str) -> Listen {
        Listen { http: vec![address.parse().unwrap()], https: Vec::new() }
    }

    #[test]
    fn the_edge_is_open_where_visitors_reach_it() {
        let edge = |address: &str| {
            let openings = edge(&listening(address));
            openings.iter().map(|open| format!("{} {:?}", open.addresses, open.port)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(edge("0.0.0.0:80"), "0.0.0.0/0 Some(80)");
        assert_eq!(edge("[::]:80"), "::/0 Some(80), 0.0.0.0/0 Some(80)");
        assert_eq!(edge("192.0.2.1:80"), "192.0.2.1/32 Some(80)");
        assert_eq!(edge("127.0.0.1:7781"), "");
        assert_eq!(edge("0.0.0.0:0"), "");
    }

    #[test]
    fn name_servers_of_the_machine() {
        let file = "# a comment\nnameserver 127.0.0.53\nnameserver 10.0.0.2\nnameserver\t fd00::1 \nsearch nameserver\n\
                    nameserver fe80::1%eth0\nnameserver ::1\n";
        let expected: Vec<IpAddr> = vec!["10.0.0.2".parse().unwrap(), "fd00::1".parse().unwrap()];
        assert_eq!(named_in(file).collect::<Vec<_>>(), expected);
    }
}
