//! The platform as its users meet it: over HTTP, on both databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod deploy;
mod deploys;
mod second_factor;
mod secrets;
mod support;

mod access;
mod answer_sizes;
mod api_keys;
mod applications;
mod at_once;
mod audit;
mod authority;
mod bad_input;
mod build_plans;
mod certificates;
mod compression;
mod connections;
mod dashboard;
mod deliveries;
mod deploy_plans;
mod deployments;
mod domains;
mod downloads;
mod events;
mod extensions;
mod follow;
mod full_disk;
mod github_apps;
mod http;
mod idempotency;
mod instance;
mod invitations;
mod limits;
mod logs;
mod members;
mod notification;
mod organizations;
mod previews;
mod queries;
mod registration;
mod request_bodies;
mod request_heads;
mod sessions;
mod stalled;
mod tenants;
mod traffic;
mod unlisted;
mod users;
mod variable_files;
mod variables;
mod volumes;
mod walk;
mod worker;
