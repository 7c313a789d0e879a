#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod catalog;
mod check;
mod containers;
mod documents;
mod mutations;
mod schema;
mod scripts;
mod values;
