//! Rows: plain functions per noun over SQLite or PostgreSQL.
//!
//! Reading functions take a [`Conn`], writing ones a [`Tx`]; a `Tx` is a `Conn` too, so a decision can be made on
//! rows that cannot change before the write. The same SQL text runs on both databases. Nothing here knows of HTTP,
//! permissions or the wire; `windlass-api` is used for the closed sets (roles, types) that columns hold.

mod db;
mod error;
mod migrations;
mod word;

pub mod alarms;
pub mod api_keys;
pub mod application_access;
pub mod application_domains;
pub mod applications;
pub mod audit;
pub mod bearer;
pub mod certificate_orders;
pub mod certificates;
pub mod connections;
pub mod containers;
pub mod deliveries;
pub mod deployments;
pub mod domain_settings;
pub mod domains;
pub mod email_changes;
pub mod events;
pub mod executions;
pub mod extension_sources;
pub mod extensions;
pub mod figures;
pub mod freed_domains;
pub mod github_apps;
pub mod idempotency_keys;
pub mod image_checks;
pub mod installations;
pub mod instance;
pub mod invitations;
pub mod jobs;
pub mod login_places;
pub mod logs;
pub mod master_keys;
pub mod memberships;
pub mod networks;
pub mod notices;
pub mod notification_preferences;
pub mod organizations;
pub mod outages;
pub mod password_resets;
pub mod placed_orders;
pub mod previews;
pub mod pulled_images;
pub mod registry_credentials;
pub mod releases;
pub mod runs;
pub mod schedules;
pub mod sealed;
pub mod second_factors;
pub mod servers;
pub mod sessions;
pub mod shared_variables;
pub mod smtp_configs;
pub mod snapshots;
pub mod status_pages;
pub mod traffic;
pub mod uploads;
pub mod uptime;
pub mod uptime_checks;
pub mod user_settings;
pub mod users;
pub mod volumes;
pub mod webhook_configs;

pub use db::{Conn, Db, Kind, Options, Tx};
pub use error::{Error, Result};
