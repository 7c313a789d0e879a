//! The platform: `http` (what is asked) ▸ `auth` (by whom) ▸ `service` (the rules) ▸ the store (the rows).
//! Arrows point down only.

pub mod app;
pub mod auth;
pub mod clock;
pub mod config;
pub mod error;
pub mod http;
pub mod operator;
pub mod records;
pub mod serve;
pub mod service;

pub use app::App;
pub use config::Config;
