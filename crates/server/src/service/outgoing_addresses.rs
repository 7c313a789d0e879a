//! Where Windlass may send things on behalf of a user. Addresses of the server's own network are not theirs to reach, unless
//! the operator says so.

use std::net::IpAddr;

use url::{Host, Url};
use windlass_api::is_local_name;
use windlass_outgoing::is_public;

use crate::app::App;
use crate::error::{Error, Result};

/// A web address, when it is saved. What sends to it has to check again: names change where they lead.
pub async fn check_url(app: &App, field: &str, text: &str) -> Result<()> {
    let refuse = |problem: &str| Err(Error::field(field, problem));
    let Ok(url) = Url::parse(text) else {
        return refuse("must be a web address, such as https://hooks.example.org/abc");
    };
    if !matches!(url.scheme(), "https" | "http") {
        return refuse("must begin with https:// or http://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("must not contain a user name or a password");
    }
    if url.port() == Some(0) {
        return refuse("has the port 0, where nothing can listen");
    }
    match url.host() {
        None => refuse("names no host"),
        Some(Host::Ipv4(address)) => check_address(app, field, address.into()),
        Some(Host::Ipv6(address)) => check_address(app, field, address.into()),
        Some(Host::Domain(name)) => check_name(app, field, name).await,
    }
}

/// A host name or an address.
pub async fn check_host(app: &App, field: &str, host: &str) -> Result<()> {
    match host.parse() {
        Ok(address) => check_address(app, field, address),
        Err(_) => check_name(app, field, host).await,
    }
}

async fn check_name(app: &App, field: &str, name: &str) -> Result<()> {
    // Dots at the end change how a name is looked up, not what it means.
    let name = name.trim_end_matches('.');
    if name.is_empty() {
        return Err(Error::field(field, "names no host"));
    }
    if app.config.allow_private_targets {
        return Ok(());
    }
    if is_local_name(name) {
        return Err(private(field));
    }
    if let Ok(address) = name.parse() {
        return check_address(app, field, address);
    }
    for address in app.resolver.addresses(name).await? {
        check_address(app, field, address)?;
    }
    Ok(())
}

fn check_address(app: &App, field: &str, address: IpAddr) -> Result<()> {
    if app.config.allow_private_targets || is_public(address) {
        return Ok(());
    }
    Err(private(field))
}

fn private(field: &str) -> Error {
    let problem = "leads to a private address. The operator can allow that with the setting allow-private-targets.";
    Error::field(field, problem)
}
