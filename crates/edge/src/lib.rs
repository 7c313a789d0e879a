//! The edge: visitors' traffic to the right target, exactly drained. It knows hosts, services and targets; it knows
//! neither applications nor the database.
//!
//! A visitor's request goes from `visitor` through `request` to `targets` or `files`. `process` is around all of them.

mod body;
mod edge;
mod files;
mod leaving;
mod process;
mod request;
mod request_ids;
pub mod routes;
mod scheme;
mod settings;
mod table;
mod targets;
mod visitor;

pub use self::process::{EdgeError, Options, control, hand_over, route_file, run};
pub use self::scheme::Scheme;
pub use self::settings::Settings;
pub use self::targets::{Drained, counters, stats};
