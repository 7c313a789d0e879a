#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod fixture;
mod hostile;
mod lines;
mod properties;
mod snapshots;
mod wishes;
