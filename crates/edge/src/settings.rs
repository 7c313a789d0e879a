//! How the edge treats its visitors.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::Ipv4Net;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub threads: usize,
    /// Proxies in front of the edge; what they say about the visitor is believed.
    pub trusted_proxies: Vec<IpAddr>,
    pub max_connections: usize,
    /// Connections from one address; 0 for no limit.
    pub address_connections: usize,
    /// Handshakes a second of one address; 0 for no limit. Those beyond wait.
    #[serde(default)]
    pub address_handshakes: u32,
    /// Requests under way of one service, so that a slow one leaves room for the others; 0 for no limit.
    #[serde(default)]
    pub service_requests: u64,
    /// Where applications answer. An organization's containers count as one address.
    #[serde(default = "nowhere")]
    pub containers: Ipv4Net,
    /// How long the head of a request may take.
    pub head_limit: Duration,
    /// How long a connection may be silent.
    pub idle_limit: Duration,
    pub head_bytes: usize,
    /// How long requests under way may go on when the edge is stopped.
    pub stop_limit: Duration,
    /// How long they may go on when another process has taken over.
    pub hand_over_limit: Duration,
}

/// For an older server, which does not say it: an address that no visitor has.
const fn nowhere() -> Ipv4Net {
    Ipv4Net::new_assert(std::net::Ipv4Addr::BROADCAST, 32)
}
