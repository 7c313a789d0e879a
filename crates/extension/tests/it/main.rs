#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod check;
mod containers;
mod documents;
mod schema;
mod scripts;
mod values;
