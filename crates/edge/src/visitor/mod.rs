//! Visitors' connections: accepted, given to a worker, and served until they end.

mod activity;
mod connection;
pub mod listen;
mod permit;
mod stream;
mod tracked_body;
mod transport;
pub mod workers;
