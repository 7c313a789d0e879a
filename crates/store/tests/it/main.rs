//! The store's functions, on both databases. Some are tested by the server's tests alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod support;

mod alarms;
mod api_keys;
mod applications;
mod audit;
mod containers;
mod db;
mod deployments;
mod domains;
mod email_changes;
mod events;
mod extension_sources;
mod figures;
mod freed_domains;
mod github_apps;
mod idempotency_keys;
mod image_checks;
mod invitations;
mod jobs;
mod login_places;
mod logs;
mod master_keys;
mod memberships;
mod migrations;
mod notices;
mod notification_preferences;
mod organizations;
mod password_resets;
mod pulled_images;
mod registry_credentials;
mod releases;
mod runs;
mod sealed;
mod second_factors;
mod servers;
mod sessions;
mod shared_variables;
mod smtp_configs;
mod uptime;
mod users;
mod volumes;
mod webhook_configs;
