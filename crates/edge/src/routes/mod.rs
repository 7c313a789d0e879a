//! What the edge is told to serve: the whole table, as it crosses the control socket and as it lies on disk.

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The version of this format that this binary writes and reads.
pub const VERSION: u32 = 1;

/// More than one machine serves, and few enough for every table to be built in a moment.
const MOST_ROUTES: usize = 200_000;
const MOST_TARGETS: usize = 256;
/// A table with more problems than this is not read to its end by anybody.
const MOST_PROBLEMS: usize = 20;

/// The whole table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSet {
    pub version: u32,
    #[serde(default, skip_serializing_if = "Owner::is_operator")]
    pub owner: Owner,
    pub routes: Vec<Route>,
    pub services: Vec<ServiceSpec>,
}

impl Default for RouteSet {
    fn default() -> Self {
        Self { version: VERSION, owner: Owner::Operator, routes: Vec::new(), services: Vec::new() }
    }
}

/// Who wrote the table, and so who may replace it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A person, with `windlass routes apply`.
    #[default]
    Operator,
    /// A server, from its applications. A table by hand in its place would take them all offline.
    Server,
}

impl Owner {
    fn is_operator(&self) -> bool {
        *self == Self::Operator
    }
}

/// Requests for a host, below a path, are one service's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// A name in lower case; `*.example.org` for every name below it; `*` for every host that has no route of its own.
    pub host: String,
    /// Begins with `/`. Matches whole segments: `/api` is for `/api` and `/api/users`, not for `/apiary`.
    #[serde(default = "root")]
    pub path: String,
    pub service: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    pub name: String,
    pub serves: Serves,
    /// Whether every request gets a line in the log.
    #[serde(default)]
    pub access_log: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    Targets(TargetsSpec),
    Files(FilesSpec),
    /// Nothing to reach yet, or any more: a page that says so.
    Page(Notice),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    Starting,
    Stopped,
    Failed,
}

/// One or more instances that can all answer the same requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetsSpec {
    pub addresses: Vec<SocketAddr>,
    /// Asked again and again whether it is well; without it only failures of requests count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthSpec>,
    #[serde(default)]
    pub limits: Limits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthSpec {
    pub path: String,
    pub interval_ms: u64,
    pub timeout_ms: u64,
    /// Failures in a row after which a target gets requests only when no other is left.
    pub unhealthy_after: u32,
    /// Successes in a row after which it gets them again.
    pub healthy_after: u32,
}

impl Default for HealthSpec {
    fn default() -> Self {
        Self { path: root(), interval_ms: 2_000, timeout_ms: 2_000, unhealthy_after: 2, healthy_after: 1 }
    }
}

/// How long each part of a request may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub connect_ms: u64,
    /// From the request's head to the answer's. A body that is still coming puts it off.
    pub answer_ms: u64,
    /// Without a byte of the request's body, or of the answer's.
    pub idle_ms: u64,
    /// Without a byte in either direction after an upgrade.
    pub upgrade_idle_ms: u64,
    /// The whole request, to the last byte that the visitor takes; upgrades apart. Over HTTP/2, to the last byte that the
    /// target sends.
    pub total_ms: u64,
    /// Bytes of a request's body; 0 for no limit.
    pub body_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_ms: 5_000,
            answer_ms: 60_000,
            idle_ms: 300_000,
            upgrade_idle_ms: 3_600_000,
            total_ms: 86_400_000,
            body_bytes: 0,
        }
    }
}

/// A folder whose files are the answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesSpec {
    /// An absolute path.
    pub folder: PathBuf,
    /// `/about` is answered with `about.html`, and `/about.html` leads to `/about`.
    #[serde(default = "yes")]
    pub clean_urls: bool,
    /// A path without a file is answered with `/index.html` and status 200, for pages that find their own way.
    #[serde(default)]
    pub single_page: bool,
    /// The file that is shown for a path without one, relative to the folder.
    #[serde(default = "not_found_file")]
    pub not_found: String,
}

fn root() -> String {
    "/".into()
}

fn yes() -> bool {
    true
}

fn not_found_file() -> String {
    "404.html".into()
}

impl RouteSet {
    /// Every problem, each with the place where it is.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut problems = Problems::default();
        if self.version != VERSION {
            problems.add(format!("version: is {}, and this edge knows version {VERSION} only", self.version));
        }
        if self.routes.len() > MOST_ROUTES || self.services.len() > MOST_ROUTES {
            problems.add(format!("routes: more than {MOST_ROUTES}"));
            return problems.into_result();
        }
        let mut names = HashSet::new();
        for (index, service) in self.services.iter().enumerate() {
            service.check(&format!("services[{index}]"), &mut problems);
            if !names.insert(service.name.as_str()) {
                problems.add(format!("services[{index}].name: {:?} is there twice", service.name));
            }
        }
        let mut places = HashSet::new();
        for (index, route) in self.routes.iter().enumerate() {
            route.check(&format!("routes[{index}]"), &mut problems);
            if !names.contains(route.service.as_str()) {
                problems.add(format!("routes[{index}].service: there is no service {:?}", route.service));
            }
            if !places.insert((route.host.as_str(), route.path.trim_end_matches('/'))) {
                problems.add(format!("routes[{index}]: {}{} is there twice", route.host, route.path));
            }
        }
        problems.into_result()
    }

    /// Every target of every service.
    pub fn addresses(&self) -> BTreeSet<SocketAddr> {
        let targets = self.services.iter().filter_map(|service| match &service.serves {
            Serves::Targets(targets) => Some(&targets.addresses),
            Serves::Files(_) | Serves::Page(_) => None,
        });
        targets.flatten().copied().collect()
    }
}

#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        if self.0.len() < MOST_PROBLEMS {
            self.0.push(problem);
        }
    }

    fn into_result(self) -> Result<(), Vec<String>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

impl Route {
    fn check(&self, place: &str, problems: &mut Problems) {
        if !is_host_pattern(&self.host) {
            problems.add(format!("{place}.host: {:?} is not a host name in lower case, nor *.name, nor *", self.host));
        }
        let visible = self.path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
        if !self.path.starts_with('/') || !visible || self.path.len() > 1024 {
            problems.add(format!("{place}.path: {:?} is not a path, such as / or /api", self.path));
        }
    }
}

fn is_host_pattern(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    host == "*" || is_host(name)
}

/// A name or an address, as it comes in a request once it is in lower case and without its port.
fn is_host(name: &str) -> bool {
    if let Some(inside) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inside.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.to_string() == inside);
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
    };
    name.len() <= 253 && name.split('.').all(label)
}

impl ServiceSpec {
    fn check(&self, place: &str, problems: &mut Problems) {
        if self.name.is_empty() || self.name.len() > 200 || !self.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            problems.add(format!("{place}.name: must be 1 to 200 visible ASCII characters"));
        }
        match &self.serves {
            Serves::Targets(targets) => targets.check(&format!("{place}.serves.targets"), problems),
            Serves::Files(files) => files.check(&format!("{place}.serves.files"), problems),
            Serves::Page(_) => {}
        }
    }
}

impl TargetsSpec {
    fn check(&self, place: &str, problems: &mut Problems) {
        if self.addresses.is_empty() || self.addresses.len() > MOST_TARGETS {
            problems.add(format!("{place}.addresses: must be 1 to {MOST_TARGETS}"));
        }
        let mut seen = HashSet::new();
        for address in &self.addresses {
            if address.port() == 0 || address.ip().is_unspecified() || address.ip().is_multicast() {
                problems.add(format!("{place}.addresses: {address} cannot be connected to"));
            }
            if !seen.insert(address) {
                problems.add(format!("{place}.addresses: {address} is there twice"));
            }
        }
        let limits = &self.limits;
        let times = [
            ("connect_ms", limits.connect_ms),
            ("answer_ms", limits.answer_ms),
            ("idle_ms", limits.idle_ms),
            ("upgrade_idle_ms", limits.upgrade_idle_ms),
            ("total_ms", limits.total_ms),
        ];
        for (name, value) in times {
            check_time(&format!("{place}.limits.{name}"), value, problems);
        }
        if let Some(health) = &self.health {
            health.check(&format!("{place}.health"), problems);
        }
    }
}

impl HealthSpec {
    fn check(&self, place: &str, problems: &mut Problems) {
        if !self.path.starts_with('/') || !self.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            problems.add(format!("{place}.path: {:?} is not a path, such as /health", self.path));
        }
        check_time(&format!("{place}.interval_ms"), self.interval_ms, problems);
        check_time(&format!("{place}.timeout_ms"), self.timeout_ms, problems);
        if self.interval_ms < 100 {
            problems.add(format!("{place}.interval_ms: must be at least 100"));
        }
        for (name, value) in [("unhealthy_after", self.unhealthy_after), ("healthy_after", self.healthy_after)] {
            if !(1..=1000).contains(&value) {
                problems.add(format!("{place}.{name}: must be 1 to 1000"));
            }
        }
    }
}

fn check_time(place: &str, millis: u64, problems: &mut Problems) {
    const LONGEST: u64 = 7 * 86_400_000;
    if !(1..=LONGEST).contains(&millis) {
        problems.add(format!("{place}: must be 1 to {LONGEST}, in milliseconds"));
    }
}

impl FilesSpec {
    fn check(&self, place: &str, problems: &mut Problems) {
        if !self.folder.is_absolute() {
            problems.add(format!("{place}.folder: {} is not an absolute path", self.folder.display()));
        }
        if self.not_found.split('/').any(|part| matches!(part, "" | "." | "..")) || self.not_found.contains('\0') {
            problems.add(format!("{place}.not_found: {:?} is not a path inside the folder", self.not_found));
        }
    }
}
