//! The binary as an operator uses it, and the documents beside it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod audit;
mod clients;
mod clock;
mod codehost;
pub mod deploy;
mod documents;
mod edge;
mod extensions;
mod logs;
mod master_key;
mod notices;
mod operator;
mod orders;
mod own_address;
mod process;
mod readme;
mod serve;
mod setup;
