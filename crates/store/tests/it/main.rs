//! Every function of the store, on both databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod support;

mod audit;
mod db;
mod invitations;
mod memberships;
mod migrations;
mod organizations;
mod sessions;
mod trust;
mod users;
