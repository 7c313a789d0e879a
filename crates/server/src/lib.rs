//! The platform: `http` (what is asked and answered) ▸ `service` (the rules) ▸ `records` (rows into records) and `auth` (who
//! is asking) ▸ `vault` (secrets at rest) ▸ the store (the rows). Arrows point down only.

pub mod app;
pub mod auth;
mod caches;
pub mod clock;
mod code_host;
pub mod config;
pub mod deploy;
pub mod disk;
pub mod edge;
pub mod engine_health;
pub mod error;
mod event_follower;
pub mod executions;
mod folders;
mod git_program;
pub mod holder;
pub mod host;
pub mod host_route;
pub mod http;
pub mod jobs;
mod labels;
pub mod listen;
pub mod logs;
pub mod metrics;
mod mounts;
pub mod operator;
mod programs;
mod pushed_repository;
pub mod pushes;
pub mod random;
pub mod reconcile;
pub mod records;
pub mod reports;
mod resolver;
pub mod route_publisher;
pub mod serve;
pub mod service;
mod snapshot_files;
mod streams;
mod subject;
pub mod traffic;
pub mod vault;
mod volume_upkeep;

pub use app::App;
pub use config::Config;
