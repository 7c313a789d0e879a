//! Settings: a flag goes before the environment, the environment before the file, the file before the default. All
//! problems are found before anything starts.

mod given;
pub mod guide;
mod mail;
mod parse;
mod reach;
mod row;
mod setting;
mod subnet;
mod table;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

pub use given::GivenSettings;
pub use mail::{MailSender, MailServer, MailSettings};
pub use reach::Reach;
use row::Table;
pub use setting::{Kind, Section, Setting, Subcommand};
pub use subnet::Subnet;

use serde::{Deserialize, Serialize};
use windlass_api::Host;
use windlass_buildpack::BaseImages;
use windlass_edge::Listen;

use crate::build_limits::BuildCeilings;
use crate::ceilings::Ceilings;
use crate::sites::SiteLimits;
use crate::vault::ring::{self, KeySource, Ring};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Every setting as it is shown to admins.
    pub settings: Vec<Setting>,
    pub data_dir: PathBuf,
    /// The master key, when the environment gives it.
    master_key: Option<Ring>,
    pub listen: Vec<SocketAddr>,
    pub database_url: Option<SecretText>,
    pub database_connections: u32,
    pub docker_socket: PathBuf,
    pub network_pool: Subnet,
    pub container_reach: Vec<Reach>,
    pub base_images: BaseImages,
    pub build_network: BuildNetwork,
    pub build_proxy: Option<SecretText>,
    pub ceilings: Ceilings,
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
    pub metrics_token: Option<SecretText>,
    pub mail: MailSettings,
    /// An hour, for one account or to one address.
    pub account_mails: u32,
    pub api_key_days: u32,
    pub login_attempts: u32,
    pub webhook_failures: u32,
    pub code_attempts: u32,
    pub address_requests: u32,
    pub account_requests: u32,
    pub key_requests: u32,
    pub user_sessions: i64,
    pub user_organizations: i64,
    pub member_keys: i64,
    pub open_invitations: i64,
    pub organization_connections: i64,
    pub organization_registries: i64,
    pub organization_certificates: i64,
    pub connection_calls: u32,
    pub organization_applications: i64,
    pub application_previews: usize,
    pub preview_seconds: i64,
    pub preview_memory_mb: u32,
    pub preview_cpu_millis: u32,
    pub kept_deployments: i64,
    pub kept_deliveries: i64,
    pub push_bytes: u64,
    pub push_limit: Duration,
    pub parallel_pushes: usize,
    pub parallel_build_plans: usize,
    pub push_dir: Option<PathBuf>,
    pub upload_bytes: u64,
    /// `upload-seconds`: for one request to arrive, to wait for its turn, and to be unpacked, each.
    pub upload_limit: Duration,
    /// `upload-hours`, in seconds: how long one in parts is kept, complete or not.
    pub kept_upload_seconds: i64,
    pub organization_uploads: i64,
    pub organization_upload_bytes: i64,
    pub user_uploads: i64,
    pub delivery_seconds: i64,
    pub domain_hold_seconds: i64,
    pub organization_domains: i64,
    pub organization_access_bytes: i64,
    pub delivery_body_bytes: usize,
    pub parallel_deployments: usize,
    pub parallel_starts: usize,
    pub organization_share: usize,
    pub hold_limit: Duration,
    pub hold_requests: u32,
    pub application_volumes: usize,
    pub organization_volumes: i64,
    pub organization_extensions: i64,
    pub organization_executions: i64,
    pub organization_installations: i64,
    pub execution_seconds: i64,
    pub kept_executions: i64,
    pub parallel_runs: usize,
    pub application_runs: usize,
    pub organization_runs: i64,
    pub run_seconds: i64,
    pub run_log_bytes: i64,
    pub kept_runs: i64,
    pub application_schedules: usize,
    pub organization_uptime_checks: i64,
    pub image_check_seconds: i64,
    /// 0 for no ceiling.
    pub organization_data_bytes: i64,
    pub organization_containers: usize,
    pub build_ceilings: BuildCeilings,
    pub organization_artifact_bytes: i64,
    pub volume_grace_seconds: i64,
    pub snapshot_limit: Duration,
    /// None for one in the data folder.
    pub snapshot_dir: Option<PathBuf>,
    /// The same.
    pub site_dir: Option<PathBuf>,
    pub site_limits: SiteLimits,
    pub start_limit: Duration,
    pub fetch_limit: Duration,
    pub fetch_bytes: u64,
    pub fetch_files: usize,
    pub git_memory: u64,
    /// 0 for no caches.
    pub repository_cache_bytes: u64,
    pub build_limit: Duration,
    /// 0 for no budget.
    pub build_cache_bytes: u64,
    pub log_source: LogSource,
    pub log_seconds: i64,
    pub log_bytes: i64,
    pub organization_log_bytes: i64,
    pub log_line_bytes: usize,
    pub log_followers: usize,
    pub event_followers: usize,
    pub event_seconds: i64,
    pub parallel_notices: usize,
    pub organization_notices: i64,
    /// `notice-seconds`: for one delivery.
    pub notice_limit: Duration,
    /// `notice-days`, in seconds.
    pub kept_notice_seconds: i64,
    pub kept_notices: i64,
    pub notice_tests: u32,
    /// 0 for never.
    pub disk_low_percent: u64,
    pub search_limit: Duration,
    /// Seconds; 0 for never.
    pub figures_interval: i64,
    pub figures_seconds: i64,
    pub engine_log_bytes: u64,
    pub engine_log_files: u32,
    pub parallel_logins: usize,
    pub body_limit: usize,
    pub strangers_body_limit: usize,
    pub webhook_body_limit: usize,
    pub request_limit: Duration,
    pub idle_limit: Duration,
    pub max_connections: usize,
    pub account_requests_at_once: usize,
    pub address_connections: usize,
    pub shutdown_limit: Duration,
    pub edge_http: Vec<SocketAddr>,
    pub edge_https: Vec<SocketAddr>,
    pub acme: AcmeSettings,
    pub zones: ZoneSettings,
    /// Empty for the machine's own.
    pub dns_servers: Vec<SocketAddr>,
    pub organization_orders: i64,
    pub edge: windlass_edge::Settings,
}

/// The certificate authorities that Windlass orders from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcmeSettings {
    /// Addresses of their directories, in the order in which they are asked. None: nothing is ordered.
    pub directories: Vec<String>,
    pub email: Option<String>,
    /// Which kind of certificate is ordered, where the authority has several; empty for its usual one.
    pub profile: String,
    /// Roots to trust when they are called, beside the machine's.
    pub roots_file: Option<PathBuf>,
    /// The account at the authority's own site, where it wants one.
    pub key_id: Option<String>,
    pub key: Option<HiddenBytes>,
}

/// Zones of DNS that Windlass may change, to prove to authorities that every name below another is served here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneSettings {
    /// None: nothing is changed.
    pub names: Vec<String>,
    /// The name server that takes changes (RFC 2136), and the key that it knows, as `tsig-keygen` prints it.
    pub update_server: Option<SocketAddr>,
    pub update_key: Option<SecretText>,
    pub cloudflare_token: Option<SecretText>,
    pub cloudflare_url: String,
    /// Where a change must be seen, instead of the name servers that DNS knows for the zone.
    pub servers: Vec<SocketAddr>,
}

impl ZoneSettings {
    /// The zone that a name is in, if it is one of these.
    pub fn zone_of(&self, name: &str) -> Option<&str> {
        let is_in = |zone: &&String| {
            name.strip_suffix(zone.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.names.iter().filter(is_in).max_by_key(|zone| zone.len()).map(String::as_str)
    }

    fn problem(&self) -> Option<&'static str> {
        let (is_update, is_cloudflare) = (self.update_server.is_some(), self.cloudflare_token.is_some());
        match () {
            () if is_update != self.update_key.is_some() => {
                Some("dns-update-server and dns-update-key-file: one is of no use without the other")
            }
            () if is_update && is_cloudflare => {
                Some("dns-update-server and cloudflare-token: zones are changed at one place")
            }
            () if self.names.is_empty() == (is_update || is_cloudflare) => Some(
                "dns-zones: needs dns-update-server and dns-update-key-file, or cloudflare-token, and these need it",
            ),
            () => None,
        }
    }
}

/// A key, which shows itself only when asked.
#[derive(Clone, PartialEq, Eq)]
pub struct HiddenBytes(Vec<u8>);

impl HiddenBytes {
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for HiddenBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HiddenBytes(..)")
    }
}

/// A password or a token, which shows itself only when asked.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretText(..)")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogFormat {
    Text,
    Json,
}

/// What builds of organizations without host access can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildNetwork {
    Open,
    None,
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

/// The rows of the table, in its order.
pub fn settings() -> &'static [Setting] {
    static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let table = Table::of(GivenSettings::default());
        Config::read(&table);
        table.into_parts().0
    });
    &SETTINGS
}

impl Config {
    /// All problems at once, each with the name of its setting.
    pub fn from_given(given: GivenSettings) -> Result<Self, Vec<String>> {
        let table = Table::of(given);
        let mut config = Self::read(&table);
        let (settings, mut problems) = table.into_parts();
        if config.acme.key_id.is_some() != config.acme.key.is_some() {
            problems.push("acme-key-id and acme-key: one is of no use without the other".into());
        }
        problems.extend(config.zones.problem().map(str::to_owned));
        problems.extend(config.mail.problem().map(str::to_owned));
        if config.mail.is_set() && config.public_url.is_none() {
            problems.push("public-url: mail-host needs it, because links in mails lead there. Set the address at which people reach this server".into());
        }
        config.settings = settings;
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    /// Where the master key is: in the environment if it is there, else in the data folder.
    pub fn master_key_source(&self) -> KeySource {
        match &self.master_key {
            Some(ring) => KeySource::Environment(ring.clone()),
            None => KeySource::File(self.data_dir.join(ring::FILE_NAME)),
        }
    }

    /// Where the edge awaits visitors.
    pub fn edge_listen(&self) -> Listen {
        Listen { http: self.edge_http.clone(), https: self.edge_https.clone() }
    }

    /// Where visitors reach an application.
    pub fn visitors_url(&self, domain: &str) -> String {
        match self.edge_http.first().map(SocketAddr::port) {
            None | Some(0 | 80) => format!("http://{domain}"),
            Some(port) => format!("http://{domain}:{port}"),
        }
    }

    /// How people reach the server.
    pub fn public_url(&self) -> String {
        self.public_url.clone().unwrap_or_else(|| default_public_url(&self.listen))
    }

    /// The host at which the edge serves the server itself: that of `public-url`, where it is https at a port of the edge. Else a proxy of
    /// the operator's does.
    pub fn host_at_edge(&self) -> Option<Host> {
        let url = url::Url::parse(self.public_url.as_deref()?).ok().filter(|url| url.scheme() == "https")?;
        let port = url.port_or_known_default()?;
        let is_at_edge = self.edge_https.iter().any(|address| address.port() == port);
        Host::of_url(url.as_str()).filter(|host| is_at_edge && host.parse::<IpAddr>().is_err())
    }

    /// Names that a certificate is ordered for and that are no organization's: the host at the edge, and everything below the base domain
    /// if it is in a zone that may be changed.
    pub fn own_domains(&self) -> Vec<String> {
        let host = self.host_at_edge().map(|host| host.to_string());
        let base = self.shares_certificate().then(|| format!("*.{}", self.base_domain));
        host.into_iter().chain(base).collect()
    }

    /// Whether names right below the base domain are to be served with one certificate: its zone may be changed.
    pub fn shares_certificate(&self) -> bool {
        self.zones.zone_of(&self.base_domain).is_some()
    }

    /// Whether a name is right below the base domain.
    pub fn is_below_base(&self, domain: &str) -> bool {
        domain.split_once('.').is_some_and(|(label, above)| label != "*" && above == self.base_domain)
    }

    /// Whether only this machine's own users, or a proxy on it, can reach the server.
    pub fn is_loopback_only(&self) -> bool {
        self.listen.iter().all(|address| address.ip().is_loopback())
    }

    /// Whether strangers can: directly, or through a proxy that makes it public.
    pub fn is_reachable_from_outside(&self) -> bool {
        !self.is_loopback_only() || !Host::of_url(&self.public_url()).is_some_and(|host| host.is_local())
    }
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
