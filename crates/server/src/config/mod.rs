//! Settings: a flag goes before the environment, the environment before the file, the file before the default. All
//! problems are found before anything starts.

mod given;
mod keys;
mod parse;
mod subnet;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub use given::Given;
pub use keys::{KEYS, Key};
use parse::{
    boolean, database_url, docker_socket, domain, log_format, log_level, log_source, network_pool, not_empty,
    public_url, read_addresses, read_origins, read_proxies,
};
pub use subnet::Subnet;

use serde::{Deserialize, Serialize};

use crate::vault::ring::{self, Ring, Source};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub data_dir: PathBuf,
    /// The master key, when the environment gives it.
    master_key: Option<Ring>,
    pub listen: Vec<SocketAddr>,
    pub database_url: Option<DatabaseUrl>,
    pub database_connections: u32,
    pub docker_socket: PathBuf,
    pub network_pool: Subnet,
    pub base_domain: String,
    public_url: Option<String>,
    pub trusted_proxies: Vec<IpAddr>,
    pub cors_origins: Vec<String>,
    pub log_format: LogFormat,
    pub log_level: LogLevel,
    pub open_registration: bool,
    pub session_seconds: i64,
    pub invitation_seconds: i64,
    pub allow_private_targets: bool,
    pub api_key_days: u32,
    pub login_attempts: u32,
    pub code_attempts: u32,
    pub address_requests: u32,
    pub account_requests: u32,
    pub key_requests: u32,
    pub user_sessions: i64,
    pub user_organizations: i64,
    pub member_keys: i64,
    pub open_invitations: i64,
    pub organization_applications: i64,
    pub kept_deployments: i64,
    pub parallel_deployments: usize,
    pub parallel_starts: usize,
    pub organization_share: usize,
    pub start_limit: Duration,
    pub fetch_limit: Duration,
    pub fetch_bytes: u64,
    /// 0 for no caches.
    pub repository_cache_bytes: u64,
    pub build_limit: Duration,
    /// 0 for no budget.
    pub build_cache_bytes: u64,
    pub log_source: LogSource,
    pub log_seconds: i64,
    pub log_bytes: i64,
    pub log_line_bytes: usize,
    pub log_followers: usize,
    pub event_followers: usize,
    pub event_days: i64,
    pub search_limit: Duration,
    pub engine_log_bytes: u64,
    pub engine_log_files: u32,
    pub parallel_logins: usize,
    pub body_limit: usize,
    pub strangers_body_limit: usize,
    pub request_limit: Duration,
    pub idle_limit: Duration,
    pub max_connections: usize,
    pub shutdown_limit: Duration,
    pub edge_http: Vec<SocketAddr>,
    pub edge: windlass_edge::Settings,
}

/// Holds a password, so it shows itself only when asked.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DatabaseUrl(..)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogFormat {
    Text,
    Json,
}

/// Where to read what containers print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// The engine's own files where that can be done.
    Auto,
    Engine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Config {
    /// All problems at once, each with the name of its key.
    pub fn from_given(mut given: Given) -> Result<Self, Vec<String>> {
        match Self::read(&mut given) {
            Some(config) if given.problems.is_empty() => Ok(config),
            _ => Err(given.problems),
        }
    }

    fn read(given: &mut Given) -> Option<Self> {
        let listen = read_addresses(given, "listen");
        let edge_http = read_addresses(given, "edge-http");
        let database_url = given.read("database-url", database_url);
        let connections = given.number("database-connections", 0..=200);
        let on_postgres = matches!(database_url, Some(Some(_)));
        let public_url = given.read("public-url", public_url);
        let trusted_proxies = read_proxies(given);
        let cors_origins = read_origins(given);
        let data_dir = given.read("data-dir", not_empty);
        let docker_socket = given.read("docker-socket", docker_socket);
        let network_pool = given.read("network-pool", network_pool);
        let base_domain = given.read("base-domain", domain);
        let log_format = given.read("log-format", log_format);
        let log_level = given.read("log-level", log_level);
        let open_registration = given.read("open-registration", boolean);
        let session_days = given.number("session-days", 1..=365);
        let invitation_days = given.number("invitation-days", 1..=90);
        let allow_private_targets = given.read("allow-private-targets", boolean);
        let api_key_days = given.number("api-key-days", 1..=365);
        let login_attempts = given.number("login-attempts", 1..=100_000);
        let code_attempts = given.number("code-attempts", 1..=1_000);
        let address_requests = given.number("address-requests", 0..=10_000_000);
        let account_requests = given.number("account-requests", 0..=10_000_000);
        let key_requests = given.number("key-requests", 0..=10_000_000);
        let user_sessions = given.number("user-sessions", 1..=1_000);
        let user_organizations = given.number("user-organizations", 1..=1_000);
        let member_keys = given.number("member-keys", 1..=1_000);
        let open_invitations = given.number("open-invitations", 1..=10_000);
        let organization_applications = given.number("organization-applications", 1..=10_000);
        let kept_deployments = given.number("kept-deployments", 10..=100_000);
        let parallel_deployments = given.number("parallel-deployments", 1..=64);
        let parallel_starts = given.number("parallel-starts", 1..=1_000);
        let organization_share = given.number("organization-share", 1..=100);
        let start_seconds = given.number("start-seconds", 60..=86_400);
        let fetch_seconds = given.number("fetch-seconds", 1..=7_200);
        let fetch_mib: Option<u64> = given.number("fetch-mib", 1..=1_048_576);
        let repository_cache_mib: Option<u64> = given.number("repository-cache-mib", 0..=1_048_576);
        let build_cache_mib: Option<u64> = given.number("build-cache-mib", 0..=16_777_216);
        let build_seconds = given.number("build-seconds", 1..=86_400);
        let log_source = given.read("log-source", log_source);
        let log_days: Option<i64> = given.number("log-days", 1..=3_650);
        let log_mib: Option<i64> = given.number("log-mib", 1..=1_048_576);
        let log_line_kib: Option<usize> = given.number("log-line-kib", 1..=1_024);
        let event_followers = given.number("event-followers", 1..=10_000);
        let event_days = given.number("event-days", 1..=365);
        let log_followers = given.number("log-followers", 1..=10_000);
        let search_seconds = given.number("search-seconds", 1..=60);
        let engine_log_mib: Option<u64> = given.number("engine-log-mib", 1..=4_096);
        let engine_log_files = given.number("engine-log-files", 2..=100);
        let parallel_logins = given.number("parallel-logins", 1..=64);
        let body_limit_kib = given.number("body-limit-kib", 1..=65_536);
        let strangers_body_kib = given.number("strangers-body-kib", 1..=1_024);
        let request_seconds = given.number("request-seconds", 1..=600);
        let idle_seconds = given.number("idle-seconds", 1..=3_600);
        let max_connections = given.number("max-connections", 1..=65_535);
        let shutdown_seconds = given.number("shutdown-seconds", 0..=600);
        let edge_threads = given.number("edge-threads", 0..=256);
        let edge_max_connections = given.number("edge-max-connections", 1..=1_000_000);
        let edge_address_connections = given.number("edge-address-connections", 0..=1_000_000);
        let edge_head_seconds = given.number("edge-head-seconds", 1..=600);
        let edge_head_kib = given.number("edge-head-kib", 8..=1024);
        let edge_idle_seconds = given.number("edge-idle-seconds", 1..=3_600);
        let hand_over_seconds = given.number("hand-over-seconds", 1..=86_400);
        let edge = windlass_edge::Settings {
            threads: match edge_threads? {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                threads => threads,
            },
            trusted_proxies: trusted_proxies.clone(),
            max_connections: edge_max_connections?,
            address_connections: edge_address_connections?,
            head_limit: Duration::from_secs(edge_head_seconds?),
            idle_limit: Duration::from_secs(edge_idle_seconds?),
            head_bytes: 1024 * edge_head_kib?,
            stop_limit: Duration::from_secs(shutdown_seconds?),
            hand_over_limit: Duration::from_secs(hand_over_seconds?),
        };
        Some(Self {
            edge_http,
            edge,
            public_url: public_url?,
            data_dir: data_dir?.into(),
            master_key: given.master_key.take(),
            listen,
            database_url: database_url?,
            database_connections: match connections? {
                0 if on_postgres => 16,
                0 => 4,
                connections => connections,
            },
            docker_socket: docker_socket?,
            network_pool: network_pool?,
            base_domain: base_domain?,
            trusted_proxies,
            cors_origins,
            log_format: log_format?,
            log_level: log_level?,
            open_registration: open_registration?,
            session_seconds: 86_400 * session_days?,
            invitation_seconds: 86_400 * invitation_days?,
            allow_private_targets: allow_private_targets?,
            api_key_days: api_key_days?,
            login_attempts: login_attempts?,
            code_attempts: code_attempts?,
            address_requests: address_requests?,
            account_requests: account_requests?,
            key_requests: key_requests?,
            user_sessions: user_sessions?,
            user_organizations: user_organizations?,
            member_keys: member_keys?,
            open_invitations: open_invitations?,
            organization_applications: organization_applications?,
            kept_deployments: kept_deployments?,
            parallel_deployments: parallel_deployments?,
            parallel_starts: parallel_starts?,
            organization_share: organization_share?,
            start_limit: Duration::from_secs(start_seconds?),
            fetch_limit: Duration::from_secs(fetch_seconds?),
            fetch_bytes: 1024 * 1024 * fetch_mib?,
            repository_cache_bytes: 1024 * 1024 * repository_cache_mib?,
            build_limit: Duration::from_secs(build_seconds?),
            build_cache_bytes: 1024 * 1024 * build_cache_mib?,
            log_source: log_source?,
            log_seconds: 86_400 * log_days?,
            log_bytes: 1024 * 1024 * log_mib?,
            log_line_bytes: 1024 * log_line_kib?,
            log_followers: log_followers?,
            event_followers: event_followers?,
            event_days: event_days?,
            search_limit: Duration::from_secs(search_seconds?),
            engine_log_bytes: 1024 * 1024 * engine_log_mib?,
            engine_log_files: engine_log_files?,
            parallel_logins: parallel_logins?,
            body_limit: 1024 * body_limit_kib?,
            strangers_body_limit: 1024 * strangers_body_kib?,
            request_limit: Duration::from_secs(request_seconds?),
            idle_limit: Duration::from_secs(idle_seconds?),
            max_connections: max_connections?,
            shutdown_limit: Duration::from_secs(shutdown_seconds?),
        })
    }

    /// Where the master key is: in the environment if it is there, else in the data folder.
    pub fn master_key_source(&self) -> Source {
        match &self.master_key {
            Some(ring) => Source::Environment(ring.clone()),
            None => Source::File(self.data_dir.join(ring::FILE_NAME)),
        }
    }

    /// How people reach the server.
    pub fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| default_public_url(&self.listen))
    }

    /// Whether nobody but this machine's own users, or a proxy on it, can reach the server.
    pub fn is_loopback_only(&self) -> bool {
        self.listen.iter().all(|address| address.ip().is_loopback())
    }

    /// Whether strangers can: directly, or through a proxy that makes it public.
    pub fn is_reachable_from_outside(&self) -> bool {
        !self.is_loopback_only() || !is_local_host(host_of(&self.public_url()))
    }
}

/// The host of an address or of a `Host` header, without scheme, port and path.
pub fn host_of(url: &str) -> &str {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Whether a host name can only mean this machine.
pub fn is_local_host(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn default_public_url(listen: &[SocketAddr]) -> String {
    let address = listen.first().copied().unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
    if address.ip().is_unspecified() {
        return format!("http://localhost:{}", address.port());
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests;
