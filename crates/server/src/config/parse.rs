//! Texts into values, each with a sentence about what it must be.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use super::given::Given;
use super::{DatabaseUrl, LogFormat, LogLevel, LogSource, Subnet};

/// As many sockets as one edge can hand to the next.
const MOST_ADDRESSES: usize = 64;

pub(super) fn read_proxies(given: &mut Given) -> Vec<IpAddr> {
    let mut proxies = Vec::new();
    for text in given.all("trusted-proxies") {
        match text.parse() {
            Ok(address) => proxies.push(address),
            Err(_) => given.note("trusted-proxies", &text, "must be an IP address, such as 127.0.0.1"),
        }
    }
    proxies
}

pub(super) fn read_addresses(given: &mut Given, name: &'static str) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    for text in given.all(name) {
        match text.to_socket_addrs() {
            Ok(resolved) => addresses.extend(resolved),
            Err(_) => given.note(name, &text, "must be an address and a port, such as 127.0.0.1:7780"),
        }
    }
    if given.all(name).is_empty() {
        given.problems.push(format!("{name}: needs at least one address"));
    }
    let mut seen = HashSet::new();
    addresses.retain(|address| seen.insert(*address));
    if addresses.len() > MOST_ADDRESSES {
        given.problems.push(format!("{name}: at most {MOST_ADDRESSES} addresses"));
    }
    addresses
}

pub(super) fn read_origins(given: &mut Given) -> Vec<String> {
    let origins = given.all("cors-origins");
    for origin in &origins {
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        let visible = origin.bytes().all(|byte| byte.is_ascii_graphic());
        if !visible || host.is_none_or(|host| host.is_empty() || host.contains('/')) {
            given.note("cors-origins", origin, "must be an origin, such as https://panel.example.org");
        }
    }
    origins
}

pub(super) fn not_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("must not be empty".into()) } else { Ok(text.to_owned()) }
}

/// What the engine's own programs look at is looked at too.
pub(super) fn docker_socket(text: &str) -> Result<PathBuf, String> {
    let text = text.strip_prefix("unix://").unwrap_or(text);
    if !text.is_empty() {
        return if text.starts_with('/') { Ok(text.into()) } else { Err("must be the path of a socket".into()) };
    }
    let named = std::env::var("DOCKER_HOST").ok();
    let named = named.as_deref().and_then(|host| host.strip_prefix("unix://"));
    Ok(named.unwrap_or("/var/run/docker.sock").into())
}

pub(super) fn network_pool(text: &str) -> Result<Subnet, String> {
    let pool = Subnet::try_from(text)?;
    match pool.prefix {
        8..=24 => Ok(pool),
        _ => Err("must have a prefix of 8 to 24".into()),
    }
}

pub(super) fn database_url(text: &str) -> Result<Option<DatabaseUrl>, String> {
    let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    match text {
        "" => Ok(None),
        _ if is_postgres => Ok(Some(DatabaseUrl(text.to_owned()))),
        _ => Err("must begin with postgres:// (or be empty for SQLite in the data folder)".into()),
    }
}

pub(super) fn public_url(text: &str) -> Result<Option<String>, String> {
    let text = text.trim_end_matches('/');
    match text {
        "" => Ok(None),
        _ if text.starts_with("https://") || text.starts_with("http://") => Ok(Some(text.to_owned())),
        _ => Err("must begin with https:// or http://".into()),
    }
}

pub(super) fn domain(text: &str) -> Result<String, String> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if text.len() <= 200 && text.split('.').all(label) {
        return Ok(text.to_owned());
    }
    Err("must be a domain name in lower case, such as apps.example.org".into())
}

pub(super) fn boolean(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "must be true or false".into())
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be text or json".into()),
    }
}

pub(super) fn log_source(text: &str) -> Result<LogSource, String> {
    match text {
        "auto" => Ok(LogSource::Auto),
        "engine" => Ok(LogSource::Engine),
        _ => Err("must be auto or engine".into()),
    }
}

pub(super) fn log_level(text: &str) -> Result<LogLevel, String> {
    match text {
        "error" => Ok(LogLevel::Error),
        "warn" => Ok(LogLevel::Warn),
        "info" => Ok(LogLevel::Info),
        "debug" => Ok(LogLevel::Debug),
        "trace" => Ok(LogLevel::Trace),
        _ => Err("must be error, warn, info, debug or trace".into()),
    }
}
