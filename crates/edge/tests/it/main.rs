//! The edge as its visitors and its operator see it: real sockets, real upstreams.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod app;
mod support;

mod access;
mod drain;
mod forwarding;
mod hold;
mod pages;
mod protocol;
mod tls;
