//! Each channel as a service receives it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod destinations;
mod messages;
mod requests;
mod verified;
