//! Every function of the store, on both databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod support;

mod api_keys;
mod audit;
mod db;
mod invitations;
mod master_keys;
mod memberships;
mod migrations;
mod organizations;
mod sealed;
mod second_factors;
mod sessions;
mod smtp_configs;
mod users;
mod webhook_configs;
