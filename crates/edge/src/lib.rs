//! The edge: visitors' traffic to the right target, exactly drained. It knows hosts, services and targets; it knows
//! neither applications nor the database.
//!
//! A visitor's request goes from `visitor` through `request` to `targets` or `files`. `process` is around all of them.
//!
//! A folder for each part of a request's way; each imports only those below it; `process/` is the top:
//!
//! - `process/`: the life of the process, the control socket, the table on disk, the health checks; `process/hand_over/` is one process after another.
//! - `visitor/`: the connections. `visitor/workers.rs` are the threads, each with a runtime of its own: a request never crosses from one to another.
//!   `visitor/connection.rs` serves one connection; `visitor/transport.rs` carries its bytes: TCP as it is, or TLS.
//! - `tls/`: certificates by name, the handshake, session tickets, and how often one address may ask for a handshake.
//! - `request/` is one request: `request/forward.rs` finds where it belongs, `request/held.rs` waits while its service is held,
//!   `request/journey.rs` takes it to a target, or another if the first cannot have seen it; `request/visitors_body.rs` and `request/answer_body.rs` are the bodies, `request/tunnel.rs` is what comes
//!   after an upgrade. `request/headers.rs` says which headers pass, `request/forwarded.rs` where it came from. `request/exchange.rs` counts it
//!   until the last byte; `request/pages.rs` are the edge's pages. `request/compression.rs` says which answers are compressed on their way.
//! - `edge.rs` holds what all workers share; `table.rs` is the table as it is used: host, path, service; `leaving.rs` are targets that are no longer in it.
//! - `targets/mod.rs` is one instance with **the word**: how many are in, and whether more may enter. `targets/service.rs` picks the target,
//!   `targets/pool.rs` keeps connections, `targets/health.rs` knows its health, `targets/counters.rs` the figures.
//! - `access/` is what stands between visitors and a service: networks, how often a household may ask, names and
//!   passwords. `request/guard.rs` asks it whether a request goes on; `password.rs` makes the hashes that it compares
//!   with, for the server's API too.
//! - `addresses.rs` counts connections by where they come from, `local_users.rs` knows whose programs they are of; the server's API uses both.
//! - `encoding.rs` chooses how answers are compressed, and compresses them.
//! - `files/` are static folders. `routes/mod.rs` is the table as it is given, `routes/check.rs` what makes it valid.
//! - `PROTOCOL.md`: what the edge does with requests that break the rules.

mod access;
pub mod addresses;
mod body;
mod edge;
mod encoding;
mod files;
mod leaving;
pub mod local_users;
pub mod password;
mod process;
mod request;
mod request_ids;
pub mod routes;
mod scheme;
mod settings;
mod table;
mod targets;
pub mod tls;
mod visitor;

pub use self::files::rules;
pub use self::process::{EdgeError, Listen, Options, control, hand_over, route_file, run};
pub use self::request::PAGE_HEADER;
pub use self::scheme::Scheme;
pub use self::settings::Settings;
pub use self::targets::{Drained, counters, stats};
