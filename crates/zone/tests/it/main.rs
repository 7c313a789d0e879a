//! Zones as their owners keep them: a real name server, and an HTTP server that answers as Cloudflare's documents say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod fake_cloudflare;
mod in_between;
mod signing;

mod certificates;
mod cloudflare;
mod name_server;
