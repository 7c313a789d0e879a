//! Texts into values, each with a sentence about what it must be.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use windlass_api::{Email, Host, HostName};
use windlass_buildpack::OwnImage;

use super::{HiddenBytes, Reach, SecretText, Subnet};

/// As many sockets as one edge can hand to the next.
const MOST_ADDRESSES: usize = 64;

pub(super) fn proxy(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "must be an IP address, such as 127.0.0.1".into())
}

/// The addresses of all of the texts, each once, and what is wrong with them.
pub(super) fn addresses(texts: &[String]) -> (Vec<SocketAddr>, Vec<String>) {
    let (mut addresses, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match text.to_socket_addrs() {
            Ok(resolved) => addresses.extend(resolved),
            Err(_) => problems.push(format!("must be an address and a port, such as 127.0.0.1:7780 (it is {text:?})")),
        }
    }
    if texts.is_empty() {
        problems.push("needs at least one address".into());
    }
    let mut seen = HashSet::new();
    addresses.retain(|address| seen.insert(*address));
    if addresses.len() > MOST_ADDRESSES {
        problems.push(format!("at most {MOST_ADDRESSES} addresses"));
    }
    (addresses, problems)
}

pub(super) fn origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && host.is_some_and(|host| !host.is_empty() && !host.contains('/')) {
        return Ok(text.to_owned());
    }
    Err("must be an origin, such as https://panel.example.org".into())
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

/// None when it is empty.
pub(super) fn own_folder(text: &str) -> Result<Option<PathBuf>, String> {
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

pub(super) fn network_pool(text: &str) -> Result<Subnet, String> {
    let pool = Subnet::try_from(text)?;
    match pool.prefix() {
        8..=24 => Ok(pool),
        _ => Err("must have a prefix of 8 to 24".into()),
    }
}

pub(super) fn own_image(text: &str) -> Result<OwnImage, String> {
    OwnImage::try_from(text)
}

pub(super) fn reach(text: &str) -> Result<Reach, String> {
    Reach::try_from(text)
}

/// Short, because it is a part of the address of the call that builds, four times.
pub(super) fn build_proxy(text: &str) -> Result<Option<SecretText>, String> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match host {
        None if text.is_empty() => Ok(None),
        Some(host) if !host.is_empty() && text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(Some(SecretText(text.to_owned())))
        }
        _ => Err("must be an address such as http://10.0.0.5:3128, of at most 200 characters".into()),
    }
}

pub(super) fn database_url(text: &str) -> Result<Option<SecretText>, String> {
    let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    match text {
        "" => Ok(None),
        _ if is_postgres => Ok(Some(SecretText(text.to_owned()))),
        _ => Err("must begin with postgres:// (or be empty for SQLite in the data folder)".into()),
    }
}

pub(super) fn metrics_token(text: &str) -> Result<Option<SecretText>, String> {
    match text {
        "" => Ok(None),
        _ if text.len() < 16 => Err("must have at least 16 characters (openssl rand -hex 32 makes a good one)".into()),
        _ if !text.chars().all(|c| c.is_ascii_graphic()) => Err("must have no spaces and no special characters".into()),
        _ => Ok(Some(SecretText(text.to_owned()))),
    }
}

pub(super) fn public_url(text: &str) -> Result<Option<String>, String> {
    let text = text.trim_end_matches('/');
    match text {
        "" => Ok(None),
        _ if !text.starts_with("https://") && !text.starts_with("http://") => {
            Err("must begin with https:// or http://".into())
        }
        _ if Host::of_url(text).is_none() => {
            Err("must have a host name or an address; a name in another script is written with xn--".into())
        }
        _ => Ok(Some(text.to_owned())),
    }
}

/// The address of an authority's directory.
pub(super) fn directory(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.host().is_some());
    match url {
        Some(url) => Ok(url.into()),
        None => {
            Err("must be the https address of a directory, such as https://acme-v02.api.letsencrypt.org/directory"
                .into())
        }
    }
}

pub(super) fn email(text: &str) -> Result<Option<String>, String> {
    match text {
        "" => Ok(None),
        _ => match Email::try_from(text) {
            Ok(email) => Ok(Some(email.to_string())),
            Err(problem) => Err(problem),
        },
    }
}

pub(super) fn profile(text: &str) -> Result<String, String> {
    let is_name =
        text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_name { Ok(text.to_owned()) } else { Err("must be the name of a profile, such as tlsserver".into()) }
}

pub(super) fn optional_file(text: &str) -> Result<Option<PathBuf>, String> {
    Ok(Some(text).filter(|text| !text.is_empty()).map(PathBuf::from))
}

pub(super) fn optional_text(text: &str) -> Result<Option<String>, String> {
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

pub(super) fn account_key(text: &str) -> Result<Option<HiddenBytes>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let decoded = URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
    decoded.map(|key| Some(HiddenBytes(key))).map_err(|_| "must be a key in base64url".into())
}

/// On port 53 unless it says another.
pub(super) fn name_server(text: &str) -> Result<SocketAddr, String> {
    let with_port = text.parse::<SocketAddr>().ok();
    let address = with_port.or_else(|| text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 53)));
    address.ok_or_else(|| "must be an IP address, such as 9.9.9.9 or [2620:fe::9]:53".into())
}

pub(super) fn optional_name_server(text: &str) -> Result<Option<SocketAddr>, String> {
    if text.is_empty() { Ok(None) } else { name_server(text).map(Some) }
}

pub(super) fn secret_text(text: &str) -> Result<Option<SecretText>, String> {
    Ok(optional_text(text)?.map(SecretText))
}

pub(super) fn not_empty_text(text: &str) -> Result<String, String> {
    optional_text(text)?.ok_or_else(|| "must not be empty".into())
}

/// Read at once, so that a mistake in it is told at the start.
pub(super) fn update_key(path: &str) -> Result<Option<SecretText>, String> {
    let Some(path) = optional_file(path)? else { return Ok(None) };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    windlass_zone::TsigKey::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Some(SecretText(text)))
}

/// Short enough for a name in front of it.
pub(super) fn domain(text: &str) -> Result<String, String> {
    let name = HostName::try_from(text).ok().filter(|name| **name == *text && text.len() <= 200);
    match name {
        Some(name) => Ok(name.to_string()),
        None => Err("must be a domain name in lower case, such as apps.example.org".into()),
    }
}

/// The parts of a list, which are separated by commas.
pub(super) fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
