//! Rows: plain functions per noun over SQLite or PostgreSQL.
//!
//! Reading functions take a [`Conn`], writing ones a [`Tx`]; a `Tx` is a `Conn` too, so a decision can be made on
//! rows that cannot change before the write. The same SQL text runs on both databases. Nothing here knows of HTTP,
//! permissions or the wire; `windlass-api` is used for the closed sets (roles, types) that columns hold.

mod db;
mod error;
mod migrations;

pub mod audit;
pub mod instance;
pub mod invitations;
pub mod memberships;
pub mod organizations;
pub mod sessions;
pub mod user_settings;
pub mod users;

pub use db::{Conn, Db, Kind, Options, Tx};
pub use error::{Error, Result};
