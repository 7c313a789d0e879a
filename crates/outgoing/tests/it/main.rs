//! Calls as a caller sees them: real sockets on this machine, real certificates.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod certificates;
mod support;

mod addresses;
mod answers;
mod bounds;
mod broken;
mod downloads;
mod https;
mod requests;
mod secrets;
