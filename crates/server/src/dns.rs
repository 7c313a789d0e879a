//! Where the server asks about domains, and where it is itself.

use std::net::IpAddr;

use windlass_api::Host;
use windlass_dns::Resolver;

use crate::app::App;

pub fn resolver(app: &App) -> Resolver {
    match app.config.dns_servers.as_slice() {
        [] => Resolver::new(windlass_dns::of_machine()),
        servers => Resolver::new(servers.to_vec()),
    }
}

/// Where the server's own address leads, if it has a public one.
pub async fn here(app: &App, resolver: &Resolver) -> Vec<IpAddr> {
    match Host::of_url(&app.config.public_url()).filter(|host| !host.is_local()) {
        Some(host) => match host.parse() {
            Ok(address) => vec![address],
            Err(_) => resolver.addresses(&host).await.unwrap_or_default(),
        },
        None => Vec::new(),
    }
}
