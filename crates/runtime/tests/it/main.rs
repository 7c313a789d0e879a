//! Containers as the engine of this machine really runs them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod support;

mod build;
mod build_context;
mod containers;
mod engine;
mod events;
mod exec;
mod images;
mod life;
mod networks;
mod output;
mod usage;
mod volumes;
