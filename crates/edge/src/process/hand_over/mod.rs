//! One edge process after another, without a moment in which no process serves.
//!
//! The new process asks the old one for its sockets, loads everything and says that it is ready; the old one stops
//! accepting and says so; the new one accepts. Visitors who come in between wait in the system's queue. The old one
//! keeps the sockets until the new one has served for a while, and goes on as before if it ends until then. After that
//! the connection between them stays, for what still concerns both: changes of the table, drains and a stop.

pub mod give;
pub mod predecessor;
pub mod take;

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::routes::{RouteSet, first_version};
use crate::tls::tickets::TicketSecrets;

/// The points of a take-over at which a test can crash.
pub const KILL_POINTS: [&str; 3] =
    ["take-over-after-sockets", "take-over-before-accepting", "take-over-before-release"];

/// How long the other process may take for one step.
const STEP_LIMIT: Duration = Duration::from_secs(10);
/// How often it is tried, or looked at, again.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// What goes from the old process to the new one. The descriptors come with it: the lock, the control socket, and the
/// sockets in this order.
#[derive(Serialize, Deserialize)]
struct Inventory {
    routes: RouteSet,
    damaged: Option<String>,
    requested: Vec<SocketAddr>,
    /// Their sockets come last.
    #[serde(default)]
    requested_https: Vec<SocketAddr>,
    #[serde(default)]
    tickets: Option<TicketSecrets>,
    /// The newest version of tables that the old process can read.
    #[serde(default = "first_version")]
    route_version: u32,
}
